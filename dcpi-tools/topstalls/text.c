/* A line for each instruction, those that lost most first, and below it one for each possible reason. */
#include "dcpi-tools/topstalls/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

#define ADDRESS_WIDTH     6  /* digits, at least */
#define HOT_PERCENT       5  /* rows from here on are coloured */
#define INSTRUCTION_WIDTH 36 /* columns that instructions are aligned in */
#define REASON_INDENT     51 /* columns before the address, and some */
#define NARROW_INDENT     8
#define NARROW_COLUMNS    132 /* with less, procedure and image are on a line of their own */

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

int
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
