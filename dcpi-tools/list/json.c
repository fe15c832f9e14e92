/* Schema dcpilist/1: man/dcpilist.1.scd. */
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/list/report.h"

/* Add the samples of a line; of an instruction, when `line` is NULL. The object, or NULL. */
static json_t *
with_samples(const struct list_report *report, const struct line_entry *line, uint32_t instruction, json_t *object)
{
	uint64_t samples[SELECTION_EVENTS_MAX], taken[SELECTION_EVENTS_MAX];

	for (size_t i = 0; i < report->analysis->event_count; i++) {
		const uint16_t event = (uint16_t)i;

		samples[i] = line ? list_line_samples(report, report->analysis->samples, line, event)
		                  : list_instruction_samples(report, report->analysis->samples, instruction, event);
		taken[i] = line ? list_line_samples(report, report->analysis->taken, line, event)
		                : list_instruction_samples(report, report->analysis->taken, instruction, event);
	}
	return json_kept(object,
	                 columns_json_add(object, "samples", report->selection, &report->columns, samples, taken));
}

static json_t *
file_json(const struct list_report *report, const struct line_place *place)
{
	return place->file == SOURCE_NONE ? json_null() : json_shown(report->sources.sources[place->file].path);
}

static json_t *
line_json(const struct line_place *place)
{
	return place->file == SOURCE_NONE ? json_null() : json_integer(place->line);
}

/* The object with its frequency, or NULL. Only --frequency adds this member. */
static json_t *
with_frequency(json_t *object, const struct frequency *frequency, const uint64_t *times)
{
	json_t *value = json_null();

	if (frequency)
		value = json_pack("{s:f, s:o, s:s, s:s}", "value", frequency->value, "executions",
		                  frequency->confidence == CONFIDENCE_EXACT ? json_count(*times) : json_null(),
		                  "confidence", frequency_confidence_name(frequency->confidence), "method",
		                  frequency_method_name(frequency->method));
	return json_kept(object, json_object_set_new(object, "frequency", value));
}

static json_t *
instruction_json(const struct list_report *report, uint32_t instruction)
{
	const struct line_place *place = &report->places[instruction];
	char text[INSTRUCTION_TEXT_SIZE];
	uint64_t times = 0;
	json_t *object;

	list_instruction_text(report, instruction, text);
	object = json_pack("{s:o, s:s, s:o, s:o}", "address",
	                   json_count(report->analysis->graph->instructions[instruction].address), "text", text, "file",
	                   file_json(report, place), "line", line_json(place));
	object = with_samples(report, NULL, instruction, object);
	if (report->request->frequency)
		object = with_frequency(object, list_instruction_frequency(report, instruction, &times), &times);
	return object;
}

static json_t *
instructions_json(const struct list_report *report)
{
	json_t *array = json_array();
	int failed = !array;

	for (uint32_t i = 0; i < report->analysis->graph->instruction_count && !failed; i++)
		failed |= json_array_append_new(array, instruction_json(report, i));
	return json_kept(array, failed);
}

static json_t *
one_line_json(const struct list_report *report, const struct line_entry *line)
{
	const struct source *source = &report->sources.sources[line->place.file];
	uint64_t times = 0;
	json_t *object;

	object = json_pack("{s:o, s:o, s:o}", "file", file_json(report, &line->place), "line", line_json(&line->place),
	                   "text", json_shown(source_line(source, line->place.line)));
	object = with_samples(report, line, 0, object);
	if (report->request->frequency)
		object = with_frequency(object, list_line_frequency(report, line, &times), &times);
	return object;
}

/* In the order of the instructions. */
static json_t *
lines_json(const struct list_report *report)
{
	json_t *array = json_array();
	int failed = !array;

	for (uint32_t i = 0; i < report->analysis->graph->instruction_count && !failed; i++) {
		const struct line_entry *line = line_index_find(&report->index, &report->places[i]);

		if (line && report->index.order[line->first] == i)
			failed |= json_array_append_new(array, one_line_json(report, line));
	}
	return json_kept(array, failed);
}

/* Where text was looked for, and why there is none. */
static json_t *
sources_json(const struct list_report *report)
{
	json_t *array = json_array();
	int failed = !array;

	for (size_t i = 0; i < report->sources.count && !failed; i++) {
		const struct source *source = &report->sources.sources[i];
		json_t *trouble = source->trouble ? json_shown(error_text(source->trouble)) : json_null();

		failed |= json_array_append_new(
			array, json_pack("{s:o, s:o}", "file", json_shown(source->path), "trouble", trouble));
	}
	return json_kept(array, failed);
}

int
list_report_print_json(const struct list_report *report, FILE *stream)
{
	json_t *root = procedure_choice_json(&report->choice, "dcpilist/1");
	int failed;

	failed = columns_json_add(root, "samples", report->selection, &report->columns, report->totals, report->taken);
	if (report->request->frequency)
		failed |=
			json_object_set_new(root, "source", frequency_source_json(report->analysis, &report->records));
	failed |= json_object_set_new(root, "instructions", instructions_json(report));
	failed |= json_object_set_new(root, "lines", lines_json(report));
	failed |= json_object_set_new(root, "sources", sources_json(report));
	failed |= json_object_set_new(root, "lines_damaged", json_boolean(report->lines_damaged));
	return json_print(json_kept(root, failed), stream);
}
