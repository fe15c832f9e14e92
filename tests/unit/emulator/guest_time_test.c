/* Tests of emulator/clock/guest_time.h. */
#include "tests/unit/test.h"

#include "emulator/clock/guest_time.h"

static struct guest_time
at_two_gigahertz(void)
{
	struct guest_time time;

	guest_time_init(&time, 2000, 1);
	return time;
}

static void
two_cycles_of_two_gigahertz_are_a_nanosecond(void **state)
{
	const struct guest_time time = at_two_gigahertz();

	(void)state;
	assert_int_equal(guest_time_ns(&time, 2), 1);
	assert_int_equal(guest_time_cycles(&time, 1), 2);
	assert_int_equal(guest_time_ns(&time, UINT64_C(2000000000) * 86400 * 365), UINT64_C(1000000000) * 86400 * 365);
}

static void
time_begins_at_a_fixed_moment(void **state)
{
	const struct guest_time time = at_two_gigahertz();
	struct timespec shown;

	(void)state;
	assert_true(guest_time_read(&time, CLOCK_REALTIME, 0, &shown));
	assert_int_equal(shown.tv_sec, 1893456000); /* date -u -d 2030-01-01 +%s */
	assert_int_equal(shown.tv_nsec, 0);
	assert_true(guest_time_read(&time, CLOCK_MONOTONIC, UINT64_C(3000000000), &shown));
	assert_int_equal(shown.tv_sec, 1001);
	assert_int_equal(shown.tv_nsec, 500000000);
}

static void
with_seed_0_time_begins_when_the_host_says(void **state)
{
	const time_t before = time(NULL);
	struct guest_time time;
	struct timespec shown;

	(void)state;
	guest_time_init(&time, 2000, 0);
	assert_true(guest_time_read(&time, CLOCK_REALTIME, 0, &shown));
	assert_true(shown.tv_sec >= before);
	assert_true(shown.tv_sec < before + 3600);
}

static void
coarse_clocks_tick(void **state)
{
	const struct guest_time time = at_two_gigahertz();
	struct timespec shown;

	(void)state;
	assert_true(guest_time_read(&time, CLOCK_MONOTONIC_COARSE, 15999999, &shown)); /* 7.9999995 ms */
	assert_int_equal(shown.tv_nsec, 4000000);
	assert_true(guest_time_read(&time, CLOCK_MONOTONIC_COARSE, 16000000, &shown));
	assert_int_equal(shown.tv_nsec, 8000000);
}

static void
a_clock_of_another_kind_is_not_read(void **state)
{
	const struct guest_time time = at_two_gigahertz();
	struct timespec shown = {.tv_sec = 7};
	uint64_t cycles;

	(void)state;
	assert_false(guest_time_read(&time, -6, 0, &shown)); /* another process' CPU time */
	assert_int_equal(shown.tv_sec, 7);
	assert_false(guest_time_when(&time, 10, &shown, &cycles));
}

static void
a_time_that_was_read_comes_back_as_its_cycle(void **state)
{
	const struct guest_time time = at_two_gigahertz();
	struct timespec shown;
	uint64_t cycles;

	(void)state;
	assert_true(guest_time_read(&time, CLOCK_REALTIME, 123456, &shown));
	assert_true(guest_time_when(&time, CLOCK_REALTIME, &shown, &cycles));
	assert_int_equal(cycles, 123456);
}

static void
times_before_the_beginning_and_after_all_are_bounded(void **state)
{
	const struct guest_time time = at_two_gigahertz();
	const struct timespec early = {.tv_sec = 5}, negative = {.tv_sec = -5}, late = {.tv_sec = INT64_MAX};
	uint64_t cycles;

	(void)state;
	assert_true(guest_time_when(&time, CLOCK_MONOTONIC, &early, &cycles));
	assert_int_equal(cycles, 0);
	assert_true(guest_time_when(&time, CLOCK_MONOTONIC, &negative, &cycles));
	assert_int_equal(cycles, 0);
	assert_true(guest_time_when(&time, CLOCK_MONOTONIC, &late, &cycles));
	assert_true(cycles > UINT64_C(2000000000) * 86400 * 365 * 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_cycles_of_two_gigahertz_are_a_nanosecond),
		cmocka_unit_test(time_begins_at_a_fixed_moment),
		cmocka_unit_test(with_seed_0_time_begins_when_the_host_says),
		cmocka_unit_test(coarse_clocks_tick),
		cmocka_unit_test(a_clock_of_another_kind_is_not_read),
		cmocka_unit_test(a_time_that_was_read_comes_back_as_its_cycle),
		cmocka_unit_test(times_before_the_beginning_and_after_all_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
