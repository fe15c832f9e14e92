/*
 * A fit of the whole graph, for cores where a sample says what holds up retirement, and nothing about what retires
 * with it. Each block is taken to cost what its retirement takes, instructions / width; measured against exact counts,
 * no model of latencies did better, since what costs more is a miss or a wrong guess. The likeliest flow is looked for,
 * and where that takes too long the nearest.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_private.h"

#define SHADOW       0.25 /* cycles an execution that may be charged to a neighbour instead */
#define PEAK         0.8  /* of a block's samples on one instruction: a stall */
#define STALL_CYCLES 3.0  /* what one instruction may add to the fit, once it is known how often it ran */
#define ROUNDS       3
#define WITNESSES    2   /* blocks of a class that agree, for medium confidence */
#define AGREEMENT    1.3 /* largest to smallest of what they and the fit say */

struct fitting {
	struct estimation *estimation;
	struct fit_target *targets;
	double *capped;  /* samples per instruction */
	double *scratch; /* the same */
	double *sums;    /* samples per block */
	double *costs;   /* cycles of an execution, per block */
	double *blocks;
	double *edges;
};

static double
block_cost(const struct estimation *estimation, const struct flow_block *block)
{
	return block->count / estimation->width;
}

static double
block_sum(const struct flow_block *block, const double *samples)
{
	double sum = 0;

	for (size_t i = 0; i < block->count; i++)
		sum += samples[block->first + i];
	return sum;
}

/* Samples and costs of blocks, from samples of instructions. */
static int
sum_blocks(struct fitting *fitting, const double *samples)
{
	const struct estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;

	for (size_t i = 0; i < graph->block_count; i++) {
		fitting->costs[i] = block_cost(estimation, &graph->blocks[i]);
		fitting->sums[i] = block_sum(&graph->blocks[i], samples);
	}
	return pool_few_samples(estimation, fitting->costs, fitting->sums);
}

static int
fit_samples(struct fitting *fitting, const double *samples)
{
	const struct estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;
	int err;

	err = sum_blocks(fitting, samples);
	if (err)
		return err;
	for (size_t i = 0; i < graph->block_count; i++) {
		const double cost = fitting->costs[i];

		fitting->targets[i] = (struct fit_target){
			.value = fitting->sums[i] / cost,
			.below = cost,
			.above = cost,
			.slack = SHADOW / (cost + SHADOW),
		};
	}
	return fit_flow(graph, fitting->targets, fitting->blocks, fitting->edges);
}

static void
cap_stalls(const struct fitting *fitting, const double *samples)
{
	const struct flow_graph *graph = fitting->estimation->graph;

	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const double most = fitting->blocks[i] * STALL_CYCLES;

		for (size_t k = block->first; k < (size_t)block->first + block->count; k++)
			fitting->capped[k] = fmin(samples[k], most);
	}
}

static bool
is_peak(const struct flow_block *block, const double *samples)
{
	double most = 0;

	for (size_t i = 0; i < block->count; i++)
		most = fmax(most, samples[block->first + i]);
	return most >= PEAK * block_sum(block, samples);
}

/* Does the block by itself, as it was fitted, say about what the fit says? */
static bool
is_witness(const struct fitting *fitting, uint32_t index)
{
	const struct flow_block *block = &fitting->estimation->graph->blocks[index];
	const double own = block_sum(block, fitting->capped) / block_cost(fitting->estimation, block);
	const double value = fitting->blocks[index];

	return value > 0 && own <= value * AGREEMENT && own * AGREEMENT >= value &&
	       !is_peak(block, fitting->estimation->result->samples);
}

/*
 * Blocks of one class that agree and have no peaks: of all signs that were tried on real programs - the number of
 * samples, how well they fit, their spread - only that several blocks have to run equally often tells good from bad.
 */
static int
grade(const struct fitting *fitting)
{
	const struct estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	uint32_t *witnesses = calloc(estimation->class_count + 1, sizeof(*witnesses));

	if (!witnesses)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->block_count; i++)
		witnesses[estimation->block_classes[i]] += is_witness(fitting, i);
	for (size_t i = 0; i < graph->block_count; i++)
		result->blocks[i] = (struct frequency){
			.value = fitting->blocks[i],
			.confidence = witnesses[estimation->block_classes[i]] >= WITNESSES ? CONFIDENCE_MEDIUM
		                                                                           : CONFIDENCE_LOW,
			.method = FREQUENCY_FIT,
		};
	for (size_t i = 0; i < graph->edge_count; i++)
		result->edges[i] = (struct frequency){
			.value = fitting->edges[i],
			.confidence = witnesses[estimation->edge_classes[i]] >= WITNESSES ? CONFIDENCE_MEDIUM
		                                                                          : CONFIDENCE_LOW,
			.method = FREQUENCY_FIT,
		};
	free(witnesses);
	return 0;
}

static int
fit_in_rounds(struct fitting *fitting)
{
	const struct frequency_input *input = fitting->estimation->input;
	double *samples = fitting->estimation->result->samples;
	int err;

	err = fit_samples(fitting, samples);
	if (err)
		return err;
	skid_move_back(input, fitting->edges, samples, fitting->scratch);
	if (input->skid > 0)
		err = fit_samples(fitting, samples);
	if (err)
		return err;
	cap_stalls(fitting, samples);
	return fit_samples(fitting, fitting->capped);
}

/* Samples are where they were taken; then moved back by the flow that was found. */
static int
find_likely(struct fitting *fitting, struct likely_flow *flow)
{
	const struct frequency_input *input = fitting->estimation->input;
	const size_t count = fitting->estimation->graph->instruction_count;
	double *samples = fitting->estimation->result->samples;
	int err = 0;

	for (unsigned round = 0; round < (input->skid > 0 ? ROUNDS : 1) && !err; round++) {
		for (size_t i = 0; i < count; i++)
			samples[i] = (double)input->samples[i];
		if (round > 0)
			skid_move_back(input, fitting->edges, samples, fitting->scratch);
		err = sum_blocks(fitting, samples);
		if (!err)
			err = likely_flow_find(flow, fitting->sums, fitting->costs, fitting->blocks, fitting->edges);
	}
	memcpy(fitting->capped, samples, count * sizeof(*samples));
	return err;
}

static int
find_flow(struct fitting *fitting)
{
	struct likely_flow *flow;
	int err;

	err = likely_flow_new(fitting->estimation->graph, &flow);
	if (!err)
		err = find_likely(fitting, flow);
	likely_flow_free(flow);
	return err == -E2BIG ? fit_in_rounds(fitting) : err;
}

int
estimate_out_of_order(struct estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	struct fitting fitting = {
		.estimation = estimation,
		.targets = calloc(graph->block_count + 1, sizeof(*fitting.targets)),
		.capped = calloc(graph->instruction_count + 1, sizeof(double)),
		.scratch = calloc(graph->instruction_count + 1, sizeof(double)),
		.sums = calloc(graph->block_count + 1, sizeof(double)),
		.costs = calloc(graph->block_count + 1, sizeof(double)),
		.blocks = calloc(graph->block_count + 1, sizeof(double)),
		.edges = calloc(graph->edge_count + 1, sizeof(double)),
	};
	int err = -ENOMEM;

	if (fitting.targets && fitting.capped && fitting.scratch && fitting.sums && fitting.costs && fitting.blocks &&
	    fitting.edges)
		err = find_flow(&fitting);
	if (!err)
		err = grade(&fitting);
	estimation->result->is_relative = true;
	free(fitting.targets);
	free(fitting.capped);
	free(fitting.scratch);
	free(fitting.sums);
	free(fitting.costs);
	free(fitting.blocks);
	free(fitting.edges);
	return err;
}
