/* What is compared, a line for each that differs, and what is to be known about it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/columns.h"
#include "dcpi-tools/diff/report.h"

#define PROCEDURE_WIDTH 50 /* columns that names are aligned in */
#define COLUMNS_MAX     16
#define REBUILT_NAMED   5 /* images of several builds that are named, at most */

static const char *const side_names[2] = {"Before:     ", "After:      "};

static void
print_match(const struct selection_match *match, FILE *stream)
{
	char range[2 * TIME_TEXT_SIZE];

	fprintf(stream, "; %s, epoch%s %" PRIu32, time_format_range(match->start_ns, match->end_ns, range),
	        match->last_epoch > match->first_epoch ? "s" : "", match->first_epoch);
	if (match->last_epoch > match->first_epoch)
		fprintf(stream, " to %" PRIu32, match->last_epoch);
}

static void
print_side(const struct report *report, unsigned side, const struct output *output)
{
	FILE *stream = output->stream;
	const struct diff_side *of = &report->sides[side];
	const struct selection_event *event = side_event(of);

	fputs(side_names[side], stream);
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
	print_match(&of->all.selection->match, stream);
	fputc('\n', stream);
	summary_print_weights(event, "            ", stream);
	other_cores_print(&of->all.left_out, of->all.selection, output);
	if (report->request->side.analyze)
		model_print(&of->all.model, output);
}

void
diff_report_print_sides(const struct report *report, const struct output *output)
{
	print_side(report, 0, output);
	print_side(report, 1, output);
	fputc('\n', output->stream);
}

static struct table *
make_table(const struct report *report)
{
	struct table_column columns[COLUMNS_MAX];
	size_t count = columns_of(report, columns);

	if (!report->request->side.by_image)
		columns[count++] = (struct table_column){
			.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = PROCEDURE_WIDTH};
	columns[count++] = (struct table_column){
		.heading = "image", .cut = TABLE_CUT_START, .gap = report->request->side.by_image ? 1 : 2};
	return table_new(columns, count);
}

/* An image that is called otherwise on the other side has both names. */
static void
add_image(const struct report *report, const struct diff_item *item, struct table *table)
{
	const char *before = item_image(report, item, 0), *after = item_image(report, item, 1);

	if (before && after && strcmp(before, after) != 0)
		table_format(table, STYLE_PLAIN, "%s -> %s", before, after);
	else
		table_text(table, STYLE_PLAIN, after ? after : before);
}

/* Below a row, what each reason took of it. */
static void
add_reasons(const struct report *report, const struct diff_item *item, struct table *table)
{
	for (unsigned reason = 0; reason < CAUSE_COUNT; reason++) {
		if (!columns_fill_reason(report, item->figures, reason, table))
			continue;
		table_format(table, STYLE_FAINT, "  %c %s", stall_cause_letter(reason), stall_cause_name(reason));
		table_text(table, STYLE_PLAIN, "");
	}
}

static void
fill_table(const struct report *report, struct table *table)
{
	for (size_t i = 0; i < report->shown; i++) {
		const struct diff_item *item = &report->items[i];
		const enum style style = item->comparison.is_marked ? STYLE_HOT : STYLE_PLAIN;

		columns_fill(report, &item->comparison, item->figures, style, table);
		if (item->title)
			table_text(table, STYLE_PLAIN, item->title);
		add_image(report, item, table);
		add_reasons(report, item, table);
	}
}

static void
print_rebuilt(const struct report *report, FILE *stream)
{
	for (size_t i = 0; i < report->rebuilt_count && i < REBUILT_NAMED; i++) {
		const struct rebuilt *rebuilt = &report->rebuilt[i];
		const char *before = report->sides[0].all.titles[rebuilt->images[0]];
		const char *after = report->sides[1].all.titles[rebuilt->images[1]];

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

/* What runs differ by. */
void
diff_report_print_noise(const struct report *report, const struct variation *noise, const char *what, FILE *stream)
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

static void
print_notes(const struct report *report, const struct output *output)
{
	const char *what = report->request->side.by_image ? "images" : "procedures";
	const bool has_noise = report->scale.run_count > 0;
	FILE *stream = output->stream;

	fprintf(stream,
	        "\nShares:   of all samples of each set; differ: in points of them; least, most: its %g%% interval by "
	        "what %s vary\n",
	        report->request->confidence_percent, has_noise ? "sampling and noise make" : "sampling makes");
	fprintf(stream, "%s  %zu of %zu %s (*) by more than %s: p < 0.05 for all together\n",
	        has_noise ? "Changed:" : "Differ: ", report->marked_count, report->item_count, what,
	        has_noise ? "sampling and noise explain" : "sampling explains");
	diff_report_print_noise(report, &report->noise, what, stream);
	if (report->is_one_unit && report->sides[0].run_count + report->sides[1].run_count > 2)
		fputs("Amounts:  of a run, on average\n", stream);
	if (!report->is_one_unit)
		fputs("Amounts:  not compared: what a sample stands for is not known, or not the same in both sets\n",
		      stream);
	print_rebuilt(report, stream);
	for (unsigned side = 0; side < 2 && report->request->side.analyze; side++) {
		fputs(side ? "After:\n" : "Before:\n", stream);
		survey_all_print_gaps(&report->sides[side].all, output);
	}
	if (report->shown < report->item_count)
		fprintf(stream, "Rows:     %zu of %zu\n", report->shown, report->item_count);
}

int
diff_report_print_text(const struct report *report, const struct output *output)
{
	const bool header = report->request->options.header;
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	fill_table(report, table);
	if (header)
		diff_report_print_sides(report, output);
	err = table_print(table, output, header);
	if (!err && header)
		print_notes(report, output);
	table_free(table);
	return err;
}
