#include "code/flow_edges.h"

#include <errno.h>
#include <stdlib.h>

int
flow_edges_add(struct flow_edges *edges, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	struct flow_graph *graph = edges->graph;

	if (graph->edge_count == edges->capacity) {
		size_t capacity = edges->capacity ? 2 * edges->capacity : 16;
		struct flow_edge *grown;

		if (capacity >= UINT32_MAX)
			return -ENOMEM;
		grown = reallocarray(graph->edges, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		graph->edges = grown;
		edges->capacity = capacity;
	}
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

int
flow_edges_index(struct flow_graph *graph)
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
