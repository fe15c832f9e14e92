/* Tests of emulator/clock/run_clock.h. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator/clock/run_clock.h"

#define PIPE UINT64_C(0x1234)

static int
setup(void **state)
{
	*state = run_clock_new("/nonexistent");
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	run_clock_free(*state);
	return 0;
}

static void
a_process_never_goes_back(void **state)
{
	assert_int_equal(run_clock_time(*state, 7), RUN_CLOCK_UNKNOWN);
	run_clock_set_time(*state, 7, 500);
	run_clock_set_time(*state, 7, 300);
	assert_int_equal(run_clock_time(*state, 7), 500);
}

static void
a_number_may_be_another_process_s_later(void **state)
{
	const struct cpu_time busy = {100, 10};
	const uint8_t mask[RUN_CLOCK_AFFINITY_SIZE] = {2};
	struct cpu_time found;
	uint8_t found_mask[RUN_CLOCK_AFFINITY_SIZE];

	run_clock_set_time(*state, 7, 500);
	run_clock_set_cpu_time(*state, 7, &busy);
	run_clock_set_affinity(*state, 7, mask);
	run_clock_begin(*state, 7, 6, 200);
	assert_int_equal(run_clock_time(*state, 7), 200);
	run_clock_cpu_time(*state, 7, &found);
	assert_int_equal(found.all, 0);
	assert_false(run_clock_affinity(*state, 7, found_mask));
}

static void
a_child_is_pinned_as_its_parent(void **state)
{
	const uint8_t mask[RUN_CLOCK_AFFINITY_SIZE] = {0, 4};
	uint8_t found[RUN_CLOCK_AFFINITY_SIZE];

	run_clock_set_affinity(*state, 7, mask);
	run_clock_begin(*state, 8, 7, 100);
	assert_true(run_clock_affinity(*state, 8, found));
	assert_memory_equal(found, mask, sizeof(mask));
}

static void
a_thread_that_ends_is_pinned_no_more(void **state)
{
	const uint8_t mask[RUN_CLOCK_AFFINITY_SIZE] = {1};
	uint8_t found[RUN_CLOCK_AFFINITY_SIZE];

	run_clock_unpin(*state, 7);
	run_clock_set_affinity(*state, 7, mask);
	run_clock_unpin(*state, 7);
	assert_false(run_clock_affinity(*state, 7, found));
}

static void
numbers_that_want_the_same_place_have_one_each(void **state)
{
	for (int i = 0; i < 8; i++)
		run_clock_set_time(*state, 7 + i * RUN_CLOCK_PROCESSES, 100u + (unsigned)i);
	for (int i = 0; i < 8; i++)
		assert_int_equal(run_clock_time(*state, 7 + i * RUN_CLOCK_PROCESSES), 100 + i);
}

static void
too_many_processes_are_not_known(void **state)
{
	for (int i = 0; i < 40; i++)
		run_clock_set_time(*state, 7 + i * RUN_CLOCK_PROCESSES, 1);
	assert_int_equal(run_clock_time(*state, 7 + 39 * RUN_CLOCK_PROCESSES), RUN_CLOCK_UNKNOWN);
}

static void
processes_of_a_run_share_a_file(void **state)
{
	char directory[] = "/tmp/dcpi-run_clock-XXXXXX", path[64];
	struct run_clock *first, *second;

	(void)state;
	assert_non_null(mkdtemp(directory));
	first = run_clock_new(directory);
	run_clock_set_time(first, 7, 500);
	second = run_clock_new(directory);
	assert_int_equal(run_clock_time(second, 7), 500);
	run_clock_free(first);
	run_clock_free(second);
	snprintf(path, sizeof(path), "%s/" RUN_CLOCK_NAME, directory);
	assert_int_equal(unlink(path), 0);
	rmdir(directory);
}

static void
a_pipe_is_known_by_both_ends_and_a_file_is_none(void **state)
{
	int ends[2], others[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(others), 0);
	assert_int_not_equal(run_clock_pipe(ends[0]), 0);
	assert_int_equal(run_clock_pipe(ends[0]), run_clock_pipe(ends[1]));
	assert_int_not_equal(run_clock_pipe(ends[0]), run_clock_pipe(others[0]));
	assert_int_equal(run_clock_pipe(-1), 0);
	close(others[0]);
	close(others[1]);
	close(ends[0]);
	close(ends[1]);
}

static void
write_at(struct run_clock *run_clock, uint64_t cycles, uint64_t bytes)
{
	run_clock_pipe_write_begin(run_clock, PIPE, cycles);
	run_clock_pipe_write_end(run_clock, PIPE, cycles, bytes);
}

/* 100 bytes at 10, 100 at 20, 100 at 30. */
static void
a_byte_is_read_when_it_was_written(void **state)
{
	write_at(*state, 10, 100);
	write_at(*state, 20, 100);
	write_at(*state, 30, 100);
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 0, 100), 10);
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 0, 1), 20);
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 0, 150), 30);
	assert_int_equal(run_clock_pipe_room(*state, PIPE), 30);
}

static void
a_late_read_makes_room_late(void **state)
{
	write_at(*state, 10, 100);
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 7000, 100), 10);
	assert_int_equal(run_clock_pipe_room(*state, PIPE), 7000);
}

static void
a_write_that_has_not_returned_is_read_at_its_time(void **state)
{
	write_at(*state, 10, 100);
	run_clock_pipe_write_begin(*state, PIPE, 40);
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 0, 200), 40);
}

static void
writes_that_are_forgotten_are_taken_for_the_oldest(void **state)
{
	for (unsigned i = 1; i <= 100; i++)
		write_at(*state, i, 10);
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 0, 10), 69); /* 32 are remembered */
	assert_int_equal(run_clock_pipe_read(*state, PIPE, 0, 990), 100);
}

static void
more_pipes_than_entries_do_no_harm(void **state)
{
	for (uint64_t i = 1; i < 10 * RUN_CLOCK_PIPES; i++) {
		run_clock_pipe_write_end(*state, i, i, 10);
		assert_int_equal(run_clock_pipe_read(*state, i, 0, 10), i);
	}
}

static void
the_first_process_to_set_the_pace_sets_it_for_all(void **state)
{
	double dilation;
	int64_t origin_ns;

	assert_false(run_clock_pace(*state, &dilation, &origin_ns));
	run_clock_set_pace(*state, 12.5, 1000);
	run_clock_set_pace(*state, 99, 5);
	run_clock_shift_origin(*state, 30);
	assert_true(run_clock_pace(*state, &dilation, &origin_ns));
	assert_true(dilation == 12.5);
	assert_int_equal(origin_ns, 1030);
}

/* It dies with the lock: no process waits for ever. */
static void
a_process_that_dies_while_it_writes_stops_no_other(void **state)
{
	const pid_t child = fork();

	if (child == 0) {
		alarm(1);
		for (;;)
			write_at(*state, 1, 1);
	}
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < 100; i++)
		write_at(*state, 10, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_never_goes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_number_may_be_another_process_s_later, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_is_pinned_as_its_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_ends_is_pinned_no_more, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_that_want_the_same_place_have_one_each, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_processes_are_not_known, setup, teardown),
		cmocka_unit_test(processes_of_a_run_share_a_file),
		cmocka_unit_test(a_pipe_is_known_by_both_ends_and_a_file_is_none),
		cmocka_unit_test_setup_teardown(a_byte_is_read_when_it_was_written, setup, teardown),
		cmocka_unit_test_setup_teardown(a_late_read_makes_room_late, setup, teardown),
		cmocka_unit_test_setup_teardown(a_write_that_has_not_returned_is_read_at_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(writes_that_are_forgotten_are_taken_for_the_oldest, setup, teardown),
		cmocka_unit_test_setup_teardown(more_pipes_than_entries_do_no_harm, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_process_to_set_the_pace_sets_it_for_all, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_that_dies_while_it_writes_stops_no_other, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
