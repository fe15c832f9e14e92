/* One procedure: blocks and instructions, or lines. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/columns.h"
#include "dcpi-tools/diff/csv_columns.h"
#include "dcpi-tools/diff/report_json.h"

#define COLUMNS_MAX 16
#define FILE_SIZE   160 /* of a place as text */

bool
code_row_is_shown(const struct report *report, const struct code_row *row)
{
	const struct request *request = report->request;
	size_t larger = 0;

	if (row->kind == ROW_PROCEDURE || row->kind == ROW_BLOCK)
		return !request->marked_only && (row->kind == ROW_PROCEDURE || !request->limit);
	if (request->marked_only && !row->comparison.is_marked)
		return false;
	for (size_t i = 0; request->limit && i < report->code.count; i++) {
		const struct code_row *other = &report->code.rows[i];

		larger += other->kind == row->kind &&
		          (fabs(other->comparison.change) > fabs(row->comparison.change) ||
		           (fabs(other->comparison.change) == fabs(row->comparison.change) && other < row));
	}
	return !request->limit || larger < request->limit;
}

static void
format_number(const struct code_row *row, unsigned side, char text[32])
{
	if (!row->has[side])
		snprintf(text, 32, "-");
	else if (row->kind == ROW_LINE)
		snprintf(text, 32, "%" PRIu64, row->places[side]);
	else
		snprintf(text, 32, "%06" PRIx64, row->places[side]);
}

/* "001148", "001148>001160", "001148>-"; "loop.c:12", "loop.c:12>15". */
static void
format_place(const struct code_row *row, char text[FILE_SIZE])
{
	char before[32], after[32];
	const bool is_one = row->has[0] && row->has[1] && row->places[0] == row->places[1];

	format_number(row, 0, before);
	format_number(row, 1, after);
	snprintf(text, FILE_SIZE, "%.100s%s%s%s%s", row->kind == ROW_LINE ? row->file : "",
	         row->kind == ROW_LINE ? ":" : "", before, is_one ? "" : ">", is_one ? "" : after);
}

static struct table *
make_table(const struct report *report)
{
	struct table_column columns[COLUMNS_MAX];
	size_t count = columns_of(report, columns);
	const bool is_lines = report->code.view == VIEW_LINES;

	columns[count++] = (struct table_column){.heading = is_lines ? "line" : "addr", .gap = 2};
	columns[count++] =
		(struct table_column){.heading = is_lines ? "source" : "instruction", .cut = TABLE_CUT_END, .gap = 1};
	return table_new(columns, count);
}

static void
add_text(const struct code_row *row, struct table *table)
{
	if (row->kind == ROW_BLOCK)
		table_format(table, STYLE_HEADING, "*** block of %zu instruction%s", row->size,
		             row->size == 1 ? "" : "s");
	else
		table_text(table, row->kind == ROW_PROCEDURE ? STYLE_HEADING : STYLE_PLAIN, row->text);
}

static void
add_row(const struct report *report, const struct code_row *row, struct table *table)
{
	char place[FILE_SIZE];

	columns_fill(report, &row->comparison, row->figures, row->comparison.is_marked ? STYLE_HOT : STYLE_PLAIN,
	             table);
	format_place(row, place);
	table_text(table, STYLE_PLAIN, place);
	add_text(row, table);
	for (unsigned reason = 0; reason < CAUSE_COUNT; reason++) {
		if (!columns_fill_reason(report, row->figures, reason, table))
			continue;
		table_text(table, STYLE_PLAIN, "");
		table_format(table, STYLE_FAINT, "  %c %s", stall_cause_letter(reason), stall_cause_name(reason));
	}
}

/* "hot_loop in /opt/a.so", and where the images differ, both. */
static void
print_title(const struct report *report, FILE *stream)
{
	const char *images[2];

	for (unsigned side = 0; side < 2; side++)
		images[side] = report->sides[side].all.titles[report->codes[side].image];
	text_print(report->codes[1].title, stream);
	fputs(" in ", stream);
	text_print(images[0], stream);
	if (strcmp(images[0], images[1]) != 0) {
		fputs(" and ", stream);
		text_print(images[1], stream);
	}
	fprintf(stream, "%s\n", report->code.same_build ? "" : " (another build)");
}

static void
print_notes(const struct report *report, FILE *stream)
{
	const bool is_lines = report->code.view == VIEW_LINES, has_noise = report->scale.run_count > 0;

	fprintf(stream,
	        "\nShares:   of all samples of each set; differ: in points of them; least, most: its %g%% interval by "
	        "what %s vary\n",
	        report->request->confidence_percent, has_noise ? "sampling and noise make" : "sampling makes");
	fprintf(stream, "%s  %zu %s (*) by more than %s: p < 0.05 for all together\n",
	        has_noise ? "Changed:" : "Differ: ", report->code.marked_count,
	        is_lines ? (report->code.marked_count == 1 ? "line" : "lines")
	                 : (report->code.marked_count == 1 ? "instruction" : "instructions"),
	        has_noise ? "sampling and noise explain" : "sampling explains");
	diff_report_print_noise(report, &report->code.noise, is_lines ? "lines" : "instructions", stream);
	if (has_noise && report->is_one_unit)
		fputs("Amounts:  of a run, on average\n", stream);
	if (is_lines && report->code.by_number)
		fputs("Lines:    some are compared by their numbers: the text that was compiled first is not there any "
		      "more\n",
		      stream);
	if (!is_lines && !report->code.same_build)
		fputs("Code:     two builds: instructions that are alike, in the same order, are taken to be one\n",
		      stream);
}

int
code_print_text(const struct report *report, const struct output *output)
{
	const bool header = report->request->options.header;
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < report->code.count; i++)
		if (code_row_is_shown(report, &report->code.rows[i]))
			add_row(report, &report->code.rows[i], table);
	if (header) {
		print_title(report, output->stream);
		diff_report_print_sides(report, output);
	}
	err = table_print(table, output, header);
	if (!err && header)
		print_notes(report, output->stream);
	table_free(table);
	return err;
}
