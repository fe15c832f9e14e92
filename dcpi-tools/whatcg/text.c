/* Figure 4 of the DCPI paper, of all, of images and of procedures. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/whatcg/report.h"

static void
print_part(const struct whatcg_part *part, const struct output *output)
{
	struct breakdown breakdown;
	double vague, missing;

	breakdown_make(&part->summary, (double)part->samples, &breakdown);
	whatcg_part_rest(part, breakdown.tallied, &vague, &missing);
	if (breakdown.actual_cycles > 0)
		breakdown_print_rows(&breakdown, output);
	breakdown_print_total("Total tallied", breakdown.tallied, output);
	breakdown_print_total("Frequency unknown", vague, output);
	breakdown_print_total("Not analysed", missing, output);
	breakdown_print_rule(output);
	breakdown_print_total("All samples", breakdown.tallied + vague + missing, output);
}

static void
print_heading(const char *text, const struct output *output)
{
	fputs(output_style(output, STYLE_HEADING), output->stream);
	text_print(text, output->stream);
	fputs(output_plain(output, STYLE_HEADING), output->stream);
}

static void
print_parts(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count,
            const struct output *output)
{
	const size_t shown = whatcg_report_cut(report, parts, count);

	for (size_t i = 0; i < shown; i++) {
		const char *image = report->survey.titles[parts[i].image];

		fputc('\n', output->stream);
		if (parts[i].title) {
			print_heading(parts[i].title, output);
			fputs(" in ", output->stream);
			text_print(image, output->stream);
		} else {
			print_heading(image, output);
		}
		fprintf(output->stream, ", %.2f%% of the samples\n",
		        share_percent(parts[i].samples, report->survey.samples));
		print_part(&parts[i], output);
	}
}

static double
percent(const struct whatcg_report *report, double samples)
{
	return 100 * samples / (double)report->survey.samples;
}

static void
fill_stalls(const struct whatcg_report *report, struct table *table)
{
	const struct whatcg_row *row = &report->request->stall;

	for (size_t i = 0; i < report->stalled_count; i++) {
		const struct whatcg_part *part = report->stalled[i];

		table_format(table, STYLE_PLAIN, "%.2f%%", percent(report, whatcg_row_low(row, &part->summary)));
		table_format(table, STYLE_PLAIN, "%.2f%%", percent(report, whatcg_row_high(row, &part->summary)));
		table_format(table, STYLE_PLAIN, "%.2f%%", percent(report, (double)part->samples));
		table_text(table, STYLE_PLAIN, part->title);
		table_text(table, STYLE_PLAIN, report->survey.titles[part->image]);
	}
}

/* The procedures that lost most for one reason. */
static int
print_stalls(const struct whatcg_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "least", .align = TABLE_RIGHT, .min_width = 7},
		{.heading = "most", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "samples", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = 50},
		{.heading = "image", .cut = TABLE_CUT_START, .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	if (!table)
		return -ENOMEM;
	fill_stalls(report, table);
	fputc('\n', output->stream);
	print_heading(report->request->stall.name, output);
	fputs(", in percent of all samples:\n", output->stream);
	err = table_print(table, output, true);
	table_free(table);
	return err;
}

int
whatcg_report_print_text(const struct whatcg_report *report, const struct output *output)
{
	const struct whatcg_request *request = report->request;
	int err = 0;

	survey_all_print_head(&report->survey, output);
	fputc('\n', output->stream);
	print_part(&report->all, output);
	fputc('\n', output->stream);
	survey_all_print_gaps(&report->survey, output);
	if (request->by_image)
		print_parts(report, report->images, report->survey.selection->image_count, output);
	if (request->by_procedure)
		print_parts(report, report->procedures, report->procedure_count, output);
	if (request->has_stall)
		err = print_stalls(report, output);
	return err;
}
