/* Tests of dcpi-tools/diff/compare.h: one thing on two sides. */
#include "tests/unit/test.h"

#include <math.h>

#include "dcpi-tools/diff/compare.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static const struct scale scale = {.totals = {1000, 2000}, .weights = {4000, 2000}, .z = 1.96};

static void
shares_are_of_the_side_and_amounts_weigh_samples(void **state)
{
	const uint64_t samples[2] = {100, 300};
	struct comparison comparison;

	(void)state;
	comparison_make(&scale, samples, &comparison);
	NEAR(comparison.shares[0], 0.1);
	NEAR(comparison.shares[1], 0.15);
	NEAR(comparison.change, 0.05);
	NEAR(comparison.amounts[0], 400000);
	NEAR(comparison.amounts[1], 600000);
	NEAR(comparison.times, 1.5);
	assert_true(comparison.bound.least > 0 && comparison.bound.least < 0.05);
	assert_true(comparison.times_bound.least < 1.5 && comparison.times_bound.most > 1.5);
}

static void
without_weights_amounts_are_samples(void **state)
{
	const struct scale counted = {.totals = {1000, 1000}, .weights = {4000, 0}, .z = 1.96};
	const uint64_t samples[2] = {100, 300};
	struct comparison comparison;

	(void)state;
	comparison_make(&counted, samples, &comparison);
	NEAR(comparison.amounts[1], 300);
	NEAR(comparison.times, 3);
}

static void
what_appears_is_infinitely_more(void **state)
{
	const uint64_t appears[2] = {0, 7}, vanishes[2] = {7, 0}, nothing[2] = {0, 0};
	struct comparison comparison;

	(void)state;
	comparison_make(&scale, appears, &comparison);
	assert_true(isinf(comparison.times));
	comparison_make(&scale, vanishes, &comparison);
	assert_true(comparison.times == 0 && comparison.change < 0);
	comparison_make(&scale, nothing, &comparison);
	assert_true(comparison.times == 0 && comparison.chance == 1);
}

/* Alone, 100 of 1000 and 260 of 2000 differ by more than sampling explains: among ten such rows they do not. */
static void
rows_are_judged_together(void **state)
{
	struct {
		struct comparison comparison;
		char other[24];
	} rows[10];
	const uint64_t samples[2] = {100, 260}, certain[2] = {100, 1000};
	size_t changed;

	(void)state;
	comparison_make(&scale, samples, &rows[0].comparison);
	assert_true(rows[0].comparison.chance < 0.05 && rows[0].comparison.chance > 0.005);
	assert_int_equal(comparisons_judge(&rows[0].comparison, 1, sizeof(rows[0]), 0.05, &changed), 0);
	assert_int_equal(changed, 1);
	for (size_t i = 0; i < 10; i++)
		comparison_make(&scale, i == 9 ? certain : samples, &rows[i].comparison);
	assert_int_equal(comparisons_judge(&rows[0].comparison, 10, sizeof(rows[0]), 0.05, &changed), 0);
	assert_int_equal(changed, 1);
	assert_true(rows[9].comparison.is_changed);
	assert_false(rows[0].comparison.is_changed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_side_and_amounts_weigh_samples),
		cmocka_unit_test(without_weights_amounts_are_samples),
		cmocka_unit_test(what_appears_is_infinitely_more),
		cmocka_unit_test(rows_are_judged_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
