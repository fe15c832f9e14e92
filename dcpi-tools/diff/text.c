/* dcpidiff as text: what is compared, a line for each row that differs, and notes on how to read them. */
#include "dcpi-tools/diff/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

#define COLUMNS_MAX         16
#define PROCEDURE_WIDTH     50    /* columns that names are aligned in */
#define REBUILT_NAMED       5     /* images of several builds that are named, at most */
#define LEAST_SHOWN_PERCENT 0.005 /* of all samples; a reason with less would be 0.00% */
#define PLACE_SIZE          160   /* of a code row's place as text */

/* ---- Columns of figures: of procedures, images, blocks, instructions and lines ---- */

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
amount_columns(const struct diff_report *report, struct table_column *columns)
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
figure_columns(const struct diff_report *report, struct table_column *columns)
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

/* Those that the measure needs; how many. */
static size_t
columns_of(const struct diff_report *report, struct table_column columns[COLUMNS_MAX])
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

static void
add_times(double before, double after, const char *appeared, const char *vanished, struct table *table)
{
	if (before > 0 && after > 0)
		table_format(table, STYLE_PLAIN, "x%.3g", after / before);
	else
		table_text(table, STYLE_PLAIN, after > 0 ? appeared : before > 0 ? vanished : "");
}

static void
add_amounts(const struct diff_report *report, const struct diff_comparison *comparison, struct table *table)
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

/* The value that the measure compares; below 0: not known. */
static double
figure_of(const struct diff_report *report, unsigned side, const struct code_figures *figures)
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
format_figure(const struct diff_report *report, const struct code_figures *figures, double value, char text[32])
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
confidence_letter(const struct code_figures *figures)
{
	static const char letters[] = {'-', 'L', 'M', 'H', 'E'};

	if (!figures->is_known || figures->confidence > CONFIDENCE_EXACT)
		return '-';
	return letters[figures->confidence];
}

static void
add_figures(const struct diff_report *report, const struct code_figures figures[2], struct table *table)
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

/* A difference of shares; empty where neither side has samples. */
static void
add_points(const struct diff_comparison *comparison, double share, enum style style, struct table *table)
{
	if (comparison->samples[0].count || comparison->samples[1].count)
		table_format(table, style, "%+.2f%%", 100 * share);
	else
		table_text(table, style, "");
}

/* The cells of one row; a side without samples has a dash. */
static void
columns_fill(const struct diff_report *report, const struct diff_comparison *comparison,
             const struct code_figures figures[2], enum style style, struct table *table)
{
	for (unsigned side = 0; side < 2; side++) {
		if (comparison->samples[side].count == 0)
			table_text(table, STYLE_PLAIN, "-");
		else
			table_format(table, STYLE_PLAIN, "%.2f%%", 100 * comparison->shares[side]);
	}
	add_points(comparison, comparison->change, style, table);
	table_text(table, style, comparison->is_marked ? "*" : "");
	if (report->request->measure != MEASURE_SAMPLES) {
		add_figures(report, figures, table);
		return;
	}
	add_points(comparison, comparison->bound.least, STYLE_PLAIN, table);
	add_points(comparison, comparison->bound.most, STYLE_PLAIN, table);
	if (report->is_one_unit)
		add_amounts(report, comparison, table);
}

/*
 * With --compare stalls, the cells of a line below a row for one stall reason: the least and the most that it took.
 * False, and no cells: it took next to nothing on both sides.
 */
static bool
columns_fill_reason(const struct diff_report *report, const struct code_figures figures[2], unsigned reason,
                    struct table *table)
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

static void
add_reason(unsigned reason, struct table *table)
{
	table_format(table, STYLE_FAINT, "  %c %s", stall_cause_letter(reason), stall_cause_name(reason));
}

/* ---- What is compared, above the table, and notes below it ---- */

static void
print_side(const struct diff_report *report, unsigned side, const struct output *output)
{
	FILE *stream = output->stream;
	const struct diff_input *of = &report->inputs[side];
	const struct selection_event *event = input_event(of);
	const struct selection_match *match = &of->all.selection->match;
	char range[2 * TIME_TEXT_SIZE];

	fputs(side ? "After:      " : "Before:     ", stream);
	text_print(of->set->title, stream);
	fputs(": ", stream);
	text_print(event->name, stream);
	fprintf(stream, " %" PRIu64 " sample%s", of->total.count, of->total.count == 1 ? "" : "s");
	if (event->period > 0 && strcmp(event->unit, "ns") == 0)
		fprintf(stream, " (1 per %.4g ms)", (double)event->period / 1e6);
	else if (event->period > 0)
		fprintf(stream, " (1 per %" PRIu64 ")", event->period);
	if (of->run_count > 0)
		fprintf(stream, ", %zu run%s", of->run_count, of->run_count == 1 ? "" : "s");
	fprintf(stream, "; %s, epoch%s %" PRIu32, time_format_range(match->start_ns, match->end_ns, range),
	        match->last_epoch > match->first_epoch ? "s" : "", match->first_epoch);
	if (match->last_epoch > match->first_epoch)
		fprintf(stream, " to %" PRIu32, match->last_epoch);
	fputc('\n', stream);
	summary_print_weights(event, "            ", stream);
	other_cores_print(&of->all.left_out, of->all.selection, output);
	if (report->request->input.analyze)
		model_print(&of->all.model, output);
}

/* How much runs of one side differ; `what` is the plural of the rows: "procedures", ... */
static void
print_noise(const struct diff_report *report, const struct variation *noise, const char *what, FILE *stream)
{
	if (report->scale.run_count == 0) {
		fputs("Noise:    not known of one run: what differs may differ as much from run to run (--before, "
		      "--after)\n",
		      stream);
		return;
	}
	fprintf(stream, "Noise:    %.2g%% from run to run beyond sampling (%.2g%% to %.2g%%), by %zu %.*s and ",
	        100 * noise->noise, 100 * noise->noise_least, 100 * noise->noise_most, noise->tested,
	        (int)strlen(what) - (noise->tested == 1), what);
	run_history_print(&report->history, stream);
	fputc('\n', stream);
}

/* ---- Procedures or images ---- */

static struct table *
make_item_table(const struct diff_report *report)
{
	struct table_column columns[COLUMNS_MAX];
	size_t count = columns_of(report, columns);

	if (!report->request->input.by_image)
		columns[count++] = (struct table_column){
			.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = PROCEDURE_WIDTH};
	columns[count++] = (struct table_column){
		.heading = "image", .cut = TABLE_CUT_START, .gap = report->request->input.by_image ? 1 : 2};
	return table_new(columns, count);
}

/* The name of the item's image on one side; NULL: it is not there. */
static const char *
image_title(const struct diff_report *report, const struct diff_item *item, unsigned side)
{
	return item->images[side] == DIFF_ITEM_NOWHERE ? NULL : report->inputs[side].all.titles[item->images[side]];
}

/* An image with another name on the other side is shown with both, and each stall reason on a line below the row. */
static void
add_item(const struct diff_report *report, const struct diff_item *item, struct table *table)
{
	const char *before = image_title(report, item, 0), *after = image_title(report, item, 1);

	columns_fill(report, &item->comparison, item->figures, item->comparison.is_marked ? STYLE_HOT : STYLE_PLAIN,
	             table);
	if (item->title)
		table_text(table, STYLE_PLAIN, item->title);
	if (before && after && strcmp(before, after) != 0)
		table_format(table, STYLE_PLAIN, "%s -> %s", before, after);
	else
		table_text(table, STYLE_PLAIN, after ? after : before);
	for (unsigned reason = 0; reason < CAUSE_COUNT; reason++)
		if (columns_fill_reason(report, item->figures, reason, table)) {
			add_reason(reason, table);
			table_text(table, STYLE_PLAIN, "");
		}
}

static void
print_rebuilt(const struct diff_report *report, FILE *stream)
{
	for (size_t i = 0; i < report->rebuilt_count && i < REBUILT_NAMED; i++) {
		const struct diff_rebuilt *rebuilt = &report->rebuilt[i];
		const char *before = report->inputs[0].all.titles[rebuilt->images[0]];
		const char *after = report->inputs[1].all.titles[rebuilt->images[1]];

		fputs(i ? "          " : "Builds:   ", stream);
		text_print(before, stream);
		if (strcmp(before, after) != 0) {
			fputs(" and ", stream);
			text_print(after, stream);
			fprintf(stream, " are builds of one thing, by %s: procedures are compared by name\n",
			        rebuilt->why);
		} else {
			fputs(" is another build: procedures are compared by name\n", stream);
		}
	}
	if (report->rebuilt_count > REBUILT_NAMED)
		fprintf(stream, "          and %zu more\n", report->rebuilt_count - REBUILT_NAMED);
}

static void
print_item_notes(const struct diff_report *report, const struct output *output)
{
	FILE *stream = output->stream;

	if (!report->is_one_unit)
		fputs("Amounts:  not compared: what a sample stands for is not known, or differs between the sets\n",
		      stream);
	print_rebuilt(report, stream);
	for (unsigned side = 0; side < 2 && report->request->input.analyze; side++) {
		fputs(side ? "After:\n" : "Before:\n", stream);
		survey_all_print_gaps(&report->inputs[side].all, output);
	}
	if (report->shown < report->item_count)
		fprintf(stream, "Rows:     %zu of %zu\n", report->shown, report->item_count);
}

/* ---- One procedure: blocks and instructions, or lines ---- */

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
format_place(const struct code_row *row, char text[PLACE_SIZE])
{
	char before[32], after[32];
	const bool is_one = row->has[0] && row->has[1] && row->places[0] == row->places[1];

	format_number(row, 0, before);
	format_number(row, 1, after);
	snprintf(text, PLACE_SIZE, "%.100s%s%s%s%s", row->kind == ROW_LINE ? row->file : "",
	         row->kind == ROW_LINE ? ":" : "", before, is_one ? "" : ">", is_one ? "" : after);
}

static struct table *
make_code_table(const struct diff_report *report)
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
add_code_row(const struct diff_report *report, const struct code_row *row, struct table *table)
{
	char place[PLACE_SIZE];

	columns_fill(report, &row->comparison, row->figures, row->comparison.is_marked ? STYLE_HOT : STYLE_PLAIN,
	             table);
	format_place(row, place);
	table_text(table, STYLE_PLAIN, place);
	if (row->kind == ROW_BLOCK)
		table_format(table, STYLE_HEADING, "*** block of %zu instruction%s", row->size,
		             row->size == 1 ? "" : "s");
	else
		table_text(table, row->kind == ROW_PROCEDURE ? STYLE_HEADING : STYLE_PLAIN, row->text);
	for (unsigned reason = 0; reason < CAUSE_COUNT; reason++)
		if (columns_fill_reason(report, row->figures, reason, table)) {
			table_text(table, STYLE_PLAIN, "");
			add_reason(reason, table);
		}
}

/* "hot_loop in /opt/a.so", and where the images differ, both. */
static void
print_title(const struct diff_report *report, FILE *stream)
{
	const char *images[2];

	for (unsigned side = 0; side < 2; side++)
		images[side] = report->inputs[side].all.titles[report->codes[side].image];
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
print_code_notes(const struct diff_report *report, FILE *stream)
{
	const bool is_lines = report->code.view == VIEW_LINES;

	if (is_lines && report->code.by_number)
		fputs("Lines:    some are compared by their numbers: the text that was compiled first is not there any "
		      "more\n",
		      stream);
	if (!is_lines && !report->code.same_build)
		fputs("Code:     two builds: instructions that are alike, in the same order, are taken to be one\n",
		      stream);
}

/* ---- All ---- */

/* How many rows differ, and how to read them. */
static void
print_notes(const struct diff_report *report, const struct output *output)
{
	const bool has_noise = report->scale.run_count > 0, is_code = report->request->procedure != NULL;
	const bool is_lines = is_code && report->code.view == VIEW_LINES;
	const char *what = is_code ? (is_lines ? "lines" : "instructions")
	                           : (report->request->input.by_image ? "images" : "procedures");
	FILE *stream = output->stream;

	fprintf(stream,
	        "\nShares:   of all samples of each set; differ: in points of them; least, most: its %g%% interval by "
	        "what %s vary\n",
	        report->request->confidence_percent, has_noise ? "sampling and noise make" : "sampling makes");
	fputs(has_noise ? "Changed:  " : "Differ:   ", stream);
	if (is_code)
		fprintf(stream, "%zu %.*s", report->code.marked_count,
		        (int)strlen(what) - (report->code.marked_count == 1), what);
	else
		fprintf(stream, "%zu of %zu %s", report->marked_count, report->item_count, what);
	fprintf(stream, " (*) by more than %s: p < 0.05 for all together\n",
	        has_noise ? "sampling and noise explain" : "sampling explains");
	print_noise(report, is_code ? &report->code.noise : &report->noise, what, stream);
	if (has_noise && report->is_one_unit)
		fputs("Amounts:  of a run, on average\n", stream);
	if (is_code)
		print_code_notes(report, stream);
	else
		print_item_notes(report, output);
}

int
diff_report_print_text(const struct diff_report *report, const struct output *output)
{
	const bool header = report->request->options.header, is_code = report->request->procedure != NULL;
	struct table *table = is_code ? make_code_table(report) : make_item_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < (is_code ? report->code.count : report->shown); i++)
		if (!is_code)
			add_item(report, &report->items[i], table);
		else if (diff_report_shows_row(report, &report->code.rows[i]))
			add_code_row(report, &report->code.rows[i], table);
	if (header && is_code)
		print_title(report, output->stream);
	for (unsigned side = 0; side < 2 && header; side++)
		print_side(report, side, output);
	if (header)
		fputc('\n', output->stream);
	err = table_print(table, output, header);
	if (!err && header)
		print_notes(report, output);
	table_free(table);
	return err;
}
