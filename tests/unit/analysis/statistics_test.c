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

static void
half_of_the_weight_is_below_half_above(void **state)
{
	struct weighted_value list[] = {{9, 1}, {2, 3}, {5, 4}, {1, 1}};

	(void)state;
	assert_true(statistics_weighted_median(list, 4) == 5);
	list[2].weight = 1; /* 5 weighed 4: sorted it is the third */
	assert_true(statistics_weighted_median(list, 4) == 2);
}

static void
what_has_no_weight_is_never_the_median(void **state)
{
	struct weighted_value list[] = {{-7, 0}, {4, 2}, {8, 0}};

	(void)state;
	assert_true(statistics_weighted_median(list, 3) == 4);
	assert_true(statistics_weighted_median(list, 1) == 0);
	assert_true(statistics_weighted_median(NULL, 0) == 0);
}

/* Tests of analysis/statistics.h; expected values are scipy's and R's, or from the papers that the header names. */

#define NEAR(a, b, error) assert_true(fabs((a) - (b)) < (error))

/* The 97.5 % and 99.5 % points of the normal distribution, as in every table. */
static void
z_is_that_of_tables(void **state)
{
	(void)state;
	NEAR(statistics_z(0.95), 1.959963985, 1e-8);
	NEAR(statistics_z(0.99), 2.575829304, 1e-8);
}

/* Newcombe 1998, "Two-sided confidence intervals for the single proportion", table 1, method 3: 81/263, 15/148, 0/20,
 * 1/29. */
static void
a_share_has_its_score_interval(void **state)
{
	static const struct {
		double k, n;
		double least, most;
	} cases[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
	const double z = statistics_z(0.95);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct statistics_interval found = statistics_share_interval(cases[i].k, cases[i].n, z);

		NEAR(found.least, cases[i].least, 0.00005);
		NEAR(found.most, cases[i].most, 0.00005);
	}
}

/* Newcombe 1998, "Interval estimation for the difference between independent proportions", table II, method 10. */
static void
a_difference_has_newcombes_interval(void **state)
{
	static const struct {
		double k[2], n[2]; /* the second first: the paper's difference is p1 - p2 */
		double least, most;
	} cases[] = {
		{{48, 56}, {80, 70}, 0.0524, 0.3339}, {{3, 9}, {10, 10}, 0.1705, 0.8090},
		{{2, 6}, {7, 7}, 0.0582, 0.8062},     {{0, 5}, {29, 56}, -0.0381, 0.1926},
		{{0, 0}, {20, 10}, -0.1611, 0.2775},
	};
	const double z = statistics_z(0.95);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct statistics_interval found = statistics_difference_interval(cases[i].k, cases[i].n, z);

		NEAR(found.least, cases[i].least, 0.00005);
		NEAR(found.most, cases[i].most, 0.00005);
	}
}

/* 50 of 100 have the score interval 0.4038 to 0.5962: odds 0.6774 to 1.4763; doubled when what is counted last weighs
 * double. */
static void
a_ratio_is_the_odds_of_a_share(void **state)
{
	const double k[2] = {50, 50}, none_before[2] = {0, 8}, none_after[2] = {8, 0};
	const double same[2] = {1, 1}, twice[2] = {1, 2};
	const double z = statistics_z(0.95);

	(void)state;
	NEAR(statistics_ratio_interval(k, same, z).least, 0.6774, 0.0001);
	NEAR(statistics_ratio_interval(k, same, z).most, 1.4763, 0.0001);
	NEAR(statistics_ratio_interval(k, twice, z).most, 2.9526, 0.0002);
	assert_true(isinf(statistics_ratio_interval(none_before, same, z).most));
	assert_true(statistics_ratio_interval(none_before, same, z).least > 1);
	assert_true(statistics_ratio_interval(none_after, same, z).least == 0);
	assert_true(statistics_ratio_interval(none_after, same, z).most < 1);
}

/*
 * Fisher's tea taster, 3 of 4 and 1 of 4: one tail is 17/70. 8 of 10 and 1 of 6: one tail is
 * (C(9,8) C(7,2) + C(9,9) C(7,1)) / C(16,10) = (189 + 7) / 8008.
 */
static void
the_chance_of_few_samples_is_exact(void **state)
{
	(void)state;
	NEAR(statistics_fisher_exact((const uint64_t[]){1, 3}, (const uint64_t[]){4, 4}), 34.0 / 70, 1e-9);
	NEAR(statistics_fisher_exact((const uint64_t[]){1, 8}, (const uint64_t[]){6, 10}), 392.0 / 8008, 1e-9);
	NEAR(statistics_fisher_exact((const uint64_t[]){8, 1}, (const uint64_t[]){10, 6}), 392.0 / 8008, 1e-9);
	assert_true(statistics_fisher_exact((const uint64_t[]){0, 0}, (const uint64_t[]){10, 6}) == 1);
	assert_true(statistics_fisher_exact((const uint64_t[]){5, 0}, (const uint64_t[]){10, 0}) == 1);
}

/* Large counts go to the normal distribution: 3 standard deviations are 0.0027. */
static void
the_chance_of_many_samples_is_the_normal_one(void **state)
{
	const uint64_t n[2] = {1000000000, 1000000000};
	const double deviation = sqrt(2 * 1e9 * 0.25);
	const uint64_t k[2] = {500000000, 500000000 + (uint64_t)(3 * deviation)};

	(void)state;
	NEAR(statistics_fisher_exact(k, n), 0.0026998, 0.00001);
}

/* Counts that no machine reaches give numbers. */
static void
the_largest_counts_give_numbers(void **state)
{
	const uint64_t k[2] = {UINT64_MAX, 1}, n[2] = {UINT64_MAX, UINT64_MAX};
	const double parts[2] = {0x1p64, 1}, wholes[2] = {0x1p64, 0x1p64};

	(void)state;
	assert_true(statistics_fisher_exact(k, n) >= 0);
	assert_true(statistics_fisher_exact(k, n) <= 1);
	assert_true(isfinite(statistics_difference_interval(parts, wholes, 2).least));
	assert_true(statistics_difference_interval(parts, wholes, 2).least >= -1);
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
		cmocka_unit_test(half_of_the_weight_is_below_half_above),
		cmocka_unit_test(what_has_no_weight_is_never_the_median),
		cmocka_unit_test(z_is_that_of_tables),
		cmocka_unit_test(a_share_has_its_score_interval),
		cmocka_unit_test(a_difference_has_newcombes_interval),
		cmocka_unit_test(a_ratio_is_the_odds_of_a_share),
		cmocka_unit_test(the_chance_of_few_samples_is_exact),
		cmocka_unit_test(the_chance_of_many_samples_is_the_normal_one),
		cmocka_unit_test(the_largest_counts_give_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
