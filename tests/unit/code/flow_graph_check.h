/*
 * flow_graph_check.h - whether a flow graph is as code/flow_graph.h says, for tests of what builds one
 */
#ifndef DCPI_TESTS_UNIT_CODE_FLOW_GRAPH_CHECK_H
#define DCPI_TESTS_UNIT_CODE_FLOW_GRAPH_CHECK_H

#include <stdlib.h>

#include "code/flow_graph.h"

static inline const char *
blocks_fault(const struct flow_graph *graph)
{
	for (size_t part = 0; part < graph->part_count; part++) {
		if (graph->part_blocks[part] > graph->part_blocks[part + 1])
			return "parts are not in order";
	}
	if (graph->part_blocks[0] || graph->part_blocks[graph->part_count] != graph->block_count)
		return "a block is in no part";
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		if (!block->count || block->first >= graph->instruction_count ||
		    block->count > graph->instruction_count - block->first)
			return "a block has no instructions";
		if (i > 0 && block->first < block[-1].first + block[-1].count)
			return "blocks overlap";
		for (uint32_t j = 1; j < block->count; j++) {
			const struct instruction *at = &graph->instructions[block->first + j];

			if (at->address != at[-1].address + at[-1].size)
				return "a block has a gap";
			if (at[-1].flow != FLOW_NEXT)
				return "control leaves a block in its middle";
		}
	}
	return NULL;
}

static inline const char *
edges_fault(const struct flow_graph *graph)
{
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		bool in = edge->kind == EDGE_ENTRY;
		bool out = edge->kind == EDGE_EXIT || edge->kind == EDGE_NORETURN || edge->kind == EDGE_ENDLESS;

		if (edge->kind >= EDGE_KIND_COUNT)
			return "an edge has no kind";
		if ((edge->from == FLOW_OUTSIDE) != in || (edge->to == FLOW_OUTSIDE) != out)
			return "an edge's ends do not agree with its kind";
		if ((!in && edge->from >= graph->block_count) || (!out && edge->to >= graph->block_count))
			return "an edge ends nowhere";
		if (edge->kind == EDGE_FALL && edge->to != edge->from + 1)
			return "control falls over a block";
	}
	return NULL;
}

/* Each edge that has one of its ends at a block must be there, once, in ascending order. */
static inline const char *
index_fault(const struct flow_graph *graph)
{
	size_t out = 0, in = 0;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		if (block->out != out || block->in != in || block->out_count > graph->edge_count - out ||
		    block->in_count > graph->edge_count - in)
			return "the index of edges has a gap";
		for (uint32_t j = 0; j < block->out_count; j++, out++) {
			if (graph->outs[out] >= graph->edge_count || graph->edges[graph->outs[out]].from != i ||
			    (j > 0 && graph->outs[out] <= graph->outs[out - 1]))
				return "an edge leaves another block than its own";
		}
		for (uint32_t j = 0; j < block->in_count; j++, in++) {
			if (graph->ins[in] >= graph->edge_count || graph->edges[graph->ins[in]].to != i ||
			    (j > 0 && graph->ins[in] <= graph->ins[in - 1]))
				return "an edge comes to another block than its own";
		}
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		out += graph->edges[i].from == FLOW_OUTSIDE;
		in += graph->edges[i].to == FLOW_OUTSIDE;
	}
	return out == graph->edge_count && in == graph->edge_count ? NULL : "an edge is missing from the index";
}

/* How many blocks are reached from outside, or backward. `seen` and `stack` have room for all; `seen` is false. */
static inline size_t
reached_count(const struct flow_graph *graph, bool backward, bool *seen, uint32_t *stack)
{
	size_t depth = 0, count = 0;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		uint32_t far = backward ? edge->to : edge->from, near = backward ? edge->from : edge->to;

		if (far != FLOW_OUTSIDE || seen[near])
			continue;
		seen[near] = true;
		stack[depth++] = near;
	}
	while (depth) {
		const struct flow_block *block = &graph->blocks[stack[--depth]];
		uint32_t edge_count = backward ? block->in_count : block->out_count;

		count++;
		for (uint32_t j = 0; j < edge_count; j++) {
			const struct flow_edge *edge =
				&graph->edges[backward ? graph->ins[block->in + j] : graph->outs[block->out + j]];
			uint32_t next = backward ? edge->from : edge->to;

			if (next == FLOW_OUTSIDE || seen[next])
				continue;
			seen[next] = true;
			stack[depth++] = next;
		}
	}
	return count;
}

static inline const char *
flow_fault(const struct flow_graph *graph)
{
	bool *seen = calloc(2 * graph->block_count, sizeof(*seen));
	uint32_t *stack = calloc(graph->block_count, sizeof(*stack));
	const char *fault = NULL;

	if (!seen || !stack)
		fault = "no memory to look at it";
	else if (reached_count(graph, false, seen, stack) != graph->block_count)
		fault = "there is no way in to a block";
	else if (reached_count(graph, true, seen + graph->block_count, stack) != graph->block_count)
		fault = "there is no way out from a block";
	free(seen);
	free(stack);
	return fault;
}

/* What is wrong with a graph, by all that code/flow_graph.h says, in a sentence (literal); NULL when nothing is. */
static inline const char *
flow_graph_fault(const struct flow_graph *graph)
{
	const char *fault;

	if (!graph->block_count || !graph->part_count || graph->part_count > FLOW_PARTS_MAX)
		return "there are no blocks";
	if (graph->blocks[0].first != 0)
		return "the entry is not the first block";
	fault = blocks_fault(graph);
	if (!fault)
		fault = edges_fault(graph);
	if (!fault)
		fault = index_fault(graph);
	return fault ? fault : flow_fault(graph);
}

#endif
