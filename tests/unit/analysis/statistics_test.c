#include "tests/unit/test.h"

#include <math.h>

#include "analysis/statistics.h"

/* Within `part` of what is expected. */
static void
assert_near(double value, double expected, double part)
{
	if (fabs(value - expected) <= part * fabs(expected))
		return;
	fprintf(stderr, "%.15g, not %.15g\n", value, expected);
	assert_true(0);
}

/* With two degrees it is exp(-x / 2); with one erfc(sqrt(x / 2)); with four exp(-x / 2) (1 + x / 2). */
static void
tails_of_chi_square_are_what_elementary_functions_say(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		const double x = 0.01 * pow(1.7, i);

		assert_near(statistics_chi_square_tail(x, 2), exp(-x / 2), 1e-10);
		assert_near(statistics_chi_square_tail(x, 1), erfc(sqrt(x / 2)), 1e-10);
		assert_near(statistics_chi_square_tail(x, 4), exp(-x / 2) * (1 + x / 2), 1e-10);
	}
}

/* Critical values of the printed tables. */
static void
tails_of_chi_square_are_what_tables_say(void **state)
{
	(void)state;
	assert_near(statistics_chi_square_tail(14.0671, 7), 0.05, 1e-4);
	assert_near(statistics_chi_square_tail(18.4753, 7), 0.01, 1e-4);
	assert_near(statistics_chi_square_tail(24.3219, 7), 0.001, 1e-4);
	assert_near(statistics_chi_square_tail(124.342, 100), 0.05, 1e-4);
	assert_near(statistics_chi_square_tail(0, 7), 1, 0);
	assert_near(statistics_chi_square_tail(-1, 7), 1, 0);
}

/* The mean of many degrees is passed with probability 1/2, but for the skewness: 1/2 - 1 / (3 sqrt(pi k)). */
static void
many_degrees_are_near_the_normal_distribution(void **state)
{
	(void)state;
	assert_near(statistics_chi_square_tail(1e6, 1e6), 0.5 - 1 / (3 * sqrt(3.14159265358979 * 1e6)), 1e-6);
}

/* With two degrees above it is (1 + 2 f / d)^(-d / 2); with two below 1 - (f n / (2 + f n))^(n / 2). */
static void
tails_of_f_are_what_elementary_functions_say(void **state)
{
	(void)state;
	for (int i = 0; i < 18; i++) {
		for (int j = 0; j < 7; j++) {
			const double f = 0.01 * pow(1.7, i), d = 0.5 * pow(2.3, j);

			assert_near(statistics_f_tail(f, 2, d), pow(1 + 2 * f / d, -d / 2), 1e-10);
			assert_near(statistics_f_tail(f, d, 2), -expm1(-d / 2 * log1p(2 / (f * d))), 1e-9);
		}
	}
}

static void
tails_of_f_are_what_tables_say(void **state)
{
	(void)state;
	assert_near(statistics_f_tail(3.7870, 7, 7), 0.05, 1e-4);
	assert_near(statistics_f_tail(6.9928, 7, 7), 0.01, 1e-4);
	assert_near(statistics_f_tail(2.5140, 7, 20), 0.05, 1e-3);
	assert_near(statistics_f_tail(1, 7, 7), 0.5, 1e-10);
	assert_near(statistics_f_tail(5, 7, 0), 1, 0);
	assert_near(statistics_f_tail(14.0671 / 7, 7, 1e7), 0.05, 1e-4); /* chi-square then */
}

static void
half_of_chi_square_is_above_its_median(void **state)
{
	(void)state;
	assert_near(statistics_chi_square_median(2), 2 * log(2), 1e-12);
	assert_near(statistics_chi_square_median(7), 6.34581, 1e-5);
	assert_near(statistics_chi_square_median(1), 0.454936, 1e-5);
}

static void
the_median_is_in_the_middle(void **state)
{
	double odd[] = {5, 1, 9}, even[] = {4, 1, 9, 2};

	(void)state;
	assert_near(statistics_median(odd, 3), 5, 0);
	assert_near(statistics_median(even, 4), 3, 0);
	assert_near(statistics_median(odd, 0), 0, 0);
}

/* Holm by hand: 0.01 x 4, 0.02 x 3, and then what was before, for 0.03 x 2 is not more than it; 0.5 x 1. */
static void
p_values_are_adjusted_step_by_step(void **state)
{
	double p[] = {0.5, 0.02, 0.01, 0.03}, many[] = {0.4, 0.5};

	(void)state;
	assert_int_equal(statistics_holm(p, 4), 0);
	assert_near(p[2], 0.04, 1e-12);
	assert_near(p[1], 0.06, 1e-12);
	assert_near(p[3], 0.06, 1e-12);
	assert_near(p[0], 0.5, 1e-12);
	assert_int_equal(statistics_holm(many, 2), 0);
	assert_near(many[0], 0.8, 1e-12);
	assert_near(many[1], 0.8, 1e-12);
	assert_int_equal(statistics_holm(many, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tails_of_chi_square_are_what_elementary_functions_say),
		cmocka_unit_test(tails_of_chi_square_are_what_tables_say),
		cmocka_unit_test(many_degrees_are_near_the_normal_distribution),
		cmocka_unit_test(tails_of_f_are_what_elementary_functions_say),
		cmocka_unit_test(tails_of_f_are_what_tables_say),
		cmocka_unit_test(half_of_chi_square_is_above_its_median),
		cmocka_unit_test(the_median_is_in_the_middle),
		cmocka_unit_test(p_values_are_adjusted_step_by_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
