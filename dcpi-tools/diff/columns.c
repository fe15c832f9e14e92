#include "dcpi-tools/diff/columns.h"

#include <math.h>
#include <stdio.h>

#define LEAST_SHOWN_PERCENT 0.005 /* of all samples; a reason with less would be 0.00% */

static const struct table_column share_columns[] = {
	{.heading = "before", .align = TABLE_RIGHT, .min_width = 7},
	{.heading = "after", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
	{.heading = "differ", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
	{.heading = "", .gap = 1, .min_width = 1},
};
static const struct table_column bound_columns[] = {
	{.heading = "least", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
	{.heading = "most", .align = TABLE_RIGHT, .gap = 1, .min_width = 8},
};

static const char *const amount_headings[][2] = {
	{"s before", "s after"}, {"G before", "G after"}, {"M before", "M after"},
	{"k before", "k after"}, {"# before", "# after"},
};

static size_t
amount_columns(const struct report *report, struct table_column *columns)
{
	const size_t units = sizeof(amount_headings) / sizeof(amount_headings[0]);
	const char *name;
	size_t unit = 0;

	(void)diff_report_unit(report, &name);
	while (unit + 1 < units && amount_headings[unit][0][0] != name[0])
		unit++;
	for (unsigned side = 0; side < 2; side++)
		columns[side] = (struct table_column){.heading = amount_headings[unit][side],
		                                      .align = TABLE_RIGHT,
		                                      .gap = side ? 1 : 2,
		                                      .min_width = 9};
	columns[2] = (struct table_column){.heading = "times", .align = TABLE_RIGHT, .gap = 1, .min_width = 8};
	return 3;
}

static size_t
figure_columns(const struct report *report, struct table_column *columns)
{
	static const char *const headings[MEASURE_COUNT][2] = {
		[MEASURE_CPI] = {"CPI before", "CPI after"},
		[MEASURE_FREQUENCY] = {"runs before", "runs after"},
		[MEASURE_STALLS] = {"lost before", "lost after"},
	};

	for (unsigned side = 0; side < 2; side++)
		columns[side] = (struct table_column){.heading = headings[report->request->measure][side],
		                                      .align = TABLE_RIGHT,
		                                      .gap = side ? 1 : 2,
		                                      .min_width = 10};
	columns[2] = (struct table_column){.heading = "times", .align = TABLE_RIGHT, .gap = 1, .min_width = 8};
	columns[3] = (struct table_column){.heading = "C", .gap = 1, .min_width = 2};
	return 4;
}

size_t
columns_of(const struct report *report, struct table_column columns[FIGURE_COLUMNS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(share_columns) / sizeof(share_columns[0]); i++)
		columns[count++] = share_columns[i];
	if (report->request->measure != MEASURE_SAMPLES)
		return count + figure_columns(report, columns + count);
	for (size_t i = 0; i < sizeof(bound_columns) / sizeof(bound_columns[0]); i++)
		columns[count++] = bound_columns[i];
	return report->is_one_unit ? count + amount_columns(report, columns + count) : count;
}

/* What is not there is a dash. */
static void
add_share(const struct diff_comparison *comparison, unsigned side, struct table *table)
{
	if (comparison->samples[side].count == 0)
		table_text(table, STYLE_PLAIN, "-");
	else
		table_format(table, STYLE_PLAIN, "%.2f%%", 100 * comparison->shares[side]);
}

static void
add_times(double before, double after, const char *appeared, const char *vanished, struct table *table)
{
	if (before > 0 && after > 0)
		table_format(table, STYLE_PLAIN, "x%.3g", after / before);
	else
		table_text(table, STYLE_PLAIN, after > 0 ? appeared : before > 0 ? vanished : "");
}

static void
add_amounts(const struct report *report, const struct diff_comparison *comparison, struct table *table)
{
	const char *name;
	const double unit = diff_report_unit(report, &name);

	for (unsigned side = 0; side < 2; side++) {
		if (comparison->samples[side].count == 0)
			table_text(table, STYLE_PLAIN, "-");
		else
			table_format(table, STYLE_PLAIN, unit > 1 ? "%.3f" : "%.0f", comparison->amounts[side] / unit);
	}
	add_times(comparison->amounts[0], comparison->amounts[1], "appeared", "vanished", table);
}

/* What the measure says; below 0: not known. */
static double
figure_of(const struct report *report, unsigned side, const struct figures *figures)
{
	if (!figures->is_known)
		return -1;
	switch (report->request->measure) {
	case MEASURE_CPI:
		return figures->cycles;
	case MEASURE_FREQUENCY:
		return figures->executions > 0 ? figures->executions : -1;
	default:
		return 100 * figures_lost(figures) / (double)report->scale.totals[side].count;
	}
}

static void
format_figure(const struct report *report, const struct figures *figures, double value, char text[32])
{
	const char *about = figures->is_relative && figures->confidence != CONFIDENCE_EXACT ? "~" : "";

	if (value < 0)
		snprintf(text, 32, "-");
	else if (report->request->measure == MEASURE_CPI)
		snprintf(text, 32, "%s%.2f", about, value);
	else if (report->request->measure == MEASURE_STALLS)
		snprintf(text, 32, "%.2f%%", value);
	else
		snprintf(text, 32, "%s%.*g", about, value < 1e6 ? 6 : 4, round(value));
}

static char
confidence_letter(const struct figures *figures)
{
	static const char letters[] = {'-', 'L', 'M', 'H', 'E'};

	if (!figures->is_known || figures->confidence > CONFIDENCE_EXACT)
		return '-';
	return letters[figures->confidence];
}

static void
add_figures(const struct report *report, const struct figures figures[2], struct table *table)
{
	double values[2];
	char text[32];

	for (unsigned side = 0; side < 2; side++) {
		values[side] = figure_of(report, side, &figures[side]);
		format_figure(report, &figures[side], values[side], text);
		table_text(table, STYLE_PLAIN, text);
	}
	add_times(values[0], values[1], "", "", table);
	table_format(table, STYLE_PLAIN, "%c%c", confidence_letter(&figures[0]), confidence_letter(&figures[1]));
}

static void
add_change(const struct diff_comparison *comparison, enum style style, struct table *table)
{
	add_share(comparison, 0, table);
	add_share(comparison, 1, table);
	if (comparison->samples[0].count || comparison->samples[1].count)
		table_format(table, style, "%+.2f%%", 100 * comparison->change);
	else
		table_text(table, style, "");
	table_text(table, style, comparison->is_marked ? "*" : "");
}

static void
add_bound(const struct diff_comparison *comparison, struct table *table)
{
	const double bounds[2] = {comparison->bound.least, comparison->bound.most};

	for (unsigned i = 0; i < 2; i++) {
		if (comparison->samples[0].count || comparison->samples[1].count)
			table_format(table, STYLE_PLAIN, "%+.2f%%", 100 * bounds[i]);
		else
			table_text(table, STYLE_PLAIN, "");
	}
}

void
columns_fill(const struct report *report, const struct diff_comparison *comparison, const struct figures figures[2],
             enum style style, struct table *table)
{
	add_change(comparison, style, table);
	if (report->request->measure != MEASURE_SAMPLES) {
		add_figures(report, figures, table);
		return;
	}
	add_bound(comparison, table);
	if (report->is_one_unit)
		add_amounts(report, comparison, table);
}

bool
columns_fill_reason(const struct report *report, const struct figures figures[2], unsigned reason, struct table *table)
{
	double least[2], most[2];

	if (report->request->measure != MEASURE_STALLS)
		return false;
	for (unsigned side = 0; side < 2; side++) {
		least[side] = 100 * figures[side].low[reason] / (double)report->scale.totals[side].count;
		most[side] = 100 * figures[side].high[reason] / (double)report->scale.totals[side].count;
	}
	if (most[0] < LEAST_SHOWN_PERCENT && most[1] < LEAST_SHOWN_PERCENT)
		return false;
	for (unsigned i = 0; i < 4; i++)
		table_text(table, STYLE_PLAIN, "");
	for (unsigned side = 0; side < 2; side++) {
		if (figures[side].is_known)
			table_format(table, STYLE_PLAIN, "%.2f%% to %.2f%%", least[side], most[side]);
		else
			table_text(table, STYLE_PLAIN, "-");
	}
	table_text(table, STYLE_PLAIN, "");
	table_text(table, STYLE_PLAIN, "");
	return true;
}
