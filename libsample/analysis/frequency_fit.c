/*
 * The flow through a graph that is nearest to what its blocks say. A sum of absolute deviations under "what comes in
 * goes out" is a circulation of least cost: each block is arcs from its way in to its way out, of which those up to its
 * target pay and those beyond it cost. Where a block ends one way, or a block is reached one way, there is no choice:
 * the two ends are one node, and the edge has the block's flow. That leaves a third of the nodes, and the search is
 * quick.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"
#include "analysis/min_cost_flow.h"

#define OUTSIDE_SIDE 0U
#define SEGMENTS     4                            /* arcs a block */
#define COST_TOP     1048576.0                    /* the dearest deviation */
#define UNITS_MAX    1048576.0                    /* of flow, 1 of F */
#define UNITS_TOTAL  ((double)((int64_t)1 << 48)) /* of flow, all targets */

struct fit {
	const struct flow_graph *graph;
	uint32_t *nodes;          /* of each side: outside, then each block's way in and its way out */
	struct network_arc *arcs; /* first those of the blocks */
	size_t count, node_count;
	double units; /* of flow, 1 of F */
	double costs; /* of an arc, 1 of a target's cost */
};

static uint32_t
side_in(uint32_t block)
{
	return block == FLOW_OUTSIDE ? OUTSIDE_SIDE : 2 * block + 1;
}

static uint32_t
side_out(uint32_t block)
{
	return block == FLOW_OUTSIDE ? OUTSIDE_SIDE : 2 * block + 2;
}

/* The block whose flow is all of the edge's, FLOW_OUTSIDE when there is none; in a graph with gaps nothing is all. */
static uint32_t
block_of_edge(const struct flow_graph *graph, const struct flow_edge *edge)
{
	if (!graph->is_complete)
		return FLOW_OUTSIDE;
	if (edge->from != FLOW_OUTSIDE && graph->blocks[edge->from].out_count == 1)
		return edge->from;
	return edge->to != FLOW_OUTSIDE && graph->blocks[edge->to].in_count == 1 ? edge->to : FLOW_OUTSIDE;
}

static uint32_t
root_of(uint32_t *parents, uint32_t side)
{
	while (parents[side] != side) {
		parents[side] = parents[parents[side]];
		side = parents[side];
	}
	return side;
}

/* Sides that are joined get one node; the lowest side of them is the root, so that a root is numbered first. */
static void
fit_number_nodes(struct fit *fit)
{
	const struct flow_graph *graph = fit->graph;
	const uint32_t side_count = 2 * (uint32_t)graph->block_count + 1;
	uint32_t *parents = fit->nodes;

	for (uint32_t i = 0; i < side_count; i++)
		parents[i] = i;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const uint32_t one = root_of(parents, side_out(edge->from));
		const uint32_t other = root_of(parents, side_in(edge->to));

		if (block_of_edge(graph, edge) != FLOW_OUTSIDE)
			parents[one > other ? one : other] = one > other ? other : one;
	}
	for (uint32_t i = 0; i < side_count; i++)
		parents[i] = root_of(parents, i);
	for (uint32_t i = 0; i < side_count; i++)
		fit->nodes[i] = parents[i] == i ? (uint32_t)fit->node_count++ : fit->nodes[parents[i]];
}

static void
fit_add(struct fit *fit, uint32_t from, uint32_t to /* sides */, int64_t capacity, double cost)
{
	fit->arcs[fit->count++] =
		(struct network_arc){fit->nodes[from], fit->nodes[to], capacity, (int64_t)lround(cost * fit->costs), 0};
}

static void
fit_add_block(struct fit *fit, uint32_t block, const struct fit_target *target)
{
	const int64_t low = (int64_t)(target->value * (1 - target->slack) * fit->units);
	const int64_t middle = (int64_t)(target->value * fit->units);
	const int64_t high = (int64_t)(target->value * (1 + target->slack) * fit->units);
	const uint32_t from = side_in(block), to = side_out(block);

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
		fit_add(fit, OUTSIDE_SIDE, side_in(block), NETWORK_UNLIMITED, at->in_count == 0 ? 0 : price);
	if (at->out_count == 0 || !fit->graph->is_complete)
		fit_add(fit, side_out(block), OUTSIDE_SIDE, NETWORK_UNLIMITED, at->out_count == 0 ? 0 : price);
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
	const struct network_arc *arc = fit->arcs;

	for (size_t i = 0; i < graph->block_count; i++) {
		int64_t flow = 0;

		for (size_t k = 0; k < SEGMENTS; k++)
			flow += (arc++)->flow;
		blocks[i] = (double)flow / fit->units;
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		const uint32_t block = block_of_edge(graph, &graph->edges[i]);

		edges[i] = block == FLOW_OUTSIDE ? (double)(arc++)->flow / fit->units : blocks[block];
	}
}

/* All that the network consists of; a third kind of arcs, from and to outside, is not read. */
static void
fit_build(struct fit *fit, const struct fit_target *targets)
{
	const struct flow_graph *graph = fit->graph;

	fit_number_nodes(fit);
	fit_set_scales(fit, targets);
	for (uint32_t i = 0; i < graph->block_count; i++)
		fit_add_block(fit, i, &targets[i]);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (block_of_edge(graph, edge) == FLOW_OUTSIDE)
			fit_add(fit, side_out(edge->from), side_in(edge->to), NETWORK_UNLIMITED, 0);
	}
	for (uint32_t i = 0; i < graph->block_count; i++)
		fit_add_gaps(fit, i, &targets[i]);
}

int
fit_flow(const struct flow_graph *graph, const struct fit_target *targets, double *blocks, double *edges)
{
	struct fit fit = {
		.graph = graph,
		.nodes = calloc(2 * graph->block_count + 1, sizeof(*fit.nodes)),
		.arcs = calloc(graph->edge_count + (SEGMENTS + 2) * graph->block_count + 1, sizeof(*fit.arcs)),
	};
	int err = -ENOMEM;

	if (fit.nodes && fit.arcs) {
		fit_build(&fit, targets);
		err = network_circulate(fit.arcs, fit.count, fit.node_count);
	}
	if (!err || err == -EAGAIN) {
		const int spread_err = (fit_read(&fit, blocks, edges), fit_spread(graph, blocks, edges));

		err = spread_err ? spread_err : err;
	}
	free(fit.nodes);
	free(fit.arcs);
	return err;
}
