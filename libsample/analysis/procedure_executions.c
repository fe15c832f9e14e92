/* What was counted exactly, by instruction and by edge. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/procedure_parts.h"

/* What a block's edges on one side do not account for. */
static uint64_t
deficit(const struct procedure_analysis *analysis, uint32_t block, const uint32_t *edges, uint32_t count)
{
	uint64_t left = analysis->executions[analysis->graph->blocks[block].first];

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t known = analysis->edge_counts[edges[i]];

		left -= known < left ? known : left;
	}
	return left;
}

static void
give(struct procedure_analysis *analysis, const uint32_t *edges, uint32_t count, uint64_t left,
     enum flow_edge_kind kind)
{
	for (uint32_t i = 0; i < count && left; i++) {
		if (analysis->graph->edges[edges[i]].kind != kind)
			continue;
		analysis->edge_counts[edges[i]] += left;
		left = 0;
	}
}

/*
 * A call was counted as a way to what it calls, and its return as one from there, here it falls through; ways to and
 * from other images were not counted at all. Blocks were: what their edges do not account for went there.
 */
static void
complete_edges(struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint32_t *outs = graph->outs + block->out;
		const uint8_t flow = graph->instructions[block->first + block->count - 1].flow;
		const bool falls = flow == FLOW_NEXT || flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT;
		const uint64_t left = deficit(analysis, i, outs, block->out_count);

		give(analysis, outs, block->out_count, left, falls ? EDGE_FALL : EDGE_EXIT);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint32_t *ins = graph->ins + block->in;

		give(analysis, ins, block->in_count, deficit(analysis, i, ins, block->in_count), EDGE_ENTRY);
	}
}

static int
take_edges(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	struct path_counts counts;
	int err;

	err = path_counts_init(&counts, input, analysis->graph, input->exact);
	if (err) {
		path_counts_fini(&counts);
		return err;
	}
	free(counts.visits);
	analysis->edge_counts = counts.edges;
	if (counts.edges)
		complete_edges(analysis);
	return 0;
}

static bool
any_count(const uint64_t *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (counts[i] > 0)
			return true;
	return false;
}

int
procedure_executions(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	if (!input->exact || !input->exact->visit_count)
		return 0;
	analysis->executions = procedure_visits(input, analysis->graph, input->exact);
	if (!analysis->executions)
		return -ENOMEM;
	if (any_count(analysis->executions, analysis->graph->instruction_count))
		return take_edges(input, analysis);
	free(analysis->executions);
	analysis->executions = NULL;
	return 0;
}
