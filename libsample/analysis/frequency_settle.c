/* From estimates of blocks, each by itself, to a whole: what the flow leaves for all others. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

#define SAME 1e-4 /* of a value: the flow agrees */

/* What deviation, as a part of the value, is as likely as not. Too much is more likely than too little: stalls. */
static struct fit_target
settle_target(const struct frequency *block, const double *deviation)
{
	static const double tolerances[] = {[CONFIDENCE_LOW] = 0.5,
	                                    [CONFIDENCE_MEDIUM] = 0.15,
	                                    [CONFIDENCE_HIGH] = 0.05,
	                                    [CONFIDENCE_EXACT] = 0.001};
	struct fit_target target = {.value = block->value};

	if (block->confidence == CONFIDENCE_NONE)
		return target;
	if (deviation) {
		target.above = target.below = 1 / *deviation;
		return target;
	}
	target.above = 1 / (tolerances[block->confidence] * block->value + 1);
	target.below = block->confidence == CONFIDENCE_LOW ? target.above / 4 : target.above;
	return target;
}

/* What is not known well becomes what the flow makes of it, if that is something else. */
static void
settle_value(struct frequency *frequency, double value)
{
	if (frequency->confidence > CONFIDENCE_LOW ||
	    (frequency->confidence == CONFIDENCE_LOW && fabs(frequency->value - value) <= SAME * value))
		return;
	*frequency = (struct frequency){value, CONFIDENCE_LOW, FREQUENCY_FIT};
}

int
settle(struct estimation *estimation, const double *deviations)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	struct fit_target *targets = calloc(graph->block_count + 1, sizeof(*targets));
	double *blocks = calloc(graph->block_count + 1, sizeof(*blocks));
	double *edges = calloc(graph->edge_count + 1, sizeof(*edges));
	int err = -ENOMEM;

	if (!targets || !blocks || !edges)
		goto out;
	err = propagate(estimation);
	if (err)
		goto out;
	for (size_t i = 0; i < graph->block_count; i++)
		targets[i] = settle_target(&result->blocks[i], deviations ? &deviations[i] : NULL);
	err = fit_flow(graph, targets, blocks, edges);
	if (err == -EAGAIN) {
		result->is_rough = true;
		err = 0;
	}
	for (size_t i = 0; i < graph->block_count && !err; i++)
		settle_value(&result->blocks[i], blocks[i]);
	for (size_t i = 0; i < graph->edge_count && !err; i++)
		settle_value(&result->edges[i], edges[i]);
out:
	free(targets);
	free(blocks);
	free(edges);
	return err;
}
