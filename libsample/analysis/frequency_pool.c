/* Few samples in many blocks that run equally often: all of them together say what none of them does. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

#define FEW 5 /* samples a block: the median of so few is lower than their mean, and 0 of fewer than one */

int
pool_few_samples(const struct estimation *estimation, const double *costs, double *samples)
{
	const size_t block_count = estimation->graph->block_count, count = estimation->class_count;
	double *sums = calloc(count + 1, sizeof(*sums)), *class_costs = calloc(count + 1, sizeof(*class_costs));
	uint32_t *blocks = calloc(count + 1, sizeof(*blocks));

	int err = -ENOMEM;

	if (!sums || !class_costs || !blocks)
		goto out;
	err = 0;
	for (size_t i = 0; i < block_count; i++) {
		sums[estimation->block_classes[i]] += samples[i];
		class_costs[estimation->block_classes[i]] += costs[i];
		blocks[estimation->block_classes[i]]++;
	}
	for (size_t i = 0; i < block_count; i++) {
		const uint32_t class = estimation->block_classes[i];

		if (sums[class] < FEW * (double)blocks[class] && class_costs[class] > 0)
			samples[i] = sums[class] * (costs[i] / class_costs[class]);
	}
out:
	free(sums);
	free(class_costs);
	free(blocks);
	return err;
}
