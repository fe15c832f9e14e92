#include "analysis/min_cost_flow.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NOBODY       UINT32_MAX
#define STEPS_MAX    100000000 /* over arcs and nodes, in all: a quarter of a second, or half */
#define FIRST_PRICE  8         /* of the dearest arc, one in so many: where the price of breaking the law begins */
#define PRICE_FACTOR 4

/* What flow through an arc saves has this sign: */
enum arc_state {
	ARC_EMPTY = 1, /* outside the tree, no flow */
	ARC_TREE = 0,  /* or it takes none */
	ARC_FULL = -1, /* outside the tree, flow at its capacity */
};

struct arc {
	uint32_t from, to;
	int64_t cost;
	int64_t state;
};

struct load {
	int64_t flow, capacity;
};

/* A node hangs on its parent by one arc, which leads up or down. */
struct node {
	uint32_t parent;
	uint32_t arc;
	uint32_t depth;
	uint32_t child, next, previous; /* first child, siblings */
	bool goes_up;
};

struct network {
	struct arc *arcs; /* those that are asked for, then one to the root from each node, then one from it to each */
	struct load *loads;  /* of each arc */
	size_t arc_count;    /* with the root's */
	struct node *nodes;  /* the last is the root */
	int64_t *potentials; /* of nodes: cost + potential of `from` - potential of `to` is 0 for arcs of the tree */
	size_t node_count;   /* without the root */
	size_t next_arc;     /* where the search for the next arc begins */
	size_t search;       /* so many arcs are looked at, at least */
	size_t steps;        /* so far */
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
	free(network->loads);
	free(network->nodes);
	free(network->potentials);
	free(network->path);
}

static bool
network_init(struct network *network, size_t arc_count, size_t node_count)
{
	network->arc_count = arc_count + 2 * node_count;
	network->node_count = node_count;
	network->search = (size_t)sqrt((double)network->arc_count) + 20;
	network->arcs = calloc(network->arc_count, sizeof(*network->arcs));
	network->loads = calloc(network->arc_count, sizeof(*network->loads));
	network->nodes = calloc(node_count + 1, sizeof(*network->nodes));
	network->potentials = calloc(node_count + 1, sizeof(*network->potentials));
	network->path = calloc(node_count + 1, sizeof(*network->path));
	return network->arcs && network->loads && network->nodes && network->potentials && network->path;
}

/* The first tree: each node hangs on the root by an arc of its own. */
static void
network_load(struct network *network, const struct network_arc *arcs, size_t arc_count)
{
	const uint32_t root = (uint32_t)network->node_count;

	for (size_t i = 0; i < arc_count; i++) {
		network->arcs[i] = (struct arc){arcs[i].from, arcs[i].to, arcs[i].cost,
		                                arcs[i].capacity > 0 ? ARC_EMPTY : ARC_TREE};
		network->loads[i].capacity = arcs[i].capacity;
	}
	network->nodes[root] =
		(struct node){.parent = NOBODY, .arc = NOBODY, .child = 0, .next = NOBODY, .previous = NOBODY};
	for (uint32_t i = 0; i < root; i++) {
		const uint32_t up = (uint32_t)arc_count + i, down = up + root;

		network->arcs[up] = (struct arc){i, root, 0, ARC_TREE};
		network->arcs[down] = (struct arc){root, i, 0, ARC_EMPTY};
		network->loads[up].capacity = network->loads[down].capacity = NETWORK_UNLIMITED;
		network->nodes[i] = (struct node){
			.parent = root,
			.arc = up,
			.depth = 1,
			.child = NOBODY,
			.next = i + 1 < root ? i + 1 : NOBODY,
			.previous = i > 0 ? i - 1 : NOBODY,
			.goes_up = true,
		};
	}
}

/* The best arc of the next ones that saves anything; NOBODY when no arc does. */
static uint32_t
find_entering(struct network *network)
{
	const int64_t *potentials = network->potentials;
	uint32_t best = NOBODY;
	int64_t best_gain = 0;
	size_t at = network->next_arc, left = network->search;

	for (size_t i = 0; i < network->arc_count; i++) {
		const struct arc *arc = &network->arcs[at];
		const int64_t gain = arc->state * (potentials[arc->to] - potentials[arc->from] - arc->cost);

		if (gain > best_gain) {
			best_gain = gain;
			best = (uint32_t)at;
		}
		if (++at == network->arc_count)
			at = 0;
		network->steps++;
		if (--left > 0)
			continue;
		if (best != NOBODY)
			break;
		left = network->search;
	}
	network->next_arc = at;
	return best;
}

/* What the arc above `node` can still take, upwards or downwards. */
static int64_t
room_above(const struct network *network, uint32_t node, bool upwards)
{
	const struct load *load = &network->loads[network->nodes[node].arc];

	return network->nodes[node].goes_up == upwards ? load->capacity - load->flow : load->flow;
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
			network->loads[nodes[source].arc].flow += nodes[source].goes_up ? -step : step;
			source = nodes[source].parent;
		} else {
			network->loads[nodes[target].arc].flow += nodes[target].goes_up ? step : -step;
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
		network->potentials[at] = network->potentials[node->parent] + (node->goes_up ? -cost : cost);
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
	struct arc *arc = &network->arcs[entering];
	struct load *load = &network->loads[entering];
	const bool is_empty = arc->state == ARC_EMPTY;
	const uint32_t source = is_empty ? arc->from : arc->to;
	const uint32_t target = is_empty ? arc->to : arc->from;
	const struct cut cut = find_cut(network, source, target, load->capacity);
	uint32_t leaving;

	if (cut.step > 0)
		send_round(network, source, target, cut.step);
	load->flow += is_empty ? cut.step : -cut.step;
	if (cut.node == NOBODY) {
		arc->state = is_empty ? ARC_FULL : ARC_EMPTY;
		return;
	}
	leaving = network->nodes[cut.node].arc;
	network->arcs[leaving].state = network->loads[leaving].flow == 0 ? ARC_EMPTY : ARC_FULL;
	arc->state = ARC_TREE;
	if (cut.at_source)
		exchange(network, cut.node, source, target, entering);
	else
		exchange(network, cut.node, target, source, entering);
}

static int
pivot_all(struct network *network)
{
	for (;;) {
		const uint32_t entering = find_entering(network);

		if (entering == NOBODY)
			return 0;
		if (network->steps >= STEPS_MAX)
			return -EAGAIN;
		pivot(network, entering);
	}
}

/* What it costs to let flow in or out through the root's arcs. Flows and the tree stay as they are. */
static void
set_price(struct network *network, int64_t price)
{
	const struct node *nodes = network->nodes;

	for (size_t i = network->arc_count - 2 * network->node_count; i < network->arc_count; i++)
		network->arcs[i].cost = price;
	for (uint32_t i = nodes[network->node_count].child; i != NOBODY; i = nodes[i].next)
		refresh_below(network, i);
}

static bool
is_circulation(const struct network *network)
{
	for (size_t i = network->arc_count - 2 * network->node_count; i < network->arc_count; i++)
		if (network->loads[i].flow > 0)
			return false;
	return true;
}

static int64_t
dearest_cost(const struct network_arc *arcs, size_t arc_count)
{
	int64_t dearest = 1;

	for (size_t i = 0; i < arc_count; i++)
		if (arcs[i].cost > dearest || -arcs[i].cost > dearest)
			dearest = arcs[i].cost > 0 ? arcs[i].cost : -arcs[i].cost;
	return dearest;
}

/*
 * That what comes in must go out is a matter of price, low at first: then each node is settled with those around it, in
 * a tree that is flat, and as the price rises what is left is settled over longer and longer ways. From the beginning
 * at the full price a ladder of 2,000 blocks takes a hundred times as many steps. Where no flow breaks the law the
 * price does not matter any more.
 */
static int
settle_all(struct network *network, int64_t dearest)
{
	const int64_t prohibitive = (dearest + 1) * ((int64_t)network->node_count + 1);
	int64_t price = dearest / FIRST_PRICE + 1;
	int err;

	for (;;) {
		set_price(network, price);
		err = pivot_all(network);
		if (err || price == prohibitive || is_circulation(network))
			return err;
		price = price < prohibitive / PRICE_FACTOR ? price * PRICE_FACTOR : prohibitive;
	}
}

int
network_circulate(struct network_arc *arcs, size_t arc_count, size_t node_count)
{
	struct network network = {0};
	int err = -ENOMEM;

	if (arc_count > NOBODY / 4 || node_count > NOBODY / 4 || !arcs_are_valid(arcs, arc_count, node_count))
		return -EINVAL;
	if (arc_count == 0)
		return 0;
	if (network_init(&network, arc_count, node_count)) {
		network_load(&network, arcs, arc_count);
		err = settle_all(&network, dearest_cost(arcs, arc_count));
	}
	for (size_t i = 0; i < arc_count && err != -ENOMEM; i++)
		arcs[i].flow = network.loads[i].flow;
	network_fini(&network);
	return err;
}
