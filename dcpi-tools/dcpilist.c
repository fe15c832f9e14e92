/*
 * dcpilist - the source lines and instructions of a procedure, with their samples: man/dcpilist.1.scd
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure.h"
#include "base/error.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/sources.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "image/lines.h"

#define HOT_PERCENT 5   /* of an event's samples: coloured from here on */
#define TEXT_WIDTH  100 /* columns of text; what is longer sticks out */

const char *argp_program_version = "dcpilist " DCPI_VERSION;

enum list_mode {
	LIST_BOTH, /* instructions below the lines they were made from, as far as these are known */
	LIST_SOURCE,
	LIST_INSTRUCTIONS,
};

/* What the user asked for. */
struct list_request {
	struct shown_events_request shown_events;
	struct procedure_options procedure;
	enum list_mode mode;
	const char *cpu; /* a model's name or file; NULL: by the epoch's CPU */
	bool frequency;  /* how often each ran, too */
};

struct list_report {
	const struct list_request *request;
	struct selection *selection;
	struct shown_events shown_events;
	struct procedure_choice choice;
	struct procedure_analysis *analysis;
	struct model_choice model; /* these two if frequencies are wanted */
	struct path_records records;
	struct image_lines *lines; /* NULL: there are none */
	bool lines_damaged;        /* some, or all, could not be read */
	struct sources sources;
	struct line_place *places; /* of each instruction */
	struct line_index index;   /* of them */
	uint64_t *totals;          /* samples of the procedure by event of the selection */
	uint64_t *taken;           /* as totals, before they are weighted */
};

/* For frequencies: the event that is time, the model, and what was recorded. An exit status. */
static int
prepare_frequencies(struct list_report *report, struct database *database, uint16_t *event)
{
	const uint32_t number = report->selection->images[report->choice.found.code.index].number;
	int err, status;

	status = time_event_ask(report->selection, NULL, database->directory, event);
	if (!status)
		status = model_ask(report->selection, report->request->cpu, *event, &report->model);
	if (status)
		return status;
	err = path_records_read(database->profile, report->selection, number, &report->records);
	return err ? database_cannot_read(database, err) : STATUS_OK;
}

static int
add_totals(struct list_report *report)
{
	const struct procedure_analysis *analysis = report->analysis;
	const size_t instructions = analysis->graph->instruction_count;

	report->totals = calloc(analysis->event_count + 1, sizeof(*report->totals));
	report->taken = calloc(analysis->event_count + 1, sizeof(*report->taken));
	if (!report->totals || !report->taken)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->event_count * instructions; i++) {
		report->totals[i / instructions] += analysis->samples[i];
		report->taken[i / instructions] += analysis->taken[i];
	}
	return 0;
}

/* An exit status. */
static int
count_samples(struct list_report *report, struct database *database)
{
	struct procedure_input input = {
		.selection = report->selection,
		.code = &report->choice.found.code,
		.symbol = report->choice.found.symbol,
		.event = report->shown_events.events[0],
		.exact = &report->records.exact.paths,
		.branches = &report->records.branches.paths,
		.bursts = &report->records.bursts.paths,
	};
	int err;

	if (report->request->frequency) {
		const int status = prepare_frequencies(report, database, &input.event);

		if (status)
			return status;
		input.pipeline = &report->model.pipeline;
	}
	err = procedure_analyze(&input, &report->analysis);
	if (!err)
		err = add_totals(report);
	if (!err)
		return STATUS_OK;
	return message_cannot(report->request->procedure.name, "list the procedure", err,
	                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
}

static int
find_places(struct list_report *report)
{
	const struct flow_graph *graph = report->analysis->graph;
	int err;

	report->places = calloc(graph->instruction_count + 1, sizeof(*report->places));
	if (!report->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->instruction_count; i++)
		report->places[i].file = SOURCE_NONE;
	err = image_lines_new(report->choice.found.code.file, &report->lines);
	report->lines_damaged = err == -DCPI_EDAMAGED;
	if (err)
		return err == -ENOENT || err == -DCPI_EDAMAGED ? 0 : err;
	for (uint32_t i = 0; i < graph->instruction_count && !err; i++) {
		struct source_place place;
		const int found = image_lines_find(report->lines, graph->instructions[i].address, &place);

		report->lines_damaged |= found == -DCPI_EDAMAGED;
		if (found)
			continue;
		report->places[i].line = place.line;
		err = sources_add(&report->sources, place.path, &report->places[i].file);
	}
	return err;
}

/* What reads the image's files. An exit status. */
static int
list_procedure(struct list_report *report, struct database *database)
{
	const struct list_request *request = report->request;
	int status, err;

	status = procedure_choose(report->selection, &report->request->procedure, report->shown_events.events[0],
	                          &report->choice);
	if (!status)
		status = count_samples(report, database);
	if (status)
		return status;
	err = find_places(report);
	if (!err)
		err = line_index_make(report->places, report->analysis->graph->instruction_count, &report->index);
	return err ? message_cannot(request->procedure.name, "read the line numbers", err, NULL) : STATUS_OK;
}

static int
list_report_make(struct list_report *report, const struct list_request *request, struct database *database)
{
	struct image_guard guard;
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->procedure.options.request, &report->selection);
	if (!status)
		status = shown_events_ask(report->selection, &request->shown_events, database->directory,
		                          &report->shown_events);
	if (status)
		return status;
	image_guard_enter(&guard, request->procedure.name, NULL);
	status = list_procedure(report, database);
	image_guard_leave(&guard);
	return status;
}

static void
list_report_fini(struct list_report *report)
{
	free(report->totals);
	free(report->taken);
	line_index_fini(&report->index);
	free(report->places);
	sources_fini(&report->sources);
	image_lines_free(report->lines);
	procedure_analysis_free(report->analysis);
	path_records_fini(&report->records);
	procedure_choice_fini(&report->choice);
	selection_free(report->selection);
}

/* Instructions whose figures are shown together: one, or all that were compiled from a line. */
struct list_group {
	const uint32_t *instructions;
	uint32_t count;
};

static struct list_group
group_of_line(const struct list_report *report, const struct line_entry *line)
{
	return (struct list_group){&report->index.order[line->first], line->count};
}

/* `counts` are analysis->samples or analysis->taken. */
static uint64_t
group_samples(const struct list_report *report, const struct list_group *group, const uint64_t *counts, uint16_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < group->count; i++)
		sum += counts[event * report->analysis->graph->instruction_count + group->instructions[i]];
	return sum;
}

/* How often the one ran that ran most; NULL: not known. An exact one has *times, its executions. */
static const struct frequency *
group_frequency(const struct list_report *report, const struct list_group *group, uint64_t *times)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct frequency *most = NULL;

	for (uint32_t i = 0; i < group->count; i++) {
		const uint32_t instruction = group->instructions[i];
		const uint32_t block =
			flow_graph_block_at(analysis->graph, analysis->graph->instructions[instruction].address);
		const struct frequency *frequency;

		if (block == FLOW_OUTSIDE) /* padding */
			continue;
		frequency = &analysis->frequencies.blocks[block];
		if (frequency->confidence == CONFIDENCE_NONE || (most && frequency->value <= most->value))
			continue;
		most = frequency;
		*times = frequency->confidence == CONFIDENCE_EXACT && analysis->executions
		                 ? analysis->executions[instruction]
		                 : 0;
	}
	return most;
}

static void
list_instruction_text(const struct list_report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE])
{
	instruction_format(&report->choice.found.code, &report->analysis->graph->instructions[instruction],
	                   report->request->procedure.syntax, text);
}

/* ---- text ---- */

static bool
has_undecoded(const struct flow_graph *graph)
{
	for (uint32_t i = 0; i < graph->instruction_count; i++)
		if (graph->instructions[i].class == CLASS_UNKNOWN)
			return true;
	return false;
}

static int
print_samples(const struct list_report *report, FILE *stream)
{
	char range[2 * TIME_TEXT_SIZE];
	int err = 0;

	fputs("\nSamples: ", stream);
	for (size_t i = 0; i < report->shown_events.count && !err; i++) {
		const uint16_t event = report->shown_events.events[i];

		fputs(i ? ", " : " ", stream);
		err = text_print(report->selection->events[event].name, stream);
		fprintf(stream, " %" PRIu64, report->totals[event]);
	}
	fprintf(stream, "; %s\n", time_format_range(report->selection->start_ns, report->selection->end_ns, range));
	for (size_t i = 0; i < report->shown_events.count; i++)
		summary_print_weights(shown_events_event(report->selection, &report->shown_events, i),
		                      "Weights:  ", stream);
	return err;
}

static int
print_head(const struct list_report *report, const struct shown_events_fit *fit, const struct output *output)
{
	FILE *stream = output->stream;
	int err;

	fputs(output_style(output, STYLE_HEADING), stream);
	err = text_print(report->choice.title, stream);
	fputs(output_plain(output, STYLE_HEADING), stream);
	fputs(" in ", stream);
	if (!err)
		err = text_print(report->choice.titles[report->choice.found.code.index], stream);
	if (!err)
		err = print_samples(report, stream);
	shown_events_fit_print(fit, report->selection, stream);
	if (report->request->frequency)
		frequency_source_print(report->analysis, &report->records, stream);
	if (report->lines_damaged)
		fputs("Source:   not known: line numbers of the image cannot be read\n", stream);
	else if (!report->lines && report->request->mode != LIST_INSTRUCTIONS)
		fputs("Source:   not known: the image has no line numbers (it was not compiled with -g, or they were "
		      "split off and are not here)\n",
		      stream);
	if (has_undecoded(report->analysis->graph) && report->request->mode != LIST_SOURCE)
		fputs("Code:     what could not be decoded is shown as (bad) or .byte\n", stream);
	fputc('\n', stream);
	return err;
}

/* The columns of figures; empty ones without a group. */
static void
add_figures(const struct list_report *report, const struct list_group *group, struct table *table)
{
	const struct frequency *frequency;
	uint64_t times = 0;
	char text[64];

	for (size_t i = 0; i < report->shown_events.count; i++) {
		const uint16_t event = report->shown_events.events[i];
		const uint64_t all = report->totals[event];
		uint64_t count;

		if (!group) {
			table_text(table, STYLE_PLAIN, "");
			continue;
		}
		count = group_samples(report, group, report->analysis->samples, event);
		table_format(table, all && count * 100 >= all * HOT_PERCENT ? STYLE_HOT : STYLE_PLAIN, "%" PRIu64,
		             count);
	}
	if (!report->request->frequency)
		return;
	frequency = group ? group_frequency(report, group, &times) : NULL;
	if (!frequency) {
		table_text(table, STYLE_PLAIN, "");
	} else if (frequency->confidence == CONFIDENCE_EXACT) {
		table_format(table, STYLE_PLAIN, "%" PRIu64, times);
	} else { /* what is known with little confidence has a question mark */
		frequency_format(frequency->value, report->analysis->frequencies.is_relative, text, sizeof(text));
		table_format(table, STYLE_PLAIN, "%s%s", text, frequency->confidence == CONFIDENCE_LOW ? "?" : "");
	}
}

static void
add_instruction(const struct list_report *report, uint32_t instruction, struct table *table)
{
	char text[INSTRUCTION_TEXT_SIZE];

	list_instruction_text(report, instruction, text);
	add_figures(report, &(struct list_group){&instruction, 1}, table);
	table_format(table, STYLE_PLAIN, "%06" PRIx64, report->analysis->graph->instructions[instruction].address);
	table_text(table, STYLE_PLAIN, text);
}

static void
add_file(const struct list_report *report, const struct source *source, struct table *table)
{
	add_figures(report, NULL, table);
	table_text(table, STYLE_HEADING, "");
	if (source->trouble)
		table_format(table, STYLE_WARNING, "%s (%s)", source->path, error_text(source->trouble));
	else
		table_text(table, STYLE_HEADING, source->path);
}

static void
fill_both(const struct list_report *report, struct table *table)
{
	struct line_place last = {.file = SOURCE_NONE};

	for (uint32_t i = 0; i < report->analysis->graph->instruction_count; i++) {
		const struct line_place *place = &report->places[i];
		const bool is_known = place->file != SOURCE_NONE && report->request->mode == LIST_BOTH;

		if (is_known && place->file != last.file)
			add_file(report, &report->sources.sources[place->file], table);
		if (is_known && (place->file != last.file || place->line != last.line)) {
			add_figures(report, NULL, table);
			table_format(table, STYLE_FAINT, "%u", place->line);
			table_text(table, STYLE_FAINT, source_line(&report->sources.sources[place->file], place->line));
			last = *place;
		}
		add_instruction(report, i, table);
	}
}

static void
add_line(const struct list_report *report, const struct source *source, unsigned line, const struct list_group *group,
         struct table *table)
{
	add_figures(report, group, table);
	table_format(table, STYLE_PLAIN, "%u", line);
	table_text(table, STYLE_PLAIN, source_line(source, line));
}

/* The file where the procedure is from its first line to its last; of others, what was inlined, only the lines used. */
static void
fill_source(const struct list_report *report, struct table *table)
{
	const struct line_entry *last = NULL;

	for (size_t i = 0; i < report->index.count; i++) {
		const struct line_entry *line = &report->index.lines[i];
		const struct source *source = &report->sources.sources[line->place.file];
		const bool is_same_file = last && last->place.file == line->place.file;
		const struct list_group group = group_of_line(report, line);

		if (!is_same_file)
			add_file(report, source, table);
		for (unsigned gap = is_same_file && line->place.file == 0 ? last->place.line + 1 : line->place.line;
		     gap < line->place.line && gap <= source->line_count; gap++)
			add_line(report, source, gap, NULL, table);
		add_line(report, source, line->place.line, &group, table);
		last = line;
	}
}

static int
print_table(const struct list_report *report, const struct shown_events_fit *fit, const struct output *output)
{
	struct table_column columns[SELECTION_EVENTS_MAX + 3];
	const bool by_source = report->request->mode == LIST_SOURCE && report->lines;
	struct table *table;
	size_t count = 0;
	int err;

	for (; count < report->shown_events.count; count++)
		columns[count] = (struct table_column){
			.heading = shown_events_event(report->selection, &report->shown_events, count)->name,
			.align = TABLE_RIGHT,
			.gap = 1,
			.min_width = 7,
		};
	if (report->request->frequency)
		columns[count++] =
			(struct table_column){.heading = "times", .align = TABLE_RIGHT, .gap = 1, .min_width = 7};
	columns[count++] = (struct table_column){
		.heading = by_source ? "Line" : "Addr", .align = TABLE_RIGHT, .gap = 2, .min_width = 6};
	columns[count++] = (struct table_column){.heading = by_source ? "Source" : "Instruction",
	                                         .cut = TABLE_CUT_END,
	                                         .gap = 1,
	                                         .max_width = TEXT_WIDTH};
	table = table_new(columns, count);
	if (!table)
		return -ENOMEM;
	if (by_source)
		fill_source(report, table);
	else
		fill_both(report, table);
	err = print_head(report, fit, output);
	if (!err)
		err = table_print(table, output, true);
	table_free(table);
	return err;
}

static int
list_report_print_text(const struct list_report *report, const struct output *output)
{
	const struct shown_events_fit_request request = {
		.selection = report->selection,
		.all = &report->shown_events,
		.totals = report->totals,
		.asked = report->request->shown_events.event_count > 0,
	};
	struct list_report shown = *report;
	struct shown_events_fit fit;

	shown_events_fit(&request, output, &fit);
	shown.shown_events = fit.shown;
	return print_table(&shown, &fit, output);
}

/* ---- schema dcpilist/1 ---- */

/* The object with the figures of a group, or NULL. Only --frequency adds the frequency. */
static json_t *
with_figures(const struct list_report *report, const struct list_group *group, json_t *object)
{
	uint64_t samples[SELECTION_EVENTS_MAX], taken[SELECTION_EVENTS_MAX], times = 0;
	const struct frequency *frequency;
	json_t *value = NULL;
	int failed;

	for (size_t i = 0; i < report->analysis->event_count; i++) {
		samples[i] = group_samples(report, group, report->analysis->samples, (uint16_t)i);
		taken[i] = group_samples(report, group, report->analysis->taken, (uint16_t)i);
	}
	failed = shown_events_json_add(object, "samples", report->selection, &report->shown_events, samples, taken);
	if (!report->request->frequency)
		return json_kept(object, failed);
	frequency = group_frequency(report, group, &times);
	if (frequency)
		value = json_pack("{s:f, s:o, s:s, s:s}", "value", frequency->value, "executions",
		                  frequency->confidence == CONFIDENCE_EXACT ? json_count(times) : json_null(),
		                  "confidence", frequency_confidence_name(frequency->confidence), "method",
		                  frequency_method_name(frequency->method));
	return json_kept(object, failed | json_object_set_new(object, "frequency", frequency ? value : json_null()));
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

static json_t *
instruction_json(const struct list_report *report, uint32_t instruction)
{
	const struct line_place *place = &report->places[instruction];
	char text[INSTRUCTION_TEXT_SIZE];

	list_instruction_text(report, instruction, text);
	return with_figures(report, &(struct list_group){&instruction, 1},
	                    json_pack("{s:o, s:s, s:o, s:o}", "address",
	                              json_count(report->analysis->graph->instructions[instruction].address), "text",
	                              text, "file", file_json(report, place), "line", line_json(place)));
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
	const struct list_group group = group_of_line(report, line);

	return with_figures(report, &group,
	                    json_pack("{s:o, s:o, s:o}", "file", file_json(report, &line->place), "line",
	                              line_json(&line->place), "text",
	                              json_shown(source_line(source, line->place.line))));
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

static int
list_report_print_json(const struct list_report *report, FILE *stream)
{
	json_t *root = procedure_choice_json(&report->choice, "dcpilist/1");
	int failed;

	failed = shown_events_json_add(root, "samples", report->selection, &report->shown_events, report->totals,
	                               report->taken);
	if (report->request->frequency)
		failed |=
			json_object_set_new(root, "source", frequency_source_json(report->analysis, &report->records));
	failed |= json_object_set_new(root, "instructions", instructions_json(report));
	failed |= json_object_set_new(root, "lines", lines_json(report));
	failed |= json_object_set_new(root, "sources", sources_json(report));
	failed |= json_object_set_new(root, "lines_damaged", json_boolean(report->lines_damaged));
	return json_print(json_kept(root, failed), stream);
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_PROCEDURE_IMAGE(struct list_request, procedure.options),
	OPTION_SHOWN_EVENTS(struct list_request, shown_events, "Only the column of this event"),
	OPTION_TRUE(1, "frequency", 0, struct list_request, frequency,
                    "And how often each ran, by the best source there is"),
	OPTION_TEXT(1, "cpu", "MODEL", struct list_request, cpu,
                    "The pipeline for that: a model's name, or its file (default: the epoch's)"),
	OPTION_ENUM(1, "source", 0, struct list_request, mode, LIST_SOURCE, "Only source lines"),
	OPTION_ENUM(1, "instructions", 0, struct list_request, mode, LIST_INSTRUCTIONS, "Only instructions"),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct list_request, procedure.syntax, SYNTAX_HELP),
	OPTION_ARGUMENT(offsetof(struct list_request, procedure), procedure_options_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "PROCEDURE [IMAGE...]",
	.doc = "Show the source lines and instructions of a procedure, with their samples.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpilist(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT,
	.options = offsetof(struct list_request, procedure.options),
	.argument_missing = PROCEDURE_MISSING,
};

TOOL_DEFINE(list)

int
main(int argc, char **argv)
{
	struct list_request request = {0};
	struct list_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
