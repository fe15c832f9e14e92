/*
 * The flow through a graph that is nearest to what its blocks say. A sum of absolute deviations under "what comes in
 * goes out" is a circulation of least cost: each block is arcs from its way in to its way out, of which those up to its
 * target pay and those beyond it cost.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"
#include "analysis/min_cost_flow.h"

#define OUTSIDE_NODE 0U
#define SEGMENTS     4                            /* arcs a block */
#define COST_TOP     1048576.0                    /* the dearest deviation */
#define UNITS_MAX    1048576.0                    /* of flow, 1 of F */
#define UNITS_TOTAL  ((double)((int64_t)1 << 48)) /* of flow, all targets */

struct fit {
	const struct flow_graph *graph;
	struct network_arc *arcs;
	size_t count;
	double units; /* of flow, 1 of F */
	double costs; /* of an arc, 1 of a target's cost */
};

static uint32_t
node_in(uint32_t block)
{
	return block == FLOW_OUTSIDE ? OUTSIDE_NODE : 2 * block + 1;
}

static uint32_t
node_out(uint32_t block)
{
	return block == FLOW_OUTSIDE ? OUTSIDE_NODE : 2 * block + 2;
}

static void
fit_add(struct fit *fit, uint32_t from, uint32_t to, int64_t capacity, double cost)
{
	fit->arcs[fit->count++] = (struct network_arc){from, to, capacity, (int64_t)lround(cost * fit->costs), 0};
}

static void
fit_add_block(struct fit *fit, uint32_t block, const struct fit_target *target)
{
	const int64_t low = (int64_t)(target->value * (1 - target->slack) * fit->units);
	const int64_t middle = (int64_t)(target->value * fit->units);
	const int64_t high = (int64_t)(target->value * (1 + target->slack) * fit->units);
	const uint32_t from = node_in(block), to = node_out(block);

	fit_add(fit, from, to, low, -target->below);
	fit_add(fit, from, to, middle - low, -target->below / 4);
	fit_add(fit, from, to, high - middle, target->above / 4);
	fit_add(fit, from, to, NETWORK_UNLIMITED, target->above);
}

/*
 * Where no edge comes or goes, something unknown does. And where the graph has gaps, anything may: at half the price of
 * the deviation that it saves, so that it is used at one end, not at both.
 */
static void
fit_add_gaps(struct fit *fit, uint32_t block, const struct fit_target *target)
{
	const struct flow_block *at = &fit->graph->blocks[block];
	const double price = fmax(target->below, target->above) / 2;

	if (at->in_count == 0 || !fit->graph->is_complete)
		fit_add(fit, OUTSIDE_NODE, node_in(block), NETWORK_UNLIMITED, at->in_count == 0 ? 0 : price);
	if (at->out_count == 0 || !fit->graph->is_complete)
		fit_add(fit, node_out(block), OUTSIDE_NODE, NETWORK_UNLIMITED, at->out_count == 0 ? 0 : price);
}

static void
fit_set_scales(struct fit *fit, const struct fit_target *targets)
{
	double total = 0, dearest = 0;

	for (size_t i = 0; i < fit->graph->block_count; i++) {
		total += targets[i].value * 2;
		dearest = fmax(dearest, fmax(targets[i].below, targets[i].above));
	}
	fit->units = total > 0 ? fmin(UNITS_MAX, UNITS_TOTAL / total) : 1;
	fit->costs = dearest > 0 ? COST_TOP / dearest : 0;
}

static void
fit_read(const struct fit *fit, double *blocks, double *edges)
{
	const struct flow_graph *graph = fit->graph;

	for (size_t i = 0; i < graph->edge_count; i++)
		edges[i] = (double)fit->arcs[i].flow / fit->units;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct network_arc *arcs = &fit->arcs[graph->edge_count + SEGMENTS * i];
		int64_t flow = 0;

		for (size_t k = 0; k < SEGMENTS; k++)
			flow += arcs[k].flow;
		blocks[i] = (double)flow / fit->units;
	}
}

int
fit_flow(const struct flow_graph *graph, const struct fit_target *targets, double *blocks, double *edges)
{
	struct fit fit = {.graph = graph};
	int err;

	fit.arcs = calloc(graph->edge_count + (SEGMENTS + 2) * graph->block_count + 1, sizeof(*fit.arcs));
	if (!fit.arcs)
		return -ENOMEM;
	fit_set_scales(&fit, targets);
	for (size_t i = 0; i < graph->edge_count; i++)
		fit_add(&fit, node_out(graph->edges[i].from), node_in(graph->edges[i].to), NETWORK_UNLIMITED, 0);
	for (uint32_t i = 0; i < graph->block_count; i++)
		fit_add_block(&fit, i, &targets[i]);
	for (uint32_t i = 0; i < graph->block_count; i++)
		fit_add_gaps(&fit, i, &targets[i]);
	err = network_circulate(fit.arcs, fit.count, 2 * graph->block_count + 1);
	if (!err || err == -EAGAIN) { /* not quite the nearest, but a flow */
		fit_read(&fit, blocks, edges);
		err = fit_spread(graph, blocks, edges);
	}
	free(fit.arcs);
	return err;
}
