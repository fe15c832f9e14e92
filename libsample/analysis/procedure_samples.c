/* What was counted, by instruction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_parts.h"
#include "base/error.h"
#include "base/escape.h"

/* The instructions of one part of a procedure, and its place in the file. */
struct stretch {
	uint32_t first, last; /* instructions; last is one behind */
	uint64_t start, end;  /* offsets */
};

static uint64_t
instruction_end(const struct instruction *instruction)
{
	return instruction->address + instruction->size;
}

/* Split the instructions, which ascend part by part, where they do not follow one another. */
static bool
next_stretch(const struct procedure_input *input, const struct flow_graph *graph, struct stretch *stretch)
{
	const struct instruction *instructions = graph->instructions;
	uint32_t i = stretch->last;

	if (i >= graph->instruction_count)
		return false;
	stretch->first = i;
	while (i + 1 < graph->instruction_count && instruction_end(&instructions[i]) == instructions[i + 1].address)
		i++;
	stretch->last = i + 1;
	stretch->start = stretch->end = 0;
	if (image_file_offset(input->code->file, instructions[stretch->first].address, &stretch->start) == 0)
		stretch->end =
			stretch->start + instruction_end(&instructions[i]) - instructions[stretch->first].address;
	return true;
}

/* The instruction of the stretch that holds `offset`; a walk from *at on, for offsets that ascend. */
static uint32_t
advance(const struct flow_graph *graph, const struct stretch *stretch, uint64_t offset, uint32_t at)
{
	const uint64_t address = graph->instructions[stretch->first].address + (offset - stretch->start);

	while (at + 1 < stretch->last && instruction_end(&graph->instructions[at]) <= address)
		at++;
	return at;
}

int
procedure_samples(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	const struct selection *selection = input->selection;
	const size_t instructions = analysis->graph->instruction_count;
	struct stretch stretch = {0};

	analysis->event_count = selection->event_count;
	analysis->samples = calloc(selection->event_count * instructions + 1, sizeof(*analysis->samples));
	if (!analysis->samples)
		return -ENOMEM;
	while (next_stretch(input, analysis->graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = code_image_first_count(selection, input->code->index, stretch.start);
		     i < selection->count_count; i++) {
			const struct selection_count *count = &selection->counts[i];

			if (count->image != input->code->index || count->offset >= stretch.end)
				break;
			at = advance(analysis->graph, &stretch, count->offset, at);
			analysis->samples[count->event * instructions + at] += count->count;
			if (count->event == input->event)
				analysis->time_samples += count->count;
		}
	}
	return 0;
}

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

	if (source == FLOW_OUTSIDE)
		return false;
	block = &graph->blocks[source];
	if (graph->instructions[block->first + block->count - 1].address != from)
		return false;
	return target == FLOW_OUTSIDE || graph->instructions[graph->blocks[target].first].address == to;
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
	while (next_stretch(input, analysis->graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = 0; i < input->execution_count; i++) {
			const struct selection_count *count = &input->executions[i];

			if (count->offset < stretch.start || count->offset >= stretch.end)
				continue;
			at = advance(analysis->graph, &stretch, count->offset, at);
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

int
time_event_choose(const struct selection *selection, const char *name, char *why, size_t size)
{
	static const char *const units[] = {"cycles", "ns"};
	char shown[EVENT_NAME_SIZE];

	*why = '\0';
	for (size_t i = 0; name && i < selection->event_count; i++)
		if (strcmp(selection->events[i].name, name) == 0 && selection->events[i].available)
			return (int)i;
	if (name) {
		snprintf(why, size, "%s was not counted in what was selected", escape_text(name, shown, sizeof(shown)));
		return -DCPI_ENOEVENT;
	}
	for (size_t unit = 0; unit < sizeof(units) / sizeof(units[0]); unit++)
		for (size_t i = 0; i < selection->event_count; i++)
			if (selection->events[i].available && strcmp(selection->events[i].unit, units[unit]) == 0)
				return (int)i;
	snprintf(why, size,
	         "no event of what was selected counts time: cycles or a clock; --event takes another for it");
	return -DCPI_ENOEVENT;
}
