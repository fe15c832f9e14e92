/*
 * Which way flow took where several ways explain the blocks equally well. A circulation of least cost puts all on some
 * and none on the others; the most even distribution with the same sums is a better guess, for it is never far off.
 * It is found by iterative proportional fitting (Deming and Stephan 1940), component by component: where the sums leave
 * no even distribution, the fit is slow and the flow stays as it was.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

#define ROUNDS_MAX 60
#define TOLERANCE  1e-3 /* of a block */

/* Sides of blocks, and which belong together since an edge connects them: 2 x block its way out, + 1 its way in. */
struct spread {
	const struct flow_graph *graph;
	const double *blocks;
	double *even;      /* per edge */
	uint32_t *parents; /* per side: a forest of components */
	bool *is_uneven;   /* per component */
};

static uint32_t
component(struct spread *spread, uint32_t side)
{
	while (spread->parents[side] != side) {
		spread->parents[side] = spread->parents[spread->parents[side]];
		side = spread->parents[side];
	}
	return side;
}

static uint32_t
edge_component(struct spread *spread, const struct flow_edge *edge)
{
	return component(spread, edge->from != FLOW_OUTSIDE ? 2 * edge->from : 2 * edge->to + 1);
}

static void
join_sides(struct spread *spread)
{
	const struct flow_graph *graph = spread->graph;

	for (uint32_t i = 0; i < 2 * graph->block_count; i++)
		spread->parents[i] = i;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE)
			continue;
		spread->parents[component(spread, 2 * edge->from)] = component(spread, 2 * edge->to + 1);
	}
}

/* Scale the edges of one side to the block's sum; how far they were from it, as a part of it. */
static double
scale_side(struct spread *spread, const uint32_t *edges, uint32_t count, double sum)
{
	double now = 0;

	for (uint32_t i = 0; i < count; i++)
		now += spread->even[edges[i]];
	if (now <= 0)
		return sum > 0 ? 1 : 0;
	for (uint32_t i = 0; i < count; i++)
		spread->even[edges[i]] *= sum / now;
	return sum > 0 ? fabs(now - sum) / sum : 0;
}

static bool
scale_all(struct spread *spread)
{
	const struct flow_graph *graph = spread->graph;
	bool is_even = true;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		if (block->in_count > 0)
			scale_side(spread, graph->ins + block->in, block->in_count, spread->blocks[i]);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		double off = 0;

		if (block->out_count > 0)
			off = scale_side(spread, graph->outs + block->out, block->out_count, spread->blocks[i]);
		spread->is_uneven[component(spread, 2 * i)] |= off > TOLERANCE;
		is_even &= off <= TOLERANCE;
	}
	return is_even;
}

/* Where flow comes from outside, how much is known from the flow; all others begin alike. */
static void
begin_even(struct spread *spread, const double *edges)
{
	const struct flow_graph *graph = spread->graph;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const bool is_open = edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE;

		spread->even[i] = is_open ? edges[i] : spread->blocks[edge->from] / graph->blocks[edge->from].out_count;
	}
}

int
fit_spread(const struct flow_graph *graph, const double *blocks, double *edges)
{
	struct spread spread = {.graph = graph, .blocks = blocks};
	bool is_even = false;

	spread.even = calloc(graph->edge_count + 1, sizeof(*spread.even));
	spread.parents = calloc(2 * graph->block_count + 1, sizeof(*spread.parents));
	spread.is_uneven = calloc(2 * graph->block_count + 1, sizeof(*spread.is_uneven));
	if (spread.even && spread.parents && spread.is_uneven) {
		join_sides(&spread);
		begin_even(&spread, edges);
		for (int round = 0; round < ROUNDS_MAX && !is_even; round++) {
			for (size_t i = 0; i < 2 * graph->block_count; i++)
				spread.is_uneven[i] = false;
			is_even = scale_all(&spread);
		}
		for (size_t i = 0; i < graph->edge_count; i++)
			if (!spread.is_uneven[edge_component(&spread, &graph->edges[i])])
				edges[i] = spread.even[i];
	}
	is_even = spread.even && spread.parents && spread.is_uneven;
	free(spread.even);
	free(spread.parents);
	free(spread.is_uneven);
	return is_even ? 0 : -ENOMEM;
}
