/* Loops whose code, or data, stays in the cache: strongly connected parts of the flow graph (Tarjan 1972), and single
 * blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stalls_private.h"

#define ROUNDS_MIN   8 /* of a loop, for each time it is entered */
#define ACCESSES_MAX 8 /* to memory, in a round: as many lines as a set of a cache holds, mostly */
#define UNVISITED    0

struct components {
	const struct flow_graph *graph;
	uint32_t *numbers; /* of visits, from 1 on; UNVISITED */
	uint32_t *lows;
	uint32_t *next_edge; /* of each block: how many of its edges were followed */
	uint32_t *path, *open;
	uint32_t path_count, open_count, visits;
	uint32_t *component; /* the result: of each block; block_count while it is open */
	uint32_t count;
};

/* What is known of a part. */
struct part {
	uint64_t bytes; /* of code, in whole lines */
	bool calls;
	bool is_loop;
	uint32_t accesses;    /* instructions that load or store */
	double entered, most; /* how often; and of its blocks the one that runs most */
};

static void
visit(struct components *components, uint32_t block)
{
	components->numbers[block] = components->lows[block] = ++components->visits;
	components->path[components->path_count++] = block;
	components->open[components->open_count++] = block;
}

static void
close_component(struct components *components, uint32_t block)
{
	uint32_t member;

	do {
		member = components->open[--components->open_count];
		components->component[member] = components->count;
	} while (member != block);
	components->count++;
}

/* One step of the walk that recursion would be. */
static void
step(struct components *components)
{
	const struct flow_graph *graph = components->graph;
	const uint32_t block = components->path[components->path_count - 1];
	const struct flow_block *at = &graph->blocks[block];

	if (components->next_edge[block] < at->out_count) {
		const uint32_t to = graph->edges[graph->outs[at->out + components->next_edge[block]++]].to;

		if (to == FLOW_OUTSIDE)
			return;
		if (components->numbers[to] == UNVISITED)
			visit(components, to);
		else if (components->component[to] == graph->block_count &&
		         components->numbers[to] < components->lows[block])
			components->lows[block] = components->numbers[to];
		return;
	}
	components->path_count--;
	if (components->lows[block] == components->numbers[block]) {
		close_component(components, block);
	} else if (components->path_count > 0) {
		const uint32_t before = components->path[components->path_count - 1];

		if (components->lows[block] < components->lows[before])
			components->lows[before] = components->lows[block];
	}
}

static void
find_components(struct components *components)
{
	for (uint32_t i = 0; i < components->graph->block_count; i++)
		components->component[i] = (uint32_t)components->graph->block_count;
	for (uint32_t i = 0; i < components->graph->block_count; i++) {
		if (components->numbers[i] == UNVISITED)
			visit(components, i);
		while (components->path_count > 0)
			step(components);
	}
}

static double
known_value(const struct frequency *frequency)
{
	return frequency->confidence == CONFIDENCE_NONE ? 0 : frequency->value;
}

static void
add_block(const struct elimination *elimination, uint32_t block, struct part *part)
{
	const struct flow_graph *graph = elimination->graph;
	const struct flow_block *at = &graph->blocks[block];
	const struct instruction *first = &graph->instructions[at->first], *last = first + at->count - 1;
	const double value = known_value(&elimination->input->frequencies->blocks[block]);

	part->bytes += last->address + last->size - first->address + elimination->pipeline->cache_line;
	for (uint32_t i = 0; i < at->count; i++)
		part->accesses += first[i].loads || first[i].stores;
	part->calls |= last->flow == FLOW_CALL || last->flow == FLOW_CALL_INDIRECT;
	if (value > part->most)
		part->most = value;
}

static bool
goes_round(const struct part *part)
{
	return part->is_loop && !part->calls && part->most > 0 && part->entered * ROUNDS_MIN <= part->most;
}

/* Between two executions of a block that is in each second round at least, not much else is touched. */
static bool
keeps_data(const struct part *part, double value)
{
	return goes_round(part) && part->accesses <= ACCESSES_MAX && 2 * value >= part->most;
}

static void
judge_part(const struct elimination *elimination, const struct part *part, uint32_t block)
{
	const struct pipeline *pipeline = elimination->pipeline;
	const uint64_t reach = (uint64_t)pipeline->code_tlb.entries * pipeline->page_bytes;
	const double value = known_value(&elimination->input->frequencies->blocks[block]);

	elimination->fits_cache[block] |= goes_round(part) && part->bytes <= pipeline->code_cache_bytes;
	elimination->fits_tlb[block] |= goes_round(part) && part->bytes <= reach;
	elimination->keeps_data[block] |= keeps_data(part, value);
}

/* A block that follows itself, whatever loop it is in besides. */
static void
judge_block(const struct elimination *elimination, uint32_t block)
{
	const struct flow_graph *graph = elimination->graph;
	const struct flow_block *at = &graph->blocks[block];
	struct part part = {0};

	add_block(elimination, block, &part);
	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i];

		if (graph->edges[edge].from == block)
			part.is_loop = true;
		else
			part.entered += known_value(&elimination->input->frequencies->edges[edge]);
	}
	judge_part(elimination, &part, block);
}

static void
judge_parts(const struct elimination *elimination, const struct components *components, struct part *parts)
{
	const struct flow_graph *graph = elimination->graph;

	for (uint32_t i = 0; i < graph->block_count; i++)
		add_block(elimination, i, &parts[components->component[i]]);
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->to == FLOW_OUTSIDE)
			continue;
		if (edge->from != FLOW_OUTSIDE && components->component[edge->from] == components->component[edge->to])
			parts[components->component[edge->to]].is_loop = true;
		else
			parts[components->component[edge->to]].entered +=
				known_value(&elimination->input->frequencies->edges[i]);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		judge_part(elimination, &parts[components->component[i]], i);
		judge_block(elimination, i);
	}
}

int
find_loops(struct elimination *elimination)
{
	const size_t count = elimination->graph->block_count;
	uint32_t *space = calloc(6 * count + 1, sizeof(*space));
	struct part *parts = calloc(count + 1, sizeof(*parts));
	struct components components = {.graph = elimination->graph};
	int err = -ENOMEM;

	if (space && parts) {
		components.numbers = space;
		components.lows = space + count;
		components.next_edge = space + 2 * count;
		components.path = space + 3 * count;
		components.open = space + 4 * count;
		components.component = space + 5 * count;
		find_components(&components);
		judge_parts(elimination, &components, parts);
		err = 0;
	}
	free(space);
	free(parts);
	return err;
}
