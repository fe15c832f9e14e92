/* What a relative frequency is worth in samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"
#include "analysis/weighted_median.h"

/* What makes costs explain the samples with the least sum of absolute deviations. 0: nothing does. */
static double
fit_scale(const struct estimation *estimation, const double *samples, const double *blocks)
{
	const struct flow_graph *graph = estimation->graph;
	struct weighted *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
	double scale;
	size_t count = 0;

	if (!ratios)
		return 0;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const double cost = blocks[i] * typical_cost(estimation, block);
		double sum = 0;

		if (blocks[i] <= 0)
			continue;
		for (size_t k = block->first; k < (size_t)block->first + block->count; k++)
			sum += samples[k];
		ratios[count++] = (struct weighted){sum / cost, cost};
	}
	scale = weighted_median(ratios, count);
	free(ratios);
	return isfinite(scale) ? scale : 0;
}

static void
multiply(struct estimation *estimation, double factor)
{
	struct frequencies *result = estimation->result;

	for (size_t i = 0; i < estimation->graph->block_count; i++)
		result->blocks[i].value *= factor;
	for (size_t i = 0; i < estimation->graph->edge_count; i++)
		result->edges[i].value *= factor;
}

int
scale_to_estimates(struct estimation *estimation, const double *estimates)
{
	const struct flow_graph *graph = estimation->graph;
	struct weighted *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
	size_t count = 0;
	double factor;

	if (!ratios)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const double value = estimation->result->blocks[i].value;
		double sum = 0;

		for (size_t k = block->first; k < (size_t)block->first + block->count; k++)
			sum += estimation->result->samples[k];
		if (value > 0 && estimates[i] > 0)
			ratios[count++] = (struct weighted){estimates[i] / value, sum};
	}
	factor = weighted_median(ratios, count);
	free(ratios);
	if (factor <= 0 || !isfinite(factor))
		return scale_to_samples(estimation);
	multiply(estimation, factor);
	estimation->result->is_relative = estimation->input->pipeline != PIPELINE_KIND_IN_ORDER;
	return 0;
}

int
scale_to_samples(struct estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	double *blocks = calloc(graph->block_count + 1, sizeof(*blocks));
	double scale;

	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++)
		blocks[i] = result->blocks[i].value;
	scale = fit_scale(estimation, result->samples, blocks);
	free(blocks);
	result->is_relative = true;
	if (scale <= 0)
		return 0;
	multiply(estimation, scale);
	return 0;
}
