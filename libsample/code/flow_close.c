#include "code/flow_edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Walks over a graph, without recursion: it may be as deep as it has blocks. */
struct walk {
	const struct flow_graph *graph;
	bool backward;
	bool *seen;      /* of each block */
	uint32_t *stack; /* blocks */
	uint32_t *nexts; /* of each block on the stack: how many of its edges were followed */
	uint32_t *order; /* blocks in the order in which they were left for good */
	size_t order_count;
};

static int
walk_init(struct walk *walk, const struct flow_graph *graph, bool backward)
{
	size_t count = graph->block_count;

	*walk = (struct walk){.graph = graph, .backward = backward};
	walk->seen = calloc(count, sizeof(*walk->seen));
	walk->stack = calloc(count, sizeof(*walk->stack));
	walk->nexts = calloc(count, sizeof(*walk->nexts));
	walk->order = calloc(count, sizeof(*walk->order));
	return walk->seen && walk->stack && walk->nexts && walk->order ? 0 : -ENOMEM;
}

static void
walk_fini(struct walk *walk)
{
	free(walk->seen);
	free(walk->stack);
	free(walk->nexts);
	free(walk->order);
}

/* The block at the other end of the `number`th edge of `block`, FLOW_OUTSIDE also behind the last; *more: there was
 * one. */
static uint32_t
walk_neighbour(const struct walk *walk, uint32_t block, uint32_t number, bool *more)
{
	const struct flow_graph *graph = walk->graph;
	const struct flow_block *at = &graph->blocks[block];

	*more = number < (walk->backward ? at->in_count : at->out_count);
	if (!*more)
		return FLOW_OUTSIDE;
	if (walk->backward)
		return graph->edges[graph->ins[at->in + number]].from;
	return graph->edges[graph->outs[at->out + number]].to;
}

/* Go depth first from `block` to all that was not seen; they are appended to `order`. */
static void
walk_from(struct walk *walk, uint32_t block)
{
	size_t depth = 0;

	if (walk->seen[block])
		return;
	walk->seen[block] = true;
	walk->nexts[block] = 0;
	walk->stack[depth++] = block;
	while (depth) {
		uint32_t at = walk->stack[depth - 1];
		bool more;
		uint32_t next = walk_neighbour(walk, at, walk->nexts[at]++, &more);

		if (!more) {
			walk->order[walk->order_count++] = at;
			depth--;
		} else if (next != FLOW_OUTSIDE && !walk->seen[next]) {
			walk->seen[next] = true;
			walk->nexts[next] = 0;
			walk->stack[depth++] = next;
		}
	}
}

/* Blocks that nothing comes to first, then the first of what only comes to itself. */
static int
close_entries(struct flow_edges *edges, struct walk *walk, bool *reached)
{
	struct flow_graph *graph = edges->graph;
	size_t edge_count = graph->edge_count;
	int err = 0;

	for (size_t i = 0; i < edge_count; i++) {
		if (graph->edges[i].from == FLOW_OUTSIDE)
			walk_from(walk, graph->edges[i].to);
	}
	memcpy(reached, walk->seen, graph->block_count * sizeof(*reached));
	for (uint32_t i = 0; i < 2 * graph->block_count && !err; i++) {
		uint32_t block = i % (uint32_t)graph->block_count;

		if (walk->seen[block] || (i == block && graph->blocks[block].in_count))
			continue;
		err = flow_edges_add(edges, FLOW_OUTSIDE, block, EDGE_ENTRY);
		walk_from(walk, block);
	}
	return err;
}

/*
 * Where a loop without an end is left: behind the block that goes back to where it begins, so that its blocks stay
 * equally frequent. `loop` is strongly connected.
 */
static uint32_t
loop_latch(const struct flow_graph *graph, const uint32_t *loop, size_t count, const bool *in_loop)
{
	uint32_t head = loop[0], latch;
	bool entered = false;

	for (size_t i = 0; i < count; i++) {
		const struct flow_block *block = &graph->blocks[loop[i]];
		bool from_outside = false;

		for (uint32_t j = 0; j < block->in_count; j++) {
			uint32_t from = graph->edges[graph->ins[block->in + j]].from;

			from_outside |= from == FLOW_OUTSIDE || !in_loop[from];
		}
		if (from_outside > entered || (from_outside == entered && loop[i] < head)) {
			head = loop[i];
			entered = from_outside;
		}
	}
	latch = head;
	for (uint32_t j = 0; j < graph->blocks[head].in_count; j++) {
		uint32_t from = graph->edges[graph->ins[graph->blocks[head].in + j]].from;

		if (from != FLOW_OUTSIDE && in_loop[from] && (latch == head || from > latch))
			latch = from;
	}
	return latch;
}

/*
 * `ends` has seen all that leads outside. What is left leads into loops, which `order` - backwards, of a walk against
 * the edges - names before what leads to them (Kosaraju's way to strong components).
 */
static int
close_loops(struct flow_edges *edges, struct walk *ends, struct walk *loops, const uint32_t *order, size_t count)
{
	struct flow_graph *graph = edges->graph;

	while (count-- > 0) {
		size_t first = loops->order_count;
		int err;

		if (ends->seen[order[count]])
			continue;
		walk_from(loops, order[count]);
		err = flow_edges_add(edges,
		                     loop_latch(graph, loops->order + first, loops->order_count - first, loops->seen),
		                     FLOW_OUTSIDE, EDGE_ENDLESS);
		if (err)
			return err;
		walk_from(ends, order[count]);
	}
	return 0;
}

static int
close_ends(struct flow_edges *edges, struct walk *ends, struct walk *loops)
{
	struct flow_graph *graph = edges->graph;
	struct walk order;
	int err;

	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].to == FLOW_OUTSIDE)
			walk_from(ends, graph->edges[i].from);
	}
	if (ends->order_count == graph->block_count)
		return 0;
	err = walk_init(&order, graph, true);
	if (!err) {
		memcpy(order.seen, ends->seen, graph->block_count * sizeof(*order.seen));
		for (uint32_t i = 0; i < graph->block_count; i++)
			walk_from(&order, i);
		err = close_loops(edges, ends, loops, order.order, order.order_count);
	}
	walk_fini(&order);
	return err;
}

int
flow_edges_close(struct flow_edges *edges, bool *reached)
{
	struct walk entries = {0}, ends = {0}, loops = {0};
	int err;

	err = walk_init(&entries, edges->graph, false);
	if (!err)
		err = walk_init(&ends, edges->graph, true);
	if (!err)
		err = walk_init(&loops, edges->graph, false);
	if (!err)
		err = close_entries(edges, &entries, reached);
	if (!err)
		err = close_ends(edges, &ends, &loops);
	walk_fini(&entries);
	walk_fini(&ends);
	walk_fini(&loops);
	return err ? err : flow_edges_index(edges->graph);
}
