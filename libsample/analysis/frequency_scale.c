/* What a relative frequency is worth in samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

#define ROUNDS       2
#define STALL_CYCLES 1.0 /* what one instruction may add, once a scale is known: more is a stall */

struct ratio {
	double value, weight;
};

static int
compare_values(const void *a, const void *b)
{
	const struct ratio *one = a, *other = b;

	return (one->value > other->value) - (one->value < other->value);
}

/* Half of the weight is below it, half above: no other scale has a smaller sum of absolute deviations. */
static double
weighted_median(struct ratio *ratios, size_t count)
{
	double half = 0;

	qsort(ratios, count, sizeof(*ratios), compare_values);
	for (size_t i = 0; i < count; i++)
		half += ratios[i].weight / 2;
	for (size_t i = 0; i < count; i++) {
		half -= ratios[i].weight;
		if (half <= 0)
			return ratios[i].value;
	}
	return 0;
}

/* What makes retirement, limited by its width, explain the samples best. 0: nothing does. */
static double
fit_scale(const struct estimation *estimation, const double *samples, const double *blocks)
{
	const struct flow_graph *graph = estimation->graph;
	struct ratio *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
	double scale = INFINITY;

	if (!ratios)
		return 0;
	for (int round = 0; round < ROUNDS && scale > 0; round++) {
		size_t count = 0;

		for (size_t i = 0; i < graph->block_count; i++) {
			const struct flow_block *block = &graph->blocks[i];
			const double cost = blocks[i] * block->count / estimation->width;
			double sum = 0;

			if (blocks[i] <= 0)
				continue;
			for (size_t k = block->first; k < (size_t)block->first + block->count; k++)
				sum += fmin(samples[k], blocks[i] * scale * STALL_CYCLES);
			ratios[count++] = (struct ratio){sum / cost, cost};
		}
		scale = weighted_median(ratios, count);
	}
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
	struct ratio *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
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
			ratios[count++] = (struct ratio){estimates[i] / value, sum};
	}
	factor = weighted_median(ratios, count);
	free(ratios);
	if (factor <= 0 || !isfinite(factor))
		return scale_to_samples(estimation);
	multiply(estimation, factor);
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
