#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/frequency_internal.h"

/* Many blocks with few samples each are one observation. */

#define POOLED 6

/* Blocks 0 to 3 run equally often, and so do 4 and 5. */
static void
pool(double samples[POOLED])
{
	static const double costs[POOLED] = {1, 1, 2, 4, 1, 1};
	uint32_t classes[POOLED] = {0, 0, 0, 0, 1, 1};
	const struct flow_graph graph = {.block_count = POOLED};
	const struct frequency_estimation estimation = {.graph = &graph, .block_classes = classes, .class_count = 2};

	assert_int_equal(frequency_pool(&estimation, costs, samples), 0);
}

/* 16 samples of 4 blocks: 2 for each cycle. */
static void
few_samples_of_a_class_are_shared_by_cost(void **state)
{
	static const double expected[] = {2, 2, 4, 8};
	double samples[POOLED] = {16, 0, 0, 0, 100, 100};

	(void)state;
	pool(samples);
	for (unsigned i = 0; i < 4; i++)
		assert_true(samples[i] == expected[i]);
}

static void
a_class_with_enough_samples_keeps_them(void **state)
{
	double samples[POOLED] = {16, 0, 0, 0, 10, 0};

	(void)state;
	pool(samples);
	assert_true(samples[4] == 10);
	assert_true(samples[5] == 0);
}

static void
no_samples_stay_none(void **state)
{
	double samples[POOLED] = {0};

	(void)state;
	pool(samples);
	for (unsigned i = 0; i < POOLED; i++)
		assert_true(samples[i] == 0);
}

/* The likeliest mle, and how much it is doubted: a branch in a loop, and long chains of them. */

/* 0 enters, 1 is the head, 2 and 3 the two ways, 4 goes back to 1 or out. Four instructions each. */
static struct flow_block blocks[] = {
	{.first = 0, .count = 4, .out = 0, .out_count = 1, .in = 0, .in_count = 1},
	{.first = 4, .count = 4, .out = 1, .out_count = 2, .in = 1, .in_count = 2},
	{.first = 8, .count = 4, .out = 3, .out_count = 1, .in = 3, .in_count = 1},
	{.first = 12, .count = 4, .out = 4, .out_count = 1, .in = 4, .in_count = 1},
	{.first = 16, .count = 4, .out = 5, .out_count = 2, .in = 5, .in_count = 2},
};
static struct flow_edge edges[] = {
	{FLOW_OUTSIDE, 0, EDGE_ENTRY},
	{0, 1, EDGE_FALL},
	{1, 2, EDGE_FALL},
	{1, 3, EDGE_TAKEN},
	{2, 4, EDGE_TAKEN},
	{3, 4, EDGE_FALL},
	{4, 1, EDGE_TAKEN},
	{4, FLOW_OUTSIDE, EDGE_EXIT},
};
static uint32_t outs[] = {1, 2, 3, 4, 5, 6, 7};
static uint32_t ins[] = {0, 1, 6, 2, 3, 4, 5};
static struct flow_graph loop = {
	.instruction_count = 20,
	.blocks = blocks,
	.block_count = 5,
	.edges = edges,
	.edge_count = 8,
	.outs = outs,
	.ins = ins,
	.is_complete = true,
};
static uint32_t block_classes[] = {0, 1, 2, 3, 1}, edge_classes[] = {0, 0, 2, 3, 2, 3, 4, 0};

struct found {
	double blocks[5], edges[8], block_uncertainties[5], edge_uncertainties[8];
};

static void
find(const double samples[5], struct found *found)
{
	static const double costs[] = {1, 1, 1, 1, 1};
	const struct block_times times = {samples, costs};
	const struct flow_values values = {found->blocks, found->edges};
	const struct frequency_estimation estimation = {
		.graph = &loop, .block_classes = block_classes, .edge_classes = edge_classes, .class_count = 5};
	struct frequency_mle *mle;

	*found = (struct found){0};
	assert_int_equal(frequency_mle_new(&loop, &mle), 0);
	assert_int_equal(frequency_mle_find(mle, &times, found->blocks, found->edges), 0);
	frequency_mle_set_start(mle);
	assert_int_equal(frequency_mle_uncertainty(mle, &estimation, &times, &values, found->block_uncertainties,
	                                           found->edge_uncertainties),
	                 0);
	frequency_mle_free(mle);
}

static void
assert_within(double value, double expected, double part)
{
	if (fabs(value - expected) > part * expected)
		fail_msg("%g is not near %g", value, expected);
}

static void
assert_flows(const struct found *found)
{
	const double *edge = found->edges;

	assert_within(edge[1] + edge[6], found->blocks[1], 1e-6);
	assert_within(edge[2] + edge[3], found->blocks[1], 1e-6);
	assert_within(edge[4] + edge[5], found->blocks[4], 1e-6);
	assert_within(edge[6] + edge[7], found->blocks[4], 1e-6);
	assert_within(edge[0], edge[7], 1e-6);
}

static void
samples_that_agree_with_the_flow_are_the_flow(void **state)
{
	static const double samples[] = {10, 1000, 300, 700, 1000};
	struct found found;

	(void)state;
	find(samples, &found);
	assert_flows(&found);
	for (size_t i = 0; i < 5; i++)
		assert_within(found.blocks[i], samples[i], 0.1);
	assert_within(found.edges[6], 990, 0.1);
}

/* The fault that it was made for: one way waits for a cache, and the least sum of deviations gave the other 0. */
static void
a_way_with_samples_is_never_ruled_out_by_a_peak_in_the_other(void **state)
{
	static const double samples[] = {10, 1000, 30000, 500, 1000};
	struct found found;

	(void)state;
	find(samples, &found);
	assert_flows(&found);
	assert_true(found.blocks[3] > 150);
	assert_true(found.blocks[1] < 5000);
}

/* Two blocks bear the loop out; what is entered once in a hundred hangs on ten samples. */
static void
what_hangs_on_one_block_is_doubted_more(void **state)
{
	static const double samples[] = {10, 1000, 300, 700, 1000};
	struct found found;

	(void)state;
	find(samples, &found);
	assert_true(found.block_uncertainties[1] < found.block_uncertainties[0]);
	assert_true(fabs(found.block_uncertainties[1] - found.block_uncertainties[4]) < 1e-6);
	assert_true(found.block_uncertainties[0] > 0.1);
}

static void
the_same_samples_are_doubted_the_same(void **state)
{
	static const double samples[] = {3, 900, 0, 77, 1000};
	struct found one, other;

	(void)state;
	find(samples, &one);
	find(samples, &other);
	assert_memory_equal(&one, &other, sizeof(one));
}

/* `count` times: a block, and one that may be skipped. */
static void
make_skips(struct flow_graph *graph, uint32_t count)
{
	*graph = (struct flow_graph){.instruction_count = 4 * (2 * (size_t)count + 1),
	                             .block_count = 2 * (size_t)count + 1,
	                             .edge_count = 3 * (size_t)count + 2,
	                             .is_complete = true};
	graph->blocks = calloc(graph->block_count, sizeof(*graph->blocks));
	graph->edges = calloc(graph->edge_count, sizeof(*graph->edges));
	graph->outs = calloc(graph->edge_count, sizeof(*graph->outs));
	graph->ins = calloc(graph->edge_count, sizeof(*graph->ins));
	assert_true(graph->blocks && graph->edges && graph->outs && graph->ins);
	graph->edges[0] = (struct flow_edge){FLOW_OUTSIDE, 0, EDGE_ENTRY};
	graph->edges[1] = (struct flow_edge){2 * count, FLOW_OUTSIDE, EDGE_EXIT};
	for (uint32_t i = 0; i < count; i++) {
		graph->edges[3 * i + 2] = (struct flow_edge){2 * i, 2 * i + 1, EDGE_FALL};
		graph->edges[3 * i + 3] = (struct flow_edge){2 * i, 2 * i + 2, EDGE_TAKEN};
		graph->edges[3 * i + 4] = (struct flow_edge){2 * i + 1, 2 * i + 2, EDGE_FALL};
	}
	for (uint32_t i = 0, out = 0, in = 0; i < graph->block_count; i++) {
		const uint32_t last = 2 * count, step = i / 2;
		struct flow_block *block = &graph->blocks[i];

		*block = (struct flow_block){.first = 4 * i, .count = 4, .out = out, .in = in};
		block->out_count = i == last || i % 2 ? 1 : 2;
		block->in_count = i == 0 || i % 2 ? 1 : 2;
		graph->outs[out++] = i == last ? 1 : i % 2 ? 3 * step + 4 : 3 * step + 2;
		if (block->out_count == 2)
			graph->outs[out++] = 3 * step + 3;
		graph->ins[in++] = i == 0 ? 0 : i % 2 ? 3 * step + 2 : 3 * step;
		if (block->in_count == 2)
			graph->ins[in++] = 3 * step + 1;
	}
}

static void
free_graph(struct flow_graph *graph)
{
	free(graph->blocks);
	free(graph->edges);
	free(graph->outs);
	free(graph->ins);
}

static bool
is_rough(uint32_t count)
{
	struct flow_graph graph;
	struct frequency_input input = {.graph = &graph, .pipeline = PIPELINE_KIND_OUT_OF_ORDER};
	struct frequencies result;
	uint64_t *samples;
	bool is;

	make_skips(&graph, count);
	samples = calloc(graph.instruction_count, sizeof(*samples));
	assert_non_null(samples);
	srandom(3);
	for (size_t i = 0; i < graph.instruction_count; i++)
		samples[i] = (uint64_t)(random() % 100);
	input.samples = samples;
	assert_int_equal(frequencies_estimate(&input, &result), 0);
	is = result.is_rough;
	frequencies_fini(&result);
	free(samples);
	free_graph(&graph);
	return is;
}

static void
a_search_that_takes_too_long_is_ended_and_says_so(void **state)
{
	(void)state;
	assert_false(is_rough(1000));
	assert_true(is_rough(100000));
}

static void
what_is_too_entangled_is_refused(void **state)
{
	enum { BLOCKS = 90 };
	struct flow_block many[BLOCKS];
	struct flow_edge every[BLOCKS * BLOCKS];
	const struct flow_graph graph = {
		.blocks = many, .block_count = BLOCKS, .edges = every, .edge_count = BLOCKS * BLOCKS};
	struct frequency_mle *mle;

	(void)state;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		many[i] = (struct flow_block){.count = 1, .in_count = BLOCKS, .out_count = BLOCKS};
		for (uint32_t k = 0; k < BLOCKS; k++)
			every[i * BLOCKS + k] = (struct flow_edge){i, k, EDGE_TABLE};
	}
	assert_int_equal(frequency_mle_new(&graph, &mle), -E2BIG); /* 90 x 90 x 90 / 3 multiplications */
	assert_null(mle);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_samples_of_a_class_are_shared_by_cost),
		cmocka_unit_test(a_class_with_enough_samples_keeps_them),
		cmocka_unit_test(no_samples_stay_none),
		cmocka_unit_test(samples_that_agree_with_the_flow_are_the_flow),
		cmocka_unit_test(a_way_with_samples_is_never_ruled_out_by_a_peak_in_the_other),
		cmocka_unit_test(what_hangs_on_one_block_is_doubted_more),
		cmocka_unit_test(the_same_samples_are_doubted_the_same),
		cmocka_unit_test(a_search_that_takes_too_long_is_ended_and_says_so),
		cmocka_unit_test(what_is_too_entangled_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
