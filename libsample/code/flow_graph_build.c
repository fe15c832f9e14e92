#include "code/flow_graph_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_map.h"
#include "code/flow_edges.h"
#include "code/jump_table.h"

/* Jumps that are not resolved times landing pads: beyond, flow between them is said to go by way of the outside. */
#define UNKNOWN_EDGES_MAX 65536

#define NO_BLOCK UINT32_MAX

struct making {
	struct code_map map;
	struct flow_graph *graph;
	struct flow_edges edges;
	bool *heads;        /* of each instruction: a block begins here, if the instruction is in one */
	bool *arrivals;     /* something other than the instruction before comes here */
	uint32_t *block_of; /* of each instruction; NO_BLOCK for padding */
	uint32_t *pads;     /* blocks that begin with a landing pad */
	size_t pad_count;
	bool *reached; /* of each block: by a way that is known */
};

static void
making_fini(struct making *making)
{
	code_map_fini(&making->map);
	free(making->heads);
	free(making->arrivals);
	free(making->block_of);
	free(making->pads);
	free(making->reached);
	flow_graph_free(making->graph);
}

static void
arrivals_mark(struct making *making)
{
	const struct code_map *map = &making->map;

	for (uint32_t i = 0; i < map->count; i++) {
		if (map->ways[i] & WAY_TAKEN)
			making->arrivals[map->targets[i]] = true;
		if (map->ways[i] & WAY_ENTERED || map->instructions[i].is_landing_pad)
			making->arrivals[i] = true;
	}
	for (size_t i = 0; i < map->table_way_count; i++)
		making->arrivals[map->table_ways[i].to] = true;
}

static void
heads_mark(struct making *making)
{
	const struct code_map *map = &making->map;

	for (uint32_t i = 0; i < map->count; i++)
		making->heads[i] = making->arrivals[i] || i == 0 || map->ways[i - 1] & WAY_ENDS;
	for (size_t part = 0; part < map->source->part_count; part++)
		making->heads[map->part_firsts[part]] = true;
}

/* Number the blocks, leave out padding that nothing runs into. Returns how many blocks there are. */
static uint32_t
blocks_number(struct making *making)
{
	const struct code_map *map = &making->map;
	uint32_t count = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		bool runs_in = i > 0 && making->block_of[i - 1] != NO_BLOCK && map->ways[i - 1] & WAY_FALL;

		if (!runs_in && !making->arrivals[i] && instruction_is_padding(&map->instructions[i])) {
			making->block_of[i] = NO_BLOCK;
			continue;
		}
		if (making->heads[i] || making->block_of[i - 1] == NO_BLOCK)
			count++;
		making->block_of[i] = count - 1;
	}
	return count;
}

static int
blocks_make(struct making *making)
{
	const struct code_map *map = &making->map;
	struct flow_graph *graph = making->graph;

	graph->block_count = blocks_number(making);
	graph->blocks = calloc(graph->block_count, sizeof(*graph->blocks));
	if (!graph->blocks)
		return -ENOMEM;
	graph->part_count = map->source->part_count;
	for (size_t part = 0, done = 0; part < graph->part_count; part++) {
		graph->part_blocks[part] = (uint32_t)done;
		for (uint32_t i = map->part_firsts[part]; i < map->part_firsts[part + 1]; i++) {
			struct flow_block *block;

			if (making->block_of[i] == NO_BLOCK)
				continue;
			block = &graph->blocks[making->block_of[i]];
			if (!block->count++) {
				block->first = i;
				block->is_cold = map->source->parts[part].is_cold;
				done++;
			}
		}
	}
	graph->part_blocks[graph->part_count] = (uint32_t)graph->block_count;
	return 0;
}

static int
pads_find(struct making *making)
{
	const struct flow_graph *graph = making->graph;

	making->pads = calloc(graph->block_count, sizeof(*making->pads));
	if (!making->pads)
		return -ENOMEM;
	for (uint32_t i = 1; i < graph->block_count; i++) {
		if (graph->instructions[graph->blocks[i].first].is_landing_pad)
			making->pads[making->pad_count++] = i;
	}
	return 0;
}

static int
unknown_add(struct making *making, uint32_t block)
{
	size_t jumps = making->graph->unresolved_jumps;
	int err = flow_edges_add(&making->edges, block, FLOW_OUTSIDE, EDGE_EXIT);

	if (making->pad_count && jumps > UNKNOWN_EDGES_MAX / making->pad_count)
		return err;
	for (size_t i = 0; i < making->pad_count && !err; i++)
		err = flow_edges_add(&making->edges, block, making->pads[i], EDGE_UNKNOWN);
	return err;
}

/* *at moves behind the table's ways. */
static int
table_add(struct making *making, uint32_t block, uint32_t last, size_t *at)
{
	const struct code_map *map = &making->map;
	int err = 0;

	for (; *at < map->table_way_count && map->table_ways[*at].from == last && !err; (*at)++) {
		uint32_t to = making->block_of[map->table_ways[*at].to];

		err = flow_edges_add(&making->edges, block, to, EDGE_TABLE);
	}
	return err;
}

static int
block_ways_add(struct making *making, uint32_t block, size_t *table_at)
{
	const struct code_map *map = &making->map;
	const struct flow_block *from = &making->graph->blocks[block];
	uint32_t last = from->first + from->count - 1;
	uint8_t ways = map->ways[last];
	int err = 0;

	if (ways & WAY_FALL)
		err = flow_edges_add(&making->edges, block, making->block_of[last + 1], EDGE_FALL);
	if (!err && ways & WAY_TAKEN)
		err = flow_edges_add(&making->edges, block, making->block_of[map->targets[last]], EDGE_TAKEN);
	if (!err && ways & WAY_EXIT)
		err = flow_edges_add(&making->edges, block, FLOW_OUTSIDE, EDGE_EXIT);
	if (!err && ways & WAY_NORETURN)
		err = flow_edges_add(&making->edges, block, FLOW_OUTSIDE, EDGE_NORETURN);
	if (!err && ways & WAY_TABLE)
		err = table_add(making, block, last, table_at);
	if (!err && ways & WAY_INDIRECT)
		err = unknown_add(making, block);
	return err;
}

static int
edges_make(struct making *making)
{
	struct flow_graph *graph = making->graph;
	size_t table_at = 0;
	int err = 0;

	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		if (making->map.ways[graph->blocks[i].first] & WAY_ENTERED)
			err = flow_edges_add(&making->edges, FLOW_OUTSIDE, i, EDGE_ENTRY);
	}
	for (uint32_t i = 0; i < graph->block_count && !err; i++)
		err = block_ways_add(making, i, &table_at);
	if (!err)
		err = flow_edges_index(graph);
	return err ? err : flow_edges_close(&making->edges, making->reached);
}

/* Bytes that are no instruction; decoder.h says how these look. */
static bool
is_undecoded(const struct code_map *map, const struct instruction *instruction)
{
	static const uint8_t sizes[ARCHITECTURE_COUNT] = {
		[ARCHITECTURE_X86_64] = 1,
		[ARCHITECTURE_AARCH64] = 3,
		[ARCHITECTURE_RISCV64] = 3,
	};

	return instruction->class == CLASS_UNKNOWN && instruction->flow == FLOW_NEXT &&
	       instruction->size <= sizes[map->source->architecture];
}

static bool
runs_undecoded(const struct making *making)
{
	const struct code_map *map = &making->map;

	for (uint32_t i = 0; i < map->count; i++) {
		uint32_t block = making->block_of[i];

		if (block != NO_BLOCK && making->reached[block] && is_undecoded(map, &map->instructions[i]))
			return true;
	}
	return false;
}

static void
jumps_count(struct making *making)
{
	struct flow_graph *graph = making->graph;

	graph->table_jumps = making->map.table_jumps;
	graph->pointer_jumps = making->map.pointer_jumps;
	for (uint32_t i = 0; i < making->map.count; i++)
		graph->unresolved_jumps += (making->map.ways[i] & WAY_INDIRECT) != 0;
}

static int
graph_make(struct making *making)
{
	size_t count = making->map.count;
	int err = jump_tables_read(&making->map);

	if (err)
		return err;
	making->heads = calloc(count, sizeof(*making->heads));
	making->arrivals = calloc(count, sizeof(*making->arrivals));
	making->block_of = calloc(count, sizeof(*making->block_of));
	making->reached = calloc(count, sizeof(*making->reached));
	if (!making->heads || !making->arrivals || !making->block_of || !making->reached)
		return -ENOMEM;
	jumps_count(making);
	arrivals_mark(making);
	heads_mark(making);
	err = blocks_make(making);
	if (!err)
		err = pads_find(making);
	if (!err)
		err = edges_make(making);
	if (err)
		return err;
	making->graph->is_complete =
		!making->map.is_torn && !making->graph->unresolved_jumps && !runs_undecoded(making);
	return 0;
}

int
flow_graph_build_from(struct instruction_list *list, struct decoder *decoder, const struct flow_source *source,
                      struct flow_graph **graph)
{
	struct making making = {.graph = calloc(1, sizeof(*making.graph))};
	int err = making.graph ? 0 : -ENOMEM;

	making.edges.graph = making.graph;
	if (!err)
		err = code_map_init(&making.map, list, decoder, source);
	if (!err) {
		making.graph->instructions = list->instructions;
		making.graph->instruction_count = list->count;
		*list = (struct instruction_list){0};
		err = graph_make(&making);
	}
	if (!err) {
		*graph = making.graph;
		making.graph = NULL;
	}
	instruction_list_free(list);
	making_fini(&making);
	return err;
}
