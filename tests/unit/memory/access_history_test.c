#include "memory/access_history.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/memory_profile.h"

#define SITE 7

struct history_fixture {
	struct memory_profile profile;
	struct access_history *history;
	uint32_t process;
	unsigned asked; /* for regions */
};

/* A page at 0x9000 is a variable; the page after it is of the observer; nothing is known of others. */
static void
find(void *context, uint32_t process, uint64_t address, struct memory_region *region)
{
	struct history_fixture *fixture = context;

	(void)process;
	fixture->asked++;
	if (address < 0x9000 || address >= 0xb000)
		return;
	*region = (struct memory_region){
		.address = address & ~UINT64_C(0xfff),
		.size = 0x1000,
		.kind = MEMORY_STATIC,
		.name = memory_profile_add_text(&fixture->profile, "table"),
		.is_ours = address >= 0xa000,
	};
}

static int
setup(void **state)
{
	struct history_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture || memory_profile_init(&fixture->profile))
		return -1;
	fixture->history = access_history_new(&fixture->profile, 1000, find, fixture);
	fixture->process = access_history_add_process(fixture->history, 10, 0, 0, MEMORY_NOTHING, 0);
	return 0;
}

static int
teardown(void **state)
{
	struct history_fixture *fixture = *state;

	access_history_free(fixture->history);
	memory_profile_fini(&fixture->profile);
	free(fixture);
	return 0;
}

static void
happen(struct history_fixture *fixture, uint64_t time, enum object_log_kind kind, uint64_t address, uint64_t size)
{
	const struct object_log_event event = {.time = time,
	                                       .address = address,
	                                       .size = size,
	                                       .site = kind == OBJECT_BORN ? SITE : 0,
	                                       .kind = (uint8_t)kind};

	assert_int_equal(access_history_event(fixture->history, fixture->process, 11, &event), 0);
}

static void
access_at(struct history_fixture *fixture, uint64_t time, uint64_t address)
{
	const struct access_sample sample = {.time = time, .address = address, .tid = 12, .weight = 1};

	assert_int_equal(access_history_access(fixture->history, fixture->process, &sample), 0);
}

/* The object of access `index`: its number among those of its site. */
static uint32_t
object_of(const struct history_fixture *fixture, size_t index)
{
	return fixture->profile.objects[fixture->profile.accesses[index].object].number;
}

/* What memory_profile_check() refuses, no report can read. */
static void
finish_whole(struct history_fixture *fixture)
{
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	for (size_t i = 0; i < fixture->profile.access_count; i++)
		fixture->profile.accesses[i].place = MEMORY_NOTHING;
	for (size_t i = 0; i < fixture->profile.object_count; i++)
		fixture->profile.objects[i].site = MEMORY_NOTHING;
	fixture->profile.announced_objects = fixture->profile.object_count;
	fixture->profile.announced_accesses = fixture->profile.access_count;
	assert_int_equal(memory_profile_check(&fixture->profile), 0);
}

static void
an_access_belongs_to_the_object_of_its_time(void **state)
{
	struct history_fixture *fixture = *state;

	/* accesses come before the events that explain them, and between them memory is used again */
	access_at(fixture, 15, 0x1010);
	access_at(fixture, 35, 0x1010);
	access_at(fixture, 25, 0x1010);
	happen(fixture, 10, OBJECT_BORN, 0x1000, 0x100);
	happen(fixture, 20, OBJECT_DIED, 0x1000, 0);
	happen(fixture, 30, OBJECT_BORN, 0x1000, 0x20);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(fixture->profile.access_count, 3);
	assert_int_equal(object_of(fixture, 0), 1);
	assert_int_equal(fixture->profile.objects[fixture->profile.accesses[1].object].kind, MEMORY_UNKNOWN);
	assert_int_equal(object_of(fixture, 2), 2);
	assert_int_equal(fixture->profile.accesses[0].offset, 0x10);
	assert_int_equal(fixture->profile.objects[0].born_ns, 10);
	assert_int_equal(fixture->profile.objects[0].died_ns, 20);
	assert_int_equal(fixture->profile.objects[0].site, SITE);
	assert_int_equal(fixture->profile.totals.late_events, 0);
}

static void
an_end_is_of_the_object_before_one_that_begins_at_its_time(void **state)
{
	struct history_fixture *fixture = *state;

	happen(fixture, 10, OBJECT_BORN, 0x1000, 0x100);
	happen(fixture, 20, OBJECT_BORN, 0x1000, 0x20); /* another thread's, which is read first */
	happen(fixture, 20, OBJECT_DIED, 0x1000, 0);
	access_at(fixture, 25, 0x1010);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(object_of(fixture, 0), 2);
}

static void
an_end_that_comes_late_is_not_of_what_began_since(void **state)
{
	static const enum object_log_kind kinds[] = {OBJECT_DIED, OBJECT_UNMAPPED};
	struct history_fixture *fixture = *state;

	for (unsigned i = 0; i < 2; i++) {
		happen(fixture, 10 + i * 100, OBJECT_BORN, 0x1000, 0x100);
		happen(fixture, 30 + i * 100, OBJECT_BORN, 0x1000, 0x20);
		assert_int_equal(access_history_advance(fixture->history, 40 + i * 100), 0);
		happen(fixture, 20 + i * 100, kinds[i], 0x1000, 0x1000);
		access_at(fixture, 50 + i * 100, 0x1010);
	}
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(object_of(fixture, 0), 2);
	assert_int_equal(object_of(fixture, 1), 4);
	assert_int_equal(fixture->profile.totals.late_events, 0);
}

static void
objects_without_accesses_leave_nothing(void **state)
{
	struct history_fixture *fixture = *state;

	for (uint64_t i = 0; i < 1000; i++)
		happen(fixture, i, OBJECT_BORN, 0x100000 + i * 64, 48);
	access_at(fixture, 2000, 0x100000 + 999 * 64);
	assert_int_equal(access_history_advance(fixture->history, 1500), 0);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(fixture->profile.object_count, 1);
	assert_int_equal(object_of(fixture, 0), 1000);
}

static void
what_no_log_has_is_asked_for_once(void **state)
{
	struct history_fixture *fixture = *state;

	access_at(fixture, 1, 0x9010);
	access_at(fixture, 2, 0x9020);
	access_at(fixture, 3, 0xa010); /* the observer's own */
	access_at(fixture, 4, 0xa020);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(fixture->asked, 2);
	assert_int_equal(fixture->profile.access_count, 2);
	assert_int_equal(fixture->profile.object_count, 1);
	assert_string_equal(memory_object_name(&fixture->profile, &fixture->profile.objects[0]), "table");
}

static void
the_child_of_a_fork_has_the_objects_of_its_parent(void **state)
{
	struct history_fixture *fixture = *state;
	const struct access_sample sample = {.time = 60, .address = 0x1008, .tid = 20, .weight = 1};
	uint32_t child;

	happen(fixture, 10, OBJECT_BORN, 0x1000, 0x100);
	child = access_history_add_process(fixture->history, 20, 0, 0, fixture->process, 50);
	happen(fixture, 55, OBJECT_DIED, 0x1000, 0); /* in the parent */
	assert_int_equal(access_history_access(fixture->history, child, &sample), 0);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(fixture->profile.object_count, 1);
	assert_int_equal(fixture->profile.objects[0].process, child);
	assert_int_equal(fixture->profile.objects[0].site, SITE);
}

static void
a_part_of_a_mapping_ends(void **state)
{
	struct history_fixture *fixture = *state;

	happen(fixture, 10, OBJECT_MAPPED, 0x10000, 0x4000);
	happen(fixture, 20, OBJECT_UNMAPPED, 0x11000, 0x1000);
	access_at(fixture, 30, 0x10000);
	access_at(fixture, 31, 0x11000);
	access_at(fixture, 32, 0x13000);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(fixture->profile.objects[fixture->profile.accesses[0].object].kind, MEMORY_MAPPING);
	assert_int_equal(fixture->profile.objects[fixture->profile.accesses[1].object].kind, MEMORY_UNKNOWN);
	assert_int_equal(fixture->profile.objects[fixture->profile.accesses[2].object].kind, MEMORY_MAPPING);
}

/* As allocators do that reserve addresses, and use them part by part. */
static void
a_mapping_in_another_leaves_the_rest_of_it(void **state)
{
	struct history_fixture *fixture = *state;

	happen(fixture, 10, OBJECT_MAPPED, 0x10000, 0x8000);
	happen(fixture, 20, OBJECT_MAPPED, 0x12000, 0x1000);
	access_at(fixture, 30, 0x11000);
	access_at(fixture, 31, 0x12000);
	access_at(fixture, 32, 0x17000);
	finish_whole(fixture);
	assert_int_equal(fixture->profile.object_count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(fixture->profile.objects[i].kind, MEMORY_MAPPING);
	assert_int_equal(fixture->profile.objects[0].born_ns, 10);
	assert_int_equal(fixture->profile.objects[1].born_ns, 20);
	assert_int_equal(fixture->profile.objects[2].born_ns, 10);
}

/* A mapping loses its first bytes; then a larger mapping begins at the address where it began. */
static void
memory_where_a_mapping_began_is_another_object(void **state)
{
	struct history_fixture *fixture = *state;

	happen(fixture, 10, OBJECT_MAPPED, 0x10000, 0x2000);
	access_at(fixture, 15, 0x10000);
	happen(fixture, 20, OBJECT_UNMAPPED, 0x10000, 0x1000);
	access_at(fixture, 25, 0x11000);
	happen(fixture, 30, OBJECT_UNMAPPED, 0x11000, 0x1000);
	happen(fixture, 40, OBJECT_MAPPED, 0x10000, 0x8000);
	access_at(fixture, 45, 0x17000);
	finish_whole(fixture);
	assert_int_equal(fixture->profile.object_count, 3);
	assert_int_equal(fixture->profile.objects[0].died_ns, 20);
	assert_int_equal(fixture->profile.objects[1].died_ns, 30);
	assert_int_equal(fixture->profile.objects[2].size, 0x8000);
}

/* A program can overwrite its log. */
static void
an_object_that_would_reach_beyond_all_memory_keeps_its_size(void **state)
{
	struct history_fixture *fixture = *state;

	happen(fixture, 10, OBJECT_BORN, 0x1000, 0x100);
	access_at(fixture, 15, 0x1000);
	happen(fixture, 20, OBJECT_RESIZED, 0x1000, UINT64_MAX - 0x800);
	access_at(fixture, 25, 0x1080);
	finish_whole(fixture);
	assert_int_equal(fixture->profile.object_count, 1);
	assert_int_equal(fixture->profile.objects[0].size, 0x100);
}

/* The child's log is read before it is known that there was a fork. */
static void
objects_of_a_parent_that_come_late_end_those_of_the_child(void **state)
{
	struct history_fixture *fixture = *state;
	struct object_log_event born = {.time = 60, .address = 0x1000, .size = 0x10, .kind = OBJECT_BORN};
	struct access_sample sample = {.time = 65, .address = 0x1008, .tid = 20, .weight = 1};
	uint32_t child;

	happen(fixture, 10, OBJECT_BORN, 0x1000, 0x100);
	assert_int_equal(access_history_advance(fixture->history, 20), 0);
	child = access_history_add_process(fixture->history, 20, 0, 0, fixture->process, 70);
	assert_int_equal(access_history_event(fixture->history, child, 20, &born), 0);
	assert_int_equal(access_history_access(fixture->history, child, &sample), 0);
	sample.time = 80;
	sample.address = 0x10f0;
	assert_int_equal(access_history_access(fixture->history, child, &sample), 0);
	finish_whole(fixture);
	assert_int_equal(fixture->profile.object_count, 2);
	assert_int_equal(fixture->profile.objects[0].died_ns, 70);
}

static void
more_accesses_than_are_kept_are_thinned(void **state)
{
	struct history_fixture *fixture = *state;
	uint64_t weight = 0;

	happen(fixture, 0, OBJECT_BORN, 0x1000, 0x100);
	for (uint64_t i = 1; i <= 20000; i++)
		access_at(fixture, i, 0x1000);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_true(fixture->profile.access_count < 1000);
	assert_true(access_history_weight(fixture->history) >= 16);
	for (size_t i = 0; i < fixture->profile.access_count; i++)
		weight += fixture->profile.accesses[i].weight;
	assert_in_range(weight, 17000, 23000);
}

static void
what_comes_late_is_applied_and_counted(void **state)
{
	struct history_fixture *fixture = *state;

	assert_int_equal(access_history_advance(fixture->history, 100), 0);
	happen(fixture, 50, OBJECT_BORN, 0x1000, 0x100);
	access_at(fixture, 120, 0x1000);
	assert_int_equal(access_history_finish(fixture->history, 0, 1000000), 0);
	assert_int_equal(fixture->profile.totals.late_events, 1);
	assert_int_equal(object_of(fixture, 0), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_access_belongs_to_the_object_of_its_time),
		TEST(an_end_is_of_the_object_before_one_that_begins_at_its_time),
		TEST(an_end_that_comes_late_is_not_of_what_began_since),
		TEST(objects_without_accesses_leave_nothing),
		TEST(what_no_log_has_is_asked_for_once),
		TEST(the_child_of_a_fork_has_the_objects_of_its_parent),
		TEST(a_part_of_a_mapping_ends),
		TEST(a_mapping_in_another_leaves_the_rest_of_it),
		TEST(memory_where_a_mapping_began_is_another_object),
		TEST(an_object_that_would_reach_beyond_all_memory_keeps_its_size),
		TEST(objects_of_a_parent_that_come_late_end_those_of_the_child),
		TEST(more_accesses_than_are_kept_are_thinned),
		TEST(what_comes_late_is_applied_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
