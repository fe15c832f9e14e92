/* Tests of dcpi-tools/mem/faults.h. */
#include "dcpi-tools/mem/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PAGE 4096
#define LINE 64

static int
setup(void **state)
{
	static struct memory_profile profile;
	struct memory_object *object;

	*state = &profile;
	if (memory_profile_init(&profile))
		return -1;
	object = memory_profile_add_object(&profile);
	if (!object)
		return -1;
	*object = (struct memory_object){.address = 0x10010, .size = 4 * PAGE}; /* not at the start of a page */
	return 0;
}

static int
teardown(void **state)
{
	memory_profile_fini(*state);
	return 0;
}

static void
add(struct memory_profile *profile, uint64_t time, uint32_t thread, uint64_t offset, enum memory_level level,
    uint32_t cycles)
{
	struct memory_access *access = memory_profile_add_access(profile);

	assert_non_null(access);
	*access = (struct memory_access){.time_ns = time,
	                                 .thread = thread,
	                                 .offset = offset,
	                                 .level = (uint8_t)level,
	                                 .cycles = cycles,
	                                 .flags = level == MEMORY_CACHE ? MEMORY_STORE : 0,
	                                 .weight = 1};
}

static void
the_first_fault_of_each_page_is_left_out(void **state)
{
	struct memory_profile *profile = *state;

	add(profile, 4, 1, PAGE, MEMORY_DRAM, 0); /* again */
	add(profile, 1, 0, 8, MEMORY_DRAM, 0);
	add(profile, 2, 0, PAGE, MEMORY_DRAM, 0);
	add(profile, 3, 1, PAGE - 0x10 - 1, MEMORY_DRAM, 0); /* the last byte of the first page, again */
	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->access_count, 2);
	assert_int_equal(profile->accesses[0].time_ns, 3);
	assert_int_equal(profile->accesses[1].time_ns, 4);
	assert_int_equal(profile->totals.busy_cycles, 2);
}

static void
writes_that_watchpoints_saw_all_count(void **state)
{
	struct memory_profile *profile = *state;

	add(profile, 1, 0, 8, MEMORY_CACHE, 0);
	add(profile, 2, 0, 8, MEMORY_DRAM, 0);
	add(profile, 3, 0, 8, MEMORY_CACHE, 0);
	add(profile, 4, 0, 8, MEMORY_DRAM, 0);
	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->access_count, 3);
	assert_int_equal(profile->accesses[2].time_ns, 4);
}

/* Thread 0 writes at offset 0x30, which begins a line; thread 1 uses a byte at `other`. */
static uint8_t
flags_of_writer(struct memory_profile *profile, uint32_t often, uint32_t other_thread, uint64_t other)
{
	add(profile, 1, 0, 0x30, MEMORY_CACHE, often);
	add(profile, 2, other_thread, other, MEMORY_CACHE, 0);
	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->access_count, 2);
	return profile->accesses[0].flags;
}

static void
a_line_that_one_writes_often_and_another_uses_is_waited_for(void **state)
{
	struct memory_profile *profile = *state;

	assert_int_equal(flags_of_writer(profile, 1, 1, 0x30 + LINE - 1), MEMORY_STORE | MEMORY_TRANSFER);
	assert_int_equal(profile->accesses[1].flags, MEMORY_STORE | MEMORY_TRANSFER);
	assert_int_equal(profile->accesses[1].cost, 1);
}

static void
the_next_line_is_not_waited_for(void **state)
{
	assert_int_equal(flags_of_writer(*state, 1, 1, 0x30 + LINE), MEMORY_STORE);
}

static void
a_line_of_one_thread_is_not_waited_for(void **state)
{
	assert_int_equal(flags_of_writer(*state, 1, 0, 0x38), MEMORY_STORE);
}

static void
a_line_that_is_written_seldom_is_not_waited_for(void **state)
{
	assert_int_equal(flags_of_writer(*state, 0, 1, 0x38), MEMORY_STORE);
}

/* That a word was watched is no access of the thread whose fault was the reason. */
static void
what_was_watched_waits_for_nothing(void **state)
{
	struct memory_profile *profile = *state;

	add(profile, 1, 0, 0x30, MEMORY_CACHE, 1);
	add(profile, 2, 1, 0x38, MEMORY_WATCHED, 0);
	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->accesses[0].flags, MEMORY_STORE);
	assert_int_equal(profile->totals.busy_cycles, 1);
	add(profile, 3, 2, 0x38, MEMORY_CACHE, 0);
	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->access_count, 3);
	assert_int_equal(profile->accesses[0].flags, MEMORY_STORE | MEMORY_TRANSFER);
	assert_int_equal(profile->accesses[1].flags, 0);
	assert_int_equal(profile->accesses[1].cost, 0);
}

static void
nothing_stays_nothing(void **state)
{
	struct memory_profile *profile = *state;

	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->access_count, 0);
	add(profile, 1, 0, 0, MEMORY_DRAM, 0);
	faults_finish(profile, PAGE, LINE);
	assert_int_equal(profile->access_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_fault_of_each_page_is_left_out),
		TEST(writes_that_watchpoints_saw_all_count),
		TEST(a_line_that_one_writes_often_and_another_uses_is_waited_for),
		TEST(the_next_line_is_not_waited_for),
		TEST(a_line_of_one_thread_is_not_waited_for),
		TEST(a_line_that_is_written_seldom_is_not_waited_for),
		TEST(what_was_watched_waits_for_nothing),
		TEST(nothing_stays_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
