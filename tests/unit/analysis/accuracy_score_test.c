#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/accuracy/score.h"

static const struct score_item blocks[] = {
	{.weight = 50, .estimate = 10, .truth = 1000, .confidence = CONFIDENCE_MEDIUM},
	{.weight = 30, .estimate = 2, .truth = 240, .confidence = CONFIDENCE_LOW},
	{.weight = 20, .estimate = 0, .truth = 5, .confidence = CONFIDENCE_LOW},
	{.weight = 0, .estimate = 1, .truth = 0, .confidence = CONFIDENCE_LOW},
};
#define BLOCKS (sizeof(blocks) / sizeof(blocks[0]))

static struct accuracy_score
score_of(double absolute)
{
	const struct score_procedure procedure = {
		.blocks = blocks,
		.edges = blocks,
		.block_count = BLOCKS,
		.edge_count = 2,
		.absolute = absolute,
		.samples = 100,
	};
	struct accuracy_score score = {0};

	score_add(&score, &procedure);
	return score;
}

static void
assert_percent(const struct error_histogram *histogram, size_t limit, double expected)
{
	assert_true(histogram_percent(histogram, limit) > expected - 1e-6);
	assert_true(histogram_percent(histogram, limit) < expected + 1e-6);
}

/* 90 to 110 brings the first within a tenth, 108 to 132 the second: 108 to 110 both. */
static void
best_scale_brings_the_most_weight_within_a_tenth(void **state)
{
	const double scale = score_best_scale(blocks, BLOCKS);

	(void)state;
	assert_true(scale > 108 && scale < 110);
}

/* 100 and 108: from 97.2 to 110 both are within a tenth, from 102.6 to 105 within a twentieth. */
static void
of_good_scales_one_is_best_that_brings_more_within_a_twentieth(void **state)
{
	const struct score_item items[] = {
		{.weight = 1, .estimate = 1, .truth = 100},
		{.weight = 1, .estimate = 1, .truth = 108},
	};
	const double scale = score_best_scale(items, 2);

	(void)state;
	assert_true(scale > 102.6 && scale < 105);
}

static void
nothing_known_has_scale_one(void **state)
{
	(void)state;
	assert_true(score_best_scale(&blocks[2], 2) == 1);
	assert_true(score_best_scale(NULL, 0) == 1);
}

/* With 100 the first is right and the second 17 % too low. */
static void
absolute_scores_take_the_scale_that_is_given(void **state)
{
	const struct accuracy_score score = score_of(100);

	(void)state;
	assert_percent(&score.absolute, 0, 50);
	assert_percent(&score.absolute, 2, 50);
	assert_percent(&score.absolute, 3, 80);
	assert_percent(&score.absolute, 4, 80);
	assert_true(score.absolute.within_twice == 80);
}

/* With 109, the middle, both are within 15 %: 9 % too high and 9 % too low. */
static void
relative_scores_are_after_the_best_scale(void **state)
{
	const struct accuracy_score score = score_of(100);

	(void)state;
	assert_percent(&score.relative, 0, 0);
	assert_percent(&score.relative, 1, 80);
	assert_percent(&score.by_confidence[CONFIDENCE_MEDIUM], 1, 100);
	assert_percent(&score.by_confidence[CONFIDENCE_LOW], 1, 60);
	assert_percent(&score.edges_relative, 1, 100);
}

static void
in_a_mean_each_program_weighs_the_same(void **state)
{
	struct accuracy_score one = {.relative = {.weight = 1000, .within = {0, 1000, 1000, 1000, 1000}}};
	struct accuracy_score other = {.relative = {.weight = 10, .within = {0, 0, 5, 10, 10}}};
	struct accuracy_score mean = {0};

	(void)state;
	one.by_confidence[CONFIDENCE_HIGH] = (struct error_histogram){.weight = 500, .within = {0, 0, 500}};
	other.by_confidence[CONFIDENCE_HIGH] = (struct error_histogram){.weight = 1, .within = {0, 0, 0}};
	score_add_mean(&mean, &one);
	score_add_mean(&mean, &other);
	assert_percent(&mean.relative, 1, 50);
	assert_percent(&mean.relative, 2, 75);
	assert_percent(&mean.by_confidence[CONFIDENCE_HIGH], 2, 100 * 0.5 / 0.6);
}

/* The best scale is 109: at 218, what it stands for is too high by twice. */
static void
factors_tell_how_much_too_high_estimates_are(void **state)
{
	struct accuracy_score score = score_of(218);
	const struct accuracy_score once = score_of(109), mean = {0};

	(void)state;
	assert_true(score_factor(&score, 0.5) > 1.95 && score_factor(&score, 0.5) < 2.05);
	assert_true(score_factor(&mean, 0.5) == 0);
	score_add_mean(&score, &once);
	assert_true(score_factor(&score, 0.001) > 0.97 && score_factor(&score, 0.001) < 1.03);
	assert_true(score_factor(&score, 0.9) > 1.95);
}

static void
a_program_has_one_scale_for_all_procedures(void **state)
{
	struct accuracy_score score = {0};

	(void)state;
	score_add_program(&score, blocks, BLOCKS);
	assert_percent(&score.program, 1, 80);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_scale_brings_the_most_weight_within_a_tenth),
		cmocka_unit_test(of_good_scales_one_is_best_that_brings_more_within_a_twentieth),
		cmocka_unit_test(nothing_known_has_scale_one),
		cmocka_unit_test(absolute_scores_take_the_scale_that_is_given),
		cmocka_unit_test(relative_scores_are_after_the_best_scale),
		cmocka_unit_test(in_a_mean_each_program_weighs_the_same),
		cmocka_unit_test(factors_tell_how_much_too_high_estimates_are),
		cmocka_unit_test(a_program_has_one_scale_for_all_procedures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
