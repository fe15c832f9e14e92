#include "dcpi-tools/diff/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/table.h"

static void
print_headings(const struct diff_report *report, struct csv *csv)
{
	static const char *const headings[] = {"samples before", "samples after", "percent before", "percent after",
	                                       "difference",     "least",         "most",           "p",
	                                       "differs",        "before",        "after",          "times"};
	static const char *const figures[] = {"CPI before",  "CPI after",  "executions before", "executions after",
	                                      "lost before", "lost after", "confidence before", "confidence after"};
	static const char *const item[] = {"procedure", "image before", "build-id before", "image after",
	                                   "build-id after"};
	static const char *const code[] = {"kind", "place before", "place after", "file", "text"};

	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		csv_text(csv, headings[i]);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]) && report->request->input.analyze; i++)
		csv_text(csv, figures[i]);
	for (size_t i = report->request->input.by_image; i < 5; i++)
		csv_text(csv, report->request->procedure ? code[i] : item[i]);
	csv_end(csv);
}

static void
print_comparison(const struct diff_report *report, const struct diff_comparison *comparison, struct csv *csv)
{
	char text[32];

	csv_number(csv, comparison->samples[0].count);
	csv_number(csv, comparison->samples[1].count);
	csv_real(csv, 100 * comparison->shares[0], 4);
	csv_real(csv, 100 * comparison->shares[1], 4);
	csv_real(csv, 100 * comparison->change, 4);
	csv_real(csv, 100 * comparison->bound.least, 4);
	csv_real(csv, 100 * comparison->bound.most, 4);
	snprintf(text, sizeof(text), "%.3g", comparison->chance);
	csv_text(csv, text);
	csv_number(csv, comparison->is_marked);
	for (unsigned side = 0; side < 2; side++) {
		snprintf(text, sizeof(text), "%.15g", comparison->amounts[side]);
		csv_text(csv, report->is_one_unit ? text : "");
	}
	snprintf(text, sizeof(text), "%.4g", comparison->times);
	csv_text(csv, report->is_one_unit && isfinite(comparison->times) ? text : "");
}

static void
print_known(double value, int digits, struct csv *csv)
{
	if (value < 0)
		csv_text(csv, "");
	else
		csv_real(csv, value, digits);
}

static void
print_figures(const struct code_figures figures[2], struct csv *csv)
{
	for (unsigned side = 0; side < 2; side++)
		print_known(figures[side].is_known ? figures[side].cycles : -1, 4, csv);
	for (unsigned side = 0; side < 2; side++)
		print_known(figures[side].is_known && figures[side].executions > 0 ? figures[side].executions : -1, 0,
		            csv);
	for (unsigned side = 0; side < 2; side++)
		print_known(figures[side].is_known ? figures_lost(&figures[side]) : -1, 1, csv);
	for (unsigned side = 0; side < 2; side++)
		csv_text(csv, frequency_confidence_name(figures[side].confidence));
}

static int
print_image(const struct diff_report *report, const struct diff_item *item, unsigned side, struct csv *csv)
{
	const struct image *image;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err;

	if (item->images[side] == DIFF_ITEM_NOWHERE) {
		csv_text(csv, "");
		csv_text(csv, "");
		return 0;
	}
	image = input_image(&report->inputs[side], item->images[side]);
	err = csv_shown(csv, image->path);
	csv_text(csv, build_id_format(image, build_id));
	return err;
}

static int
print_item(const struct diff_report *report, const struct diff_item *item, struct csv *csv)
{
	print_comparison(report, &item->comparison, csv);
	if (report->request->input.analyze)
		print_figures(item->figures, csv);
	if ((item->title && csv_shown(csv, item->title)) || print_image(report, item, 0, csv) ||
	    print_image(report, item, 1, csv))
		return -ENOMEM;
	csv_end(csv);
	return 0;
}

static int
print_code_row(const struct diff_report *report, const struct code_row *row, struct csv *csv)
{
	print_comparison(report, &row->comparison, csv);
	if (report->request->input.analyze)
		print_figures(row->figures, csv);
	csv_text(csv, code_row_kind_names[row->kind]);
	for (unsigned side = 0; side < 2; side++) {
		if (row->has[side])
			csv_number(csv, row->places[side]);
		else
			csv_text(csv, "");
	}
	if (csv_shown(csv, row->file) || csv_shown(csv, row->text))
		return -ENOMEM;
	csv_end(csv);
	return 0;
}

int
diff_report_print_csv(const struct diff_report *report, FILE *stream)
{
	const bool is_code = report->request->procedure != NULL;
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header)
		print_headings(report, &csv);
	for (size_t i = 0; i < (is_code ? report->code.count : report->shown) && !err; i++)
		if (!is_code)
			err = print_item(report, &report->items[i], &csv);
		else if (diff_report_shows_row(report, &report->code.rows[i]))
			err = print_code_row(report, &report->code.rows[i], &csv);
	return err;
}
