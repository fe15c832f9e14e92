/* Schema dcpilist/1: man/dcpilist.1.scd. */
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/frequency_source.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/list/report.h"

typedef uint64_t count_samples(const struct report *report, const uint64_t *counts, const void *of, uint16_t event);

static uint64_t
of_instruction(const struct report *report, const uint64_t *counts, const void *of, uint16_t event)
{
	return instruction_samples(report, counts, *(const uint32_t *)of, event);
}

static uint64_t
of_line(const struct report *report, const uint64_t *counts, const void *of, uint16_t event)
{
	return line_samples(report, counts, of, event);
}

static uint64_t
of_all(const struct report *report, const uint64_t *counts, const void *of, uint16_t event)
{
	uint64_t sum = 0;

	(void)of;
	for (uint32_t i = 0; i < report->analysis->graph->instruction_count; i++)
		sum += instruction_samples(report, counts, i, event);
	return sum;
}

/* Add `samples`, and where those of some event are weighted, how many of it were `taken`; the object, or NULL. */
static json_t *
with_samples(const struct report *report, count_samples *count, const void *of, json_t *object)
{
	json_t *samples = json_object(), *taken = NULL;
	int failed = 0;

	for (size_t i = 0; i < report->columns.count; i++) {
		const uint16_t index = report->columns.events[i];
		const struct selection_event *event = &report->selection->events[index];

		failed |= json_object_set_new(samples, event->name,
		                              json_count(count(report, report->analysis->samples, of, index)));
		if (!event->is_weighted)
			continue;
		taken = taken ? taken : json_object();
		failed |= json_object_set_new(taken, event->name,
		                              json_count(count(report, report->analysis->taken, of, index)));
	}
	failed |= json_object_set_new(object, "samples", samples);
	if (taken)
		failed |= json_object_set_new(object, "taken", taken);
	return json_kept(object, failed);
}

static json_t *
file_json(const struct report *report, const struct list_place *place)
{
	return place->file == SOURCE_NONE ? json_null() : json_shown(report->sources.sources[place->file].path);
}

static json_t *
line_json(const struct list_place *place)
{
	return place->file == SOURCE_NONE ? json_null() : json_integer(place->line);
}

/* Without --frequency there is no such member: an object without it is what it was. */
static json_t *
with_frequency(json_t *object, const struct frequency *frequency, const uint64_t *times)
{
	json_t *value = json_null();

	if (frequency)
		value = json_pack("{s:f, s:o, s:s, s:s}", "value", frequency->value, "executions",
		                  frequency->confidence == CONFIDENCE_EXACT ? json_count(*times) : json_null(),
		                  "confidence", frequency_confidence_name(frequency->confidence), "method",
		                  frequency_method_name(frequency->method));
	if (json_object_set_new(object, "frequency", value) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *
instruction_json(const struct report *report, uint32_t instruction)
{
	const struct list_place *place = &report->places[instruction];
	char text[INSTRUCTION_TEXT_SIZE];
	uint64_t times = 0;
	json_t *object;

	list_instruction_text(report, instruction, text);
	object = json_pack("{s:o, s:s, s:o, s:o}", "address",
	                   json_count(report->analysis->graph->instructions[instruction].address), "text", text, "file",
	                   file_json(report, place), "line", line_json(place));
	object = with_samples(report, of_instruction, &instruction, object);
	if (report->request->frequency)
		object = with_frequency(object, instruction_frequency(report, instruction, &times), &times);
	return object;
}

static json_t *
instructions_json(const struct report *report)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < report->analysis->graph->instruction_count; i++)
		if (json_array_append_new(array, instruction_json(report, i))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *
one_line_json(const struct report *report, const struct list_line *line)
{
	const struct source *source = &report->sources.sources[line->place.file];
	uint64_t times = 0;
	json_t *object;

	object = json_pack("{s:o, s:o, s:o}", "file", file_json(report, &line->place), "line", line_json(&line->place),
	                   "text", json_shown(source_line(source, line->place.line)));
	object = with_samples(report, of_line, line, object);
	if (report->request->frequency)
		object = with_frequency(object, line_frequency(report, line, &times), &times);
	return object;
}

/* In the order of the instructions. */
static json_t *
lines_json(const struct report *report)
{
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < report->analysis->graph->instruction_count; i++) {
		const struct list_line *line = line_index_find(&report->index, &report->places[i]);

		if (!line || report->index.order[line->first] != i)
			continue;
		if (json_array_append_new(array, one_line_json(report, line))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* Where text was looked for, and why there is none. */
static json_t *
sources_json(const struct report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->sources.count; i++) {
		const struct source *source = &report->sources.sources[i];
		json_t *trouble = source->trouble ? json_shown(error_text(source->trouble)) : json_null();

		if (json_array_append_new(
			    array, json_pack("{s:o, s:o}", "file", json_shown(source->path), "trouble", trouble))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

int
list_report_print_json(const struct report *report, FILE *stream)
{
	json_t *root = with_samples(report, of_all, NULL, procedure_choice_json(&report->choice, "dcpilist/1"));
	int failed = 0;

	if (report->request->frequency)
		failed |=
			json_object_set_new(root, "source", frequency_source_json(report->analysis, &report->recorded));
	failed |= json_object_set_new(root, "instructions", instructions_json(report));
	failed |= json_object_set_new(root, "lines", lines_json(report));
	failed |= json_object_set_new(root, "sources", sources_json(report));
	failed |= json_object_set_new(root, "lines_damaged", json_boolean(report->lines_damaged));
	return json_print(json_kept(root, failed), stream);
}
