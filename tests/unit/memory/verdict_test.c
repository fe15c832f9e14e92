#include "memory/verdict.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCAL   200 /* cycles */
#define REMOTE  300
#define THREADS 8 /* of process 0, the first half on node 0; thread 8 is main(), on node 0 */
#define MAIN    THREADS

struct object_verdict_fixture {
	struct memory_profile profile;
	struct memory_report report;
	uint64_t now;
	bool has_report;
};

static int
setup(void **state)
{
	struct object_verdict_fixture *fixture = calloc(1, sizeof(*fixture));
	struct memory_profile *profile = &fixture->profile;

	*state = fixture;
	if (!fixture || memory_profile_init(profile))
		return -1;
	profile->totals = (struct memory_totals){.nodes = 2,
	                                         .node_cores = 4,
	                                         .local_cycles = LOCAL,
	                                         .line_bytes = 64,
	                                         .busy_cycles = 1000000,
	                                         .elapsed_ns = 1000000};
	*memory_profile_add_process(profile) = (struct memory_process){.pid = 1};
	for (unsigned i = 0; i <= THREADS; i++)
		*memory_profile_add_thread(profile) = (struct memory_thread){0, i};
	return 0;
}

static int
teardown(void **state)
{
	struct object_verdict_fixture *fixture = *state;

	memory_report_fini(&fixture->report);
	memory_profile_fini(&fixture->profile);
	free(fixture);
	return 0;
}

static unsigned
node_of(unsigned thread)
{
	return thread != MAIN && thread >= THREADS / 2;
}

/* An object that `thread` makes. Its number. */
static uint32_t
make_object(struct object_verdict_fixture *fixture, const char *name, uint64_t size, unsigned thread)
{
	*memory_profile_add_object(&fixture->profile) = (struct memory_object){
		.address = 0x100000 * (fixture->profile.object_count + 1),
		.size = size,
		.died_ns = MEMORY_ALIVE,
		.site = MEMORY_NOTHING,
		.name = memory_profile_add_text(&fixture->profile, name),
		.number = 1,
		.thread = thread,
	};
	return (uint32_t)fixture->profile.object_count - 1;
}

/* An access of which memory of `page_node` served the line. */
static struct memory_access *
use_memory(struct object_verdict_fixture *fixture, uint32_t object, unsigned thread, uint64_t offset,
           unsigned page_node)
{
	struct memory_access *access = memory_profile_add_access(&fixture->profile);
	const unsigned node = node_of(thread);

	*access = (struct memory_access){
		.time_ns = fixture->now++,
		.offset = offset % fixture->profile.objects[object].size,
		.object = object,
		.thread = thread,
		.place = MEMORY_NOTHING,
		.cycles = node == page_node ? LOCAL : REMOTE,
		.cost = node == page_node ? LOCAL : REMOTE,
		.weight = 1,
		.node = (uint8_t)node,
		.page_node = (uint8_t)page_node,
		.level = MEMORY_DRAM,
	};
	return access;
}

/* A line that another core has. */
static void
share(struct object_verdict_fixture *fixture, uint32_t object, unsigned thread, uint64_t offset, bool is_store)
{
	struct memory_access *access = use_memory(fixture, object, thread, offset, 0);

	access->level = MEMORY_CACHE;
	access->flags = MEMORY_TRANSFER | (is_store ? MEMORY_STORE : 0);
}

/* main() writes all of it, on node 0. */
static void
fill(struct object_verdict_fixture *fixture, uint32_t object)
{
	for (uint64_t at = 0; at < fixture->profile.objects[object].size; at += 64)
		use_memory(fixture, object, MAIN, at, 0)->flags = MEMORY_STORE;
}

static const struct memory_group *
report_on(struct object_verdict_fixture *fixture)
{
	assert_int_equal(memory_report_init(&fixture->report, &fixture->profile), 0);
	assert_true(fixture->report.group_count > 0);
	return &fixture->report.groups[0];
}

static void
assert_verdict(struct object_verdict_fixture *fixture, enum memory_verdict verdict)
{
	const struct memory_group *group = report_on(fixture);

	assert_string_equal(verdict_text(group->verdict), verdict_text(verdict));
}

static void
what_is_written_once_and_read_by_all_nodes_is_replicated(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t matrix = make_object(fixture, "makeMatrix", 64 * 64, MAIN);

	fill(fixture, matrix);
	for (unsigned i = 0; i < 8000; i++)
		use_memory(fixture, matrix, i % THREADS, i * 64, 0);
	assert_verdict(fixture, VERDICT_REPLICATE);
}

/*
 * Faults of all nodes, and then that random words of its pages were watched, of which `written` were written: all that
 * is known without a PMU. Those that were watched before the second node came say nothing.
 */
static void
use_by_faults(struct object_verdict_fixture *fixture, bool is_spread, unsigned watched_before, unsigned watched,
              unsigned written)
{
	const uint32_t object = make_object(fixture, "makeTable", 4096 * 256, MAIN);
	struct memory_totals *totals = &fixture->profile.totals;

	totals->counts = 1;
	totals->page_bytes = 4096;
	totals->local_cycles = 0;
	totals->busy_cycles = 8000;
	for (unsigned i = 0; i < watched_before; i++) {
		use_memory(fixture, object, 0, i * 4096, 0)->cost = 0;
		use_memory(fixture, object, 0, i * 4096, 0)->level = MEMORY_WATCHED;
	}
	for (unsigned i = 0; i < 8000; i++) { /* each thread comes to each page in turn */
		struct memory_access *access = use_memory(fixture, object, i % THREADS, (i + i / 256) % 256 * 4096,
		                                          is_spread ? i / THREADS % 2 : 0);

		access->cycles = access->cost = access->node != access->page_node;
	}
	for (unsigned i = 0; i < watched; i++)
		use_memory(fixture, object, i % THREADS, i * 4096, 0)->level = MEMORY_WATCHED;
	for (unsigned i = 0; i < written; i++) {
		struct memory_access *access = use_memory(fixture, object, i % THREADS, i * 4096, 0);

		access->level = MEMORY_CACHE;
		access->flags = MEMORY_STORE;
		access->cost = 0;
	}
}

static void
assert_sentence(struct object_verdict_fixture *fixture, enum memory_verdict verdict, const char *part, bool is_there)
{
	char text[512];

	assert_verdict(fixture, verdict);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], text, sizeof(text));
	if ((strstr(text, part) != NULL) != is_there)
		fail_msg("%s", text);
}

/* 300 words, none of them written: no more than 3 of 300, which is 1 %, are written (the rule of three). */
static void
of_faults_copies_need_words_that_were_watched_and_not_written(void **state)
{
	use_by_faults(*state, false, 0, 300, 0);
	assert_sentence(*state, VERDICT_REPLICATE, "300 words of it were watched, 0 were written", true);
}

static void
of_faults_too_few_words_that_were_watched_are_no_proof(void **state)
{
	use_by_faults(*state, false, 100, 299, 0);
	assert_sentence(*state, VERDICT_INTERLEAVE, "a longer run", true);
}

static void
of_faults_some_words_that_were_written_need_more_that_were_not(void **state)
{
	use_by_faults(*state, false, 0, 499, 2);
	assert_sentence(*state, VERDICT_INTERLEAVE, "a longer run", true);
}

static void
of_faults_words_that_were_written_are_proof(void **state)
{
	use_by_faults(*state, false, 0, 300, 3);
	assert_sentence(*state, VERDICT_INTERLEAVE, "a longer run", false);
}

static void
of_faults_what_is_spread_has_no_copies_without_proof(void **state)
{
	use_by_faults(*state, true, 0, 299, 0);
	assert_sentence(*state, VERDICT_NOTHING, "a longer run", true);
}

static void
few_samples_are_too_few(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t counters = make_object(fixture, "makeCounters", 64, MAIN);

	fixture->profile.totals.busy_cycles = 100;
	for (unsigned i = 0; i < 15; i++)
		share(fixture, counters, i % THREADS, i % THREADS * 8, true);
	assert_sentence(fixture, VERDICT_NOTHING, "15 samples, which are too few", true);
}

/* A copy reads all of it from the other node once: whoever reads it once from there gains nothing. */
static void
a_copy_has_to_pay(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t matrix = make_object(fixture, "makeMatrix", 64 * 4000, MAIN);

	fill(fixture, matrix);
	for (unsigned i = 0; i < 8000; i++)
		use_memory(fixture, matrix, i % THREADS, i * 64, 0);
	assert_verdict(fixture, VERDICT_NOTHING);
}

static void
what_all_nodes_write_is_interleaved(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t points = make_object(fixture, "makePoints", 64 * 64, MAIN);

	fill(fixture, points);
	for (unsigned i = 0; i < 8000; i++)
		use_memory(fixture, points, i % THREADS, i * 64, 0)->flags = i % 2 ? MEMORY_STORE : 0;
	assert_verdict(fixture, VERDICT_INTERLEAVE);
}

static void
what_is_spread_already_stays(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t points = make_object(fixture, "makePoints", 64 * 64, MAIN);

	for (unsigned i = 0; i < 8000; i++)
		use_memory(fixture, points, i % THREADS, i * 64, i / 64 % 2)->flags = i % 2 ? MEMORY_STORE : 0;
	assert_verdict(fixture, VERDICT_NOTHING);
}

/* Threads of four nodes; of remote pages it is not known on which node they are, as PMUs have it. */
static void
use_from_four_nodes(struct object_verdict_fixture *fixture, uint32_t object, bool is_spread)
{
	fixture->profile.totals.nodes = 4;
	for (unsigned i = 0; i < 8000; i++) {
		struct memory_access *access = use_memory(fixture, object, i % THREADS, i / 4 % 64 * 64, 0);
		const unsigned node = i % 4, page_node = is_spread ? i / 4 % 4 : 2;

		access->flags = i / 8 % 2 ? MEMORY_STORE : 0;
		access->node = (uint8_t)node;
		access->page_node = (uint8_t)(node == page_node ? node : MEMORY_NODE_AWAY);
	}
}

static void
what_is_on_one_node_is_interleaved_also_where_only_remote_is_known(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t points = make_object(fixture, "makePoints", 64 * 64, MAIN);
	char why[256];

	use_from_four_nodes(fixture, points, false);
	assert_verdict(fixture, VERDICT_INTERLEAVE);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why, "threads of all nodes read and write it, and 100 % of its memory is that of node 2: "
	                         "spread its pages");
}

static void
what_is_spread_already_stays_also_where_only_remote_is_known(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t points = make_object(fixture, "makePoints", 64 * 64, MAIN);

	use_from_four_nodes(fixture, points, true);
	assert_verdict(fixture, VERDICT_NOTHING);
}

/* Without the nodes of threads, one node alone seems to use it. */
static void
no_placement_is_named_where_nodes_of_threads_are_not_known(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t buffer = make_object(fixture, "makeBuffer", 64 * 64, MAIN);
	char why[256];

	for (unsigned i = 0; i < 4000; i++) {
		struct memory_access *access = use_memory(fixture, buffer, i % THREADS, i * 64, MEMORY_NODE_AWAY);

		access->node = MEMORY_NODE_HERE;
	}
	assert_verdict(fixture, VERDICT_NOTHING);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why,
	                    "100 % of the accesses to its memory are remote, and on which nodes threads ran is not "
	                    "known");
}

static void
what_one_thread_of_another_node_uses_is_allocated_there(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t buffer = make_object(fixture, "makeBuffer", 64 * 64, MAIN);

	fill(fixture, buffer);
	for (unsigned i = 0; i < 4000; i++)
		use_memory(fixture, buffer, THREADS - 1, i * 64, 0)->flags = i % 2 ? MEMORY_STORE : 0;
	assert_verdict(fixture, VERDICT_LOCAL);
	assert_int_equal(fixture->report.groups[0].evidence.avoidable_by_allocation, 4000);
}

/* Each thread reads and writes an eighth of it again and again, but for one page, which all of them read. */
static void
what_threads_have_parts_of_is_written_first_by_each(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint64_t part = UINT64_C(4096) * 4;
	const uint32_t points = make_object(fixture, "makePoints", part * THREADS, MAIN);
	char why[256];

	fill(fixture, points);
	for (unsigned i = 0; i < 16000; i++) {
		const uint64_t offset = i % 16 == 15 ? 0 : i % THREADS * part + i / THREADS * 64 % part;

		use_memory(fixture, points, i % THREADS, offset, 0)->flags = i % 5 ? 0 : MEMORY_STORE;
	}
	assert_verdict(fixture, VERDICT_LOCAL);
	assert_int_equal(fixture->report.groups[0].evidence.avoidable_by_allocation, 8000);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why,
	                    "each node uses parts of it of its own, and 50 % of the accesses to its memory are remote: "
	                    "let each thread be the first to write the part that it uses");
}

/* All threads use each page, of as many. */
static void
what_has_no_parts_is_interleaved(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint64_t size = UINT64_C(4096) * 4 * THREADS;
	const uint32_t points = make_object(fixture, "makePoints", size, MAIN);

	fill(fixture, points);
	for (unsigned i = 0; i < 16000; i++)
		use_memory(fixture, points, i % THREADS, i * 64, 0)->flags = i % 5 ? 0 : MEMORY_STORE;
	assert_verdict(fixture, VERDICT_INTERLEAVE);
	assert_int_equal(fixture->report.groups[0].evidence.avoidable_by_allocation, 0);
}

/* Accesses so few that each page has one: who uses a page alone is not known. */
static void
few_accesses_show_no_parts(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t points = make_object(fixture, "makePoints", UINT64_C(4096) * 4000, MAIN);

	for (unsigned i = 0; i < 4000; i++)
		use_memory(fixture, points, i % THREADS, i * UINT64_C(4096), 0)->flags = i % 5 ? 0 : MEMORY_STORE;
	assert_verdict(fixture, VERDICT_INTERLEAVE);
}

/* Each thread reads the kind of a mutex, then takes its lock, which others write: apart, they would wait for the lock.
 */
static void
what_is_read_beside_a_shared_word_is_not_split(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t mutex = make_object(fixture, "mutex", 40, MAIN);

	for (unsigned i = 0; i < 2000; i++) {
		share(fixture, mutex, i / 2 % THREADS, 16, false);
		share(fixture, mutex, i / 2 % THREADS, 0, true);
	}
	assert_verdict(fixture, VERDICT_NOTHING);
	assert_int_equal(fixture->report.groups[0].evidence.false_cycles, 0);
}

/* Locks that all nodes take, of which memory is seldom asked: spreading their pages would gain next to nothing. */
static void
what_nothing_helps_costs_what_threads_wait_for_it(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t locks = make_object(fixture, "makeLocks", 64 * 8, MAIN);
	char why[256];

	for (unsigned i = 0; i < 1000; i++)
		share(fixture, locks, i % THREADS, i / THREADS % 8 * 64, true);
	for (unsigned i = 0; i < 80; i++)
		use_memory(fixture, locks, i % THREADS, i / THREADS % 8 * 64, 0)->flags = MEMORY_STORE;
	assert_verdict(fixture, VERDICT_NOTHING);
	assert_true(fixture->report.groups[0].cost_cycles >= 1000 * LOCAL);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why, "threads wait for what others wrote there: no placement helps, fewer accesses would");
}

/* One process alone: its threads may be on all nodes for their memory, so pin is no verdict. */
static void
waiting_for_other_nodes_is_named(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t lock = make_object(fixture, "lock", 64, MAIN);
	char why[256];

	for (unsigned i = 0; i < 1000; i++) {
		share(fixture, lock, i % THREADS, 0, true);
		fixture->profile.accesses[i].flags |= i % 4 ? MEMORY_FAR : 0;
	}
	assert_verdict(fixture, VERDICT_NOTHING);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why, "threads wait for what others wrote there, 75 % of that for cores of another node: "
	                         "fewer accesses would help, or threads on one node");
}

/* The thread that uses it began beside it, and went to the other node. */
static void
a_thread_that_moved_is_pinned(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t buffer = make_object(fixture, "makeBuffer", 64 * 64, 0);

	for (unsigned i = 0; i < 4000; i++) {
		struct memory_access *access = use_memory(fixture, buffer, 0, i * 64, 0);

		if (i % 8 < 4)
			continue;
		access->node = 1;
		access->cycles = access->cost = REMOTE;
	}
	assert_verdict(fixture, VERDICT_PIN);
}

/* Two processes, each with threads that would fit on one node. */
static void
threads_of_a_process_that_fit_on_a_node_are_pinned(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t pool = make_object(fixture, "makePool", 64 * 64, MAIN);

	*memory_profile_add_process(&fixture->profile) = (struct memory_process){.pid = 2};
	for (unsigned i = 2; i < THREADS; i++) /* threads 0 and 1 stay, and main(); one of the two runs on node 1 */
		fixture->profile.threads[i].process = 1;
	fill(fixture, pool);
	for (unsigned i = 0; i < 4000; i++) {
		struct memory_access *access = use_memory(fixture, pool, i % 2, i * 64, 0);

		access->flags = i % 4 < 2 ? MEMORY_STORE : 0;
		if (i % 2 == 0)
			continue;
		access->node = 1;
		access->cycles = access->cost = REMOTE;
	}
	assert_verdict(fixture, VERDICT_PIN);
}

/* What they share fits the caches, and goes from node to node. */
static void
threads_of_a_process_that_share_lines_are_pinned(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t pool = make_object(fixture, "makePool", 64 * 64, MAIN);

	*memory_profile_add_process(&fixture->profile) = (struct memory_process){.pid = 2};
	for (unsigned i = 2; i < THREADS; i++)
		fixture->profile.threads[i].process = 1;
	for (unsigned i = 0; i < 4000; i++) {
		share(fixture, pool, i % 2, i * 64, i % 4 < 2);
		fixture->profile.accesses[fixture->profile.access_count - 1].flags |= MEMORY_FAR;
	}
	assert_verdict(fixture, VERDICT_PIN);
}

static void
what_nodes_use_in_turns_is_migrated(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t block = make_object(fixture, "makeBlock", 64 * 64, MAIN);

	fill(fixture, block);
	for (unsigned i = 0; i < 8000; i++)
		use_memory(fixture, block, i / 2000 % 2 ? 1 : THREADS - 1, i * 64, 0)->flags = i % 2 ? MEMORY_STORE : 0;
	assert_verdict(fixture, VERDICT_MIGRATE);
}

static void
counters_of_threads_in_one_line_are_padded(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t counters = make_object(fixture, "makeCounters", 64, MAIN);

	for (unsigned i = 0; i < THREADS; i++) /* main() clears them, */
		use_memory(fixture, counters, MAIN, i * 8, 0)->flags = MEMORY_STORE;
	for (unsigned i = 0; i < 4000; i++)
		share(fixture, counters, i % THREADS, i % THREADS * 8, true);
	for (unsigned i = 0; i < THREADS; i++) /* and adds them up */
		share(fixture, counters, MAIN, i * 8, false);
	assert_verdict(fixture, VERDICT_PAD);
	assert_int_equal(fixture->report.groups[0].evidence.false_cycles,
	                 fixture->report.groups[0].evidence.transfer_cycles);
}

static void
a_member_that_all_read_is_split_from_one_that_is_written(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t both = make_object(fixture, "makeState", 64, MAIN);
	struct shared_byte *bytes;
	size_t count;

	for (unsigned i = 0; i < 4000; i++)
		share(fixture, both, i % THREADS, i % THREADS ? 0 : 8, i % THREADS == 0);
	assert_verdict(fixture, VERDICT_SPLIT);
	assert_int_equal(memory_member_bytes(&fixture->report, &fixture->report.objects[0], &bytes, &count), 0);
	assert_int_equal(count, 2);
	assert_true(bytes[0].offset == 0 && bytes[0].readers == 2 && bytes[0].writers == 0 && bytes[0].is_false);
	assert_true(bytes[1].offset == 8 && bytes[1].readers == 0 && bytes[1].writers == 1 && bytes[1].thread == 0);
	free(bytes);
}

/* The waiting counts of threads, too, that are more than are kept apart for one byte. */
static void
a_member_that_hundreds_of_threads_read_is_split(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t both = make_object(fixture, "makeState", 64, MAIN);
	const unsigned threads = 200;

	for (unsigned i = THREADS + 1; i < threads; i++)
		*memory_profile_add_thread(&fixture->profile) = (struct memory_thread){0, i};
	for (unsigned i = 0; i < 40 * threads; i++)
		share(fixture, both, i % threads, i % threads ? 0 : 8, i % threads == 0);
	assert_verdict(fixture, VERDICT_SPLIT);
	assert_int_equal(fixture->report.groups[0].evidence.false_cycles,
	                 fixture->report.groups[0].evidence.transfer_cycles);
}

/* PEBS: what is loaded from another core is known, and the store behind it hits the core's own cache. */
static void
stores_into_own_caches_tell_who_writes_a_byte(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t counters = make_object(fixture, "makeCounters", 64, MAIN);

	for (unsigned i = 0; i < 4000; i++) {
		struct memory_access *access;

		share(fixture, counters, i % THREADS, i % THREADS * 8, false);
		access = use_memory(fixture, counters, i % THREADS, i % THREADS * 8, 0);
		access->level = MEMORY_OWN;
		access->flags = MEMORY_STORE;
		access->cycles = access->cost = 0;
	}
	assert_verdict(fixture, VERDICT_PAD);
	assert_int_equal(fixture->report.groups[0].evidence.accesses, 4000); /* that left the cores' caches */
}

static void
a_word_that_all_write_is_shared_truly(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t counter = make_object(fixture, "makeCounter", 64, MAIN);

	for (unsigned i = 0; i < 4000; i++)
		share(fixture, counter, i % THREADS, 0, true);
	assert_verdict(fixture, VERDICT_NOTHING);
	assert_int_equal(fixture->report.groups[0].evidence.false_cycles, 0);
}

/* Each line goes to one other thread once: that is how data is handed on. */
static void
lines_that_are_handed_on_are_not_shared_falsely(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t buffer = make_object(fixture, "makeBuffer", 64 * 1000, MAIN);

	for (unsigned i = 0; i < 1000; i++) {
		share(fixture, buffer, 0, i * 64 + 8, true);
		share(fixture, buffer, THREADS - 1, i * 64, false);
	}
	assert_verdict(fixture, VERDICT_NOTHING);
}

static void
what_costs_too_little_is_left(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	const uint32_t counters = make_object(fixture, "makeCounters", 64, MAIN);
	char why[256];

	fixture->profile.totals.busy_cycles = 1000000000;
	for (unsigned i = 0; i < 4000; i++)
		share(fixture, counters, i % THREADS, i % THREADS * 8, true);
	assert_verdict(fixture, VERDICT_NOTHING);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why, "it costs too little");
}

/* The first thread counts in one member, the last in the one beside it. */
static void
the_sentence_names_the_members_that_collide(void **state)
{
	struct object_verdict_fixture *fixture = *state;
	struct memory_profile *profile = &fixture->profile;
	const uint32_t session = make_object(fixture, "session", 24, MAIN);
	static const char *const names[] = {"limit", "served", "refused"};
	char why[512];

	profile->objects[session].kind = MEMORY_STATIC;
	profile->objects[session].type = 1;
	*memory_profile_add_type(profile) = (struct memory_type){
		.name = memory_profile_add_text(profile, "struct session"), .size = 24, .first = 0, .count = 3};
	for (unsigned i = 0; i < 3; i++)
		*memory_profile_add_field(profile) =
			(struct memory_field){memory_profile_add_text(profile, names[i]), i * 8, 8, 8, 1};
	for (unsigned i = 0; i < 4000; i++)
		share(fixture, session, i % 3 ? 0 : THREADS - 1, i % 3 ? 8 : 16, true);
	assert_verdict(fixture, VERDICT_PAD);
	memory_group_explain(&fixture->report, &fixture->report.groups[0], why, sizeof(why));
	assert_string_equal(why, "100 % of the waiting for its lines is for bytes that one thread alone uses: give "
	                         "each thread a line of its own; what collides is served and refused");
}

/* Buffers of one site, each of another thread: some are remote, some are not; together they are worth it. */
static void
objects_of_one_site_are_one_group(void **state)
{
	struct object_verdict_fixture *fixture = *state;

	for (unsigned i = 0; i < THREADS; i++) {
		const uint32_t buffer = make_object(fixture, "makeBuffer", 64 * 8, MAIN);

		fixture->profile.objects[buffer].number = i + 1;
		for (unsigned k = 0; k < 500; k++)
			use_memory(fixture, buffer, i, k * 64, 0)->flags = MEMORY_STORE;
	}
	assert_verdict(fixture, VERDICT_LOCAL);
	assert_int_equal(fixture->report.group_count, 1);
	assert_int_equal(fixture->report.groups[0].object_count, THREADS);
}

static void
an_empty_profile_has_no_groups(void **state)
{
	struct object_verdict_fixture *fixture = *state;

	assert_int_equal(memory_report_init(&fixture->report, &fixture->profile), 0);
	assert_int_equal(fixture->report.group_count, 0);
}

static void
each_verdict_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VERDICTS; i++) {
		assert_string_not_equal(verdict_text(i), "?");
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(verdict_text(i), verdict_text(k));
	}
	assert_string_equal(verdict_text(VERDICTS), "?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_once_and_read_by_all_nodes_is_replicated),
		TEST(of_faults_copies_need_words_that_were_watched_and_not_written),
		TEST(of_faults_too_few_words_that_were_watched_are_no_proof),
		TEST(of_faults_some_words_that_were_written_need_more_that_were_not),
		TEST(of_faults_words_that_were_written_are_proof),
		TEST(of_faults_what_is_spread_has_no_copies_without_proof),
		TEST(few_samples_are_too_few),
		TEST(a_copy_has_to_pay),
		TEST(what_all_nodes_write_is_interleaved),
		TEST(what_is_spread_already_stays),
		TEST(what_is_on_one_node_is_interleaved_also_where_only_remote_is_known),
		TEST(what_is_spread_already_stays_also_where_only_remote_is_known),
		TEST(no_placement_is_named_where_nodes_of_threads_are_not_known),
		TEST(stores_into_own_caches_tell_who_writes_a_byte),
		TEST(what_one_thread_of_another_node_uses_is_allocated_there),
		TEST(what_threads_have_parts_of_is_written_first_by_each),
		TEST(what_has_no_parts_is_interleaved),
		TEST(few_accesses_show_no_parts),
		TEST(what_is_read_beside_a_shared_word_is_not_split),
		TEST(what_nothing_helps_costs_what_threads_wait_for_it),
		TEST(waiting_for_other_nodes_is_named),
		TEST(a_thread_that_moved_is_pinned),
		TEST(threads_of_a_process_that_fit_on_a_node_are_pinned),
		TEST(threads_of_a_process_that_share_lines_are_pinned),
		TEST(what_nodes_use_in_turns_is_migrated),
		TEST(counters_of_threads_in_one_line_are_padded),
		TEST(a_member_that_all_read_is_split_from_one_that_is_written),
		TEST(a_member_that_hundreds_of_threads_read_is_split),
		TEST(a_word_that_all_write_is_shared_truly),
		TEST(lines_that_are_handed_on_are_not_shared_falsely),
		TEST(what_costs_too_little_is_left),
		TEST(the_sentence_names_the_members_that_collide),
		TEST(objects_of_one_site_are_one_group),
		TEST(an_empty_profile_has_no_groups),
		TEST(each_verdict_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
