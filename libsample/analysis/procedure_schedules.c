/* The least time of each block. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_parts.h"

#define BLOCKS_WITH_STATES 20000 /* of larger procedures, no block is asked what it leaves to the next */

static bool
follows_itself(const struct flow_graph *graph, uint32_t block)
{
	const struct flow_block *at = &graph->blocks[block];

	for (uint32_t i = 0; i < at->out_count; i++)
		if (graph->edges[graph->outs[at->out + i]].to == block)
			return true;
	return false;
}

static int
leave(const struct pipeline *pipeline, const struct flow_graph *graph, uint32_t block, struct schedule_state *after)
{
	const struct flow_block *at = &graph->blocks[block];
	struct schedule schedule;
	int err;

	memset(after, 0, sizeof(*after));
	err = schedule_block(pipeline, graph->instructions + at->first, at->count, false, NULL, after, &schedule);
	if (!err)
		schedule_fini(&schedule);
	return err;
}

/* What the blocks before it leave, at best. */
static void
arrive(const struct flow_graph *graph, uint32_t block, const struct schedule_state *states,
       struct schedule_state *before)
{
	const struct flow_block *at = &graph->blocks[block];

	memset(before, 0, sizeof(*before));
	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t from = graph->edges[graph->ins[at->in + i]].from;

		if (from == FLOW_OUTSIDE) {
			memset(before, 0, sizeof(*before));
			return;
		}
		if (i == 0)
			*before = states[from];
		else
			schedule_state_meet(before, &states[from]);
	}
}

int
procedure_schedules(const struct pipeline *pipeline, struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	const bool in_order = pipeline->kind == PIPELINE_KIND_IN_ORDER && graph->block_count <= BLOCKS_WITH_STATES;
	struct schedule_state *states = in_order ? calloc(graph->block_count + 1, sizeof(*states)) : NULL;
	int err = 0;

	analysis->schedules = calloc(graph->block_count + 1, sizeof(*analysis->schedules));
	if (!analysis->schedules || (in_order && !states))
		err = -ENOMEM;
	for (uint32_t i = 0; i < graph->block_count && states && !err; i++)
		err = leave(pipeline, graph, i, &states[i]);
	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		const struct flow_block *block = &graph->blocks[i];
		struct schedule_state before;

		if (states)
			arrive(graph, i, states, &before);
		err = schedule_block(pipeline, graph->instructions + block->first, block->count,
		                     follows_itself(graph, i), states ? &before : NULL, NULL, &analysis->schedules[i]);
	}
	free(states);
	return err;
}
