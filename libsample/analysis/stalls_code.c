/* Whether an instruction may have waited for its own bytes: what begins a line of the cache, or a page. */
#include <math.h>

#include "analysis/stalls_suspects.h"

static uint64_t
unit_of(const struct instruction *instruction, unsigned bytes)
{
	return (instruction->address + (instruction->size ? instruction->size - 1U : 0)) / bytes;
}

/* The share of its executions that come to the instruction from another line, or page, of `bytes`. */
static double
first_touches(const struct scene *scene, unsigned bytes)
{
	const struct flow_graph *graph = scene->elimination->graph;
	const struct flow_block *block = &graph->blocks[scene->block];
	double share = 0;

	if (bytes == 0)
		return 0;
	if (scene->index > 0)
		return unit_of(scene->instruction, bytes) != unit_of(scene->instruction - 1, bytes);
	for (uint32_t i = 0; i < block->in_count; i++) {
		const uint32_t edge = graph->ins[block->in + i], from = graph->edges[edge].from;
		const struct instruction *last;

		if (from != FLOW_OUTSIDE) {
			last = &graph->instructions[graph->blocks[from].first + graph->blocks[from].count - 1];
			if (!is_call_site(last) && unit_of(last, bytes) == unit_of(scene->instruction, bytes))
				continue;
		}
		share += edge_share(scene->elimination, edge, scene->block);
	}
	return fmin(share, 1);
}

void
suspect_code(const struct scene *scene)
{
	const struct elimination *elimination = scene->elimination;
	const struct pipeline *pipeline = elimination->pipeline;
	double share = first_touches(scene, pipeline->cache_line);

	if (share > 0 && !elimination->fits_cache[scene->block])
		suspect(scene, CAUSE_CODE_CACHE, model_cycles(scene, share * pipeline->code.memory_cycles));
	share = first_touches(scene, pipeline->page_bytes);
	if (share > 0 && !elimination->fits_tlb[scene->block])
		suspect(scene, CAUSE_CODE_TLB, model_cycles(scene, share * pipeline->code_tlb.miss_cycles));
}
