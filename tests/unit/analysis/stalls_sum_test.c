/* Figure 4: its numbers, and that whatever is printed adds up. */
#include "tests/unit/analysis/stalls_scene.h"

/* "Best-case 14686/36016", "Actual 35171/36016", and the rows, in percent of the 35171 samples that are 93.1 % of all.
 */
static void
make_figure(struct stall_summary *figure)
{
	const double percent = 35171 / 100.0;

	*figure = (struct stall_summary){
		.best = 14686,
		.actual = 35171,
		.instructions = 36016,
		.low = {[CAUSE_DATA_CACHE] = 27.9 * percent, [CAUSE_DATA_TLB] = 9.2 * percent},
		.high = {[CAUSE_CODE_CACHE] = 0.3 * percent,
	                 [CAUSE_DATA_CACHE] = 27.9 * percent,
	                 [CAUSE_DATA_TLB] = 18.3 * percent,
	                 [CAUSE_WRITE_BUFFER] = 6.3 * percent,
	                 [CAUSE_MISPREDICT] = 2.6 * percent},
		.unexplained = 2.3 * percent,
		.gain = -4.3 * percent,
		.dynamic = 44.1 * percent,
		.fixed = {1.8 * percent, 2.0 * percent, 1.0 * percent},
		.execution = 36016 / 2.0,
		.all_samples = 35171 / 0.931,
	};
}

/* 1.8 + 2.0 + 1.0 = 4.8; 44.1 + 4.8 = 48.9; half a cycle each is 51.2 %; 48.9 + 51.2 - 0.1 = 100.0; 93.1 %. */
static void
the_summary_of_the_paper_adds_up(void **state)
{
	struct stall_summary figure;
	struct stall_shares shares;

	(void)state;
	make_figure(&figure);
	stall_shares(&figure, &shares);
	assert_int_equal(shares.low[CAUSE_DATA_CACHE], 279);
	assert_int_equal(shares.high[CAUSE_DATA_TLB], 183);
	assert_int_equal(shares.unexplained, 23);
	assert_int_equal(shares.gain, -43);
	assert_int_equal(shares.dynamic, 441);
	assert_int_equal(shares.fixed_sum, 48);
	assert_int_equal(shares.stall, 489);
	assert_int_equal(shares.execution, 512);
	assert_int_equal(shares.sampling_error, -1);
	assert_int_equal(shares.tallied, 1000);
	assert_int_equal(shares.tallied_of_all, 931);
}

/* Rows that all round the same way: 4 x 12.46 % are printed as 12.5 each, and their sum as 50.0. */
static void
sums_are_those_of_the_rows_that_are_printed(void **state)
{
	struct stall_summary summary = {.actual = 10000, .fixed = {1246, 1246, 1246, 1246}, .execution = 5016};
	struct stall_shares shares;

	(void)state;
	stall_shares(&summary, &shares);
	assert_int_equal(shares.fixed_sum, 500);
	assert_int_equal(shares.execution, 502);
	assert_int_equal(shares.sampling_error, -2);
	assert_int_equal(shares.stall + shares.execution + shares.sampling_error, shares.tallied);
}

/* Twice the figure, which is a fifth of the whole. */
static void
procedures_are_added_up_and_shares_may_be_of_more(void **state)
{
	struct stall_summary figure, sum = {0};
	struct stall_shares shares;

	(void)state;
	make_figure(&figure);
	stall_summary_add(&sum, &figure);
	stall_summary_add(&sum, &figure);
	stall_shares_of(&sum, 10 * 35171.0, &shares);
	assert_true(sum.actual == 2 * 35171.0 && sum.instructions == 2 * 36016.0);
	assert_int_equal(shares.high[CAUSE_DATA_CACHE], 56);
	assert_int_equal(shares.dynamic, 88);
	assert_int_equal(shares.fixed_sum, 4 + 4 + 2);
	assert_int_equal(shares.tallied, 200);
	assert_int_equal(shares.stall + shares.execution + shares.sampling_error, 200);
	assert_int_equal(shares.tallied_of_all, 931);
}

static void
nothing_tallied_is_nothing_everywhere(void **state)
{
	const struct stall_summary summary = {0};
	struct stall_shares shares;

	(void)state;
	stall_shares(&summary, &shares);
	assert_int_equal(shares.tallied, 0);
	assert_int_equal(shares.sampling_error, 0);
	assert_int_equal(shares.tallied_of_all, 0);
}

/* Frequencies that are nonsense, next to no time: rows are cut off, and still add up. */
static void
rows_without_bounds_add_up(void **state)
{
	struct stall_summary summary = {.actual = 1, .execution = 1e300, .dynamic = -1e300};
	struct stall_shares shares;

	(void)state;
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		summary.fixed[i] = 1e300;
	stall_shares(&summary, &shares);
	assert_true(shares.fixed_sum > 0 && shares.execution > 0 && shares.dynamic < 0);
	assert_int_equal(shares.stall + shares.execution + shares.sampling_error, shares.tallied);
}

/*
 * Two blocks of 2 instructions on a two-wide pipeline, 1 cycle each at best: the first ran 100 times and its store took
 * 31 cycles, the second ran 10 times and has a low confidence.
 */
static void
make_procedure(struct stalls_scene *scene)
{
	const struct instruction first[] = {scene_nop(0x1004), scene_store(0x1008, 1, 2)};
	const struct instruction second[] = {scene_nop(0x100c), scene_nop(0x1010)};

	scene_begin(scene, "in-order-2");
	scene_block(scene, first, 2, 100);
	scene_block(scene, second, 2, 10);
	scene_edge(scene, FLOW_OUTSIDE, 0, EDGE_ENTRY, 100);
	scene_edge(scene, 0, 1, EDGE_FALL, 10);
	scene_edge(scene, 0, FLOW_OUTSIDE, EDGE_EXIT, 90);
	scene_edge(scene, 1, FLOW_OUTSIDE, EDGE_EXIT, 10);
	scene->block_frequencies[1].confidence = CONFIDENCE_LOW;
	scene->samples[0] = 100;
	scene->samples[1] = 3100;
	scene->samples[2] = 400;
	scene_find(scene);
}

static void
only_what_is_well_enough_known_is_tallied(void **state)
{
	struct stall_summary summary;
	struct stalls_scene scene;

	(void)state;
	make_procedure(&scene);
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_MEDIUM, &summary);
	assert_about(summary.actual, 3200, 1e-6);
	assert_about(summary.all_samples, 3600, 1e-6);
	assert_about(summary.instructions, 200, 1e-6);
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_LOW, &summary);
	assert_about(summary.actual, 3600, 1e-6);
	scene_end(&scene);
}

static void
what_was_tallied_is_the_sum_of_its_parts(void **state)
{
	struct stall_summary summary;
	struct stalls_scene scene;
	double sum;

	(void)state;
	make_procedure(&scene);
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_LOW, &summary);
	sum = summary.dynamic + summary.execution + summary.sampling_error;
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		sum += summary.fixed[i];
	assert_about(sum, summary.actual, 1e-6);
	assert_about(summary.execution, 0.5 * 2 * 110, 1e-6);
	scene_end(&scene);
}

/* Of a stall with two reasons, either may have been none of it, or all; with one it was all. */
static void
a_shared_stall_may_be_either_reason(void **state)
{
	struct stall_summary summary;
	struct stalls_scene scene;

	(void)state;
	make_procedure(&scene);
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_MEDIUM, &summary);
	assert_about(summary.low[CAUSE_DATA_CACHE], 0, 1e-6);
	assert_about(summary.high[CAUSE_WRITE_BUFFER], 100 * scene.stalls.instructions[1].stall_cycles, 1e-6);
	assert_about(summary.dynamic, summary.high[CAUSE_WRITE_BUFFER], 1e-6);
	scene_end(&scene);
}

/* Less time than there must have been: the frequency is wrong, and the sum says so. */
static void
faster_than_the_best_case_is_a_gain(void **state)
{
	struct stall_summary summary;
	struct stalls_scene scene;

	(void)state;
	make_procedure(&scene);
	scene.samples[0] = 0;
	scene.samples[1] = 0;
	scene.samples[2] = 0;
	scene_find(&scene);
	stalls_sum(&scene.input, &scene.stalls, CONFIDENCE_MEDIUM, &summary);
	assert_true(summary.gain <= -100);
	assert_true(summary.unexplained == 0);
	assert_about(summary.dynamic, summary.gain, 1e-6);
	scene_end(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_summary_of_the_paper_adds_up),
		cmocka_unit_test(sums_are_those_of_the_rows_that_are_printed),
		cmocka_unit_test(procedures_are_added_up_and_shares_may_be_of_more),
		cmocka_unit_test(nothing_tallied_is_nothing_everywhere),
		cmocka_unit_test(rows_without_bounds_add_up),
		cmocka_unit_test(only_what_is_well_enough_known_is_tallied),
		cmocka_unit_test(what_was_tallied_is_the_sum_of_its_parts),
		cmocka_unit_test(a_shared_stall_may_be_either_reason),
		cmocka_unit_test(faster_than_the_best_case_is_a_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
