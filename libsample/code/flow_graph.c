#include "code/flow_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/workspace.h"
#include "code/control_flow.h"

#define TEXT_SIZE_MAX ((size_t)1 << 28) /* bytes */

/* Unresolved jumps times landing pads: beyond, flow between them is taken to go by way of the outside. */
#define UNKNOWN_EDGES_MAX 65536

#define EDGES_MAX ((size_t)1 << 31)

#define NO_BLOCK UINT32_MAX

void
flow_graph_free(struct flow_graph *graph)
{
	if (!graph)
		return;
	free(graph->instructions);
	free(graph->blocks);
	free(graph->edges);
	free(graph->outs);
	free(graph->ins);
	free(graph);
}

static uint64_t
block_start(const struct flow_graph *graph, uint32_t block)
{
	return graph->instructions[graph->blocks[block].first].address;
}

static bool
block_holds(const struct flow_graph *graph, uint32_t block, uint64_t address)
{
	const struct flow_block *held = &graph->blocks[block];
	const struct instruction *last = &graph->instructions[held->first + held->count - 1];
	uint64_t start = block_start(graph, block);

	return address >= start && address - start < last->address - start + last->size;
}

uint32_t
flow_graph_block_at(const struct flow_graph *graph, uint64_t address)
{
	for (size_t part = 0; part < graph->part_count; part++) {
		uint32_t low = graph->part_blocks[part], high = graph->part_blocks[part + 1];

		/* the last block that begins at or before `address` */
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;

			if (block_start(graph, middle) <= address)
				low = middle;
			else
				high = middle;
		}
		if (low < high && block_holds(graph, low, address))
			return low;
	}
	return FLOW_OUTSIDE;
}

/* The edges of a graph while they are gathered. */
struct flow_edges {
	struct flow_graph *graph; /* has edges and edge_count */
	size_t capacity;
};

static int
edge_add(struct flow_edges *edges, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	struct flow_graph *graph = edges->graph;
	struct flow_edge *grown;

	if (graph->edge_count == EDGES_MAX)
		return -ENOMEM;
	grown = array_grow(graph->edges, &edges->capacity, graph->edge_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	graph->edges = grown;
	graph->edges[graph->edge_count++] = (struct flow_edge){from, to, kind};
	return 0;
}

static void
edges_count(struct flow_graph *graph)
{
	uint32_t out = 0, in = 0;

	for (size_t i = 0; i < graph->block_count; i++)
		graph->blocks[i].out_count = graph->blocks[i].in_count = 0;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->from != FLOW_OUTSIDE)
			graph->blocks[edge->from].out_count++;
		if (edge->to != FLOW_OUTSIDE)
			graph->blocks[edge->to].in_count++;
	}
	for (size_t i = 0; i < graph->block_count; i++) {
		struct flow_block *block = &graph->blocks[i];

		block->out = out;
		block->in = in;
		out += block->out_count;
		in += block->in_count;
		block->out_count = block->in_count = 0;
	}
}

/* Fill in outs and ins of the graph, and which of them belong to which block. 0 or -ENOMEM. */
static int
edges_index(struct flow_graph *graph)
{
	free(graph->outs);
	free(graph->ins);
	graph->outs = calloc(graph->edge_count + 1, sizeof(*graph->outs));
	graph->ins = calloc(graph->edge_count + 1, sizeof(*graph->ins));
	if (!graph->outs || !graph->ins)
		return -ENOMEM;
	edges_count(graph);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->from != FLOW_OUTSIDE) {
			struct flow_block *from = &graph->blocks[edge->from];

			graph->outs[from->out + from->out_count++] = (uint32_t)i;
		}
		if (edge->to != FLOW_OUTSIDE) {
			struct flow_block *to = &graph->blocks[edge->to];

			graph->ins[to->in + to->in_count++] = (uint32_t)i;
		}
	}
	return 0;
}

/* A depth-first walk, without recursion: a graph may be as deep as it has blocks. */
struct flow_walk {
	const struct flow_graph *graph;
	bool backward;
	bool *seen;      /* of each block */
	uint32_t *stack; /* blocks */
	uint32_t *nexts; /* of each block on the stack: how many of its edges were followed */
	uint32_t *order; /* blocks in the order in which they were left for good */
	size_t order_count;
};

static void
walk_init(struct flow_walk *walk, const struct flow_graph *graph, bool backward, struct workspace *space)
{
	size_t count = graph->block_count;

	*walk = (struct flow_walk){.graph = graph, .backward = backward};
	walk->seen = workspace_array(space, count, sizeof(*walk->seen));
	walk->stack = workspace_array(space, count, sizeof(*walk->stack));
	walk->nexts = workspace_array(space, count, sizeof(*walk->nexts));
	walk->order = workspace_array(space, count, sizeof(*walk->order));
}

/* The block at the other end of the `number`th edge of `block`; FLOW_OUTSIDE and *more false behind the last. */
static uint32_t
walk_neighbour(const struct flow_walk *walk, uint32_t block, uint32_t number, bool *more)
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

/* Depth first from `block` to all blocks not seen yet; they are appended to `order`. */
static void
walk_from(struct flow_walk *walk, uint32_t block)
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

/* Kosaraju's algorithm: what a block leads to, of those that a walk against the edges has left before it, is a loop. */
int
flow_graph_components(const struct flow_graph *graph, uint32_t *components)
{
	struct workspace space = {0};
	struct flow_walk back, forth;

	walk_init(&back, graph, true, &space);
	walk_init(&forth, graph, false, &space);
	if (space.has_failed) {
		workspace_free(&space);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < graph->block_count; i++)
		walk_from(&back, i);
	for (size_t i = back.order_count; i-- > 0;) {
		const size_t first = forth.order_count;

		walk_from(&forth, back.order[i]);
		for (size_t k = first; k < forth.order_count; k++)
			components[forth.order[k]] = (uint32_t)first;
	}
	workspace_free(&space);
	return 0;
}

/* An entry for each block without an edge in, then for the first block of each cycle that nothing else leads to. */
static int
connect_entries(struct flow_edges *edges, struct flow_walk *walk, bool *reached)
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
		err = edge_add(edges, FLOW_OUTSIDE, block, EDGE_ENTRY);
		walk_from(walk, block);
	}
	return err;
}

/*
 * The block that a loop without an end is left from: the one that goes back to the loop's head, so that the loop's
 * blocks stay equally frequent. `loop` is strongly connected.
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
 * `exits` has seen all blocks that lead outside. The other blocks lead into loops without an end. Kosaraju's algorithm
 * finds these strong components: `order`, taken from its end, of a walk against the edges, has the blocks of a loop
 * before those that lead to it.
 */
static int
connect_loops(struct flow_edges *edges, struct flow_walk *exits, struct flow_walk *loops, const uint32_t *order,
              size_t count)
{
	while (count-- > 0) {
		size_t first = loops->order_count;
		uint32_t latch;
		int err;

		if (exits->seen[order[count]])
			continue;
		walk_from(loops, order[count]);
		latch = loop_latch(edges->graph, loops->order + first, loops->order_count - first, loops->seen);
		err = edge_add(edges, latch, FLOW_OUTSIDE, EDGE_ENDLESS);
		if (err)
			return err;
		walk_from(exits, order[count]);
	}
	return 0;
}

static int
connect_exits(struct flow_edges *edges, struct flow_walk *exits, struct flow_walk *loops, struct workspace *space)
{
	struct flow_graph *graph = edges->graph;
	struct flow_walk order;

	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].to == FLOW_OUTSIDE)
			walk_from(exits, graph->edges[i].from);
	}
	if (exits->order_count == graph->block_count)
		return 0;
	walk_init(&order, graph, true, space);
	if (space->has_failed)
		return -ENOMEM;
	memcpy(order.seen, exits->seen, graph->block_count * sizeof(*order.seen));
	for (uint32_t i = 0; i < graph->block_count; i++)
		walk_from(&order, i);
	return connect_loops(edges, exits, loops, order.order, order.order_count);
}

/*
 * Make the graph strongly connected: edges in to blocks that nothing comes to, and edges out of loops that nothing
 * leaves. Wants an indexed graph, and leaves one. reached[b]: control came to block b before. 0 or -ENOMEM.
 */
static int
graph_connect(struct flow_edges *edges, bool *reached)
{
	struct workspace space = {0};
	struct flow_walk entries, exits, loops;
	int err = -ENOMEM;

	walk_init(&entries, edges->graph, false, &space);
	walk_init(&exits, edges->graph, true, &space);
	walk_init(&loops, edges->graph, false, &space);
	if (!space.has_failed)
		err = connect_entries(edges, &entries, reached);
	if (!err)
		err = connect_exits(edges, &exits, &loops, &space);
	workspace_free(&space);
	return err ? err : edges_index(edges->graph);
}

struct flow_builder {
	struct workspace space; /* of the arrays below */
	struct control_flow control;
	struct flow_graph *graph;
	struct flow_edges edges;
	bool *heads;        /* of each instruction: a block begins here, if the instruction is in one */
	bool *arrivals;     /* control comes here from elsewhere than the instruction before */
	uint32_t *block_of; /* of each instruction; NO_BLOCK for padding */
	uint32_t *pads;     /* blocks that begin with a landing pad */
	size_t pad_count;
	bool *reached; /* of each block: along edges that are known */
};

static void
builder_fini(struct flow_builder *builder)
{
	control_flow_fini(&builder->control);
	workspace_free(&builder->space);
	flow_graph_free(builder->graph);
}

/* Where blocks begin. */
static void
heads_mark(struct flow_builder *builder)
{
	const struct control_flow *control = &builder->control;

	for (uint32_t i = 0; i < control->count; i++) {
		if (control->flags[i] & CONTROL_TAKEN)
			builder->arrivals[control->targets[i]] = true;
		if (control->flags[i] & CONTROL_ENTERED || control->instructions[i].is_landing_pad)
			builder->arrivals[i] = true;
	}
	for (size_t i = 0; i < control->table_target_count; i++)
		builder->arrivals[control->table_targets[i].to] = true;
	for (uint32_t i = 0; i < control->count; i++)
		builder->heads[i] = builder->arrivals[i] || i == 0 || control->flags[i - 1] & CONTROL_ENDS;
	for (size_t part = 0; part < control->source->part_count; part++)
		builder->heads[control->part_firsts[part]] = true;
}

/* Number the blocks, without padding that control does not reach. Returns how many blocks there are. */
static uint32_t
blocks_number(struct flow_builder *builder)
{
	const struct control_flow *control = &builder->control;
	uint32_t count = 0;

	for (uint32_t i = 0; i < control->count; i++) {
		bool falls_in = i > 0 && builder->block_of[i - 1] != NO_BLOCK && control->flags[i - 1] & CONTROL_FALL;

		if (!falls_in && !builder->arrivals[i] && instruction_is_padding(&control->instructions[i])) {
			builder->block_of[i] = NO_BLOCK;
			continue;
		}
		if (builder->heads[i] || builder->block_of[i - 1] == NO_BLOCK)
			count++;
		builder->block_of[i] = count - 1;
	}
	return count;
}

static int
blocks_make(struct flow_builder *builder)
{
	const struct control_flow *control = &builder->control;
	struct flow_graph *graph = builder->graph;

	graph->block_count = blocks_number(builder);
	graph->blocks = calloc(graph->block_count, sizeof(*graph->blocks));
	if (!graph->blocks)
		return -ENOMEM;
	graph->part_count = control->source->part_count;
	for (size_t part = 0, done = 0; part < graph->part_count; part++) {
		graph->part_blocks[part] = (uint32_t)done;
		for (uint32_t i = control->part_firsts[part]; i < control->part_firsts[part + 1]; i++) {
			struct flow_block *block;

			if (builder->block_of[i] == NO_BLOCK)
				continue;
			block = &graph->blocks[builder->block_of[i]];
			if (!block->count++) {
				block->first = i;
				block->is_cold = control->source->parts[part].is_cold;
				done++;
			}
		}
	}
	graph->part_blocks[graph->part_count] = (uint32_t)graph->block_count;
	return 0;
}

static int
pads_find(struct flow_builder *builder)
{
	const struct flow_graph *graph = builder->graph;

	builder->pads = workspace_array(&builder->space, graph->block_count, sizeof(*builder->pads));
	if (!builder->pads)
		return -ENOMEM;
	for (uint32_t i = 1; i < graph->block_count; i++) {
		if (graph->instructions[graph->blocks[i].first].is_landing_pad)
			builder->pads[builder->pad_count++] = i;
	}
	return 0;
}

static int
unresolved_edges_add(struct flow_builder *builder, uint32_t block)
{
	size_t jumps = builder->graph->unresolved_jumps;
	int err = edge_add(&builder->edges, block, FLOW_OUTSIDE, EDGE_EXIT);

	if (builder->pad_count && jumps > UNKNOWN_EDGES_MAX / builder->pad_count)
		return err;
	for (size_t i = 0; i < builder->pad_count && !err; i++)
		err = edge_add(&builder->edges, block, builder->pads[i], EDGE_UNKNOWN);
	return err;
}

/* The edges out of `block`. *table_at moves behind its table's targets. */
static int
block_edges_add(struct flow_builder *builder, uint32_t block, size_t *table_at)
{
	const struct control_flow *control = &builder->control;
	const struct flow_block *from = &builder->graph->blocks[block];
	uint32_t last = from->first + from->count - 1;
	uint8_t flags = control->flags[last];
	int err = 0;

	if (flags & CONTROL_FALL)
		err = edge_add(&builder->edges, block, builder->block_of[last + 1], EDGE_FALL);
	if (err)
		return err;
	if (flags & CONTROL_TAKEN)
		err = edge_add(&builder->edges, block, builder->block_of[control->targets[last]], EDGE_TAKEN);
	if (err)
		return err;
	if (flags & CONTROL_EXIT)
		err = edge_add(&builder->edges, block, FLOW_OUTSIDE, EDGE_EXIT);
	if (err)
		return err;
	if (flags & CONTROL_NORETURN)
		err = edge_add(&builder->edges, block, FLOW_OUTSIDE, EDGE_NORETURN);
	for (; flags & CONTROL_TABLE && *table_at < control->table_target_count && !err; (*table_at)++) {
		const struct table_target *target = &control->table_targets[*table_at];

		if (target->from != last)
			break;
		err = edge_add(&builder->edges, block, builder->block_of[target->to], EDGE_TABLE);
	}
	if (err)
		return err;
	if (flags & CONTROL_INDIRECT)
		err = unresolved_edges_add(builder, block);
	return err;
}

static int
edges_make(struct flow_builder *builder)
{
	struct flow_graph *graph = builder->graph;
	size_t table_at = 0;
	int err;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		if (!(builder->control.flags[graph->blocks[i].first] & CONTROL_ENTERED))
			continue;
		err = edge_add(&builder->edges, FLOW_OUTSIDE, i, EDGE_ENTRY);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		err = block_edges_add(builder, i, &table_at);
		if (err)
			return err;
	}
	err = edges_index(graph);
	return err ? err : graph_connect(&builder->edges, builder->reached);
}

/* Bytes that are no instruction: decoder.h says what their size is then. */
static bool
is_undecoded(const struct control_flow *control, const struct instruction *instruction)
{
	static const uint8_t sizes[ARCHITECTURE_COUNT] = {
		[ARCHITECTURE_X86_64] = 1,
		[ARCHITECTURE_AARCH64] = 3,
		[ARCHITECTURE_RISCV64] = 3,
	};

	return instruction->class == CLASS_UNKNOWN && instruction->flow == FLOW_NEXT &&
	       instruction->size <= sizes[control->source->architecture];
}

static bool
runs_undecoded(const struct flow_builder *builder)
{
	const struct control_flow *control = &builder->control;

	for (uint32_t i = 0; i < control->count; i++) {
		uint32_t block = builder->block_of[i];

		if (block != NO_BLOCK && builder->reached[block] && is_undecoded(control, &control->instructions[i]))
			return true;
	}
	return false;
}

static int
graph_make(struct flow_builder *builder)
{
	struct flow_graph *graph = builder->graph;
	size_t count = builder->control.count;
	int err = jump_tables_read(&builder->control);

	if (err)
		return err;
	builder->heads = workspace_array(&builder->space, count, sizeof(*builder->heads));
	builder->arrivals = workspace_array(&builder->space, count, sizeof(*builder->arrivals));
	builder->block_of = workspace_array(&builder->space, count, sizeof(*builder->block_of));
	builder->reached = workspace_array(&builder->space, count, sizeof(*builder->reached));
	if (builder->space.has_failed)
		return -ENOMEM;
	graph->table_jumps = builder->control.table_jumps;
	graph->pointer_jumps = builder->control.pointer_jumps;
	for (size_t i = 0; i < count; i++)
		graph->unresolved_jumps += (builder->control.flags[i] & CONTROL_INDIRECT) != 0;
	heads_mark(builder);
	err = blocks_make(builder);
	if (err)
		return err;
	err = pads_find(builder);
	if (err)
		return err;
	err = edges_make(builder);
	if (err)
		return err;
	graph->is_complete = !builder->control.has_split_target && !graph->unresolved_jumps && !runs_undecoded(builder);
	return 0;
}

int
flow_graph_build_from(struct instruction_list *list, struct decoder *decoder, const struct flow_source *source,
                      struct flow_graph **graph)
{
	struct flow_builder builder = {.graph = calloc(1, sizeof(*builder.graph))};
	int err = -ENOMEM;

	if (!builder.graph)
		goto out;
	builder.edges.graph = builder.graph;
	err = control_flow_init(&builder.control, list, decoder, source);
	if (err)
		goto out;
	builder.graph->instructions = list->instructions;
	builder.graph->instruction_count = list->count;
	*list = (struct instruction_list){0};
	err = graph_make(&builder);
	if (err)
		goto out;
	*graph = builder.graph;
	builder.graph = NULL;
out:
	instruction_list_free(list);
	builder_fini(&builder);
	return err;
}

int
flow_parts_decode(struct decoder *decoder, const struct code_part *parts, size_t count, struct instruction_list *list)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++) {
		int err;

		if (parts[i].size > TEXT_SIZE_MAX - size)
			return -E2BIG;
		err = decoder_decode(decoder, parts[i].bytes, parts[i].size, parts[i].address, list);
		if (err)
			return err;
		size += parts[i].size;
	}
	return 0;
}

int
flow_graph_build(struct decoder *decoder, const struct flow_source *source, struct flow_graph **graph)
{
	struct instruction_list list = {0};
	int err;

	if (!source->part_count || source->part_count > FLOW_PARTS_MAX)
		return -EINVAL;
	err = flow_parts_decode(decoder, source->parts, source->part_count, &list);
	if (err) {
		instruction_list_free(&list);
		return err;
	}
	return flow_graph_build_from(&list, decoder, source, graph);
}
