/* Sources that say how often something ran: exact counts, and samples of retired instructions. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

/* Samples of a class; measured in a simulation: docs/analysis.md. */
#define RETIRED_HIGH   150 /* a standard deviation of 8 % */
#define RETIRED_MEDIUM 40

static bool
any_count(const uint64_t *counts, size_t count)
{
	for (size_t i = 0; counts && i < count; i++)
		if (counts[i] > 0)
			return true;
	return false;
}

static void
set_counts(struct frequency *to, const uint64_t *counts, size_t count, double unit)
{
	for (size_t i = 0; counts && i < count; i++)
		to[i] = (struct frequency){(double)counts[i] / unit, CONFIDENCE_EXACT, FREQUENCY_COUNTED};
}

int
estimate_counted(struct estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const struct flow_graph *graph = estimation->graph;
	const double unit = input->executions_per_unit > 0 ? input->executions_per_unit : 1;
	int err;

	if (!any_count(input->block_counts, graph->block_count) && !any_count(input->edge_counts, graph->edge_count))
		return 0;
	set_counts(estimation->result->blocks, input->block_counts, graph->block_count, unit);
	set_counts(estimation->result->edges, input->edge_counts, graph->edge_count, unit);
	err = settle(estimation, NULL);
	return err || input->executions_per_unit > 0 ? err : scale_to_samples(estimation);
}

static uint8_t
retired_confidence(double samples)
{
	if (samples >= RETIRED_HIGH)
		return CONFIDENCE_HIGH;
	return samples >= RETIRED_MEDIUM ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

/*
 * A sample may lie some instructions late: what is lost at a block's end comes in at its head, if they run alike.
 * Counts deviate as Poisson has it, to both sides.
 */
static int
pool_retired(struct estimation *estimation, double unit, double *deviations)
{
	const struct flow_graph *graph = estimation->graph;
	struct pool {
		double samples, instructions;
	} *pools = calloc(estimation->class_count + 1, sizeof(*pools));

	if (!pools)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		struct pool *pool = &pools[estimation->block_classes[i]];

		pool->instructions += block->count;
		for (size_t k = 0; k < block->count; k++)
			pool->samples += (double)estimation->input->retired[block->first + k];
	}
	for (size_t i = 0; i < graph->block_count + graph->edge_count; i++) {
		const bool is_edge = i >= graph->block_count;
		const size_t at = is_edge ? i - graph->block_count : i;
		const struct pool *pool =
			&pools[is_edge ? estimation->edge_classes[at] : estimation->block_classes[at]];

		if (!is_edge)
			deviations[at] = sqrt(fmax(pool->samples, 1)) / fmax(pool->instructions, 1) * unit;
		if (pool->instructions > 0)
			*(is_edge ? &estimation->result->edges[at] : &estimation->result->blocks[at]) =
				(struct frequency){pool->samples / pool->instructions * unit,
			                           retired_confidence(pool->samples), FREQUENCY_RETIRED};
	}
	free(pools);
	return 0;
}

int
estimate_retired(struct estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const bool is_absolute = input->instructions_per_sample > 0 && input->cycles_per_sample > 0;
	const double unit = is_absolute ? input->instructions_per_sample / input->cycles_per_sample : 1;
	double *deviations;
	int err;

	if (!any_count(input->retired, estimation->graph->instruction_count))
		return 0;
	deviations = calloc(estimation->graph->block_count + 1, sizeof(*deviations));
	if (!deviations)
		return -ENOMEM;
	err = pool_retired(estimation, unit, deviations);
	if (!err)
		err = settle(estimation, deviations);
	free(deviations);
	return err || is_absolute ? err : scale_to_samples(estimation);
}
