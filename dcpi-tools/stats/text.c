/* The layout of figure 3 of the DCPI paper, with a p-value. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/stats/foot.h"
#include "dcpi-tools/stats/report.h"

#define SETS_A_LINE     4
#define PROCEDURE_WIDTH 50 /* columns that names are aligned in */
#define LEAST_P         1e-4
#define COLUMNS_MAX     12

static size_t
digits(uint64_t number)
{
	size_t count = 1;

	while (number >= 10) {
		number /= 10;
		count++;
	}
	return count;
}

/* "set 1 = 860301   set 2 = 862645   ...            TOTAL      7144601", four sets a line. */
static void
print_totals(const struct report *report, FILE *stream)
{
	const size_t count = report->sets->count;
	uint64_t total = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		total += report->details[i].samples;
		most = report->details[i].samples > most ? report->details[i].samples : most;
	}
	fputs("Number of samples of type ", stream);
	text_print(report->event, stream);
	fputc('\n', stream);
	for (size_t i = 0; i < count; i++) {
		const size_t width = digits(i + 1) + digits(report->details[i].samples);
		const bool ends = i % SETS_A_LINE == SETS_A_LINE - 1 || i + 1 == count;

		fprintf(stream, "set %zu = %" PRIu64, i + 1, report->details[i].samples);
		if (!ends || i < SETS_A_LINE)
			fprintf(stream, "%*s", (int)(digits(count) + digits(most) - width), "");
		if (ends && i < SETS_A_LINE)
			fprintf(stream, "            TOTAL      %" PRIu64, total);
		fputs(ends ? "\n" : "   ", stream);
	}
}

static void
print_head(const struct report *report, FILE *stream)
{
	static const char *const scaled[] = {
		[NORMALIZE_NONE] = "",
		[NORMALIZE_TOTAL] = ", scaled to sets of the same total,",
		[NORMALIZE_TIME] = ", scaled to sets of the same length,",
	};

	print_totals(report, stream);
	fprintf(stream,
	        "\nStatistics calculated using the sample counts%s for each %s from %zu different sample set(s)\n",
	        scaled[report->request->normalization], stats_report_row_name(report), report->sets->count);
}

static struct table *
make_table(const struct report *report)
{
	static const struct {
		const char *heading;
		size_t width;
	} numbers[] = {{"range%", 8},   {"sum", 10}, {"sum%", 8}, {"N", 5}, {"mean", 10},
	               {"std-dev", 10}, {"min", 10}, {"max", 10}, {"p ", 8}};
	struct table_column columns[COLUMNS_MAX];
	size_t count = 0;

	for (; count < sizeof(numbers) / sizeof(numbers[0]); count++)
		columns[count] = (struct table_column){.heading = numbers[count].heading,
		                                       .align = TABLE_RIGHT,
		                                       .gap = 1,
		                                       .min_width = numbers[count].width};
	if (report->request->kind != ROW_IMAGE)
		columns[count++] = (struct table_column){.heading = stats_report_row_name(report),
		                                         .cut = TABLE_CUT_END,
		                                         .gap = 2,
		                                         .max_width = PROCEDURE_WIDTH};
	columns[count++] = (struct table_column){.heading = "image", .cut = TABLE_CUT_START, .gap = 2};
	return table_new(columns, count);
}

static void
fill_p(struct table *table, const struct report_row *row, enum style style)
{
	const char *mark = row->is_marked ? "*" : " ";

	if (!row->variation.is_tested)
		table_text(table, STYLE_FAINT, "- ");
	else if (row->variation.p < LEAST_P)
		table_format(table, style, "<%.4f%s", LEAST_P, mark);
	else
		table_format(table, style, "%.4f%s", row->variation.p, mark);
}

static void
fill_table(const struct report *report, struct table *table)
{
	for (size_t i = 0; i < report->shown; i++) {
		const struct report_row *row = &report->list[i];
		const struct variation_row *values = &row->variation;
		const enum style style = row->is_marked ? STYLE_HOT : STYLE_PLAIN;

		table_format(table, style, "%.2f%%", 100 * values->range);
		table_format(table, STYLE_PLAIN, "%.2f", values->sum);
		table_format(table, STYLE_PLAIN, "%.2f%%", 100 * values->sum / report->total);
		table_format(table, STYLE_PLAIN, "%zu", values->set_count);
		table_format(table, STYLE_PLAIN, "%.2f", values->mean);
		table_format(table, STYLE_PLAIN, "%.2f", values->deviation);
		table_format(table, STYLE_PLAIN, "%.2f", values->least);
		table_format(table, STYLE_PLAIN, "%.2f", values->most);
		fill_p(table, row, style);
		if (row->row->title)
			table_text(table, style, row->row->title);
		table_text(table, STYLE_PLAIN, row->row->path);
	}
}

int
stats_report_print_text(const struct report *report, const struct output *output)
{
	const bool header = report->request->options.header;
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	fill_table(report, table);
	if (header) {
		print_head(report, output->stream);
		for (size_t i = table_width(table, output->width); i > 0; i--)
			fputc('=', output->stream);
		fputc('\n', output->stream);
	}
	err = table_print(table, output, header);
	if (!err && header)
		err = foot_print(report, output);
	table_free(table);
	return err;
}
