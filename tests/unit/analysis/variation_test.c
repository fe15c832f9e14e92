#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/variation.h"

#define SETS 8

static const double ones[SETS] = {1, 1, 1, 1, 1, 1, 1, 1};

static void
assert_near(double value, double expected)
{
	if (fabs(value - expected) <= 1e-9 * fabs(expected))
		return;
	fprintf(stderr, "%.15g, not %.15g\n", value, expected);
	assert_true(0);
}

/*
 * Counts that have the sums, means, deviations and extremes of figure 3, and with a seventh row the totals of its sets;
 * the figure does not print them, and others have the same. Two of its means are halves of a hundredth, one of which it
 * rounds down and one up, as a running mean leaves them: these counts leave them so, too.
 */
static const uint64_t figure[][SETS] = {
	{38155, 42504, 40898, 38996, 87637, 58272, 46503, 88075},
	{8578, 8787, 9020, 9136, 9398, 9214, 8630, 9622},
	{8467, 8769, 8905, 8546, 8853, 8898, 9238, 9453},
	{515253, 517205, 521056, 528450, 544674, 523859, 536402, 555180},
	{46206, 48595, 47706, 46521, 46663, 47814, 46331, 48786},
	{50420, 50496, 50435, 50512, 52781, 52314, 50861, 53110},
	{193222, 186289, 193932, 188619, 192923, 192783, 193004, 187645},
};
#define FIGURE_ROWS (sizeof(figure) / sizeof(figure[0]))
#define FIGURE_SUM  7144601.0

static void
test_figure(struct variation_row rows[FIGURE_ROWS], double noise, struct variation *variation)
{
	const struct variation_request request = {.set_count = SETS, .factors = ones, .noise = noise};

	for (size_t i = 0; i < FIGURE_ROWS; i++)
		rows[i].counts = figure[i];
	assert_int_equal(variation_test(&request, rows, FIGURE_ROWS, variation), 0);
}

static void
figure_3_is_there_to_the_digit(void **state)
{
	static const char *const lines[] = {
		"11.32% 441040.00 6.17% 8 55130.00 21168.70 38155.00 88075.00",
		"1.44% 72385.00 1.01% 8 9048.12 368.74 8578.00 9622.00",
		"1.39% 71129.00 1.00% 8 8891.12 327.68 8467.00 9453.00",
		"0.94% 4242079.00 59.37% 8 530259.87 14097.11 515253.00 555180.00",
		"0.68% 378622.00 5.30% 8 47327.75 1032.09 46206.00 48786.00",
		"0.65% 410929.00 5.75% 8 51366.13 1161.61 50420.00 53110.00",
	};
	struct variation_row rows[FIGURE_ROWS] = {0};
	struct variation variation;
	char line[128];

	(void)state;
	test_figure(rows, VARIATION_ESTIMATED, &variation);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct variation_row *row = &rows[i];

		snprintf(line, sizeof(line), "%.2f%% %.2f %.2f%% %zu %.2f %.2f %.2f %.2f", 100 * row->range, row->sum,
		         100 * row->sum / FIGURE_SUM, row->set_count, row->mean, row->deviation, row->least, row->most);
		assert_string_equal(line, lines[i]);
	}
}

/* All but smooth_ vary by 1.2 to 4 percent, which is far more than samples do. */
static void
of_figure_3_only_smooth_is_more_than_noise(void **state)
{
	struct variation_row rows[FIGURE_ROWS] = {0};
	struct variation variation;

	(void)state;
	test_figure(rows, VARIATION_ESTIMATED, &variation);
	assert_true(fabs(rows[0].p - 0.000245) < 0.00001); /* by the other program, below */
	for (size_t i = 1; i < FIGURE_ROWS; i++)
		assert_true(rows[i].p > 0.5);
	assert_true(variation.noise > 0.02 && variation.noise < 0.04);
	test_figure(rows, 0, &variation);
	for (size_t i = 0; i < FIGURE_ROWS; i++)
		assert_true(rows[i].p < 0.001);
}

/* (10^2 / 100) twice is 2; a normal variable is beyond its root with probability erfc(1). */
static void
two_counts_are_tested_as_by_hand(void **state)
{
	static const uint64_t counts[] = {90, 110};
	struct variation_request request = {.set_count = 2, .factors = ones};
	struct variation_row row = {.counts = counts};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.statistic, 2);
	assert_near(row.p, erfc(1));
	assert_near(row.deviation, 10 * sqrt(2));
	assert_near(row.range, 0.1);
	request.noise = 0.1; /* 100 more to the variance of 100 */
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.statistic, 1);
	assert_near(row.p, erfc(sqrt(0.5)));
}

/* 100 and 120 samples that weigh ten each: what is random is the samples. */
static void
weighted_counts_are_tested_as_the_samples_they_are(void **state)
{
	static const uint64_t weighted[] = {1000, 1200}, taken[] = {100, 120}, unequal[] = {100, 1200};
	static const double tens[] = {10, 10}, weights[] = {1, 10}, factors[] = {1, 0.1};
	struct variation_request request = {.set_count = 2, .factors = ones};
	struct variation_row plain = {.counts = taken}, row = {.counts = weighted, .weights = tens};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, &plain, 1, &variation), 0);
	assert_near(plain.statistic, 200.0 / 110);
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.sum, 2200);
	assert_near(row.most, 1200);
	assert_near(row.statistic, plain.statistic);
	assert_near(row.p, plain.p);
	row.counts = unequal;
	row.weights = weights;
	request.factors = factors;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.sum, 220);
	assert_near(row.p, plain.p);
	/* a set without a sample: those that it might have had weigh ten */
	row = (struct variation_row){.counts = (const uint64_t[]){100, 0}, .weights = weights};
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.mean_count, 50);
}

/* The same as the chi-square of the table 90 910 / 110 890: 2000 (90 890 - 110 910)^2 / (1000 1000 200 1800). */
static void
parts_of_totals_are_tested_as_a_table_of_two_by_two(void **state)
{
	static const uint64_t counts[] = {90, 110};
	static const double totals[] = {1000, 1000};
	const struct variation_request request = {.set_count = 2, .factors = ones, .totals = totals};
	struct variation_row row = {.counts = counts};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.statistic, 2000.0 * 20000 * 20000 / (1000.0 * 1000 * 200 * 1800));
}

static void
a_set_that_is_twice_as_long_may_have_twice_the_samples(void **state)
{
	static const uint64_t counts[] = {100, 200};
	static const double factors[] = {1, 0.5};
	const struct variation_request request = {.set_count = 2, .factors = factors};
	struct variation_row row = {.counts = counts};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_near(row.sum, 200);
	assert_near(row.range, 0);
	assert_near(row.statistic, 0);
	assert_near(row.mean_count, 100);
}

static void
few_samples_are_not_tested(void **state)
{
	static const uint64_t few[] = {0, 19}, enough[] = {0, 20}, none[] = {0, 0};
	const struct variation_request request = {.set_count = 2, .factors = ones};
	struct variation_row rows[] = {{.counts = few}, {.counts = enough}, {.counts = none}};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, rows, 3, &variation), 0);
	assert_int_equal(variation.tested, 1);
	assert_false(rows[0].is_tested);
	assert_near(rows[0].p, 1);
	assert_int_equal(rows[0].set_count, 1);
	assert_true(rows[1].is_tested);
	assert_true(rows[1].p < 0.001);
	assert_near(rows[2].range, 0);
}

static void
assert_about(double value, double expected)
{
	if (fabs(value - expected) <= 0.03 * expected)
		return;
	fprintf(stderr, "%.6g, not about %.6g\n", value, expected);
	assert_true(0);
}

/*
 * The model of variation.h and variation.c, worked out by another program: in Python, F by scipy.stats, 1,501 points of
 * c and 1,201 of c0. Integrals over fewer points differ from it by a percent or two.
 */
static void
what_is_alone_is_compared_with_what_is_usual_of_runs(void **state)
{
	static const uint64_t counts[] = {1000, 2000, 1000, 2000};
	struct variation_request request = {.set_count = 4, .factors = ones, .noise = VARIATION_ESTIMATED};
	struct variation_row row = {.counts = counts};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_about(row.p, 0.024435);
	assert_about(variation.noise, 0.19929);
	request.noise = 0.05;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	assert_true(row.p < 0.001);
}

/* Five of eight runs of one procedure take twelve times as long; the other, steady one, has few samples. */
static void
one_of_two_rows_that_varies_twelvefold_is_found(void **state)
{
	static const uint64_t counts[][SETS] = {{1553, 1490, 1510, 129, 140, 1533, 1500, 135},
	                                        {181, 190, 185, 200, 195, 188, 192, 187}};
	const struct variation_request request = {.set_count = SETS, .factors = ones, .noise = VARIATION_ESTIMATED};
	struct variation_row rows[] = {{.counts = counts[0]}, {.counts = counts[1]}};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, rows, 2, &variation), 0);
	assert_about(rows[0].p, 0.00022);
	assert_about(rows[1].p, 0.9983);
	assert_about(variation.noise, 0.020468);
}

/*
 * Four runs before, four after: shares of the first row are 25.25 and 30.31 %, what runs differ by does not explain it;
 * those of the second, 15 and 15.51 %, sampling alone would not explain (p < 0.01), and runs do. By the same other
 * program.
 */
static void
two_sides_of_runs_are_compared_by_what_runs_differ_by(void **state)
{
	static const uint64_t counts[][SETS] = {
		{5000, 5200, 4900, 5100, 6100, 6250, 5900, 6000},
		{3000, 3150, 2900, 2950, 3120, 3090, 2980, 3220},
		{1000, 1040, 980, 1010, 1025, 990, 1030, 1000},
		{11000, 10610, 11220, 10940, 9755, 9670, 10090, 9780},
	};
	static const bool is_after[SETS] = {false, false, false, false, true, true, true, true};
	static const double totals[SETS] = {20000, 20000, 20000, 20000, 20000, 20000, 20000, 20000};
	struct variation_sides sides = {.set_count = SETS, .is_after = is_after, .totals = totals, .confidence = 0.95};
	struct variation_difference rows[] = {
		{.counts = counts[0]}, {.counts = counts[1]}, {.counts = counts[2]}, {.counts = counts[3]}};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_compare(&sides, rows, 4, &variation), 0);
	assert_about(rows[0].p, 1.98721e-06);
	assert_about(rows[0].change, 0.00988294);
	assert_about(rows[0].ratio, 0.041821);
	assert_about(rows[1].p, 0.152204);
	assert_about(rows[1].change, 0.00658065);
	assert_about(rows[2].p, 0.887293);
	assert_about(rows[3].p, 3.40898e-05);
	assert_about(variation.noise, 0.025511);
	assert_int_equal(variation.tested, 4);
	sides.set_count = 4; /* none is after */
	assert_int_equal(variation_compare(&sides, rows, 4, &variation), -EINVAL);
}

static void
sets_that_cannot_be_compared_are_refused(void **state)
{
	static const double zero[] = {1, 0};
	struct variation_request request = {.set_count = 1, .factors = ones};
	struct variation variation;

	(void)state;
	assert_int_equal(variation_test(&request, NULL, 0, &variation), -EINVAL);
	request.set_count = 2;
	assert_int_equal(variation_test(&request, NULL, 0, &variation), 0);
	request.factors = zero;
	assert_int_equal(variation_test(&request, NULL, 0, &variation), -EINVAL);
}

/* Distances from 1000 are 0 10 20 30 ... 500: their median is 20, and 3.5 x 1.4826 x 20 is 104; noise is 3.5 x 32. */
static void
a_set_far_from_the_others_is_named(void **state)
{
	static const double totals[] = {1000, 990, 1020, 970, 1010, 980, 1500};
	double median, above[7];

	(void)state;
	assert_int_equal(variation_outliers(totals, ones, 7, 0, &median, above), 0);
	assert_near(median, 1000);
	for (size_t i = 0; i < 6; i++)
		assert_near(above[i], 0);
	assert_near(above[6], 0.5);
	assert_int_equal(variation_outliers(totals, ones, 7, 0.2, &median, above), 0); /* 3.5 x 203 */
	assert_near(above[6], 0);
	assert_int_equal(variation_outliers(totals + 4, ones, 3, 0, &median, above), 0); /* of three: none */
	assert_near(above[2], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_3_is_there_to_the_digit),
		cmocka_unit_test(of_figure_3_only_smooth_is_more_than_noise),
		cmocka_unit_test(two_counts_are_tested_as_by_hand),
		cmocka_unit_test(weighted_counts_are_tested_as_the_samples_they_are),
		cmocka_unit_test(parts_of_totals_are_tested_as_a_table_of_two_by_two),
		cmocka_unit_test(a_set_that_is_twice_as_long_may_have_twice_the_samples),
		cmocka_unit_test(few_samples_are_not_tested),
		cmocka_unit_test(what_is_alone_is_compared_with_what_is_usual_of_runs),
		cmocka_unit_test(one_of_two_rows_that_varies_twelvefold_is_found),
		cmocka_unit_test(two_sides_of_runs_are_compared_by_what_runs_differ_by),
		cmocka_unit_test(sets_that_cannot_be_compared_are_refused),
		cmocka_unit_test(a_set_far_from_the_others_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
