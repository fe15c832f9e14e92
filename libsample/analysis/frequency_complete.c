/*
 * From values of some blocks and edges to a flow through the whole graph: local propagation, then a fit by linear
 * programming of what that leaves open, whose free edges are spread evenly.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/frequency_internal.h"
#include "analysis/min_cost_flow.h"

#define AGREES             1e-4 /* of a value: the flow confirms it */
#define ROUNDS_MAX         60   /* of an even spread */
#define COMPLETE_TOLERANCE 1e-3 /* of a block, in an even spread */

#define OUTSIDE_PORT 0U
#define SEGMENTS     4                            /* arcs a block */
#define COST_TOP     1048576.0                    /* the largest cost of a deviation */
#define UNITS_MAX    1048576.0                    /* of flow, 1 of F */
#define UNITS_TOTAL  ((double)((int64_t)1 << 48)) /* of flow, all targets */

/* DCPI's local propagation. */

/* What is known of the edges into a block, or out of it. */
struct block_side {
	double known;     /* sum */
	uint32_t unknown; /* edges without a value */
	uint32_t edge;    /* the last of those */
	uint8_t confidence;
};

/* Blocks beside an edge that became known. */
struct worklist {
	uint32_t *blocks;
	bool *is_in;
	size_t count;
};

static void
worklist_add(struct worklist *list, uint32_t block)
{
	if (block == FLOW_OUTSIDE || list->is_in[block])
		return;
	list->is_in[block] = true;
	list->blocks[list->count++] = block;
}

static struct block_side
sum_side(const struct frequency_estimation *estimation, const uint32_t *edges, uint32_t count)
{
	struct block_side side = {.confidence = CONFIDENCE_EXACT};

	for (uint32_t i = 0; i < count; i++) {
		const struct frequency *edge = &estimation->result->edges[edges[i]];

		if (edge->confidence == CONFIDENCE_NONE) {
			side.unknown++;
			side.edge = edges[i];
			continue;
		}
		side.known += edge->value;
		if (edge->confidence < side.confidence)
			side.confidence = edge->confidence;
	}
	return side;
}

/* A small difference of large numbers is worth less than they are. */
static uint8_t
difference_confidence(double rest, double known, uint8_t confidence)
{
	if (confidence == CONFIDENCE_EXACT)
		return confidence;
	if (rest < 0.25 * known)
		return CONFIDENCE_LOW;
	return rest < known && confidence > CONFIDENCE_LOW ? confidence - 1 : confidence;
}

static void
infer_edge(struct frequency_estimation *estimation, const struct frequency *block, const struct block_side *side,
           struct worklist *list)
{
	const struct flow_edge *edge = &estimation->graph->edges[side->edge];
	const double rest = block->value - side->known;
	const uint8_t confidence = block->confidence < side->confidence ? block->confidence : side->confidence;

	estimation->result->edges[side->edge] = (struct frequency){
		.value = rest > 0 ? rest : 0,
		.confidence = difference_confidence(rest, side->known, confidence),
		.method = FREQUENCY_PROPAGATED,
	};
	worklist_add(list, edge->from);
	worklist_add(list, edge->to);
}

static void
infer_from_side(struct frequency_estimation *estimation, uint32_t block, const struct block_side *side, uint32_t edges,
                struct worklist *list)
{
	struct frequency *frequency = &estimation->result->blocks[block];

	if (edges == 0)
		return;
	if (side->unknown == 0 && frequency->confidence == CONFIDENCE_NONE) {
		*frequency = (struct frequency){side->known, side->confidence, FREQUENCY_PROPAGATED};
		worklist_add(list, block);
	}
	if (side->unknown == 1 && frequency->confidence != CONFIDENCE_NONE)
		infer_edge(estimation, frequency, side, list);
}

/*
 * Conservation of flow: where all but one of the edges at one side of a block are known, the last is what they leave,
 * and never negative; a block without a value is the sum of one side. In linear time.
 */
static int
propagate(struct frequency_estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	struct workspace space = {0};
	struct worklist list = {
		.blocks = workspace_array(&space, graph->block_count, sizeof(*list.blocks)),
		.is_in = workspace_array(&space, graph->block_count, sizeof(*list.is_in)),
	};

	if (space.has_failed) {
		workspace_free(&space);
		return -ENOMEM;
	}
	for (size_t i = graph->block_count; i-- > 0;)
		worklist_add(&list, (uint32_t)i);
	while (list.count > 0) {
		const uint32_t block = list.blocks[--list.count];
		const struct flow_block *at = &graph->blocks[block];
		struct block_side side;

		list.is_in[block] = false;
		side = sum_side(estimation, graph->ins + at->in, at->in_count);
		infer_from_side(estimation, block, &side, at->in_count, &list);
		side = sum_side(estimation, graph->outs + at->out, at->out_count);
		infer_from_side(estimation, block, &side, at->out_count, &list);
	}
	workspace_free(&space);
	return 0;
}

/*
 * An even spread, where several flows explain the blocks equally well. A circulation of least cost puts all on some
 * edges and none on the others; the most even distribution whose sums equal the circulation's is a better guess,
 * for it is never far off. It is found by iterative proportional fitting (Deming and Stephan 1940), component by
 * component: where the sums leave no even distribution, the fit is slow and the flow stays as it was.
 */

/* Union-find with path halving. */
static uint32_t
root_of(uint32_t *parents, uint32_t at)
{
	while (parents[at] != at) {
		parents[at] = parents[parents[at]];
		at = parents[at];
	}
	return at;
}

/* Sides of blocks that edges connect: 2 x block its exit, + 1 its entry. */
struct even_spread {
	const struct flow_graph *graph;
	const double *blocks;
	double *even;      /* per edge */
	uint32_t *parents; /* per side: a forest of components */
	bool *is_uneven;   /* per component */
};

static uint32_t
edge_component(struct even_spread *spread, const struct flow_edge *edge)
{
	return root_of(spread->parents, edge->from != FLOW_OUTSIDE ? 2 * edge->from : 2 * edge->to + 1);
}

static void
join_sides(struct even_spread *spread)
{
	const struct flow_graph *graph = spread->graph;

	for (uint32_t i = 0; i < 2 * graph->block_count; i++)
		spread->parents[i] = i;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE)
			continue;
		spread->parents[root_of(spread->parents, 2 * edge->from)] = root_of(spread->parents, 2 * edge->to + 1);
	}
}

/* Scale the edges of one side to the block's sum; how far they were from it, as a part of it. */
static double
scale_side(struct even_spread *spread, const uint32_t *edges, uint32_t count, double sum)
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
scale_all(struct even_spread *spread)
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
		spread->is_uneven[root_of(spread->parents, 2 * i)] |= off > COMPLETE_TOLERANCE;
		is_even &= off <= COMPLETE_TOLERANCE;
	}
	return is_even;
}

/* Flow from and to outside is known; all others begin alike. */
static void
set_first_guess(struct even_spread *spread, const double *edges)
{
	const struct flow_graph *graph = spread->graph;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const bool is_open = edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE;

		spread->even[i] = is_open ? edges[i] : spread->blocks[edge->from] / graph->blocks[edge->from].out_count;
	}
}

/* Edges as even as the blocks allow, where they allow it; elsewhere as they were. 0, or -ENOMEM. */
static int
spread_evenly(const struct flow_graph *graph, const double *blocks, double *edges)
{
	struct even_spread spread = {.graph = graph, .blocks = blocks};
	struct workspace space = {0};
	bool is_even = false;

	spread.even = workspace_array(&space, graph->edge_count, sizeof(*spread.even));
	spread.parents = workspace_array(&space, 2 * graph->block_count, sizeof(*spread.parents));
	spread.is_uneven = workspace_array(&space, 2 * graph->block_count, sizeof(*spread.is_uneven));
	if (space.has_failed)
		goto out;
	join_sides(&spread);
	set_first_guess(&spread, edges);
	for (int round = 0; round < ROUNDS_MAX && !is_even; round++) {
		for (size_t i = 0; i < 2 * graph->block_count; i++)
			spread.is_uneven[i] = false;
		is_even = scale_all(&spread);
	}
	for (size_t i = 0; i < graph->edge_count; i++)
		if (!spread.is_uneven[edge_component(&spread, &graph->edges[i])])
			edges[i] = spread.even[i];
out:
	workspace_free(&space);
	return space.has_failed ? -ENOMEM : 0;
}

/*
 * The fit: the flow through a graph that is nearest to what its blocks say. A sum of absolute deviations under
 * conservation of flow is a circulation of least cost: each block is arcs from its entry to its exit, of which those up
 * to its target pay and those beyond it cost. Where a block has one successor, or one predecessor, there is no choice:
 * the two ports are one node, and the edge has the block's flow. That leaves a third of the nodes, and the search is
 * quick.
 */

struct flow_fit {
	const struct flow_graph *graph;
	uint32_t *nodes;          /* of each port: outside, then each block's entry and exit */
	struct network_arc *arcs; /* first those of the blocks */
	size_t count, node_count;
	double units; /* of flow, 1 of F */
	double costs; /* of an arc, 1 of a target's cost */
};

static uint32_t
block_entry(uint32_t block)
{
	return block == FLOW_OUTSIDE ? OUTSIDE_PORT : 2 * block + 1;
}

static uint32_t
block_exit(uint32_t block)
{
	return block == FLOW_OUTSIDE ? OUTSIDE_PORT : 2 * block + 2;
}

/* The block whose flow is the edge's; FLOW_OUTSIDE when there is none, as in a graph with gaps. */
static uint32_t
block_of_edge(const struct flow_graph *graph, const struct flow_edge *edge)
{
	if (!graph->is_complete)
		return FLOW_OUTSIDE;
	if (edge->from != FLOW_OUTSIDE && graph->blocks[edge->from].out_count == 1)
		return edge->from;
	return edge->to != FLOW_OUTSIDE && graph->blocks[edge->to].in_count == 1 ? edge->to : FLOW_OUTSIDE;
}

/* Ports that are joined get one node (union-find); the lowest port is the root, so that a root is numbered first. */
static void
fit_number_nodes(struct flow_fit *fit)
{
	const struct flow_graph *graph = fit->graph;
	const uint32_t port_count = 2 * (uint32_t)graph->block_count + 1;
	uint32_t *parents = fit->nodes;

	for (uint32_t i = 0; i < port_count; i++)
		parents[i] = i;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const uint32_t one = root_of(parents, block_exit(edge->from));
		const uint32_t other = root_of(parents, block_entry(edge->to));

		if (block_of_edge(graph, edge) != FLOW_OUTSIDE)
			parents[one > other ? one : other] = one > other ? other : one;
	}
	for (uint32_t i = 0; i < port_count; i++)
		parents[i] = root_of(parents, i);
	for (uint32_t i = 0; i < port_count; i++)
		fit->nodes[i] = parents[i] == i ? (uint32_t)fit->node_count++ : fit->nodes[parents[i]];
}

static void
fit_add(struct flow_fit *fit, uint32_t from, uint32_t to /* sides */, int64_t capacity, double cost)
{
	fit->arcs[fit->count++] =
		(struct network_arc){fit->nodes[from], fit->nodes[to], capacity, (int64_t)lround(cost * fit->costs), 0};
}

static void
fit_add_block(struct flow_fit *fit, uint32_t block, const struct frequency_target *target)
{
	const int64_t low = (int64_t)(target->value * (1 - target->slack) * fit->units);
	const int64_t middle = (int64_t)(target->value * fit->units);
	const int64_t high = (int64_t)(target->value * (1 + target->slack) * fit->units);
	const uint32_t from = block_entry(block), to = block_exit(block);

	fit_add(fit, from, to, low, -target->below);
	fit_add(fit, from, to, middle - low, -target->below / 4);
	fit_add(fit, from, to, high - middle, target->above / 4);
	fit_add(fit, from, to, NETWORK_UNLIMITED, target->above);
}

/*
 * Where no edge enters or leaves a block, flow comes from or goes to outside. Where the graph has gaps, it may at any
 * block: at half the cost of the deviation that it saves, so that it is used at one end, not at both.
 */
static void
fit_add_gaps(struct flow_fit *fit, uint32_t block, const struct frequency_target *target)
{
	const struct flow_block *at = &fit->graph->blocks[block];
	const double cost = fmax(target->below, target->above) / 2;

	if (at->in_count == 0 || !fit->graph->is_complete)
		fit_add(fit, OUTSIDE_PORT, block_entry(block), NETWORK_UNLIMITED, at->in_count == 0 ? 0 : cost);
	if (at->out_count == 0 || !fit->graph->is_complete)
		fit_add(fit, block_exit(block), OUTSIDE_PORT, NETWORK_UNLIMITED, at->out_count == 0 ? 0 : cost);
}

static void
fit_set_scales(struct flow_fit *fit, const struct frequency_target *targets)
{
	double total = 0, largest = 0;

	for (size_t i = 0; i < fit->graph->block_count; i++) {
		total += targets[i].value * 2;
		largest = fmax(largest, fmax(targets[i].below, targets[i].above));
	}
	fit->units = total > 0 ? fmin(UNITS_MAX, UNITS_TOTAL / total) : 1;
	fit->costs = largest > 0 ? COST_TOP / largest : 0;
}

static void
fit_read(const struct flow_fit *fit, double *blocks, double *edges)
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

/* The whole network. Arcs from and to outside come last: they are not read. */
static void
fit_build(struct flow_fit *fit, const struct frequency_target *targets)
{
	const struct flow_graph *graph = fit->graph;

	fit_number_nodes(fit);
	fit_set_scales(fit, targets);
	for (uint32_t i = 0; i < graph->block_count; i++)
		fit_add_block(fit, i, &targets[i]);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (block_of_edge(graph, edge) == FLOW_OUTSIDE)
			fit_add(fit, block_exit(edge->from), block_entry(edge->to), NETWORK_UNLIMITED, 0);
	}
	for (uint32_t i = 0; i < graph->block_count; i++)
		fit_add_gaps(fit, i, &targets[i]);
}

int
frequency_fit(const struct flow_graph *graph, const struct frequency_target *targets, double *blocks, double *edges)
{
	struct workspace space = {0};
	struct flow_fit fit = {
		.graph = graph,
		.nodes = workspace_array(&space, 2 * graph->block_count + 1, sizeof(*fit.nodes)),
		.arcs = workspace_array(&space, graph->edge_count + (SEGMENTS + 2) * graph->block_count,
	                                sizeof(*fit.arcs)),
	};
	int err = -ENOMEM, spread_err;

	if (space.has_failed)
		goto out;
	fit_build(&fit, targets);
	err = min_cost_circulation(fit.arcs, fit.count, fit.node_count);
	if (err && err != -EAGAIN)
		goto out;
	fit_read(&fit, blocks, edges);
	spread_err = spread_evenly(graph, blocks, edges);
	if (spread_err)
		err = spread_err;
out:
	workspace_free(&space);
	return err;
}

/* By the deviation, as a part of the value, that is as likely as not. Too much is more likely than too little: stalls.
 */
static struct frequency_target
completion_target(const struct frequency *block, const double *deviation)
{
	static const double tolerances[] = {[CONFIDENCE_LOW] = 0.5,
	                                    [CONFIDENCE_MEDIUM] = 0.15,
	                                    [CONFIDENCE_HIGH] = 0.05,
	                                    [CONFIDENCE_EXACT] = 0.001};
	struct frequency_target target = {.value = block->value};

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

/* A value that is not known well becomes that of the flow, if that is another. */
static void
complete_value(struct frequency *frequency, double value)
{
	if (frequency->confidence > CONFIDENCE_LOW ||
	    (frequency->confidence == CONFIDENCE_LOW && fabs(frequency->value - value) <= AGREES * value))
		return;
	*frequency = (struct frequency){value, CONFIDENCE_LOW, FREQUENCY_FIT};
}

int
frequency_complete(struct frequency_estimation *estimation, const double *deviations)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	struct workspace space = {0};
	struct frequency_target *targets = workspace_array(&space, graph->block_count, sizeof(*targets));
	double *blocks = workspace_array(&space, graph->block_count, sizeof(*blocks));
	double *edges = workspace_array(&space, graph->edge_count, sizeof(*edges));
	int err = -ENOMEM;

	if (space.has_failed)
		goto out;
	err = propagate(estimation);
	if (err)
		goto out;
	for (size_t i = 0; i < graph->block_count; i++)
		targets[i] = completion_target(&result->blocks[i], deviations ? &deviations[i] : NULL);
	err = frequency_fit(graph, targets, blocks, edges);
	if (err && err != -EAGAIN)
		goto out;
	result->is_rough |= err == -EAGAIN;
	err = 0;
	for (size_t i = 0; i < graph->block_count; i++)
		complete_value(&result->blocks[i], blocks[i]);
	for (size_t i = 0; i < graph->edge_count; i++)
		complete_value(&result->edges[i], edges[i]);
out:
	workspace_free(&space);
	return err;
}
