#include "dcpi-tools/diff/csv_columns.h"

#include <math.h>
#include <stdio.h>

void
csv_columns_headings(const struct report *report, struct csv *csv)
{
	static const char *const headings[] = {"samples before", "samples after", "percent before", "percent after",
	                                       "difference",     "least",         "most",           "p",
	                                       "differs",        "before",        "after",          "times"};
	static const char *const figures[] = {"CPI before",  "CPI after",  "executions before", "executions after",
	                                      "lost before", "lost after", "confidence before", "confidence after"};

	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		csv_text(csv, headings[i]);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]) && report->request->side.analyze; i++)
		csv_text(csv, figures[i]);
}

static void
print_comparison(const struct report *report, const struct diff_comparison *comparison, struct csv *csv)
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

void
csv_columns(const struct report *report, const struct diff_comparison *comparison, const struct figures figures[2],
            struct csv *csv)
{
	print_comparison(report, comparison, csv);
	if (report->request->side.analyze)
		print_figures(figures, csv);
}
