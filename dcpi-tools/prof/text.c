/* Text in the layout of figure 1 of the DCPI paper, and CSV. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/prof/report.h"

#define HOT_PERCENT     5  /* rows from here on are coloured */
#define PROCEDURE_WIDTH 50 /* columns that names are aligned in */
#define COLUMNS_MAX     (2 * SELECTION_EVENTS_MAX + 3)
#define SHARE_WIDTH     8 /* columns of text that a share takes */
#define IMAGES_NAMED    3 /* at most, of those that were asked for */

/* JIT code of processes of one name is several images of one title. */
static bool
is_named_before(const struct prof_report *report, size_t image)
{
	for (size_t i = 0; i < image; i++)
		if (report->choice.wanted[i] && strcmp(report->choice.titles[i], report->choice.titles[image]) == 0)
			return true;
	return false;
}

/* "image /usr/bin/gzip, image /usr/bin/tar and 3 more images" */
static void
print_wanted_images(const struct prof_report *report, const char *separator, FILE *stream)
{
	size_t count = 0;

	for (size_t i = 0; report->choice.wanted && i < report->choice.selection->image_count; i++) {
		if (!report->choice.wanted[i] || is_named_before(report, i) || ++count > IMAGES_NAMED)
			continue;
		fprintf(stream, "%simage ", separator);
		text_print(report->choice.titles[i], stream);
		separator = ", ";
	}
	if (count > IMAGES_NAMED)
		fprintf(stream, " and %zu more image%s", count - IMAGES_NAMED, count - IMAGES_NAMED > 1 ? "s" : "");
}

/* "comm gzip, image /usr/bin/gzip" */
static void
print_restriction(const struct prof_report *report, FILE *stream)
{
	const struct selection_request *wanted = &report->request->options.request;
	const struct {
		const char *what, *text;
	} parts[] = {{"comm ", wanted->comm}, {"cgroup ", wanted->cgroup}, {"label ", wanted->label}};
	const char *separator = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i].text)
			continue;
		fprintf(stream, "%s%s", separator, parts[i].what);
		text_print(parts[i].text, stream);
		separator = ", ";
	}
	print_wanted_images(report, separator, stream);
}

static void
print_totals(const struct prof_report *report, const struct columns_fit *fit, const struct output *output)
{
	const struct selection_request *wanted = &report->request->options.request;
	uint16_t first = report->choice.columns.events[0];
	const struct selection_event *event = &report->choice.selection->events[first];
	FILE *stream = output->stream;

	fputs("Total samples for event type ", stream);
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		uint16_t index = report->choice.columns.events[i];

		fputs(i ? ", " : "", stream);
		text_print(report->choice.selection->events[index].name, stream);
		fprintf(stream, " = %" PRIu64, report->totals[index]);
	}
	fputc('\n', stream);
	columns_fit_print(fit, report->choice.selection, stream);
	if (wanted->comm || wanted->cgroup || wanted->label || report->choice.wanted) {
		fputs("Only ", stream);
		print_restriction(report, stream);
		fprintf(stream, ": %" PRIu64 " of %" PRIu64 " ", report->totals[first], event->totals.samples);
		text_print(event->name, stream);
		fprintf(stream, " samples (%.2f%%)\n", share_percent(report->totals[first], event->totals.samples));
	}
	fputs("\nThe counts given below are the number of samples for each listed event type.\n", stream);
}

static struct table_column
number_column(const char *heading)
{
	return (struct table_column){.heading = heading, .align = TABLE_RIGHT, .gap = 1, .min_width = 7};
}

static struct table *
make_table(const struct prof_report *report)
{
	struct table_column columns[COLUMNS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const char *name = columns_event(report->choice.selection, &report->choice.columns, i)->name;

		columns[count++] = number_column(name);
		columns[count++] = number_column("%");
		if (i == 0)
			columns[count++] = number_column("cum%");
	}
	if (!report->request->by_image)
		columns[count++] = (struct table_column){
			.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = PROCEDURE_WIDTH};
	columns[count++] = (struct table_column){
		.heading = "image", .cut = TABLE_CUT_START, .gap = report->request->by_image ? 1 : 2};
	return table_new(columns, count);
}

static void
fill_table(const struct prof_report *report, struct table *table)
{
	uint64_t sum = 0;

	for (size_t row_index = 0; row_index < report->shown; row_index++) {
		const struct histogram_row *row = &report->histogram.rows[row_index];

		for (size_t i = 0; i < report->choice.columns.count; i++) {
			uint16_t event = report->choice.columns.events[i];
			double percent = share_percent(row->counts[event], report->totals[event]);

			table_format(table, STYLE_PLAIN, "%" PRIu64, row->counts[event]);
			table_format(table, percent >= HOT_PERCENT ? STYLE_HOT : STYLE_PLAIN, "%.2f%%", percent);
			if (i > 0)
				continue;
			sum += row->counts[event];
			table_format(table, STYLE_PLAIN, "%.2f%%", share_percent(sum, report->totals[event]));
		}
		if (row->title)
			table_text(table, row->procedure.kind > PROCEDURE_UNNAMED ? STYLE_WARNING : STYLE_PLAIN,
			           row->title);
		table_text(table, STYLE_PLAIN, row->image_title);
	}
}

static int
print_table(const struct prof_report *report, const struct columns_fit *fit, const struct output *output)
{
	bool header = report->request->options.header;
	struct summary summary = prof_report_summary(report);
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	fill_table(report, table);
	if (header) {
		print_totals(report, fit, output);
		table_print_rule(table, output);
	}
	err = table_print(table, output, header);
	if (!err && header)
		summary_print(&summary, output);
	table_free(table);
	return err;
}

int
prof_report_print_text(const struct prof_report *report, const struct output *output)
{
	const struct columns_fit_request request = {
		.selection = report->choice.selection,
		.columns = &report->choice.columns,
		.totals = report->totals,
		.shares = SHARE_WIDTH,
		.asked = report->request->columns.event_count > 0,
	};
	struct prof_report shown = *report;
	struct columns_fit fit;

	columns_fit(&request, output, &fit);
	shown.choice.columns = fit.shown;
	return print_table(&shown, &fit, output);
}

static void
print_csv_headings(const struct prof_report *report, struct csv *csv)
{
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const char *name = columns_event(report->choice.selection, &report->choice.columns, i)->name;
		char heading[EVENT_NAME_SIZE + 32];

		csv_text(csv, name);
		snprintf(heading, sizeof(heading), "%s percent", name);
		csv_text(csv, heading);
		if (i > 0)
			continue;
		snprintf(heading, sizeof(heading), "%s cumulative percent", name);
		csv_text(csv, heading);
	}
	if (!report->request->by_image)
		csv_text(csv, "procedure");
	csv_text(csv, "image");
	csv_text(csv, "build-id");
	csv_end(csv);
}

static int
print_csv_row(const struct prof_report *report, const struct histogram_row *row, uint64_t sum, struct csv *csv)
{
	const struct image *image = report->choice.selection->images[row->image].image;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err = 0;

	for (size_t i = 0; i < report->choice.columns.count; i++) {
		uint16_t event = report->choice.columns.events[i];

		csv_number(csv, row->counts[event]);
		csv_real(csv, share_percent(row->counts[event], report->totals[event]), 2);
		if (i == 0)
			csv_real(csv, share_percent(sum, report->totals[event]), 2);
	}
	if (row->title)
		err = csv_shown(csv, row->title);
	if (!err)
		err = csv_shown(csv, image->path);
	csv_text(csv, build_id_format(image, build_id));
	csv_end(csv);
	return err;
}

int
prof_report_print_csv(const struct prof_report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	uint64_t sum = 0;
	int err = 0;

	if (report->request->options.header)
		print_csv_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct histogram_row *row = &report->histogram.rows[i];

		sum += row->counts[report->choice.columns.events[0]];
		err = print_csv_row(report, row, sum, &csv);
	}
	return err;
}
