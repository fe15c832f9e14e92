/*
 * dcpitopstalls - the instructions that lost most, and their culprits: man/dcpitopstalls.1.scd
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/topstalls/top_instructions.h"

#define ADDRESS_WIDTH     6  /* digits, at least */
#define HOT_PERCENT       5  /* rows from here on are coloured */
#define INSTRUCTION_WIDTH 36 /* columns that instructions are aligned in */
#define REASON_INDENT     51 /* columns before the address, and some */
#define NARROW_INDENT     8
#define NARROW_COLUMNS    132 /* with less, procedure and image are on a line of their own */

const char *argp_program_version = "dcpitopstalls " DCPI_VERSION;

/* What the user asked for. */
struct topstalls_request {
	struct survey_request survey;
	size_t limit;
	double cutoff_percent;
	bool source, demangle;
	enum listing_syntax syntax;
};

struct topstalls_report {
	const struct topstalls_request *request;
	struct survey_all survey;
	struct top_instructions top;
	size_t shown; /* of its stalls */
};

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct topstalls_report *report = context;

	top_instructions_add(&report->top, input, analysis);
	return 0;
}

static int
look_up(void *context, const struct code_image *code)
{
	struct topstalls_report *report = context;
	const struct top_lookup lookup = {
		.syntax = report->request->syntax,
		.demangle = report->request->demangle,
		.source = report->request->source,
	};

	return top_instructions_look_up(&report->top, code, &lookup);
}

/* Samples in percent of all that were asked for. */
static double
topstalls_report_percent(const struct topstalls_report *report, double samples)
{
	return report->survey.samples ? 100 * samples / (double)report->survey.samples : 0;
}

static int
topstalls_report_make(struct topstalls_report *report, const struct topstalls_request *request,
                      struct database *database)
{
	const struct survey_all_visitor visitor = {
		.context = report, .procedure = take_procedure, .image_end = look_up};
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	if (top_instructions_init(&report->top, request->limit))
		return message_cannot(NULL, "keep the stalls", -ENOMEM, NULL);
	status = survey_all_open(&report->survey, &request->survey, database);
	if (!status)
		status = survey_all_run(&report->survey, database, &visitor);
	if (status)
		return status;
	top_instructions_sort(&report->top);
	while (report->shown < report->top.count &&
	       topstalls_report_percent(report, report->top.stalls[report->shown].lost) >= request->cutoff_percent)
		report->shown++;
	return STATUS_OK;
}

static void
topstalls_report_fini(struct topstalls_report *report)
{
	top_instructions_fini(&report->top);
	survey_all_fini(&report->survey);
}

/* ---- text: a line for each instruction, and below it one for each possible reason ---- */

struct topstalls_printer {
	const struct topstalls_report *report;
	const struct output *output;
	int address_width;
	int indent; /* columns before a reason */
	bool is_narrow;
};

/* A line of text that is cut where a terminal ends. */
struct topstalls_line {
	FILE *stream;
	char *text;
	size_t size;
};

static bool
line_begin(struct topstalls_line *line)
{
	line->text = NULL;
	line->stream = open_memstream(&line->text, &line->size);
	return line->stream;
}

/* `used` columns of the line have been printed. 0 or -ENOMEM. */
static int
line_end(struct topstalls_line *line, size_t used, const struct output *output)
{
	const size_t left = output->width > used ? output->width - used : 1;
	int failed = ferror(line->stream);

	failed |= fclose(line->stream);
	if (failed || !line->text)
		failed = 1;
	else if (output->width && text_width(line->text) > left)
		fprintf(output->stream, "%.*s…\n", (int)text_prefix(line->text, left - 1), line->text);
	else
		fprintf(output->stream, "%s\n", line->text);
	free(line->text);
	return failed ? -ENOMEM : 0;
}

static void
print_source(struct topstalls_line *line, const struct top_place *place)
{
	if (!place->path)
		return;
	fputs("  ", line->stream);
	text_print(text_basename(place->path), line->stream);
	fprintf(line->stream, ":%u", place->line);
}

static char
confidence_letter(uint8_t confidence)
{
	static const char letters[] = {'-', 'L', 'M', 'H', 'E'};

	if (confidence >= sizeof(letters))
		return '?';
	return letters[confidence];
}

static void
print_culprits(struct topstalls_line *line, const struct top_stall *stall, const struct top_reason *reason)
{
	const char *separator = "  by ";

	for (size_t i = 0; i < reason->culprit_count; i++) {
		const struct top_place *culprit = &reason->culprits[i];

		if (culprit->address == stall->place.address) /* itself */
			continue;
		fprintf(line->stream, "%s%06" PRIx64 " %s", separator, culprit->address, culprit->text);
		print_source(line, culprit);
		separator = ", ";
	}
}

static int
print_reason(const struct topstalls_printer *printer, const struct top_stall *stall, const struct top_reason *reason)
{
	const struct topstalls_report *report = printer->report;
	struct topstalls_line line;

	if (!line_begin(&line))
		return -ENOMEM;
	fprintf(line.stream, "%*s%c %-18s%6.2f%% to %5.2f%%", printer->indent, "", stall_cause_letter(reason->cause),
	        stall_cause_name(reason->cause), topstalls_report_percent(report, reason->low),
	        topstalls_report_percent(report, reason->high));
	print_culprits(&line, stall, reason);
	return line_end(&line, 0, printer->output);
}

static void
print_where(struct topstalls_line *line, const struct topstalls_report *report, const struct top_stall *stall)
{
	text_print(stall->title, line->stream);
	fputs("  ", line->stream);
	text_print(report->survey.titles[stall->image], line->stream);
	print_source(line, &stall->place);
}

static int
print_narrow_where(const struct topstalls_printer *printer, const struct top_stall *stall)
{
	struct topstalls_line line;

	if (!line_begin(&line))
		return -ENOMEM;
	fprintf(line.stream, "%*sin ", printer->indent, "");
	print_where(&line, printer->report, stall);
	return line_end(&line, 0, printer->output);
}

static int
print_stall(const struct topstalls_printer *printer, const struct top_stall *stall, double sum)
{
	const struct topstalls_report *report = printer->report;
	const struct output *output = printer->output;
	const double percent = topstalls_report_percent(report, stall->lost);
	const enum style style = percent >= HOT_PERCENT ? STYLE_HOT : STYLE_PLAIN;
	char executions[32] = "-";
	struct topstalls_line line;

	if (!line_begin(&line))
		return -ENOMEM;
	if (stall->executions >= 0)
		snprintf(executions, sizeof(executions), "%.0f", stall->executions);
	fprintf(output->stream, "%s%6.2f%%%s ", output_style(output, style), percent, output_plain(output, style));
	fprintf(line.stream, "%6.2f%% %8.0f %10s %c %8.1fcy  %0*" PRIx64 " %s", sum, stall->lost, executions,
	        confidence_letter(stall->confidence), stall->cycles, printer->address_width, stall->place.address,
	        stall->place.text);
	if (!printer->is_narrow) {
		for (size_t i = text_width(stall->place.text); i < INSTRUCTION_WIDTH; i++)
			fputc(' ', line.stream);
		fputs("  ", line.stream);
		print_where(&line, report, stall);
	}
	return line_end(&line, 8, output);
}

static void
print_totals(const struct topstalls_report *report, const struct output *output)
{
	const struct top_instructions *top = &report->top;

	fprintf(output->stream,
	        "Confidence: %.0f samples (%.2f%%) are in blocks whose frequency has at least medium confidence\n",
	        top->well_known_samples, topstalls_report_percent(report, top->well_known_samples));
	fprintf(output->stream, "Stalls:     %.0f samples (%.2f%%) were lost by %zu instruction%s\n\n", top->lost,
	        topstalls_report_percent(report, top->lost), top->instruction_count,
	        top->instruction_count == 1 ? "" : "s");
}

static int
print_rows(const struct topstalls_printer *printer)
{
	const struct topstalls_report *report = printer->report;
	double sum = 0;
	int err = 0;

	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct top_stall *stall = &report->top.stalls[i];
		const double unexplained = topstalls_report_percent(report, stall->unexplained);

		sum += topstalls_report_percent(report, stall->lost);
		err = print_stall(printer, stall, sum);
		if (!err && printer->is_narrow)
			err = print_narrow_where(printer, stall);
		for (size_t k = 0; k < stall->reason_count && !err; k++)
			err = print_reason(printer, stall, &stall->reasons[k]);
		if (unexplained >= 0.005)
			fprintf(printer->output->stream, "%*s? %-18s%6.2f%% to %5.2f%%\n", printer->indent, "",
			        "Unexplained stall", unexplained, unexplained);
	}
	return err;
}

static int
address_width(const struct topstalls_report *report)
{
	int width = ADDRESS_WIDTH;

	for (size_t i = 0; i < report->shown; i++) {
		const int digits = snprintf(NULL, 0, "%" PRIx64, report->top.stalls[i].place.address);

		width = digits > width ? digits : width;
	}
	return width;
}

static void
print_heading(const struct topstalls_printer *printer)
{
	const struct output *output = printer->output;

	fprintf(output->stream, "%s%7s %7s %8s %10s C %10s  %-*s ", output_style(output, STYLE_HEADING), "lost", "cum%",
	        "samples", "count", "avg", printer->address_width, "addr");
	if (printer->is_narrow)
		fprintf(output->stream, "instruction%s\n", output_plain(output, STYLE_HEADING));
	else
		fprintf(output->stream, "%-*s  procedure  image%s\n", INSTRUCTION_WIDTH, "instruction",
		        output_plain(output, STYLE_HEADING));
}

static int
topstalls_report_print_text(const struct topstalls_report *report, const struct output *output)
{
	const bool header = report->request->survey.options.header;
	const bool is_narrow = output->width && output->width < NARROW_COLUMNS;
	const int digits = address_width(report);
	const struct topstalls_printer printer = {
		.report = report,
		.output = output,
		.address_width = digits,
		.indent = is_narrow ? NARROW_INDENT : REASON_INDENT + digits,
		.is_narrow = is_narrow,
	};
	int err;

	if (header) {
		survey_all_print_head(&report->survey, output);
		print_totals(report, output);
		print_heading(&printer);
	}
	err = print_rows(&printer);
	if (!err && header) {
		fputc('\n', output->stream);
		survey_all_print_gaps(&report->survey, output);
	}
	return err;
}

/* ---- schema dcpitopstalls/1 ---- */

static json_t *
place_json(const struct top_place *place)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "address", json_count(place->address), "text", json_shown(place->text),
	                 "file", json_shown(place->path), "line",
	                 place->path ? json_integer(place->line) : json_null());
}

static json_t *
reason_json(const struct top_reason *reason)
{
	json_t *culprits = json_array();
	int failed = !culprits;

	for (size_t i = 0; i < reason->culprit_count; i++)
		failed |= json_array_append_new(culprits, place_json(&reason->culprits[i]));
	return json_pack("{s:s, s:f, s:f, s:o}", "reason", stall_cause_name(reason->cause), "low", reason->low, "high",
	                 reason->high, "culprits", json_kept(culprits, failed));
}

static json_t *
stall_json(const struct topstalls_report *report, const struct top_stall *stall)
{
	json_t *reasons = json_array(), *object = place_json(&stall->place);
	int failed = !reasons || !object;

	for (size_t i = 0; i < stall->reason_count; i++)
		failed |= json_array_append_new(reasons, reason_json(&stall->reasons[i]));
	failed |= json_object_set_new(object, "image", json_shown(report->survey.titles[stall->image]));
	failed |= json_object_set_new(object, "procedure", json_shown(stall->title));
	failed |= json_object_set_new(object, "lost", json_real(stall->lost));
	failed |= json_object_set_new(object, "percent", json_real(topstalls_report_percent(report, stall->lost)));
	failed |= json_object_set_new(object, "samples", json_real(stall->samples));
	failed |= json_object_set_new(object, "executions",
	                              stall->executions < 0 ? json_null() : json_real(stall->executions));
	failed |= json_object_set_new(object, "confidence", json_string(frequency_confidence_name(stall->confidence)));
	failed |= json_object_set_new(object, "cycles", json_real(stall->cycles));
	failed |= json_object_set_new(object, "unexplained", json_real(stall->unexplained));
	failed |= json_object_set_new(object, "reasons", reasons);
	return json_kept(object, failed);
}

static int
topstalls_report_print_json(const struct topstalls_report *report, FILE *stream)
{
	const struct top_instructions *top = &report->top;
	json_t *root = survey_all_json(&report->survey, "dcpitopstalls/1"), *stalls = json_array();
	int failed = !root || !stalls;

	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(stalls, stall_json(report, &report->top.stalls[i]));
	failed |= json_object_set_new(root, "lost", json_real(top->lost));
	failed |= json_object_set_new(root, "instructions", json_count(top->instruction_count));
	failed |= json_object_set_new(root, "well_known_samples", json_real(top->well_known_samples));
	failed |= json_object_set_new(root, "stalls", stalls);
	return json_print(json_kept(root, failed), stream);
}

/* ---- CSV: a row for each reason of each instruction; what is not known is empty ---- */

static int
print_csv_stall(const struct topstalls_report *report, const struct top_stall *stall, struct csv *csv)
{
	int err = csv_shown(csv, report->survey.titles[stall->image]) || csv_shown(csv, stall->title);

	csv_number(csv, stall->place.address);
	err = err || csv_shown(csv, stall->place.text) || csv_shown(csv, stall->place.path);
	if (stall->place.path)
		csv_number(csv, stall->place.line);
	else
		csv_text(csv, "");
	csv_real(csv, stall->lost, 1);
	csv_real(csv, topstalls_report_percent(report, stall->lost), 4);
	if (stall->executions >= 0)
		csv_real(csv, stall->executions, 0);
	else
		csv_text(csv, "");
	csv_text(csv, frequency_confidence_name(stall->confidence));
	csv_real(csv, stall->cycles, 2);
	return err ? -ENOMEM : 0;
}

static int
print_csv_reason(const struct topstalls_report *report, const struct top_stall *stall, const struct top_reason *reason,
                 struct csv *csv)
{
	if (print_csv_stall(report, stall, csv))
		return -ENOMEM;
	csv_text(csv, stall_cause_name(reason->cause));
	csv_real(csv, topstalls_report_percent(report, reason->low), 4);
	csv_real(csv, topstalls_report_percent(report, reason->high), 4);
	if (reason->culprit_count)
		csv_number(csv, reason->culprits[0].address);
	else
		csv_text(csv, "");
	csv_end(csv);
	return 0;
}

static int
topstalls_report_print_csv(const struct topstalls_report *report, FILE *stream)
{
	static const char *const names[] = {
		"image",  "procedure", "address",      "instruction",  "file",
		"line",   "lost",      "lost_percent", "executions",   "confidence",
		"cycles", "reason",    "low_percent",  "high_percent", "culprit",
	};
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->survey.options.header) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			csv_text(&csv, names[i]);
		csv_end(&csv);
	}
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct top_stall *stall = &report->top.stalls[i];
		const double unexplained = topstalls_report_percent(report, stall->unexplained);

		for (size_t k = 0; k < stall->reason_count && !err; k++)
			err = print_csv_reason(report, stall, &stall->reasons[k], &csv);
		if (err || (unexplained < 0.005 && stall->reason_count))
			continue;
		err = print_csv_stall(report, stall, &csv);
		csv_text(&csv, "Unexplained stall");
		csv_real(&csv, unexplained, 4);
		csv_real(&csv, unexplained, 4);
		csv_text(&csv, "");
		csv_end(&csv);
	}
	return err;
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTIONS_SURVEY(struct topstalls_request, survey),
	OPTION_COUNT(1, "limit", "N", struct topstalls_request, limit, "At most N instructions (default: 20)"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct topstalls_request, cutoff_percent, 0, 100,
                      "Leave out instructions that lost less of all samples"),
	OPTION_TRUE(1, "source", 0, struct topstalls_request, source,
                    "Source lines, too, where there is debug information"),
	OPTION_NO_DEMANGLE(struct topstalls_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct topstalls_request, syntax, SYNTAX_HELP),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Show the instructions that lost most time, for which reasons, and which others are to blame.\v"
	       "Without options: the latest epoch, all images. See dcpitopstalls(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct topstalls_request, survey.options),
};

TOOL_CSV_FUNCTION(topstalls)
TOOL_DEFINE(topstalls, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct topstalls_request request = {.demangle = true, .limit = 20};
	struct topstalls_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
