#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/frequency.h"
#include "tests/generated_program.h"

/*
 * A branch in a loop: 0 enters, 1 is the head, 2 and 3 the two ways, 4 goes back to 1 or on to 5. Two instructions
 * each. edges: 0 in->0, 1 0->1, 2 1->2, 3 1->3, 4 2->4, 5 3->4, 6 4->1, 7 4->5, 8 5->out
 */
static struct flow_block blocks[] = {
	{.first = 0, .count = 2, .out = 0, .out_count = 1, .in = 0, .in_count = 1},
	{.first = 2, .count = 2, .out = 1, .out_count = 2, .in = 1, .in_count = 2},
	{.first = 4, .count = 2, .out = 3, .out_count = 1, .in = 3, .in_count = 1},
	{.first = 6, .count = 2, .out = 4, .out_count = 1, .in = 4, .in_count = 1},
	{.first = 8, .count = 2, .out = 5, .out_count = 2, .in = 5, .in_count = 2},
	{.first = 10, .count = 2, .out = 7, .out_count = 1, .in = 7, .in_count = 1},
};
static struct flow_edge edges[] = {
	{FLOW_OUTSIDE, 0, EDGE_ENTRY},
	{0, 1, EDGE_FALL},
	{1, 2, EDGE_FALL},
	{1, 3, EDGE_TAKEN},
	{2, 4, EDGE_TAKEN},
	{3, 4, EDGE_FALL},
	{4, 1, EDGE_TAKEN},
	{4, 5, EDGE_FALL},
	{5, FLOW_OUTSIDE, EDGE_EXIT},
};
static uint32_t outs[] = {1, 2, 3, 4, 5, 6, 7, 8};
static uint32_t ins[] = {0, 1, 6, 2, 3, 4, 5, 7};
static const struct flow_graph graph = {
	.instruction_count = 12,
	.blocks = blocks,
	.block_count = 6,
	.edges = edges,
	.edge_count = 9,
	.outs = outs,
	.ins = ins,
	.is_complete = true,
};
static const uint64_t no_samples[12];

static void
assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-3 * fabs(expected))
		fail_msg("%g is not near %g", value, expected);
}

/* All values are numbers, and none is negative; the samples are as many as before. */
static void
assert_sane(const struct frequency_input *input)
{
	const struct flow_graph *of = input->graph;
	struct frequencies result;
	double before = 0, after = 0;

	assert_int_equal(frequencies_estimate(input, &result), 0);
	for (size_t i = 0; i < of->block_count; i++)
		assert_true(isfinite(result.blocks[i].value) && result.blocks[i].value >= 0);
	for (size_t i = 0; i < of->edge_count; i++)
		assert_true(isfinite(result.edges[i].value) && result.edges[i].value >= 0);
	for (size_t i = 0; i < of->instruction_count; i++) {
		before += (double)input->samples[i];
		after += result.samples[i];
		assert_true(result.samples[i] >= 0);
	}
	assert_true(fabs(after - before) <= 1e-9 * before);
	frequencies_fini(&result);
}

static void
assert_sane_every_way(struct frequency_input *input)
{
	uint64_t *some = calloc(input->graph->edge_count + input->graph->instruction_count + 1, sizeof(*some));

	assert_non_null(some);
	for (size_t i = 0; i < input->graph->edge_count + input->graph->instruction_count; i++)
		some[i] = (uint64_t)(i % 3) << (i * 7 % 60);
	for (unsigned skid = 0; skid < 3; skid++) {
		input->skid = skid * skid;
		input->pipeline = PIPELINE_KIND_IN_ORDER;
		assert_sane(input);
		input->pipeline = PIPELINE_KIND_OUT_OF_ORDER;
		assert_sane(input);
		input->bursts = some;
		assert_sane(input);
		input->bursts = NULL;
		input->retired = some;
		assert_sane(input);
		input->retired = NULL;
		input->edge_counts = some;
		assert_sane(input);
		input->edge_counts = NULL;
	}
	free(some);
}

static void
without_samples_nothing_is_known(void **state)
{
	const struct frequency_input input = {.graph = &graph, .samples = no_samples};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	for (size_t i = 0; i < graph.block_count; i++) {
		assert_true(result.blocks[i].value == 0);
		assert_int_equal(result.blocks[i].confidence, CONFIDENCE_NONE);
	}
	frequencies_fini(&result);
}

static void
exact_counts_are_passed_on_in_units_of_the_samples(void **state)
{
	const uint64_t blocks_ran[] = {4000, 400000, 100000, 300000, 400000, 4000};
	const uint64_t edges_ran[] = {4000, 4000, 100000, 300000, 100000, 300000, 396000, 4000, 4000};
	const struct frequency_input input = {
		.graph = &graph,
		.samples = no_samples,
		.block_counts = blocks_ran,
		.edge_counts = edges_ran,
		.executions_per_unit = 4000,
	};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_false(result.is_relative);
	assert_true(result.blocks[0].value == 1);
	assert_true(result.blocks[3].value == 75);
	assert_true(result.edges[6].value == 99);
	assert_int_equal(result.edges[6].confidence, CONFIDENCE_EXACT);
	assert_int_equal(result.edges[6].method, FREQUENCY_COUNTED);
	frequencies_fini(&result);
}

static void
counts_of_blocks_alone_give_the_edges(void **state)
{
	const uint64_t ran[] = {1, 100, 25, 75, 100, 1};
	const struct frequency_input input = {
		.graph = &graph, .samples = no_samples, .block_counts = ran, .executions_per_unit = 1};
	const double expected[] = {1, 1, 25, 75, 25, 75, 99, 1, 1};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	for (size_t i = 0; i < graph.edge_count; i++) {
		assert_near(result.edges[i].value, expected[i]);
		assert_int_equal(result.edges[i].confidence, CONFIDENCE_EXACT);
	}
	frequencies_fini(&result);
}

/* 66 samples for two instructions, of which four retire in a cycle, and which take 1.7 times as long: 0.85 cycles. */
static void
counts_without_a_scale_are_scaled_by_the_samples(void **state)
{
	const uint64_t ran[] = {0, 1000, 0, 1000, 1000, 0};
	const uint64_t samples[] = {0, 0, 33, 33, 0, 0, 33, 33, 34, 34, 0, 0};
	const struct frequency_input input = {
		.graph = &graph, .pipeline = PIPELINE_KIND_OUT_OF_ORDER, .samples = samples, .block_counts = ran};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_true(result.is_relative);
	assert_near(result.blocks[1].value, 66 / 0.85);
	assert_near(result.blocks[1].value, result.blocks[4].value);
	frequencies_fini(&result);
}

static void
assert_about(double value, double expected)
{
	if (fabs(value - expected) > 0.02 * expected)
		fail_msg("%g is not about %g", value, expected);
}

/* A burst may begin anywhere: only which way it went on counts. 4 went back 99 times in 100, 1 to block 3 in 3 of 4. */
static void
bursts_count_by_which_way_they_went(void **state)
{
	const uint64_t seen[] = {0, 0, 25000, 75000, 900000, 1200, 99000, 1000, 0};
	const uint64_t samples[] = {1, 0, 50, 50, 12, 13, 37, 38, 50, 50, 1, 0};
	const struct frequency_input input = {
		.graph = &graph, .pipeline = PIPELINE_KIND_OUT_OF_ORDER, .samples = samples, .bursts = seen};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_true(result.is_relative);
	assert_about(result.blocks[1].value, 100 * result.blocks[0].value);
	assert_about(result.blocks[2].value, 25 * result.blocks[0].value);
	assert_about(result.edges[6].value, 99 * result.blocks[0].value);
	assert_about(result.edges[0].value, result.blocks[0].value);
	assert_int_equal(result.blocks[1].method, FREQUENCY_BURSTS);
	assert_int_equal(result.blocks[1].confidence, CONFIDENCE_HIGH);
	assert_int_equal(result.edges[6].confidence, CONFIDENCE_HIGH);
	frequencies_fini(&result);
}

static void
a_loop_that_bursts_never_saw_ending_ends_rarely(void **state)
{
	const uint64_t seen[] = {0, 0, 250, 750, 250, 750, 1000, 0, 0};
	const uint64_t samples[] = {0, 0, 50, 50, 12, 13, 37, 38, 50, 50, 0, 0};
	const struct frequency_input input = {
		.graph = &graph, .pipeline = PIPELINE_KIND_OUT_OF_ORDER, .samples = samples, .bursts = seen};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_true(result.blocks[1].value > 1000 * result.blocks[0].value);
	assert_about(result.blocks[3].value, 3 * result.blocks[2].value);
	assert_int_equal(result.blocks[0].confidence, CONFIDENCE_LOW);
	frequencies_fini(&result);
}

/* In order 1,000 samples on an instruction of one cycle are F = 1,000, of whatever the bursts' number is. */
static void
in_order_samples_say_what_bursts_are_worth(void **state)
{
	const uint64_t seen[] = {0, 0, 25000, 75000, 25000, 75000, 99000, 1000, 0};
	const double minimum[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const uint64_t samples[] = {10, 10, 1000, 1000, 250, 250, 750, 750, 1000, 1000, 10, 10};
	const struct frequency_input input = {
		.graph = &graph,
		.pipeline = PIPELINE_KIND_IN_ORDER,
		.samples = samples,
		.minimum_cycles = minimum,
		.bursts = seen,
	};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_false(result.is_relative);
	assert_about(result.blocks[1].value, 1000);
	assert_about(result.blocks[2].value, 250);
	assert_int_equal(result.blocks[1].method, FREQUENCY_BURSTS);
	frequencies_fini(&result);
}

/* A recorder's 100 branches outweigh what samples say; those seen once do not. */
static void
what_was_seen_rarely_is_left_to_the_samples(void **state)
{
	uint64_t seen[] = {0, 0, 20, 80, 20, 80, 99, 1, 0};
	const uint64_t samples[] = {4, 4, 400, 400, 200, 200, 200, 200, 400, 400, 4, 4};
	const struct frequency_input input = {
		.graph = &graph, .pipeline = PIPELINE_KIND_OUT_OF_ORDER, .samples = samples, .branches = seen};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_true(result.blocks[2].value < 0.24 * result.blocks[1].value);
	assert_true(result.blocks[2].value > 0.16 * result.blocks[1].value);
	assert_int_equal(result.blocks[2].method, FREQUENCY_BRANCHES);
	frequencies_fini(&result);
	memset(seen, 0, sizeof(seen));
	seen[3] = seen[5] = seen[6] = 1;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_true(result.blocks[2].value > 0.2 * result.blocks[1].value);
	assert_int_equal(result.blocks[2].confidence, CONFIDENCE_LOW);
	frequencies_fini(&result);
}

static void
samples_of_instructions_are_executions_by_their_periods(void **state)
{
	const uint64_t retired[] = {10, 10, 1000, 1000, 250, 250, 750, 750, 1000, 1000, 10, 10};
	const struct frequency_input input = {
		.graph = &graph,
		.pipeline = PIPELINE_KIND_OUT_OF_ORDER,
		.samples = no_samples,
		.retired = retired,
		.instructions_per_sample = 3000,
		.cycles_per_sample = 1000,
	};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_false(result.is_relative);
	assert_near(result.blocks[1].value, 3000);
	assert_near(result.blocks[2].value, 750);
	assert_near(result.edges[6].value, 2970);
	assert_int_equal(result.blocks[1].confidence, CONFIDENCE_HIGH);
	assert_int_equal(result.blocks[0].confidence, CONFIDENCE_LOW);
	frequencies_fini(&result);
}

/* The way beside it alone has as many as both have together: that is noise, and the 20 on the other way are not. */
static void
a_seldom_way_with_samples_of_instructions_is_not_lost_in_the_noise_of_the_other(void **state)
{
	const uint64_t retired[] = {1, 1, 200, 200, 10, 10, 205, 205, 200, 200, 1, 1};
	const struct frequency_input input = {
		.graph = &graph,
		.pipeline = PIPELINE_KIND_OUT_OF_ORDER,
		.samples = no_samples,
		.retired = retired,
		.instructions_per_sample = 1000,
		.cycles_per_sample = 1000,
	};
	struct frequencies result;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_near(result.blocks[2].value, 10);
	assert_int_equal(result.blocks[2].confidence, CONFIDENCE_LOW);
	frequencies_fini(&result);
}

/* Retired two a cycle, and one late. */
static void
assert_moved_back(const struct flow_graph *of, const double *expected)
{
	const uint64_t ran[] = {100, 100, 25, 75, 100, 100};
	const uint64_t samples[] = {7, 0, 0, 0, 0, 0, 0, 0, 400, 9, 0, 0};
	const struct frequency_input input = {
		.graph = of,
		.pipeline = PIPELINE_KIND_OUT_OF_ORDER,
		.samples = samples,
		.skid = 1,
		.block_counts = ran,
		.executions_per_unit = 1,
	};
	struct frequencies result;

	assert_int_equal(frequencies_estimate(&input, &result), 0);
	for (size_t i = 0; i < of->instruction_count; i++)
		assert_near(result.samples[i], expected[i]);
	frequencies_fini(&result);
}

/* What is on a head is of both that lead there, as often as they do. */
static void
late_samples_go_back_to_where_they_came_from(void **state)
{
	(void)state;
	assert_moved_back(&graph, (const double[]){7, 0, 0, 0, 0, 100, 0, 300, 9, 0, 0, 0});
}

/* Block 2 ends in one that goes to 4: it waits for nothing, but its target's code may have been waited for. */
static void
late_samples_behind_a_jump_stay(void **state)
{
	struct instruction instructions[12] = {[5] = {.flow = FLOW_JUMP}};
	struct flow_graph jumps = graph;

	(void)state;
	jumps.instructions = instructions;
	assert_moved_back(&jumps, (const double[]){7, 0, 0, 0, 0, 0, 0, 300, 109, 0, 0, 0});
}

static void
the_fit_lets_all_that_comes_in_go_out(void **state)
{
	const uint64_t samples[] = {3, 0, 900, 2, 0, 0, 55, 770, 1, 0, 0, 9};
	const struct frequency_input input = {
		.graph = &graph, .pipeline = PIPELINE_KIND_OUT_OF_ORDER, .samples = samples, .skid = 1};
	struct frequencies result;
	const struct frequency *edge;

	(void)state;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	edge = result.edges;
	assert_near(edge[1].value + edge[6].value, result.blocks[1].value);
	assert_near(edge[2].value + edge[3].value, result.blocks[1].value);
	assert_near(edge[4].value + edge[5].value, result.blocks[4].value);
	assert_near(edge[6].value + edge[7].value, result.blocks[4].value);
	assert_true(result.blocks[1].value > 0);
	frequencies_fini(&result);
}

static void
huge_numbers_of_samples_do_no_harm(void **state)
{
	uint64_t samples[12];
	struct frequency_input input = {.graph = &graph, .samples = samples};

	(void)state;
	for (int i = 0; i < 12; i++)
		samples[i] = i % 2 ? (uint64_t)1 << 60 : (uint64_t)i;
	assert_sane_every_way(&input);
	memset(samples, 0xff, sizeof(samples));
	assert_sane_every_way(&input);
}

static void
a_loop_without_end_does_no_harm(void **state)
{
	struct flow_block loop[] = {
		{.first = 0, .count = 6, .out = 0, .out_count = 1, .in = 0, .in_count = 1},
		{.first = 6, .count = 6, .out = 1, .out_count = 1, .in = 1, .in_count = 1},
	};
	struct flow_edge ways[] = {{0, 1, EDGE_FALL}, {1, 0, EDGE_TAKEN}};
	uint32_t out[] = {0, 1}, in[] = {1, 0};
	const struct flow_graph endless = {.instruction_count = 12,
	                                   .blocks = loop,
	                                   .block_count = 2,
	                                   .edges = ways,
	                                   .edge_count = 2,
	                                   .outs = out,
	                                   .ins = in,
	                                   .is_complete = true};
	const uint64_t samples[] = {5, 0, 0, 7, 0, 0, 0, 90, 0, 3, 3, 3};
	struct frequency_input input = {.graph = &endless, .samples = samples};

	(void)state;
	assert_sane_every_way(&input);
}

/* Blocks that nothing leads to or from, with samples and without; gaps; no instruction that takes time. */
static void
pieces_that_do_not_hang_together_do_no_harm(void **state)
{
	struct flow_block pieces[] = {{.first = 0, .count = 6}, {.first = 6, .count = 6}};
	const struct flow_graph gaps = {.instruction_count = 12, .blocks = pieces, .block_count = 2};
	const struct flow_graph nothing = {.is_complete = true};
	const uint64_t samples[] = {5, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0};
	const double minimum[12] = {0, NAN, -5, INFINITY};
	struct flow_graph open = graph;
	struct frequency_input input = {.graph = &gaps, .samples = samples};

	(void)state;
	assert_sane_every_way(&input);
	input.graph = &nothing;
	assert_sane_every_way(&input);
	open.is_complete = false;
	input.graph = &open;
	assert_sane_every_way(&input);
	input.graph = &graph;
	input.minimum_cycles = minimum;
	assert_sane_every_way(&input);
}

static void
generated_graphs_with_random_samples_do_no_harm(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct generated_program program = generated_program_make(seed, 2 + (int)(seed % 3));
		struct frequency_input input = {
			.graph = &program.graph,
			.samples = program.samples,
			.block_classes = program.equivalence.block_classes,
			.edge_classes = program.equivalence.edge_classes,
			.class_count = program.equivalence.class_count,
		};

		for (size_t i = 0; i < program.graph.instruction_count; i++)
			program.samples[i] = generated_bits(&program) >> (generated_bits(&program) % 64);
		assert_sane_every_way(&input);
		generated_program_free(&program);
	}
}

static void
what_points_nowhere_is_refused(void **state)
{
	const uint32_t classes[9] = {0, 1, 2, 3, 9};
	struct flow_graph broken = graph;
	struct flow_edge ways[9];
	struct frequency_input input = {.graph = &broken, .samples = no_samples};
	struct frequencies result;

	(void)state;
	broken.instruction_count = 11;
	assert_int_equal(frequencies_estimate(&input, &result), -EINVAL);
	broken = graph;
	memcpy(ways, edges, sizeof(ways));
	ways[4].to = 6;
	broken.edges = ways;
	assert_int_equal(frequencies_estimate(&input, &result), -EINVAL);
	broken = graph;
	broken.edge_count = 8;
	assert_int_equal(frequencies_estimate(&input, &result), -EINVAL);
	broken = graph;
	input.block_classes = input.edge_classes = classes;
	input.class_count = 9;
	assert_int_equal(frequencies_estimate(&input, &result), -EINVAL);
}

static void
every_method_and_confidence_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(frequency_method_name(FREQUENCY_UNKNOWN), "unknown");
	assert_string_equal(frequency_method_name(FREQUENCY_CLUSTER), "cluster");
	assert_string_equal(frequency_method_name(FREQUENCY_FIT), "fit");
	assert_string_equal(frequency_confidence_name(CONFIDENCE_NONE), "none");
	assert_string_equal(frequency_confidence_name(CONFIDENCE_EXACT), "exact");
}

static void
what_is_none_is_a_question_mark(void **state)
{
	(void)state;
	assert_string_equal(frequency_method_name(FREQUENCY_FIT + 1), "?");
	assert_string_equal(frequency_confidence_name(CONFIDENCE_EXACT + 1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_samples_nothing_is_known),
		cmocka_unit_test(exact_counts_are_passed_on_in_units_of_the_samples),
		cmocka_unit_test(counts_of_blocks_alone_give_the_edges),
		cmocka_unit_test(counts_without_a_scale_are_scaled_by_the_samples),
		cmocka_unit_test(bursts_count_by_which_way_they_went),
		cmocka_unit_test(a_loop_that_bursts_never_saw_ending_ends_rarely),
		cmocka_unit_test(in_order_samples_say_what_bursts_are_worth),
		cmocka_unit_test(what_was_seen_rarely_is_left_to_the_samples),
		cmocka_unit_test(samples_of_instructions_are_executions_by_their_periods),
		cmocka_unit_test(a_seldom_way_with_samples_of_instructions_is_not_lost_in_the_noise_of_the_other),
		cmocka_unit_test(late_samples_go_back_to_where_they_came_from),
		cmocka_unit_test(late_samples_behind_a_jump_stay),
		cmocka_unit_test(the_fit_lets_all_that_comes_in_go_out),
		cmocka_unit_test(huge_numbers_of_samples_do_no_harm),
		cmocka_unit_test(a_loop_without_end_does_no_harm),
		cmocka_unit_test(pieces_that_do_not_hang_together_do_no_harm),
		cmocka_unit_test(generated_graphs_with_random_samples_do_no_harm),
		cmocka_unit_test(what_points_nowhere_is_refused),
		cmocka_unit_test(every_method_and_confidence_has_a_name),
		cmocka_unit_test(what_is_none_is_a_question_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
