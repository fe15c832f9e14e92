/* What was seen of paths, by edges and blocks of a flow graph. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/procedure_parts.h"

static const struct instruction *
last_instruction(const struct flow_graph *graph, uint32_t block)
{
	return &graph->instructions[graph->blocks[block].first + graph->blocks[block].count - 1];
}

static bool
is_call(const struct flow_graph *graph, uint32_t block)
{
	const uint8_t flow = last_instruction(graph, block)->flow;

	return flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT;
}

static bool
is_head(const struct flow_graph *graph, uint32_t block, uint64_t address)
{
	return graph->instructions[graph->blocks[block].first].address == address;
}

static uint32_t
edge_to(const struct flow_graph *graph, uint32_t block, uint32_t target)
{
	const struct flow_block *at = &graph->blocks[block];

	for (uint32_t i = 0; i < at->out_count; i++)
		if (graph->edges[graph->outs[at->out + i]].to == target)
			return graph->outs[at->out + i];
	return NOT_AN_EDGE;
}

/* Where a call returns to is not entered. */
static uint32_t
entry_of(const struct flow_graph *graph, uint32_t block)
{
	const struct flow_block *at = &graph->blocks[block];
	uint32_t entry = NOT_AN_EDGE;

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i];

		if (graph->edges[edge].kind == EDGE_ENTRY)
			entry = edge;
		else if (graph->edges[edge].from != FLOW_OUTSIDE && graph->edges[edge].kind == EDGE_FALL &&
		         is_call(graph, graph->edges[edge].from))
			return NOT_AN_EDGE;
	}
	return entry;
}

uint32_t
procedure_edge_find(const struct flow_graph *graph, uint64_t from, uint64_t to)
{
	const uint32_t source = flow_graph_block_at(graph, from), target = flow_graph_block_at(graph, to);
	const bool is_inside = target != FLOW_OUTSIDE;

	if (is_inside && !is_head(graph, target, to))
		return NOT_AN_EDGE;
	if (source == FLOW_OUTSIDE)
		return is_inside ? entry_of(graph, target) : NOT_AN_EDGE;
	if (last_instruction(graph, source)->address != from)
		return NOT_AN_EDGE;
	if (is_call(graph, source)) /* of itself, perhaps */
		return is_inside ? entry_of(graph, target) : NOT_AN_EDGE;
	return edge_to(graph, source, target);
}

/* The first visit at `offset` or behind it. */
static size_t
visit_at(const struct procedure_paths *paths, uint64_t offset)
{
	size_t low = 0, high = paths->visit_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (paths->visits[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* An instruction is in one stretch; offsets ascend in each. */
uint64_t *
procedure_visits(const struct procedure_input *input, const struct flow_graph *graph,
                 const struct procedure_paths *paths)
{
	uint64_t *visits = calloc(graph->instruction_count + 1, sizeof(*visits));
	struct stretch stretch = {0};

	while (visits && stretch_next(input, graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = visit_at(paths, stretch.start); i < paths->visit_count; i++) {
			const struct selection_count *count = &paths->visits[i];

			if (count->offset >= stretch.end)
				break;
			at = stretch_advance(graph, &stretch, count->offset, at);
			visits[at] += count->count;
		}
	}
	return visits;
}

/* Those edges of an image that have one end in a stretch: of a list that ascends by that end. */
struct edge_range {
	const struct procedure_edge *first, *last; /* last is one behind */
};

static uint64_t
edge_end(const struct procedure_edge *edge, bool is_arrival)
{
	return is_arrival ? edge->to : edge->from;
}

static const struct procedure_edge *
edge_at(const struct procedure_edge *edges, size_t count, bool is_arrival, uint64_t offset)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (edge_end(&edges[middle], is_arrival) < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return edges + low;
}

static struct edge_range
edges_within(const struct procedure_edge *edges, size_t count, bool is_arrival, const struct stretch *stretch)
{
	return (struct edge_range){edge_at(edges, count, is_arrival, stretch->start),
	                           edge_at(edges, count, is_arrival, stretch->end)};
}

static bool
edge_addresses(const struct procedure_input *input, const struct procedure_edge *edge, uint64_t *from, uint64_t *to)
{
	return image_file_address(input->code->file, edge->from, from) == 0 &&
	       image_file_address(input->code->file, edge->to, to) == 0;
}

/* What begins in a block is seen where it begins, anything else where it arrives: each once. */
static void
count_range(const struct procedure_input *input, const struct flow_graph *graph, const struct edge_range *range,
            bool is_arrival, uint64_t *seen)
{
	for (const struct procedure_edge *at = range->first; at < range->last; at++) {
		uint64_t from, to;
		uint32_t edge;

		if (!edge_addresses(input, at, &from, &to) ||
		    (flow_graph_block_at(graph, from) == FLOW_OUTSIDE) != is_arrival)
			continue;
		edge = procedure_edge_find(graph, from, to);
		if (edge != NOT_AN_EDGE)
			seen[edge] += at->count;
	}
}

static void
count_edges(const struct procedure_input *input, const struct flow_graph *graph, const struct procedure_paths *paths,
            uint64_t *seen)
{
	struct stretch stretch = {0};

	while (stretch_next(input, graph, &stretch)) {
		const struct edge_range leave = edges_within(paths->edges, paths->edge_count, false, &stretch);
		const struct edge_range arrive = edges_within(paths->arrivals, paths->edge_count, true, &stretch);

		count_range(input, graph, &leave, false, seen);
		count_range(input, graph, &arrive, true, seen);
	}
}

static uint32_t
fall_of(const struct flow_graph *graph, uint32_t block)
{
	const struct flow_block *at = &graph->blocks[block];

	for (uint32_t i = 0; i < at->out_count; i++) {
		const struct flow_edge *edge = &graph->edges[graph->outs[at->out + i]];

		if (edge->kind == EDGE_FALL && edge->to != FLOW_OUTSIDE)
			return graph->outs[at->out + i];
	}
	return NOT_AN_EDGE;
}

/* Blocks ascend within a part, and a run does not leave it: there is an end to it. */
static void
count_run(const struct flow_graph *graph, uint64_t from, uint64_t to, uint64_t count, uint64_t *seen)
{
	const uint32_t last = flow_graph_block_at(graph, to);
	uint32_t at = flow_graph_block_at(graph, from);

	while (at != FLOW_OUTSIDE && last != FLOW_OUTSIDE && at < last) {
		const uint32_t edge = fall_of(graph, at);

		if (edge == NOT_AN_EDGE || graph->edges[edge].to <= at)
			return;
		seen[edge] += count;
		at = graph->edges[edge].to;
	}
}

static void
count_runs(const struct procedure_input *input, const struct flow_graph *graph, const struct procedure_paths *paths,
           uint64_t *seen)
{
	struct stretch stretch = {0};

	while (stretch_next(input, graph, &stretch)) {
		const struct edge_range range = edges_within(paths->runs, paths->run_count, false, &stretch);

		for (const struct procedure_edge *run = range.first; run < range.last; run++) {
			uint64_t from, to;

			if (edge_addresses(input, run, &from, &to))
				count_run(graph, from, to, run->count, seen);
		}
	}
}

/* What left to other images is in no edge, but the block's last instruction was executed. */
static void
count_exits(const struct flow_graph *graph, const uint64_t *visits, uint64_t *seen)
{
	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint32_t edge = edge_to(graph, i, FLOW_OUTSIDE);
		uint64_t left = visits[i];

		for (uint32_t k = 0; k < block->out_count; k++) {
			const uint64_t known = seen[graph->outs[block->out + k]];

			left -= known < left ? known : left;
		}
		if (edge != NOT_AN_EDGE && graph->edges[edge].kind == EDGE_EXIT)
			seen[edge] += left;
	}
}

static int
count_visits(const struct procedure_input *input, const struct flow_graph *graph, const struct procedure_paths *paths,
             struct path_counts *counts)
{
	uint64_t *visits = procedure_visits(input, graph, paths);

	counts->visits = calloc(graph->block_count + 1, sizeof(*counts->visits));
	for (uint32_t i = 0; i < graph->block_count && visits && counts->visits; i++)
		counts->visits[i] = visits[graph->blocks[i].first + graph->blocks[i].count - 1];
	free(visits);
	return visits && counts->visits ? 0 : -ENOMEM;
}

int
path_counts_init(struct path_counts *counts, const struct procedure_input *input, const struct flow_graph *graph,
                 const struct procedure_paths *paths)
{
	int err = 0;

	*counts = (struct path_counts){0};
	if (!paths || paths->edge_count == 0)
		return 0;
	counts->edges = calloc(graph->edge_count + 1, sizeof(*counts->edges));
	if (!counts->edges)
		return -ENOMEM;
	count_edges(input, graph, paths, counts->edges);
	count_runs(input, graph, paths, counts->edges);
	if (paths->visit_count)
		err = count_visits(input, graph, paths, counts);
	if (!err && counts->visits)
		count_exits(graph, counts->visits, counts->edges);
	return err;
}

void
path_counts_fini(struct path_counts *counts)
{
	free(counts->edges);
	free(counts->visits);
}
