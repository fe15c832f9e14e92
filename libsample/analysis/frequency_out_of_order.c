/*
 * A fit of the whole graph, for cores where a sample says what holds up retirement, and nothing about what retires
 * with it. Each block is taken to cost what its retirement takes, instructions / width; measured against exact counts,
 * no model of latencies did better, since what costs more is a miss or a wrong guess. The likeliest flow is looked for,
 * and where that takes too long the nearest.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

#define SHADOW       0.25 /* cycles an execution that may be charged to a neighbour instead */
#define ROUNDS       3    /* samples are moved back by the flow, which is found by the samples */
#define FEW_SAMPLES  100  /* chance alone leaves a tenth: nothing is certain, and need not be tried */
#define DOUBT_HIGH   0.05 /* measured: 98 % of such samples are within 15 % */
#define DOUBT_MEDIUM 0.10 /* 77 % */

struct fitting {
	struct estimation *estimation;
	struct fit_target *targets;
	double *scratch; /* samples per instruction */
	double *sums;    /* samples per block */
	double *costs;   /* cycles of an execution, per block */
	double *blocks;  /* F */
	double *edges;
	double *block_doubts; /* as likely_flow_doubt() has them; where they are not known all is low */
	double *edge_doubts;
};

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
		fitting->costs[i] = typical_cost(estimation, &graph->blocks[i]);
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

static uint8_t
confidence_of(double doubt)
{
	if (doubt <= DOUBT_HIGH)
		return CONFIDENCE_HIGH;
	return doubt <= DOUBT_MEDIUM ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static void
write_result(const struct fitting *fitting)
{
	const struct flow_graph *graph = fitting->estimation->graph;
	struct frequencies *result = fitting->estimation->result;

	for (size_t i = 0; i < graph->block_count; i++)
		result->blocks[i] =
			(struct frequency){fitting->blocks[i], confidence_of(fitting->block_doubts[i]), FREQUENCY_FIT};
	for (size_t i = 0; i < graph->edge_count; i++)
		result->edges[i] =
			(struct frequency){fitting->edges[i], confidence_of(fitting->edge_doubts[i]), FREQUENCY_FIT};
	result->is_relative = true;
}

static void
doubt_all(double *doubts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		doubts[i] = INFINITY;
}

static bool
has_few_samples(const struct fitting *fitting)
{
	const struct frequency_input *input = fitting->estimation->input;
	double sum = 0;

	for (size_t i = 0; i < fitting->estimation->graph->instruction_count; i++)
		sum += (double)input->samples[i];
	return sum < FEW_SAMPLES;
}

/* -EAGAIN: not quite the nearest. */
static int
find_nearest(struct fitting *fitting)
{
	const struct frequency_input *input = fitting->estimation->input;
	const struct flow_graph *graph = fitting->estimation->graph;
	double *samples = fitting->estimation->result->samples;
	int err;

	doubt_all(fitting->block_doubts, graph->block_count);
	doubt_all(fitting->edge_doubts, graph->edge_count);
	err = fit_samples(fitting, samples);
	if ((err && err != -EAGAIN) || input->skid == 0)
		return err;
	skid_move_back(input, fitting->edges, samples, fitting->scratch);
	return fit_samples(fitting, samples);
}

/* Samples are where they were taken; then moved back by the flow that was found. */
static int
find_likeliest(struct fitting *fitting, struct likely_flow *flow)
{
	const struct frequency_input *input = fitting->estimation->input;
	const struct flow_graph *graph = fitting->estimation->graph;
	const size_t count = graph->instruction_count;
	const struct block_times times = {fitting->sums, fitting->costs};
	const struct flow_values found = {fitting->blocks, fitting->edges};
	double *samples = fitting->estimation->result->samples;
	int err = 0, doubt_err;

	for (unsigned round = 0; round < (input->skid > 0 ? ROUNDS : 1); round++) {
		for (size_t i = 0; i < count; i++)
			samples[i] = (double)input->samples[i];
		if (round > 0)
			skid_move_back(input, fitting->edges, samples, fitting->scratch);
		err = sum_blocks(fitting, samples);
		if (!err)
			err = likely_flow_find(flow, &times, fitting->blocks, fitting->edges);
		if (err && err != -EAGAIN)
			return err;
		likely_flow_keep(flow);
	}
	doubt_err = has_few_samples(fitting) ? -E2BIG
	                                     : likely_flow_doubt(flow, fitting->estimation, &times, &found,
	                                                         fitting->block_doubts, fitting->edge_doubts);
	if (doubt_err == -E2BIG) {
		doubt_all(fitting->block_doubts, graph->block_count);
		doubt_all(fitting->edge_doubts, graph->edge_count);
		return err;
	}
	return doubt_err ? doubt_err : err;
}

static int
find_flow(struct fitting *fitting)
{
	struct likely_flow *flow;
	int err;

	err = likely_flow_new(fitting->estimation->graph, &flow);
	if (err == -E2BIG)
		return find_nearest(fitting);
	if (!err)
		err = find_likeliest(fitting, flow);
	likely_flow_free(flow);
	return err;
}

static bool
fitting_init(struct fitting *fitting)
{
	const struct flow_graph *graph = fitting->estimation->graph;

	fitting->targets = calloc(graph->block_count + 1, sizeof(*fitting->targets));
	fitting->scratch = calloc(graph->instruction_count + 1, sizeof(double));
	fitting->sums = calloc(graph->block_count + 1, sizeof(double));
	fitting->costs = calloc(graph->block_count + 1, sizeof(double));
	fitting->blocks = calloc(graph->block_count + 1, sizeof(double));
	fitting->edges = calloc(graph->edge_count + 1, sizeof(double));
	fitting->block_doubts = calloc(graph->block_count + 1, sizeof(double));
	fitting->edge_doubts = calloc(graph->edge_count + 1, sizeof(double));
	return fitting->targets && fitting->scratch && fitting->sums && fitting->costs && fitting->blocks &&
	       fitting->edges && fitting->block_doubts && fitting->edge_doubts;
}

static void
fitting_fini(struct fitting *fitting)
{
	free(fitting->targets);
	free(fitting->scratch);
	free(fitting->sums);
	free(fitting->costs);
	free(fitting->blocks);
	free(fitting->edges);
	free(fitting->block_doubts);
	free(fitting->edge_doubts);
}

int
estimate_out_of_order(struct estimation *estimation)
{
	struct fitting fitting = {.estimation = estimation};
	int err = -ENOMEM;

	if (fitting_init(&fitting))
		err = find_flow(&fitting);
	if (!err || err == -EAGAIN) {
		estimation->result->is_rough = err == -EAGAIN;
		write_result(&fitting);
		err = 0;
	}
	fitting_fini(&fitting);
	return err;
}
