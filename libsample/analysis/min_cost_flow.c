#include "analysis/min_cost_flow.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/workspace.h"

#define NONE              UINT32_MAX /* no node, no arc */
#define NETWORK_STEPS_MAX 100000000  /* over arcs and nodes, in all: a quarter of a second, or half */
#define BIG_M_FIRST       8          /* initial cost of an artificial arc: the largest cost divided by this */
#define BIG_M_FACTOR      4          /* it is multiplied by this at each stage */

/* Sign of the reduced cost that makes an arc worth entering. */
enum arc_state {
	ARC_EMPTY = 1, /* outside the tree, no flow */
	ARC_TREE = 0,  /* or its capacity is 0 */
	ARC_FULL = -1, /* outside the tree, flow at its capacity */
};

struct simplex_arc {
	uint32_t from, to;
	int64_t cost;
	int64_t state;
};

struct simplex_load {
	int64_t flow, capacity;
};

/* A node of the spanning tree: one arc connects it to its parent. */
struct simplex_node {
	uint32_t parent;
	uint32_t arc;
	uint32_t depth;
	uint32_t child, next, previous; /* first child, siblings */
	bool points_up;                 /* the arc leads to the parent */
};

struct simplex {
	struct workspace space;   /* of all arrays */
	struct simplex_arc *arcs; /* the caller's, then artificial ones: from each node to the root, from it to each */
	struct simplex_load *loads; /* of each arc */
	size_t arc_count;           /* with the artificial ones */
	struct simplex_node *nodes; /* the last is the root */
	int64_t *potentials; /* of nodes: cost + potential of `from` - potential of `to` is 0 for arcs of the tree */
	size_t node_count;   /* without the root */
	size_t next_arc;     /* where the search for the next entering arc begins */
	size_t search;       /* size of a block of arcs that is searched for the best one */
	size_t steps;        /* so far */
	uint32_t *path;
};

/* Where the cycle that the entering arc closes is cut. */
struct simplex_cut {
	uint32_t node;  /* the arc above it leaves the tree; NONE: the entering arc itself is what limits */
	bool at_source; /* it is on the side of the entering arc's source */
	int64_t step;   /* the flow that can be sent round */
};

static bool
arcs_are_valid(const struct network_arc *arcs, size_t arc_count, size_t node_count)
{
	int64_t total = 0;

	for (size_t i = 0; i < arc_count; i++) {
		const struct network_arc *arc = &arcs[i];

		if (arc->from >= node_count || arc->to >= node_count || arc->capacity < 0 ||
		    arc->capacity > NETWORK_UNLIMITED || arc->cost > NETWORK_COST_MAX || arc->cost < -NETWORK_COST_MAX)
			return false;
		if (arc->cost >= 0)
			continue;
		if (arc->capacity > NETWORK_TOTAL_MAX - total)
			return false;
		total += arc->capacity;
	}
	return true;
}

static bool
simplex_init(struct simplex *simplex, size_t arc_count, size_t node_count)
{
	simplex->arc_count = arc_count + 2 * node_count;
	simplex->node_count = node_count;
	simplex->search = (size_t)sqrt((double)simplex->arc_count) + 20;
	simplex->arcs = workspace_array(&simplex->space, simplex->arc_count, sizeof(*simplex->arcs));
	simplex->loads = workspace_array(&simplex->space, simplex->arc_count, sizeof(*simplex->loads));
	simplex->nodes = workspace_array(&simplex->space, node_count + 1, sizeof(*simplex->nodes));
	simplex->potentials = workspace_array(&simplex->space, node_count + 1, sizeof(*simplex->potentials));
	simplex->path = workspace_array(&simplex->space, node_count + 1, sizeof(*simplex->path));
	return !simplex->space.has_failed;
}

/* The first tree: each node is connected to the root by its artificial arc. */
static void
simplex_load_arcs(struct simplex *simplex, const struct network_arc *arcs, size_t arc_count)
{
	const uint32_t root = (uint32_t)simplex->node_count;

	for (size_t i = 0; i < arc_count; i++) {
		simplex->arcs[i] = (struct simplex_arc){arcs[i].from, arcs[i].to, arcs[i].cost,
		                                        arcs[i].capacity > 0 ? ARC_EMPTY : ARC_TREE};
		simplex->loads[i].capacity = arcs[i].capacity;
	}
	simplex->nodes[root] =
		(struct simplex_node){.parent = NONE, .arc = NONE, .child = 0, .next = NONE, .previous = NONE};
	for (uint32_t i = 0; i < root; i++) {
		const uint32_t up = (uint32_t)arc_count + i, down = up + root;

		simplex->arcs[up] = (struct simplex_arc){i, root, 0, ARC_TREE};
		simplex->arcs[down] = (struct simplex_arc){root, i, 0, ARC_EMPTY};
		simplex->loads[up].capacity = simplex->loads[down].capacity = NETWORK_UNLIMITED;
		simplex->nodes[i] = (struct simplex_node){
			.parent = root,
			.arc = up,
			.depth = 1,
			.child = NONE,
			.next = i + 1 < root ? i + 1 : NONE,
			.previous = i > 0 ? i - 1 : NONE,
			.points_up = true,
		};
	}
}

/* Block search: the best arc of the next block with one that saves anything; NONE when no arc does. */
static uint32_t
find_entering(struct simplex *simplex)
{
	const int64_t *potentials = simplex->potentials;
	uint32_t best = NONE;
	int64_t best_gain = 0;
	size_t at = simplex->next_arc, left = simplex->search;

	for (size_t i = 0; i < simplex->arc_count; i++) {
		const struct simplex_arc *arc = &simplex->arcs[at];
		const int64_t gain = arc->state * (potentials[arc->to] - potentials[arc->from] - arc->cost);

		if (gain > best_gain) {
			best_gain = gain;
			best = (uint32_t)at;
		}
		if (++at == simplex->arc_count)
			at = 0;
		simplex->steps++;
		if (--left > 0)
			continue;
		if (best != NONE)
			break;
		left = simplex->search;
	}
	simplex->next_arc = at;
	return best;
}

/* Residual capacity of the arc above `node`, upwards or downwards. */
static int64_t
residual_above(const struct simplex *simplex, uint32_t node, bool upwards)
{
	const struct simplex_load *load = &simplex->loads[simplex->nodes[node].arc];

	return simplex->nodes[node].points_up == upwards ? load->capacity - load->flow : load->flow;
}

/*
 * Flow goes down from the common ancestor to `source`, over the entering arc to `target`, and up again. The last arc on
 * that cycle that limits it leaves the tree: so the tree stays strongly feasible, and the simplex does not cycle.
 */
static struct simplex_cut
find_cut(struct simplex *simplex, uint32_t source, uint32_t target, int64_t step)
{
	struct simplex_cut cut = {.node = NONE, .step = step};
	const struct simplex_node *nodes = simplex->nodes;

	for (; source != target; simplex->steps++) {
		if (nodes[source].depth >= nodes[target].depth) {
			const int64_t residual = residual_above(simplex, source, false);

			if (residual < cut.step)
				cut = (struct simplex_cut){.node = source, .at_source = true, .step = residual};
			source = nodes[source].parent;
		} else {
			const int64_t residual = residual_above(simplex, target, true);

			if (residual <= cut.step)
				cut = (struct simplex_cut){.node = target, .at_source = false, .step = residual};
			target = nodes[target].parent;
		}
	}
	return cut;
}

static void
push_flow(struct simplex *simplex, uint32_t source, uint32_t target, int64_t step)
{
	const struct simplex_node *nodes = simplex->nodes;

	while (source != target) {
		if (nodes[source].depth >= nodes[target].depth) {
			simplex->loads[nodes[source].arc].flow += nodes[source].points_up ? -step : step;
			source = nodes[source].parent;
		} else {
			simplex->loads[nodes[target].arc].flow += nodes[target].points_up ? step : -step;
			target = nodes[target].parent;
		}
	}
}

static void
detach_child(struct simplex *simplex, uint32_t child)
{
	struct simplex_node *node = &simplex->nodes[child];

	if (node->previous == NONE)
		simplex->nodes[node->parent].child = node->next;
	else
		simplex->nodes[node->previous].next = node->next;
	if (node->next != NONE)
		simplex->nodes[node->next].previous = node->previous;
}

static void
attach_child(struct simplex *simplex, uint32_t child, uint32_t parent, uint32_t arc)
{
	struct simplex_node *node = &simplex->nodes[child];

	node->parent = parent;
	node->arc = arc;
	node->points_up = simplex->arcs[arc].from == child;
	node->previous = NONE;
	node->next = simplex->nodes[parent].child;
	if (node->next != NONE)
		simplex->nodes[node->next].previous = child;
	simplex->nodes[parent].child = child;
}

/* Depths and potentials of `top` and all below it, after it got another parent. */
static void
update_subtree(struct simplex *simplex, uint32_t top)
{
	struct simplex_node *nodes = simplex->nodes;
	uint32_t at = top;

	for (;;) {
		struct simplex_node *node = &nodes[at];
		const int64_t cost = simplex->arcs[node->arc].cost;

		simplex->steps++;
		node->depth = nodes[node->parent].depth + 1;
		simplex->potentials[at] = simplex->potentials[node->parent] + (node->points_up ? -cost : cost);
		if (node->child != NONE) {
			at = node->child;
			continue;
		}
		while (at != top && nodes[at].next == NONE)
			at = nodes[at].parent;
		if (at == top)
			return;
		at = nodes[at].next;
	}
}

/* Replace the arc above `cut` by `arc`: the subtree below is rooted anew at `end`, whose parent becomes `other`. */
static void
exchange_arcs(struct simplex *simplex, uint32_t cut, uint32_t end, uint32_t other, uint32_t arc)
{
	struct simplex_node *nodes = simplex->nodes;
	uint32_t parent = other;
	size_t length = 0;

	for (uint32_t at = end;; at = nodes[at].parent) {
		simplex->path[length++] = at;
		if (at == cut)
			break;
	}
	for (size_t i = 0; i < length; i++) {
		const uint32_t at = simplex->path[i];
		const uint32_t above = nodes[at].arc;

		detach_child(simplex, at);
		attach_child(simplex, at, parent, arc);
		parent = at;
		arc = above;
	}
	update_subtree(simplex, end);
}

static void
pivot(struct simplex *simplex, uint32_t entering)
{
	struct simplex_arc *arc = &simplex->arcs[entering];
	struct simplex_load *load = &simplex->loads[entering];
	const bool is_empty = arc->state == ARC_EMPTY;
	const uint32_t source = is_empty ? arc->from : arc->to;
	const uint32_t target = is_empty ? arc->to : arc->from;
	const struct simplex_cut cut = find_cut(simplex, source, target, load->capacity);
	uint32_t leaving;

	if (cut.step > 0)
		push_flow(simplex, source, target, cut.step);
	load->flow += is_empty ? cut.step : -cut.step;
	if (cut.node == NONE) {
		arc->state = is_empty ? ARC_FULL : ARC_EMPTY;
		return;
	}
	leaving = simplex->nodes[cut.node].arc;
	simplex->arcs[leaving].state = simplex->loads[leaving].flow == 0 ? ARC_EMPTY : ARC_FULL;
	arc->state = ARC_TREE;
	if (cut.at_source)
		exchange_arcs(simplex, cut.node, source, target, entering);
	else
		exchange_arcs(simplex, cut.node, target, source, entering);
}

static int
pivot_to_optimum(struct simplex *simplex)
{
	for (;;) {
		const uint32_t entering = find_entering(simplex);

		if (entering == NONE)
			return 0;
		if (simplex->steps >= NETWORK_STEPS_MAX)
			return -EAGAIN;
		pivot(simplex, entering);
	}
}

/* Flows and the tree stay as they are; only potentials change. */
static void
set_artificial_cost(struct simplex *simplex, int64_t big_m)
{
	const struct simplex_node *nodes = simplex->nodes;

	for (size_t i = simplex->arc_count - 2 * simplex->node_count; i < simplex->arc_count; i++)
		simplex->arcs[i].cost = big_m;
	for (uint32_t i = nodes[simplex->node_count].child; i != NONE; i = nodes[i].next)
		update_subtree(simplex, i);
}

static bool
is_circulation(const struct simplex *simplex)
{
	for (size_t i = simplex->arc_count - 2 * simplex->node_count; i < simplex->arc_count; i++)
		if (simplex->loads[i].flow > 0)
			return false;
	return true;
}

static int64_t
largest_cost(const struct network_arc *arcs, size_t arc_count)
{
	int64_t largest = 1;

	for (size_t i = 0; i < arc_count; i++)
		if (arcs[i].cost > largest || -arcs[i].cost > largest)
			largest = arcs[i].cost > 0 ? arcs[i].cost : -arcs[i].cost;
	return largest;
}

/*
 * Big M is low at first: then flow is balanced between neighbours, in a flat tree, and as it rises what is left is
 * balanced over longer and longer paths. With the full big M from the beginning, a ladder of 2,000 blocks takes a
 * hundred times as many steps. Once no artificial arc has flow, big M does not matter any more.
 */
static int
solve(struct simplex *simplex, int64_t largest)
{
	const int64_t big_m_max = (largest + 1) * ((int64_t)simplex->node_count + 1);
	int64_t big_m = largest / BIG_M_FIRST + 1;
	int err;

	for (;;) {
		set_artificial_cost(simplex, big_m);
		err = pivot_to_optimum(simplex);
		if (err || big_m == big_m_max || is_circulation(simplex))
			return err;
		big_m = big_m < big_m_max / BIG_M_FACTOR ? big_m * BIG_M_FACTOR : big_m_max;
	}
}

int
min_cost_circulation(struct network_arc *arcs, size_t arc_count, size_t node_count)
{
	struct simplex simplex = {0};
	int err = -ENOMEM;

	if (arc_count > NONE / 4 || node_count > NONE / 4 || !arcs_are_valid(arcs, arc_count, node_count))
		return -EINVAL;
	if (arc_count == 0)
		return 0;
	if (simplex_init(&simplex, arc_count, node_count)) {
		simplex_load_arcs(&simplex, arcs, arc_count);
		err = solve(&simplex, largest_cost(arcs, arc_count));
	}
	for (size_t i = 0; i < arc_count && err != -ENOMEM; i++)
		arcs[i].flow = simplex.loads[i].flow;
	workspace_free(&simplex.space);
	return err;
}
