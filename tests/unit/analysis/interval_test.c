/* Tests of analysis/interval.h; expected values are scipy's and R's, or from the papers that the header names. */
#include "tests/unit/test.h"

#include <math.h>

#include "analysis/interval.h"

#define NEAR(a, b, error) assert_true(fabs((a) - (b)) < (error))

/* The 97.5 % and 99.5 % points of the normal distribution, as in every table. */
static void
z_is_that_of_tables(void **state)
{
	(void)state;
	NEAR(interval_z(0.95), 1.959963985, 1e-8);
	NEAR(interval_z(0.99), 2.575829304, 1e-8);
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
	const double z = interval_z(0.95);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct interval found = interval_share(cases[i].k, cases[i].n, z);

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
	const double z = interval_z(0.95);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct interval found = interval_difference(cases[i].k, cases[i].n, z);

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
	const double z = interval_z(0.95);

	(void)state;
	NEAR(interval_ratio(k, same, z).least, 0.6774, 0.0001);
	NEAR(interval_ratio(k, same, z).most, 1.4763, 0.0001);
	NEAR(interval_ratio(k, twice, z).most, 2.9526, 0.0002);
	assert_true(isinf(interval_ratio(none_before, same, z).most));
	assert_true(interval_ratio(none_before, same, z).least > 1);
	assert_true(interval_ratio(none_after, same, z).least == 0);
	assert_true(interval_ratio(none_after, same, z).most < 1);
}

/*
 * Fisher's tea taster, 3 of 4 and 1 of 4: one tail is 17/70. 8 of 10 and 1 of 6: one tail is
 * (C(9,8) C(7,2) + C(9,9) C(7,1)) / C(16,10) = (189 + 7) / 8008.
 */
static void
the_chance_of_few_samples_is_exact(void **state)
{
	(void)state;
	NEAR(interval_chance((const uint64_t[]){1, 3}, (const uint64_t[]){4, 4}), 34.0 / 70, 1e-9);
	NEAR(interval_chance((const uint64_t[]){1, 8}, (const uint64_t[]){6, 10}), 392.0 / 8008, 1e-9);
	NEAR(interval_chance((const uint64_t[]){8, 1}, (const uint64_t[]){10, 6}), 392.0 / 8008, 1e-9);
	assert_true(interval_chance((const uint64_t[]){0, 0}, (const uint64_t[]){10, 6}) == 1);
	assert_true(interval_chance((const uint64_t[]){5, 0}, (const uint64_t[]){10, 0}) == 1);
}

/* Large counts go to the normal distribution: 3 standard deviations are 0.0027. */
static void
the_chance_of_many_samples_is_the_normal_one(void **state)
{
	const uint64_t n[2] = {1000000000, 1000000000};
	const double deviation = sqrt(2 * 1e9 * 0.25);
	const uint64_t k[2] = {500000000, 500000000 + (uint64_t)(3 * deviation)};

	(void)state;
	NEAR(interval_chance(k, n), 0.0026998, 0.00001);
}

/* Counts that no machine reaches give numbers. */
static void
the_largest_counts_give_numbers(void **state)
{
	const uint64_t k[2] = {UINT64_MAX, 1}, n[2] = {UINT64_MAX, UINT64_MAX};
	const double parts[2] = {0x1p64, 1}, wholes[2] = {0x1p64, 0x1p64};

	(void)state;
	assert_true(interval_chance(k, n) >= 0);
	assert_true(interval_chance(k, n) <= 1);
	assert_true(isfinite(interval_difference(parts, wholes, 2).least));
	assert_true(interval_difference(parts, wholes, 2).least >= -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
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
