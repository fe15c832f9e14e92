/* Tests of analysis/effective.h: samples of unequal weights. */
#include "tests/unit/test.h"

#include <math.h>

#include "analysis/effective.h"
#include "analysis/variation.h"

#define SETS  8
#define HEAVY 250

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9 * fabs(b))

static const double ones[SETS] = {1, 1, 1, 1, 1, 1, 1, 1};

/* 19 of 1 and one of 250: 62519 / 269, which is 269^2 / 62519 = 1.157 samples. */
static void
a_heavy_sample_is_worth_about_itself(void **state)
{
	struct effective_sample sample = {.count = 269, .taken = 20, .squares = 19 + 62500};

	(void)state;
	effective_weigh(&sample, 1);
	NEAR(sample.weight, 62519.0 / 269);
}

static void
samples_of_one_weight_are_what_was_taken(void **state)
{
	struct effective_sample samples[] = {
		{.count = 7, .taken = 7, .squares = 7}, {.count = 70, .taken = 7, .squares = 700}, {.weight = 3}, {0}};

	(void)state;
	effective_weigh(samples, 4);
	assert_true(samples[0].weight == 1);
	assert_true(samples[1].weight == 10);
	assert_true(samples[2].weight == 3); /* nothing tells: what was said before */
	assert_true(samples[3].weight == 1);
}

/* 20 of 1, and 19 of 1 with one of 250: 62539 / 289 for both. What is not random keeps its own. */
static void
what_chance_decides_is_of_all(void **state)
{
	struct effective_sample samples[] = {
		{.count = 20, .taken = 20, .squares = 20, .is_random = true},
		{.count = 269, .taken = 20, .squares = 62519, .is_random = true},
		{.is_random = true},
		{.count = 30, .taken = 30, .squares = 30},
	};

	(void)state;
	effective_weigh(samples, 4);
	for (size_t i = 0; i < 3; i++)
		NEAR(samples[i].weight, 62539.0 / 289);
	assert_true(samples[3].weight == 1);
}

/* 30000 of 1, and 3 of 250: 3 are no more than 3, though 750 by the weight of all are 59. */
static void
no_more_than_were_taken(void **state)
{
	struct effective_sample samples[] = {
		{.count = 30000, .taken = 30000, .squares = 30000, .is_random = true},
		{.count = 750, .taken = 3, .squares = 187500, .is_random = true},
	};

	(void)state;
	effective_weigh(samples, 2);
	NEAR(samples[0].weight, 217500.0 / 30750);
	assert_true(samples[1].weight == 250);
}

/* A fifth of a whole, the rest of which weighs 100: 1 and a fifth of the 99 more. Where the rest weighs less, its own.
 */
static void
a_part_varies_with_the_rest_of_its_whole(void **state)
{
	struct effective_sample part = {.count = 100, .taken = 100, .squares = 100};
	const struct effective_sample whole = {.count = 500, .taken = 104, .squares = 100 + 4 * 10000.0};
	struct effective_sample rest = effective_rest(&whole, &part);

	(void)state;
	assert_int_equal(rest.count, 400);
	assert_int_equal(rest.taken, 4);
	NEAR(rest.squares, 40000.0);
	effective_weigh_parts(&part, &rest, 1);
	NEAR(part.weight, 1 + 99.0 / 5);
	effective_weigh_parts(&rest, &part, 1);
	NEAR(rest.weight, 100.0);
}

static double
test_sets(const uint64_t light[SETS], const uint64_t heavy[SETS], bool by_average)
{
	const struct variation_request request = {.set_count = SETS, .factors = ones};
	struct effective_sample samples[SETS] = {{0}};
	uint64_t counts[SETS];
	double weights[SETS];
	struct variation_row row = {.counts = counts, .weights = weights};
	struct variation variation;

	for (size_t i = 0; i < SETS; i++) {
		counts[i] = light[i] + HEAVY * heavy[i];
		samples[i] = (struct effective_sample){.count = counts[i],
		                                       .taken = light[i] + heavy[i],
		                                       .squares = (double)(light[i] + HEAVY * HEAVY * heavy[i]),
		                                       .is_random = true};
	}
	effective_weigh(samples, SETS);
	for (size_t i = 0; i < SETS; i++)
		weights[i] = by_average ? (double)counts[i] / (double)samples[i].taken : samples[i].weight;
	assert_int_equal(variation_test(&request, &row, 1, &variation), 0);
	return row.p;
}

/*
 * Eight sets of one program on an idle machine. One has a sample of an idle CPU among its 20 and the others have none,
 * or each has a few: as chance has it. By average weights either is significant far beyond doubt.
 */
static void
sets_that_differ_by_heavy_samples_alone_are_not_marked(void **state)
{
	static const uint64_t few[SETS] = {20, 18, 22, 25, 17, 21, 19, 20}, one[SETS] = {0, 0, 1};
	static const uint64_t many[SETS] = {2000, 1950, 2030, 2010, 1960, 2050, 1990, 2020};
	static const uint64_t some[SETS] = {14, 20, 11, 17, 16, 22, 13, 15};

	(void)state;
	assert_true(test_sets(few, one, true) < 1e-6);
	assert_true(test_sets(few, one, false) > 0.05);
	assert_true(test_sets(many, some, true) < 1e-6);
	assert_true(test_sets(many, some, false) > 0.05);
}

static void
sets_that_do_differ_are_marked(void **state)
{
	static const uint64_t light[SETS] = {2000, 1950, 2030, 2010, 1960, 2050, 1990, 2020};
	static const uint64_t heavy[SETS] = {15, 18, 12, 17, 60, 70, 61, 66};

	(void)state;
	assert_true(test_sets(light, heavy, false) < 1e-6);
}

/* 1000 samples of 1 and four of 250 events; the second counts them in units of two events. */
static void
units_do_not_matter(void **state)
{
	struct effective_sample samples[] = {
		{.count = 2000, .taken = 1004, .squares = 251000, .unit = 1, .is_random = true},
		{.count = 1000, .taken = 1004, .squares = 62750, .unit = 2, .is_random = true},
	};
	struct effective_sample rest[] = {
		{.count = 6000, .taken = 6000, .squares = 6000, .unit = 1, .is_random = true},
		{.count = 3000, .taken = 6000, .squares = 1500, .unit = 2, .is_random = true},
	};

	(void)state;
	effective_weigh(samples, 2);
	assert_float_equal(samples[0].weight, 125.5, 1e-9);
	assert_float_equal(samples[1].weight, 62.75, 1e-9);
	effective_weigh_parts(rest, samples, 2);
	assert_float_equal(rest[0].weight, 1 + 0.75 * 124.5, 1e-9);
	assert_float_equal(rest[1].weight, rest[0].weight / 2, 1e-9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heavy_sample_is_worth_about_itself),
		cmocka_unit_test(samples_of_one_weight_are_what_was_taken),
		cmocka_unit_test(what_chance_decides_is_of_all),
		cmocka_unit_test(no_more_than_were_taken),
		cmocka_unit_test(a_part_varies_with_the_rest_of_its_whole),
		cmocka_unit_test(sets_that_differ_by_heavy_samples_alone_are_not_marked),
		cmocka_unit_test(sets_that_do_differ_are_marked),
		cmocka_unit_test(units_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
