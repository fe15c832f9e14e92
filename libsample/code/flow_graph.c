#include "code/flow_graph.h"

#include <stdlib.h>

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
