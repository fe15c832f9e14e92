/* Instructions, source lines, or the ones below the others, each with its samples. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/list/report.h"

#define HOT_PERCENT 5   /* of an event's samples: coloured from here on */
#define TEXT_WIDTH  100 /* columns of text; what is longer sticks out */

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
	for (size_t i = 0; i < report->columns.count && !err; i++) {
		const uint16_t event = report->columns.events[i];

		fputs(i ? ", " : " ", stream);
		err = text_print(report->selection->events[event].name, stream);
		fprintf(stream, " %" PRIu64, report->totals[event]);
	}
	fprintf(stream, "; %s\n", time_format_range(report->selection->start_ns, report->selection->end_ns, range));
	for (size_t i = 0; i < report->columns.count; i++)
		summary_print_weights(columns_event(report->selection, &report->columns, i), "Weights:  ", stream);
	return err;
}

static int
print_head(const struct list_report *report, const struct columns_fit *fit, const struct output *output)
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
	columns_fit_print(fit, report->selection, stream);
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

static void
add_count(const struct list_report *report, uint64_t count, uint16_t event, struct table *table)
{
	const uint64_t all = report->totals[event];
	const bool is_hot = all && count * 100 >= all * HOT_PERCENT;

	table_format(table, is_hot ? STYLE_HOT : STYLE_PLAIN, "%" PRIu64, count);
}

/* What is known with little confidence has a question mark. */
static void
add_frequency(const struct list_report *report, const struct frequency *frequency, const uint64_t *times,
              struct table *table)
{
	char text[64];

	if (!frequency) {
		table_text(table, STYLE_PLAIN, "");
		return;
	}
	frequency_format(frequency->value, report->analysis->frequencies.is_relative, text, sizeof(text));
	if (frequency->confidence == CONFIDENCE_EXACT)
		table_format(table, STYLE_PLAIN, "%" PRIu64, *times);
	else
		table_format(table, STYLE_PLAIN, "%s%s", text, frequency->confidence == CONFIDENCE_LOW ? "?" : "");
}

static void
add_instruction(const struct list_report *report, uint32_t instruction, struct table *table)
{
	char text[INSTRUCTION_TEXT_SIZE];
	uint64_t times = 0;

	list_instruction_text(report, instruction, text);
	for (size_t i = 0; i < report->columns.count; i++)
		add_count(report,
		          list_instruction_samples(report, report->analysis->samples, instruction,
		                                   report->columns.events[i]),
		          report->columns.events[i], table);
	if (report->request->frequency)
		add_frequency(report, list_instruction_frequency(report, instruction, &times), &times, table);
	table_format(table, STYLE_PLAIN, "%06" PRIx64, report->analysis->graph->instructions[instruction].address);
	table_text(table, STYLE_PLAIN, text);
}

static void
add_blank_counts(const struct list_report *report, struct table *table)
{
	for (size_t i = 0; i < report->columns.count; i++)
		table_text(table, STYLE_PLAIN, "");
	if (report->request->frequency)
		table_text(table, STYLE_PLAIN, "");
}

static void
add_file(const struct list_report *report, const struct source *source, struct table *table)
{
	add_blank_counts(report, table);
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
			add_blank_counts(report, table);
			table_format(table, STYLE_FAINT, "%u", place->line);
			table_text(table, STYLE_FAINT, source_line(&report->sources.sources[place->file], place->line));
			last = *place;
		}
		add_instruction(report, i, table);
	}
}

static void
add_line(const struct list_report *report, const struct source *source, unsigned line, const struct line_entry *used,
         struct table *table)
{
	uint64_t times = 0;

	for (size_t i = 0; i < report->columns.count; i++) {
		const uint16_t event = report->columns.events[i];

		if (used)
			add_count(report, list_line_samples(report, report->analysis->samples, used, event), event,
			          table);
		else
			table_text(table, STYLE_PLAIN, "");
	}
	if (report->request->frequency)
		add_frequency(report, used ? list_line_frequency(report, used, &times) : NULL, &times, table);
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

		if (!is_same_file)
			add_file(report, source, table);
		for (unsigned gap = is_same_file && line->place.file == 0 ? last->place.line + 1 : line->place.line;
		     gap < line->place.line && gap <= source->line_count; gap++)
			add_line(report, source, gap, NULL, table);
		add_line(report, source, line->place.line, line, table);
		last = line;
	}
}

static int
print_table(const struct list_report *report, const struct columns_fit *fit, const struct output *output)
{
	struct table_column columns[SELECTION_EVENTS_MAX + 3];
	const bool by_source = report->request->mode == LIST_SOURCE && report->lines;
	struct table *table;
	size_t count = 0;
	int err;

	for (; count < report->columns.count; count++)
		columns[count] = (struct table_column){
			.heading = columns_event(report->selection, &report->columns, count)->name,
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

int
list_report_print_text(const struct list_report *report, const struct output *output)
{
	const struct columns_fit_request request = {
		.selection = report->selection,
		.columns = &report->columns,
		.totals = report->totals,
		.asked = report->request->columns.event_count > 0,
	};
	struct list_report shown = *report;
	struct columns_fit fit;

	columns_fit(&request, output, &fit);
	shown.columns = fit.shown;
	return print_table(&shown, &fit, output);
}
