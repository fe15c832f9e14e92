/* Tests of profile/edges.h, and of writing beside another writer. */
#include "fixture.h"

#include <errno.h>
#include <sys/wait.h>

#include "profile/compact.h"
#include "profile/edges.h"
#include "profile/retention.h"
#include "profile/selection.h"

#define DAY_NS (24 * 3600 * SECOND_NS)

/* An epoch whose one event dcpix counted. */
static uint32_t
begin_counted_epoch(struct profile *profile, const char *label)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	uint32_t id;

	epoch->start_ns = epoch->end_ns = 100 * SECOND_NS;
	epoch->cpu_count = 1;
	snprintf(epoch->label, sizeof(epoch->label), "%s", label);
	epoch->event_count = 1;
	snprintf(epoch->events[0].name, sizeof(epoch->events[0].name), "executions");
	epoch->events[0].encoding.type = EVENT_TYPE_DCPIX;
	epoch->events[0].period = 1;
	epoch->events[0].available = true;
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	id = epoch->id;
	free(epoch);
	return id;
}

/* One count of each of the two images, and these edges, into a slice of the epoch. */
static int
flush_into(struct profile *profile, struct slice *slice, bool first, const struct profile_edge *edges, size_t count)
{
	static const struct tally_entry entries[] = {{.offset = 0x1000, .count = 5, .image = 0},
	                                             {.offset = 0x2000, .count = 7, .image = 1}};
	const struct profile_batch batch = {
		.entries = entries,
		.entry_count = 2,
		.edges = edges,
		.edge_count = count,
		.first_image = first ? 0 : 2,
		.image_count = first ? 2 : 0,
		.images = two_images,
		.first_context = first ? 0 : 2,
		.context_count = first ? 2 : 0,
		.contexts = two_contexts,
		.slice = slice,
	};

	slice->start_ns = 100 * SECOND_NS;
	slice->end_ns = 110 * SECOND_NS;
	slice->event_count = 1;
	slice->events[0].samples = 12;
	return profile_flush(profile, &batch);
}

static int
flush_edges(struct profile *profile, uint32_t epoch, bool first, const struct profile_edge *edges, size_t count)
{
	return flush_into(profile, &(struct slice){.epoch = epoch}, first, edges, count);
}

/* Back and forth within a block, into another block, and in the other image. */
static const struct profile_edge four_edges[] = {
	{.from = 0x1010, .to = 0x1000, .count = 99, .image = 0},
	{.from = 0x1010, .to = 0x1014, .count = 1, .image = 0},
	{.from = 0x1ffe, .to = 0x123456, .count = 3, .image = 0},
	{.from = 0x2000, .to = 0x2000, .count = UINT64_C(1) << 40, .image = 1},
};

static void
assert_edge(const struct profile_edge *edge, uint64_t from, uint64_t to, uint64_t count)
{
	assert_int_equal(edge->from, from);
	assert_int_equal(edge->to, to);
	assert_int_equal(edge->count, count);
}

static int
wait_for_exit(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int64_t
complaints(struct profile *profile)
{
	return profile_check(profile, NULL, NULL);
}

static void
edges_are_read_as_they_were_written(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	const uint32_t epoch = begin_counted_epoch(profile, "dcpix");
	struct edge_set set;

	assert_int_equal(flush_edges(profile, epoch, true, four_edges, 4), 0);
	assert_int_equal(edges_read(profile, 1, "executions", &set), 0);
	assert_int_equal(set.epoch, epoch);
	assert_int_equal(set.count, 3);
	assert_edge(&set.edges[0], 0x1010, 0x1000, 99);
	assert_edge(&set.edges[1], 0x1010, 0x1014, 1);
	assert_edge(&set.edges[2], 0x1ffe, 0x123456, 3);
	edge_set_fini(&set);
	assert_int_equal(edges_read(profile, 2, "executions", &set), 0);
	assert_int_equal(set.count, 1);
	assert_edge(&set.edges[0], 0x2000, 0x2000, UINT64_C(1) << 40);
	edge_set_fini(&set);
	assert_int_equal(edges_read(profile, 3, "executions", &set), -ENOENT);
	assert_int_equal(edges_read(profile, 1, "bursts", &set), -ENOENT);
	assert_int_equal(complaints(profile), 0);
	profile_close(profile);
}

static void
slices_of_one_epoch_add_up_and_the_newest_epoch_is_taken(void **state)
{
	const struct profile_fixture *fixture = *state;
	static const struct profile_edge newer = {.from = 0x1010, .to = 0x1000, .count = 7, .image = 0};
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_counted_epoch(profile, "dcpix");
	struct edge_set set;

	assert_int_equal(flush_edges(profile, epoch, true, four_edges, 4), 0);
	assert_int_equal(flush_edges(profile, epoch, false, four_edges, 4), 0);
	assert_int_equal(edges_read(profile, 1, "executions", &set), 0);
	assert_int_equal(set.count, 3);
	assert_int_equal(set.edges[0].count, 198);
	edge_set_fini(&set);
	epoch = begin_counted_epoch(profile, "dcpix");
	assert_int_equal(flush_edges(profile, epoch, false, &newer, 1), 0);
	assert_int_equal(edges_read(profile, 1, "executions", &set), 0);
	assert_int_equal(set.epoch, epoch);
	assert_int_equal(set.count, 1);
	edge_set_fini(&set);
	/* the newest one that has any of this image */
	assert_int_equal(edges_read(profile, 2, "executions", &set), 0);
	assert_int_equal(set.epoch, epoch - 1);
	edge_set_fini(&set);
	profile_close(profile);
}

/* Though the session calls the images otherwise than the database. */
static void
edges_that_come_later_into_a_slice_add_up(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct slice slice = {.epoch = begin_counted_epoch(profile, "dcpix")};
	struct edge_set set;

	assert_int_equal(flush_into(profile, &slice, true, four_edges, 4), 0);
	assert_int_equal(flush_into(profile, &slice, false, four_edges, 2), 0);
	assert_int_equal(edges_read(profile, 1, "executions", &set), 0);
	assert_int_equal(set.count, 3);
	assert_edge(&set.edges[0], 0x1010, 0x1000, 198);
	assert_edge(&set.edges[1], 0x1010, 0x1014, 2);
	assert_edge(&set.edges[2], 0x1ffe, 0x123456, 3);
	edge_set_fini(&set);
	assert_int_equal(complaints(profile), 0);
	profile_close(profile);
}

static void
edges_go_with_their_slice(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct retention_options options = {.max_age_ns = DAY_NS, .blocks_max = 1};
	struct profile *profile = open_writer(fixture->directory, 0);
	const uint32_t first = begin_counted_epoch(profile, "old");
	struct edge_set set;
	uint32_t second, slice = 0;
	const struct tally_entry entry = {.offset = 1, .count = 1};
	int steps = 0, result;

	assert_int_equal(flush_edges(profile, first, true, four_edges, 4), 0);
	second = begin_clock_epoch(profile);
	assert_int_equal(flush_entries(profile, second, 1, &slice, false, &entry, 1), 0);
	while ((result = profile_drop_old(profile, &options, 2 * DAY_NS)) > 0) {
		assert_int_equal(complaints(profile), 0);
		steps++;
	}
	assert_int_equal(result, 0);
	assert_true(steps > 4); /* 2 blocks of counts and 2 of edges, one a step */
	assert_int_equal(edges_read(profile, 1, "executions", &set), -ENOENT);
	profile_close(profile);
}

static void
edges_of_merged_slices_add_up(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct retention_options options = {.day_after_ns = DAY_NS, .hour_after_ns = DAY_NS, .blocks_max = 1};
	struct profile *profile = open_writer(fixture->directory, 0);
	const uint32_t epoch = begin_counted_epoch(profile, "dcpix");
	struct edge_set set;

	for (int i = 0; i < 3; i++)
		assert_int_equal(flush_edges(profile, epoch, i == 0, four_edges, 4), 0);
	while (profile_merge_slices(profile, &options, 9 * DAY_NS) > 0)
		assert_int_equal(complaints(profile), 0);
	assert_int_equal(edges_read(profile, 1, "executions", &set), 0);
	assert_int_equal(set.count, 3);
	assert_int_equal(set.edges[0].count, 3 * 99);
	assert_int_equal(set.edges[2].count, 9);
	edge_set_fini(&set);
	profile_close(profile);
}

static void
an_edge_that_breaks_the_order_is_damage(void **state)
{
	/* format, then from + 0x10, to + 0 (folded), count 1; the second one's from is the same and so is its to */
	static const uint8_t twice[] = {1, 0x10, 0, 1, 0, 0, 1};
	static const uint8_t none[] = {1, 0x10, 0, 0};
	static const uint8_t cut[] = {1, 0x10, 0};
	const struct edges_key key = {.block = 1};
	struct edge_list list = {0};

	(void)state;
	assert_int_equal(edges_decode(twice, sizeof(twice), &key, &list), -DCPI_EDAMAGED);
	assert_int_equal(edges_decode(none, sizeof(none), &key, &list), -DCPI_EDAMAGED);
	assert_int_equal(edges_decode(cut, sizeof(cut), &key, &list), -DCPI_EDAMAGED);
	list.count = 0;
	assert_int_equal(edges_decode(twice, 4, &key, &list), 0);
	assert_int_equal(list.count, 1);
	assert_edge(&list.edges[0], 0x1010, 0x1010, 1);
	edge_list_fini(&list);
}

static void
who_writes_beside_needs_no_lock_and_both_see_both(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct profile_options options = {.write = true, .beside = true};
	struct profile *daemon = open_writer(fixture->directory, 0), *beside;
	const struct tally_entry entry = {.offset = 1, .count = 1};
	const uint32_t first = begin_clock_epoch(daemon);
	struct edge_set set;
	uint32_t epoch, slice = 0;
	pid_t pid;

	assert_int_equal(flush_entries(daemon, first, 1, &slice, true, &entry, 1), 0);
	/* another process: a database is opened once in one */
	pid = fork();
	if (pid == 0) {
		if (profile_open(fixture->directory, &options, &beside))
			_exit(1);
		epoch = begin_counted_epoch(beside, "dcpix");
		if (epoch != first + 1 || flush_edges(beside, epoch, true, four_edges, 4))
			_exit(2);
		_exit(0);
	}
	assert_int_equal(wait_for_exit(pid), 0);
	assert_int_equal(flush_entries(daemon, first, 1, &slice, false, &entry, 1), 0);
	assert_int_equal(edges_read(daemon, 1, "executions", &set), 0);
	edge_set_fini(&set);
	assert_int_equal(complaints(daemon), 0);
	profile_close(daemon);
}

/* The file that it opened is not the one that it would be read from. */
static void
who_writes_beside_does_not_write_to_a_file_that_was_compacted(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct profile_options options = {.write = true, .beside = true};
	struct profile *daemon = open_writer(fixture->directory, 0), *beside;
	const struct tally_entry entry = {.offset = 1, .count = 1};
	const uint32_t epoch = begin_clock_epoch(daemon);
	struct compaction compaction;
	int opened[2], go_on[2], err;
	uint32_t slice = 0;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(opened), 0);
	assert_int_equal(pipe(go_on), 0);
	assert_int_equal(flush_entries(daemon, epoch, 1, &slice, true, &entry, 1), 0);
	pid = fork();
	if (pid == 0) {
		struct epoch *new = calloc(1, sizeof(*new));

		err = profile_open(fixture->directory, &options, &beside);
		if (err || write(opened[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1)
			_exit(1);
		_exit(profile_begin_epoch(beside, new) == -ESTALE ? 0 : 2);
	}
	assert_int_equal(read(opened[0], &byte, 1), 1);
	assert_int_equal(profile_compact(daemon, &compaction), 0);
	assert_int_equal(write(go_on[1], &byte, 1), 1);
	assert_int_equal(wait_for_exit(pid), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(flush_entries(daemon, epoch, 1, &slice, false, &entry, 1), 0);
	assert_int_equal(complaints(daemon), 0);
	profile_close(daemon);
}

static void
an_epoch_without_slices_stays_although_a_newer_one_was_written_beside(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct profile_options beside_options = {.write = true, .beside = true};
	const struct retention_options options = {.max_age_ns = DAY_NS};
	struct profile *daemon = open_writer(fixture->directory, 0), *beside;
	const struct tally_entry entry = {.offset = 1, .count = 1};
	uint32_t slice = 0, old = begin_clock_epoch(daemon), present;
	pid_t pid;

	assert_int_equal(flush_entries(daemon, old, 1, &slice, true, &entry, 1), 0);
	present = begin_clock_epoch(daemon);
	pid = fork();
	if (pid == 0) {
		if (profile_open(fixture->directory, &beside_options, &beside))
			_exit(1);
		_exit(flush_edges(beside, begin_counted_epoch(beside, "dcpix"), true, four_edges, 4));
	}
	assert_int_equal(wait_for_exit(pid), 0);
	while (profile_drop_old(daemon, &options, 9 * DAY_NS) > 0)
		;
	slice = 0;
	assert_int_equal(flush_entries(daemon, present, 1, &slice, false, &entry, 1), 0);
	assert_int_equal(complaints(daemon), 0);
	profile_close(daemon);
}

static uint32_t
chosen_epoch(struct profile *profile, const char *expression)
{
	const struct selection_request request = {.epoch = expression};
	struct selection *selection = NULL;
	char why[256] = "";
	uint32_t id;

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	id = selection->epochs[0].id;
	selection_free(selection);
	return id;
}

static void
the_latest_epoch_is_one_of_samples_if_there_is_any(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	const struct tally_entry entry = {.offset = 1, .count = 1};
	uint32_t slice = 0, sampled, counted = begin_counted_epoch(profile, "first");

	assert_int_equal(flush_edges(profile, counted, true, four_edges, 4), 0);
	assert_int_equal(chosen_epoch(profile, "latest"), counted);
	sampled = begin_clock_epoch(profile);
	assert_int_equal(flush_entries(profile, sampled, 1, &slice, false, &entry, 1), 0);
	counted = begin_counted_epoch(profile, "second");
	assert_int_equal(flush_edges(profile, counted, false, four_edges, 4), 0);
	assert_int_equal(chosen_epoch(profile, "latest"), sampled);
	assert_int_equal(chosen_epoch(profile, "second"), counted);
	profile_close(profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(edges_are_read_as_they_were_written),
		TEST(slices_of_one_epoch_add_up_and_the_newest_epoch_is_taken),
		TEST(edges_that_come_later_into_a_slice_add_up),
		TEST(edges_go_with_their_slice),
		TEST(edges_of_merged_slices_add_up),
		cmocka_unit_test(an_edge_that_breaks_the_order_is_damage),
		TEST(who_writes_beside_needs_no_lock_and_both_see_both),
		TEST(who_writes_beside_does_not_write_to_a_file_that_was_compacted),
		TEST(an_epoch_without_slices_stays_although_a_newer_one_was_written_beside),
		TEST(the_latest_epoch_is_one_of_samples_if_there_is_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
