#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "dcpi-tools/common/csv.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/report.h"

static void
print_headings(const struct report *report, struct csv *csv)
{
	static const char *const headings[] = {"samples before", "samples after", "percent before", "percent after",
	                                       "change",         "least",         "most",           "p",
	                                       "changed",        "before",        "after",          "times"};
	static const char *const figures[] = {"CPI before",  "CPI after",  "executions before", "executions after",
	                                      "lost before", "lost after", "confidence before", "confidence after"};

	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		csv_text(csv, headings[i]);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]) && report->request->side.analyze; i++)
		csv_text(csv, figures[i]);
	if (!report->request->side.by_image)
		csv_text(csv, "procedure");
	csv_text(csv, "image before");
	csv_text(csv, "build-id before");
	csv_text(csv, "image after");
	csv_text(csv, "build-id after");
	csv_end(csv);
}

static void
print_comparison(const struct report *report, const struct comparison *comparison, struct csv *csv)
{
	char text[32];

	csv_number(csv, comparison->samples[0]);
	csv_number(csv, comparison->samples[1]);
	csv_real(csv, 100 * comparison->shares[0], 4);
	csv_real(csv, 100 * comparison->shares[1], 4);
	csv_real(csv, 100 * comparison->change, 4);
	csv_real(csv, 100 * comparison->bound.least, 4);
	csv_real(csv, 100 * comparison->bound.most, 4);
	snprintf(text, sizeof(text), "%.3g", comparison->chance);
	csv_text(csv, text);
	csv_number(csv, comparison->is_changed);
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
print_figures(const struct figures figures[2], struct csv *csv)
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
print_text(const char *text, struct csv *csv)
{
	char *shown = text_shown(text);

	if (!shown)
		return -ENOMEM;
	csv_text(csv, shown);
	free(shown);
	return 0;
}

static int
print_image(const struct report *report, const struct item *item, unsigned side, struct csv *csv)
{
	const struct image *image;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err;

	if (item->images[side] == ITEM_NOWHERE) {
		csv_text(csv, "");
		csv_text(csv, "");
		return 0;
	}
	image = side_image(&report->sides[side], item->images[side]);
	err = print_text(image->path, csv);
	csv_text(csv, build_id_format(image, build_id));
	return err;
}

int
report_print_csv(const struct report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header)
		print_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct item *item = &report->items[i];

		print_comparison(report, &item->comparison, &csv);
		if (report->request->side.analyze)
			print_figures(item->figures, &csv);
		if (item->title)
			err = print_text(item->title, &csv);
		if (!err)
			err = print_image(report, item, 0, &csv);
		if (!err)
			err = print_image(report, item, 1, &csv);
		csv_end(&csv);
	}
	return err;
}
