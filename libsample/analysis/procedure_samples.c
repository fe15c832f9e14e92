/* What was counted, by instruction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_parts.h"
#include "base/error.h"
#include "base/text.h"

static uint64_t
instruction_end(const struct instruction *instruction)
{
	return instruction->address + instruction->size;
}

bool
stretch_next(const struct procedure_input *input, const struct flow_graph *graph, struct stretch *stretch)
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

uint32_t
stretch_advance(const struct flow_graph *graph, const struct stretch *stretch, uint64_t offset, uint32_t at)
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
	analysis->taken = calloc(selection->event_count * instructions + 1, sizeof(*analysis->taken));
	analysis->squares = calloc(instructions + 1, sizeof(*analysis->squares));
	if (!analysis->samples || !analysis->taken || !analysis->squares)
		return -ENOMEM;
	while (stretch_next(input, analysis->graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = code_image_first_count(selection, input->code->index, stretch.start);
		     i < selection->count_count; i++) {
			const struct selection_count *count = &selection->counts[i];

			if (count->image != input->code->index || count->offset >= stretch.end)
				break;
			at = stretch_advance(analysis->graph, &stretch, count->offset, at);
			analysis->samples[count->event * instructions + at] += count->count;
			analysis->taken[count->event * instructions + at] += count->taken;
			if (count->event == input->event) {
				analysis->time_samples += count->count;
				analysis->time_taken += count->taken;
				analysis->squares[at] += count->squares;
				analysis->time_squares += count->squares;
			}
		}
	}
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
