#include <stdio.h>

#include "dcpi-tools/common/table.h"
#include "dcpi-tools/stats/report.h"

static int
print_headings(const struct stats_report *report, struct csv *csv)
{
	static const char *const headings[] = {"range percent", "sum", "sum percent", "N", "mean",
	                                       "std-dev",       "min", "max",         "p", "marked"};
	int err = 0;

	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		csv_text(csv, headings[i]);
	if (report->request->kind != ROW_IMAGE)
		csv_text(csv, stats_report_row_name(report));
	csv_text(csv, "image");
	csv_text(csv, "build-id");
	for (size_t i = 0; i < report->sets->count && !err; i++)
		err = csv_shown(csv, report->sets->sets[i].title);
	csv_end(csv);
	return err;
}

static int
print_row(const struct stats_report *report, const struct stats_report_row *row, struct csv *csv)
{
	const struct variation_row *values = &row->variation;
	char p[32] = "";
	int err = 0;

	if (values->is_tested)
		snprintf(p, sizeof(p), "%.4g", values->p);
	csv_real(csv, 100 * values->range, 2);
	csv_real(csv, values->sum, 2);
	csv_real(csv, 100 * values->sum / report->total, 2);
	csv_number(csv, values->set_count);
	csv_real(csv, values->mean, 2);
	csv_real(csv, values->deviation, 2);
	csv_real(csv, values->least, 2);
	csv_real(csv, values->most, 2);
	csv_text(csv, p);
	csv_text(csv, row->is_marked ? "yes" : "no");
	if (row->row->title)
		err = csv_shown(csv, row->row->title);
	if (!err)
		err = csv_shown(csv, row->row->path);
	csv_text(csv, row->row->build_id);
	for (size_t i = 0; i < report->sets->count; i++)
		csv_number(csv, row->row->counts[i]);
	csv_end(csv);
	return err;
}

int
stats_report_print_csv(const struct stats_report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header)
		err = print_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++)
		err = print_row(report, &report->list[i], &csv);
	return err;
}
