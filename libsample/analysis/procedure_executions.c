/* What was counted exactly, by instruction and by edge. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/procedure_parts.h"

/* The edge between two instructions, if it is one of the graph. */
static uint64_t *
edge_count(struct procedure_analysis *analysis, uint64_t from, uint64_t to)
{
	const struct flow_graph *graph = analysis->graph;
	const uint32_t source = flow_graph_block_at(graph, from), target = flow_graph_block_at(graph, to);
	const struct flow_block *block;

	if (source == FLOW_OUTSIDE)
		return NULL;
	block = &graph->blocks[source];
	for (uint32_t i = 0; i < block->out_count; i++) {
		const uint32_t edge = graph->outs[block->out + i];

		if (graph->edges[edge].to == target)
			return &analysis->edge_counts[edge];
	}
	return NULL;
}

/* Only ways from the end of a block to the beginning of one count: others are steps inside of it. */
static bool
is_way(const struct flow_graph *graph, uint64_t from, uint64_t to)
{
	const uint32_t source = flow_graph_block_at(graph, from), target = flow_graph_block_at(graph, to);
	const struct flow_block *block;
	uint8_t flow;

	if (source == FLOW_OUTSIDE)
		return false;
	block = &graph->blocks[source];
	flow = graph->instructions[block->first + block->count - 1].flow;
	if (flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT)
		return false;
	if (graph->instructions[block->first + block->count - 1].address != from)
		return false;
	return target == FLOW_OUTSIDE || graph->instructions[graph->blocks[target].first].address == to;
}

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
	if (!input->exact_edge_count)
		return 0;
	analysis->edge_counts = calloc(analysis->graph->edge_count + 1, sizeof(*analysis->edge_counts));
	if (!analysis->edge_counts)
		return -ENOMEM;
	for (size_t i = 0; i < input->exact_edge_count; i++) {
		const struct procedure_edge *edge = &input->exact_edges[i];
		uint64_t from, to, *count;

		if (image_file_address(input->code->file, edge->from, &from) ||
		    image_file_address(input->code->file, edge->to, &to) || !is_way(analysis->graph, from, to))
			continue;
		count = edge_count(analysis, from, to);
		if (count)
			*count += edge->count;
	}
	complete_edges(analysis);
	return 0;
}

int
procedure_executions(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	struct stretch stretch = {0};
	bool is_any = false;

	if (!input->execution_count)
		return 0;
	analysis->executions = calloc(analysis->graph->instruction_count + 1, sizeof(*analysis->executions));
	if (!analysis->executions)
		return -ENOMEM;
	while (stretch_next(input, analysis->graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = 0; i < input->execution_count; i++) {
			const struct selection_count *count = &input->executions[i];

			if (count->offset < stretch.start || count->offset >= stretch.end)
				continue;
			at = stretch_advance(analysis->graph, &stretch, count->offset, at);
			analysis->executions[at] += count->count;
			is_any = true;
		}
	}
	if (is_any)
		return take_edges(input, analysis);
	free(analysis->executions);
	analysis->executions = NULL;
	return 0;
}
