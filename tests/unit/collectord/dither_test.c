#include "collectord/dither.h"

#include <stdbool.h>

#include "tests/unit/test.h"

#define PERIOD UINT64_C(2000000)

static void
periods_stay_within_three_percent(void **state)
{
	(void)state;
	for (uint32_t step = 0; step < 10000; step++) {
		assert_in_range(dither_period(PERIOD, 3, step), 1940000, 2060000);
		assert_in_range(dither_period(UINT64_C(1000000000000), 0, step), UINT64_C(970000000000),
		                UINT64_C(1030000000000));
		assert_in_range(dither_period(65, 0, step), 64, 66);
	}
}

/* The mean, after few steps already, of every CPU. */
static void
their_mean_is_the_period(void **state)
{
	(void)state;
	for (uint32_t cpu = 0; cpu < 64; cpu++) {
		uint64_t sum = 0;

		for (uint32_t step = 0; step < 50; step++)
			sum += dither_period(PERIOD, cpu, step);
		assert_in_range(sum / 50, PERIOD - PERIOD / 500, PERIOD + PERIOD / 500);
	}
}

static void
cpus_do_not_have_the_same_period(void **state)
{
	(void)state;
	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < a; b++)
			assert_int_not_equal(dither_period(PERIOD, a, 0), dither_period(PERIOD, b, 0));
}

static void
short_periods_are_left_alone(void **state)
{
	(void)state;
	for (uint32_t step = 0; step < 100; step++) {
		assert_int_equal(dither_period(1, 0, step), 1);
		assert_int_equal(dither_period(63, 1, step), 63);
	}
}

/*
 * A loop of two halves that takes a period of ours: which share of 500 samples a second, over 20 s, sees the first?
 */
static double
share_of_first_half(bool dithered)
{
	uint64_t now = 0, first = 0, taken = 0;

	for (uint32_t second = 0; second < 20; second++) {
		uint64_t period = dithered ? dither_period(PERIOD, 1, second) : PERIOD;

		for (unsigned i = 0; i < 500; i++, taken++) {
			now += period;
			first += now % PERIOD < PERIOD / 2;
		}
	}
	return (double)first / (double)taken;
}

static void
a_loop_as_long_as_the_period_is_seen_whole(void **state)
{
	(void)state;
	assert_true(share_of_first_half(false) == 1);
	assert_true(share_of_first_half(true) > 0.45 && share_of_first_half(true) < 0.55);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods_stay_within_three_percent),
		cmocka_unit_test(their_mean_is_the_period),
		cmocka_unit_test(cpus_do_not_have_the_same_period),
		cmocka_unit_test(short_periods_are_left_alone),
		cmocka_unit_test(a_loop_as_long_as_the_period_is_seen_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
