#include "analysis/min_cost_flow.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NOBODY    UINT32_MAX
#define STEPS_MAX 100000000 /* over nodes, in all pivots: half a second */

enum arc_state {
	ARC_EMPTY, /* outside the tree, no flow */
	ARC_FULL,  /* outside the tree, flow at its capacity */
	ARC_TREE,
};

/* A node hangs on its parent by one arc, which leads up or down. */
struct node {
	uint32_t parent;
	uint32_t arc;
	uint32_t depth;
	uint32_t child, next, previous; /* first child, siblings */
	int64_t potential;              /* cost + potential of `from` - potential of `to` is 0 for arcs of the tree */
	bool goes_up;
};

struct network {
	struct network_arc *arcs; /* those that are asked for, then one to the root from each node */
	uint8_t *states;
	size_t arc_count;
	struct node *nodes; /* the last is the root */
	size_t node_count;
	size_t next_arc; /* where the search for the next arc begins */
	size_t search;   /* so many arcs are looked at, at least */
	size_t steps;    /* so far */
	uint32_t *path;
};

/* Where the cycle that an arc closes is cut. */
struct cut {
	uint32_t node;  /* the arc above it leaves the tree; NOBODY: the new arc itself is what limits */
	bool at_source; /* it is on the side of the new arc's source */
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

static void
network_fini(struct network *network)
{
	free(network->arcs);
	free(network->states);
	free(network->nodes);
	free(network->path);
}

/* The first tree: each node hangs on the root by an arc of its own that is too dear to be used. */
static int
network_init(struct network *network, const struct network_arc *arcs, size_t arc_count, size_t node_count)
{
	const int64_t dear = (NETWORK_COST_MAX + 1) * ((int64_t)node_count + 1);
	const uint32_t root = (uint32_t)node_count;

	network->arc_count = arc_count;
	network->node_count = node_count;
	network->search = (size_t)sqrt((double)arc_count) + 20;
	network->arcs = calloc(arc_count + node_count, sizeof(*network->arcs));
	network->states = calloc(arc_count + node_count, 1);
	network->nodes = calloc(node_count + 1, sizeof(*network->nodes));
	network->path = calloc(node_count + 1, sizeof(*network->path));
	if (!network->arcs || !network->states || !network->nodes || !network->path)
		return -ENOMEM;
	for (size_t i = 0; i < arc_count; i++) {
		network->arcs[i] = arcs[i];
		network->arcs[i].flow = 0;
	}
	for (uint32_t i = 0; i < root; i++) {
		const uint32_t arc = (uint32_t)arc_count + i;

		network->arcs[arc] = (struct network_arc){i, root, NETWORK_UNLIMITED, dear, 0};
		network->states[arc] = ARC_TREE;
		network->nodes[i] = (struct node){
			.parent = root,
			.arc = arc,
			.depth = 1,
			.child = NOBODY,
			.next = i + 1 < root ? i + 1 : NOBODY,
			.previous = i > 0 ? i - 1 : NOBODY,
			.potential = -dear,
			.goes_up = true,
		};
	}
	network->nodes[root] =
		(struct node){.parent = NOBODY, .arc = NOBODY, .child = 0, .next = NOBODY, .previous = NOBODY};
	return 0;
}

/* How much a unit through this arc saves; an arc that is full would be emptied. */
static int64_t
arc_gain(const struct network *network, size_t i)
{
	const struct network_arc *arc = &network->arcs[i];
	const int64_t cost = arc->cost + network->nodes[arc->from].potential - network->nodes[arc->to].potential;

	if (network->states[i] == ARC_TREE || arc->capacity == 0)
		return 0;
	return network->states[i] == ARC_EMPTY ? -cost : cost;
}

/* The best arc of the next ones that has any; NOBODY when no arc saves anything. */
static uint32_t
find_entering(struct network *network)
{
	uint32_t best = NOBODY;
	int64_t best_gain = 0;
	size_t looked_at = 0;

	for (size_t i = 0; i < network->arc_count; i++) {
		const size_t arc = network->next_arc;
		const int64_t gain = arc_gain(network, arc);

		if (++network->next_arc == network->arc_count)
			network->next_arc = 0;
		if (gain > best_gain) {
			best_gain = gain;
			best = (uint32_t)arc;
		}
		if (++looked_at >= network->search) {
			if (best != NOBODY)
				return best;
			looked_at = 0;
		}
	}
	return best;
}

/* What the arc above `node` can still take, upwards or downwards. */
static int64_t
room_above(const struct network *network, uint32_t node, bool upwards)
{
	const struct network_arc *arc = &network->arcs[network->nodes[node].arc];

	return network->nodes[node].goes_up == upwards ? arc->capacity - arc->flow : arc->flow;
}

/*
 * Flow goes down from where both sides meet to `source`, over the new arc to `target`, and up again. The last arc on
 * that way that limits it is the one to leave: so the tree stays strongly feasible, and no step is repeated for ever.
 */
static struct cut
find_cut(struct network *network, uint32_t source, uint32_t target, int64_t step)
{
	struct cut cut = {.node = NOBODY, .step = step};
	const struct node *nodes = network->nodes;

	for (; source != target; network->steps++) {
		if (nodes[source].depth >= nodes[target].depth) {
			const int64_t room = room_above(network, source, false);

			if (room < cut.step)
				cut = (struct cut){.node = source, .at_source = true, .step = room};
			source = nodes[source].parent;
		} else {
			const int64_t room = room_above(network, target, true);

			if (room <= cut.step)
				cut = (struct cut){.node = target, .at_source = false, .step = room};
			target = nodes[target].parent;
		}
	}
	return cut;
}

static void
send_round(struct network *network, uint32_t source, uint32_t target, int64_t step)
{
	const struct node *nodes = network->nodes;

	while (source != target) {
		if (nodes[source].depth >= nodes[target].depth) {
			network->arcs[nodes[source].arc].flow += nodes[source].goes_up ? -step : step;
			source = nodes[source].parent;
		} else {
			network->arcs[nodes[target].arc].flow += nodes[target].goes_up ? step : -step;
			target = nodes[target].parent;
		}
	}
}

static void
unhang(struct network *network, uint32_t child)
{
	struct node *node = &network->nodes[child];

	if (node->previous == NOBODY)
		network->nodes[node->parent].child = node->next;
	else
		network->nodes[node->previous].next = node->next;
	if (node->next != NOBODY)
		network->nodes[node->next].previous = node->previous;
}

static void
hang(struct network *network, uint32_t child, uint32_t parent, uint32_t arc)
{
	struct node *node = &network->nodes[child];

	node->parent = parent;
	node->arc = arc;
	node->goes_up = network->arcs[arc].from == child;
	node->previous = NOBODY;
	node->next = network->nodes[parent].child;
	if (node->next != NOBODY)
		network->nodes[node->next].previous = child;
	network->nodes[parent].child = child;
}

/* Depths and potentials of `top` and all below it, after it was hung elsewhere. */
static void
refresh_below(struct network *network, uint32_t top)
{
	struct node *nodes = network->nodes;
	uint32_t at = top;

	for (;;) {
		struct node *node = &nodes[at];
		const int64_t cost = network->arcs[node->arc].cost;

		network->steps++;
		node->depth = nodes[node->parent].depth + 1;
		node->potential = nodes[node->parent].potential + (node->goes_up ? -cost : cost);
		if (node->child != NOBODY) {
			at = node->child;
			continue;
		}
		while (at != top && nodes[at].next == NOBODY)
			at = nodes[at].parent;
		if (at == top)
			return;
		at = nodes[at].next;
	}
}

/* Cut the arc above `cut`; what was below it hangs on the new arc, by `end`, which becomes its top. */
static void
exchange(struct network *network, uint32_t cut, uint32_t end, uint32_t other, uint32_t arc)
{
	struct node *nodes = network->nodes;
	uint32_t parent = other;
	size_t length = 0;

	for (uint32_t at = end;; at = nodes[at].parent) {
		network->path[length++] = at;
		if (at == cut)
			break;
	}
	for (size_t i = 0; i < length; i++) {
		const uint32_t at = network->path[i];
		const uint32_t above = nodes[at].arc;

		unhang(network, at);
		hang(network, at, parent, arc);
		parent = at;
		arc = above;
	}
	refresh_below(network, end);
}

static void
pivot(struct network *network, uint32_t entering)
{
	struct network_arc *arc = &network->arcs[entering];
	const bool is_empty = network->states[entering] == ARC_EMPTY;
	const uint32_t source = is_empty ? arc->from : arc->to;
	const uint32_t target = is_empty ? arc->to : arc->from;
	const struct cut cut = find_cut(network, source, target, arc->capacity);
	uint32_t leaving;

	if (cut.step > 0)
		send_round(network, source, target, cut.step);
	arc->flow += is_empty ? cut.step : -cut.step;
	if (cut.node == NOBODY) {
		network->states[entering] = is_empty ? ARC_FULL : ARC_EMPTY;
		return;
	}
	leaving = network->nodes[cut.node].arc;
	network->states[leaving] = network->arcs[leaving].flow == 0 ? ARC_EMPTY : ARC_FULL;
	network->states[entering] = ARC_TREE;
	if (cut.at_source)
		exchange(network, cut.node, source, target, entering);
	else
		exchange(network, cut.node, target, source, entering);
}

int
network_circulate(struct network_arc *arcs, size_t arc_count, size_t node_count)
{
	struct network network = {0};
	int err;

	if (arc_count > NOBODY / 2 || node_count > NOBODY / 2 || !arcs_are_valid(arcs, arc_count, node_count))
		return -EINVAL;
	if (arc_count == 0)
		return 0;
	err = network_init(&network, arcs, arc_count, node_count);
	while (!err) {
		const uint32_t entering = find_entering(&network);

		if (entering == NOBODY)
			break;
		if (network.steps++ >= STEPS_MAX)
			err = -EAGAIN;
		else
			pivot(&network, entering);
	}
	for (size_t i = 0; i < arc_count && err != -ENOMEM; i++)
		arcs[i].flow = network.arcs[i].flow;
	network_fini(&network);
	return err;
}
