/* Tests of dcpi-tools/diff/compare.h: one thing on two sides. */
#include "tests/unit/test.h"

#include <math.h>

#include "dcpi-tools/diff/compare.h"

#define PROCEDURES 40

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static const struct compare_scale scale = {
	.totals = {{1000, 1000, 1000}, {2000, 2000, 2000}}, .weights = {4000, 2000}, .z = 1.96};

static void
shares_are_of_the_side_and_amounts_weigh_samples(void **state)
{
	const struct compare_count samples[2] = {{100, 100, 100}, {300, 300, 300}};
	struct diff_comparison comparison;

	(void)state;
	compare_make(&scale, samples, &comparison);
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
	const struct compare_scale counted = {
		.totals = {{1000, 1000, 1000}, {1000, 1000, 1000}}, .weights = {4000, 0}, .z = 1.96};
	const struct compare_count samples[2] = {{100, 100, 100}, {300, 300, 300}};
	struct diff_comparison comparison;

	(void)state;
	compare_make(&counted, samples, &comparison);
	NEAR(comparison.amounts[1], 300);
	NEAR(comparison.times, 3);
}

static void
what_appears_is_infinitely_more(void **state)
{
	const struct compare_count appears[2] = {{0, 0, 0}, {7, 7, 7}}, vanishes[2] = {{7, 7, 7}, {0, 0, 0}},
				   nothing[2] = {{0}};
	struct diff_comparison comparison;

	(void)state;
	compare_make(&scale, appears, &comparison);
	assert_true(isinf(comparison.times));
	compare_make(&scale, vanishes, &comparison);
	assert_true(comparison.times == 0 && comparison.change < 0);
	compare_make(&scale, nothing, &comparison);
	assert_true(comparison.times == 0 && comparison.chance == 1);
}

/* Alone, 100 of 1000 and 260 of 2000 differ by more than sampling explains: among ten such rows they do not. */
static void
rows_are_judged_together(void **state)
{
	struct {
		struct diff_comparison comparison;
		char other[24];
	} rows[10];
	const struct compare_count samples[2] = {{100, 100, 100}, {260, 260, 260}},
				   certain[2] = {{100, 100, 100}, {1000, 1000, 1000}};
	size_t changed;

	(void)state;
	compare_make(&scale, samples, &rows[0].comparison);
	assert_true(rows[0].comparison.chance < 0.05 && rows[0].comparison.chance > 0.005);
	assert_int_equal(
		compare_adjust(&(struct compare_rows){&rows[0].comparison, 1, sizeof(rows[0])}, 0.05, &changed), 0);
	assert_int_equal(changed, 1);
	for (size_t i = 0; i < 10; i++)
		compare_make(&scale, i == 9 ? certain : samples, &rows[i].comparison);
	assert_int_equal(
		compare_adjust(&(struct compare_rows){&rows[0].comparison, 10, sizeof(rows[0])}, 0.05, &changed), 0);
	assert_int_equal(changed, 1);
	assert_true(rows[9].comparison.is_marked);
	assert_false(rows[0].comparison.is_marked);
}

/* Where all of a side weigh alike, the test is that of its samples; 36 that weigh 100 each tell no more than 36. */
static void
weighted_samples_tell_as_much_as_were_taken(void **state)
{
	const struct compare_scale weighted = {
		.totals = {{2000, 2000, 2000}, {20000, 2000, 200000}}, .weights = {10, 1}, .z = 1.96};
	const struct compare_count alike[2] = {{300, 300, 300}, {3600, 360, 36000}},
				   few[2] = {{30, 30, 30}, {600, 60, 6000}};
	const struct compare_count heavy[2] = {{300, 300, 300}, {3600, 36, 360000}};
	struct diff_comparison comparison, plain;

	(void)state;
	compare_make(&weighted, few, &comparison);
	compare_make(&(struct compare_scale){.totals = {{2000, 2000, 2000}, {2000, 2000, 2000}},
	                                     .weights = {10, 10},
	                                     .z = 1.96},
	             ((const struct compare_count[2]){{30, 30, 30}, {60, 60, 60}}), &plain);
	NEAR(comparison.bound.least, plain.bound.least);
	NEAR(comparison.bound.most, plain.bound.most);
	NEAR(comparison.times_bound.least, plain.times_bound.least);
	NEAR(comparison.times_bound.most, plain.times_bound.most);
	NEAR(comparison.chance, plain.chance);
	NEAR(comparison.amounts[1], 600);

	compare_make(&weighted, alike, &comparison);
	assert_true(comparison.chance < 0.02);
	compare_make(&weighted, heavy, &comparison);
	NEAR(comparison.shares[1], 0.18);
	assert_true(comparison.chance > 0.05);
	assert_true(comparison.bound.least < 0 && comparison.times_bound.least < 1);
}

/*
 * An idle machine: 20 samples of 1000 have one among them that weighs 250. It is one event of chance, which a side has
 * and the other has not; with 400 such samples on one side and 100 on the other, there is a difference.
 */
static void
one_heavy_sample_makes_no_difference(void **state)
{
	const struct compare_scale idle = {
		.totals = {{13450, 1000, 3125950}, {13450, 1000, 3125950}}, .is_random = {true, true}, .z = 1.96};
	const struct compare_scale plenty = {
		.totals = {{250000, 1000, 62500000}, {250000, 1000, 62500000}}, .is_random = {true, true}, .z = 1.96};
	const struct compare_count chance[2] = {{20, 20, 20}, {269, 20, 19 + 62500}};
	const struct compare_count two[2] = {{20, 20, 20}, {518, 20, 18 + 125000}};
	const struct compare_count real[2] = {{25000, 100, 6250000}, {100000, 400, 25000000}};
	struct diff_comparison comparison;

	(void)state;
	compare_make(&idle, chance, &comparison);
	assert_true(comparison.chance > 0.2);
	assert_true(comparison.bound.least < 0 && comparison.times_bound.least < 1);
	assert_int_equal(comparison.samples[1].taken, 20);
	compare_make(&idle, two, &comparison);
	assert_true(comparison.chance > 0.2);
	assert_true(comparison.bound.least < 0 && comparison.times_bound.least < 1);
	compare_make(&plenty, real, &comparison);
	assert_true(comparison.chance < 1e-6);
	assert_true(comparison.bound.least > 0.2 && comparison.times_bound.least > 3);
}

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Procedure i of 40 has 1 / (i + 1) of the first one's samples: few are hot, most are not. */
static size_t
draw_procedure(uint64_t *state)
{
	const double at = (double)(next_random(state) >> 11) / (double)(UINT64_C(1) << 53);
	double sum = 0, all = 0;
	size_t i;

	for (i = 0; i < PROCEDURES; i++)
		all += 1.0 / (double)(i + 1);
	for (i = 0; i + 1 < PROCEDURES; i++) {
		sum += 1.0 / (double)(i + 1) / all;
		if (at < sum)
			break;
	}
	return i;
}

/* How many of 40 procedures are marked, in two runs of which nothing changed. */
static size_t
marked_by_chance(uint64_t *state)
{
	static const uint64_t totals[2] = {1000, 2500};
	const struct compare_scale runs = {
		.totals = {{totals[0], totals[0], (double)totals[0]}, {totals[1], totals[1], (double)totals[1]}},
		.weights = {1, 1},
		.z = 1.96};
	struct diff_comparison rows[PROCEDURES];
	struct compare_count samples[PROCEDURES][2] = {{{0}}};
	size_t changed;

	for (unsigned side = 0; side < 2; side++)
		for (uint64_t i = 0; i < totals[side]; i++)
			compare_count_add(&samples[draw_procedure(state)][side], &(struct compare_count){1, 1, 1});
	for (size_t i = 0; i < PROCEDURES; i++)
		compare_make(&runs, samples[i], &rows[i]);
	assert_int_equal(compare_adjust(&(struct compare_rows){rows, PROCEDURES, sizeof(rows[0])}, 0.05, &changed), 0);
	return changed;
}

/* Of 200 comparisons of two runs that do not differ, at most 5 % have a mark. */
static void
nothing_is_marked_where_nothing_changed(void **state)
{
	uint64_t random = 88172645463325252;
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		wrong += marked_by_chance(&random) > 0;
	print_message("%u of 200 comparisons have a mark\n", wrong);
	assert_true(wrong <= 10);
}

/* A program with one procedure, in two runs of each side: the effective samples are 15.9, and 16 of them are the row's.
 */
static void
a_row_may_be_all_that_a_run_has(void **state)
{
	struct compare_count runs[] = {
		{2000, 1004, 251000}, {2000, 1004, 251000}, {2000, 1004, 251000}, {2000, 1004, 251000}};
	const struct compare_scale same = {
		.totals = {{4000, 2008, 502000}, {4000, 2008, 502000}},
		.is_random = {true, true},
		.z = 1.96,
		.run_count = 4,
		.run_totals = runs,
		.run_units = (double[]){1, 1, 1, 1},
		.noise = {.set_count = 4,
	                  .is_after = (bool[]){false, false, true, true},
	                  .totals = (double[]){1004, 1004, 1004, 1004},
	                  .confidence = 0.95},
	};
	const struct compare_count samples[2] = {{4000, 2008, 502000}, {4000, 2008, 502000}};
	struct diff_comparison row;
	struct variation variation;

	(void)state;
	compare_make(&same, samples, &row);
	row.runs = runs;
	assert_int_equal(compare_add_noise(&same, &(struct compare_rows){&row, 1, sizeof(row)}, &variation), 0);
	assert_true(row.bound.least <= 0 && row.bound.least > -0.5);
	assert_true(row.bound.most >= 0 && row.bound.most < 0.5);
	assert_true(row.chance > 0.99 && row.chance <= 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_side_and_amounts_weigh_samples),
		cmocka_unit_test(without_weights_amounts_are_samples),
		cmocka_unit_test(what_appears_is_infinitely_more),
		cmocka_unit_test(rows_are_judged_together),
		cmocka_unit_test(weighted_samples_tell_as_much_as_were_taken),
		cmocka_unit_test(one_heavy_sample_makes_no_difference),
		cmocka_unit_test(a_row_may_be_all_that_a_run_has),
		cmocka_unit_test(nothing_is_marked_where_nothing_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
