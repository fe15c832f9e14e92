/*
 * A fit of the whole graph, for cores where a sample says what holds up retirement, and nothing about what retires
 * with it. Each block is taken to cost what its retirement takes, instructions / width; measured against exact counts,
 * no model of latencies did better, since what costs more is a miss or a wrong guess.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

#define SHADOW       0.5 /* cycles an execution that may be charged to a neighbour instead */
#define PEAK         0.8 /* of a block's samples on one instruction: a stall */
#define STALL_CYCLES 1.0 /* what one instruction may add to the fit, once it is known how often it ran */

struct fitting {
	struct estimation *estimation;
	struct fit_target *targets;
	double *capped;  /* samples per instruction */
	double *scratch; /* the same */
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

static int
fit_samples(struct fitting *fitting, const double *samples)
{
	const struct estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;

	for (size_t i = 0; i < graph->block_count; i++) {
		const double cost = block_cost(estimation, &graph->blocks[i]);

		fitting->targets[i] = (struct fit_target){
			.value = block_sum(&graph->blocks[i], samples) / cost,
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

/*
 * Three blocks that have to agree, most of their samples not in one-instruction peaks: measured, three in four of such
 * are within 10 %. Nothing else that was tried tells good from bad - not the number of samples, nor how well they fit.
 */
static int
grade(const struct fitting *fitting)
{
	const struct estimation *estimation = fitting->estimation;
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	struct tally_of_class {
		uint32_t blocks;
		double samples, in_peaks;
	} *classes = calloc(estimation->class_count + 1, sizeof(*classes));

	if (!classes)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++) {
		struct tally_of_class *class = &classes[estimation->block_classes[i]];
		const double sum = block_sum(&graph->blocks[i], result->samples);

		class->blocks++;
		class->samples += sum;
		class->in_peaks += is_peak(&graph->blocks[i], result->samples) ? sum : 0;
	}
	for (size_t i = 0; i < graph->block_count + graph->edge_count; i++) {
		const bool is_edge = i >= graph->block_count;
		const size_t at = is_edge ? i - graph->block_count : i;
		const struct tally_of_class *class =
			&classes[is_edge ? estimation->edge_classes[at] : estimation->block_classes[at]];
		const bool is_redundant = class->blocks >= 3 && class->in_peaks * 2 < class->samples;
		struct frequency *frequency = is_edge ? &result->edges[at] : &result->blocks[at];

		frequency->value = is_edge ? fitting->edges[at] : fitting->blocks[at];
		frequency->method = FREQUENCY_FIT;
		frequency->confidence = is_redundant ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
	}
	free(classes);
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

int
estimate_out_of_order(struct estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	struct fitting fitting = {
		.estimation = estimation,
		.targets = calloc(graph->block_count + 1, sizeof(*fitting.targets)),
		.capped = calloc(graph->instruction_count + 1, sizeof(double)),
		.scratch = calloc(graph->instruction_count + 1, sizeof(double)),
		.blocks = calloc(graph->block_count + 1, sizeof(double)),
		.edges = calloc(graph->edge_count + 1, sizeof(double)),
	};
	int err = -ENOMEM;

	if (fitting.targets && fitting.capped && fitting.scratch && fitting.blocks && fitting.edges)
		err = fit_in_rounds(&fitting);
	if (!err)
		err = grade(&fitting);
	estimation->result->is_relative = true;
	free(fitting.targets);
	free(fitting.capped);
	free(fitting.scratch);
	free(fitting.blocks);
	free(fitting.edges);
	return err;
}
