/*
 * dcpiprof - where the samples fell, by procedure or by image
 *
 * The layout is that of figure 1 of the DCPI paper; man/dcpiprof.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/csv.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_choice.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

#define HOT_PERCENT     5 /* rows from here on are coloured */
#define COLUMNS_MAX     (2 * EVENTS_MAX + 3)
#define PROCEDURE_WIDTH 50 /* columns that names are aligned in */

const char *argp_program_version = "dcpiprof " DCPI_VERSION;

enum key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_SORT,
	KEY_KEEP,
	KEY_LIMIT,
	KEY_NO_DEMANGLE,
};

/* What the user asked for. */
struct request {
	struct options options;
	struct columns_request columns;
	const char **images;
	size_t image_count;
	bool by_image;
	bool demangle;
	double keep_percent;
	size_t limit; /* rows; 0: all */
};

/* What is shown. */
struct report {
	const struct request *request;
	struct selection *selection;
	struct columns columns;
	struct histogram histogram;
	char **titles;               /* of images */
	bool *wanted;                /* by image; NULL: all */
	uint64_t totals[EVENTS_MAX]; /* what shares are of, by event */
	size_t shown, row_count;     /* rows, and what they would be without --keep and --limit */
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"by-image", 'i', NULL, 0, "A row for each image, not each procedure", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only the columns of this event", 1},
	{"sort", KEY_SORT, "EVENT", 0, "Sort by this event", 1},
	{"keep", KEY_KEEP, "PERCENT", 0, "Only the rows that PERCENT of the samples need", 1},
	{"limit", KEY_LIMIT, "N", 0, "At most N rows", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{&options_table, 0, NULL, 0},
	{0},
};

static void
add_image(struct request *request, const char *image, const struct argp_state *state)
{
	const char **images = reallocarray(request->images, request->image_count + 1, sizeof(*images));

	if (!images) {
		argp_failure(state, STATUS_FAILURE, ENOMEM, "--image");
		return;
	}
	request->images = images;
	request->images[request->image_count++] = image;
}

static void
add_event(struct request *request, const char *event, const struct argp_state *state)
{
	if (request->columns.event_count == EVENTS_MAX)
		argp_error(state, "--event can be given %d times at most", EVENTS_MAX);
	request->columns.events[request->columns.event_count++] = event;
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; children[i].argp; i++)
			state->child_inputs[i] = &request->options;
		return 0;
	case 'i':
		request->by_image = true;
		return 0;
	case KEY_IMAGE:
	case ARGP_KEY_ARG:
		add_image(request, text, state);
		return 0;
	case KEY_EVENT:
		add_event(request, text, state);
		return 0;
	case KEY_SORT:
		request->columns.sort = text;
		return 0;
	case KEY_KEEP:
		request->keep_percent = options_number(state, "--keep", text, 0, 100);
		return 0;
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
		return 0;
	case KEY_NO_DEMANGLE:
		request->demangle = false;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[IMAGE...]",
	.doc = "Show where the samples of a dcpi profile database fell, by procedure or by image.\v"
	       "Without options: the latest epoch, all images. See dcpiprof(1).",
	.children = children,
};

static bool
is_by_context(const struct request *request)
{
	const struct selection_request *wanted = &request->options.request;

	return wanted->comm || wanted->cgroup || wanted->label;
}

static bool
is_restricted(const struct request *request)
{
	return is_by_context(request) || request->image_count > 0;
}

/* Unknown samples have no image and no context: they are part of the whole only. */
static void
choose_totals(struct report *report)
{
	for (size_t i = 0; i < report->selection->event_count; i++) {
		const struct selection_event *event = &report->selection->events[i];

		report->totals[i] = event->totals.samples;
		if (is_by_context(report->request))
			report->totals[i] = event->selected;
		if (report->request->image_count > 0)
			report->totals[i] = report->histogram.totals[i];
	}
}

static int
choose_images(struct report *report)
{
	const struct request *request = report->request;
	const struct image_request images = {
		.patterns = request->images,
		.count = request->image_count,
		.event = report->columns.events[0],
	};

	report->titles = image_titles(report->selection);
	if (!report->titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	return images_choose(report->selection, report->titles, &images, &report->wanted);
}

/* ---- text ---- */

static void
print_shown(const char *text, FILE *stream)
{
	char *shown = text_shown(text);

	fputs(shown ? shown : "?", stream);
	free(shown);
}

/* "comm gzip, image /usr/bin/gzip" */
static void
print_restriction(const struct report *report, FILE *stream)
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
		print_shown(parts[i].text, stream);
		separator = ", ";
	}
	for (size_t i = 0; report->wanted && i < report->selection->image_count; i++) {
		if (!report->wanted[i])
			continue;
		fprintf(stream, "%simage ", separator);
		print_shown(report->titles[i], stream);
		separator = ", ";
	}
}

static void
print_totals(const struct report *report, const struct output *output)
{
	uint16_t first = report->columns.events[0];
	const struct selection_event *event = &report->selection->events[first];
	FILE *stream = output->stream;

	fputs("Total samples for event type ", stream);
	for (size_t i = 0; i < report->columns.count; i++) {
		uint16_t index = report->columns.events[i];

		fputs(i ? ", " : "", stream);
		print_shown(report->selection->events[index].name, stream);
		fprintf(stream, " = %" PRIu64, report->totals[index]);
	}
	fputc('\n', stream);
	if (is_restricted(report->request)) {
		fputs("Only ", stream);
		print_restriction(report, stream);
		fprintf(stream, ": %" PRIu64 " of %" PRIu64 " ", report->totals[first], event->totals.samples);
		print_shown(event->name, stream);
		fprintf(stream, " samples (%.2f%%)\n", share_percent(report->totals[first], event->totals.samples));
	}
	fputs("\nThe counts given below are the number of samples for each listed event type.\n", stream);
}

static struct table *
make_table(const struct report *report)
{
	struct table_column columns[COLUMNS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < report->columns.count; i++) {
		const char *name = report->selection->events[report->columns.events[i]].name;

		columns[count++] =
			(struct table_column){.heading = name, .align = TABLE_RIGHT, .gap = 1, .min_width = 7};
		columns[count++] =
			(struct table_column){.heading = "%", .align = TABLE_RIGHT, .gap = 1, .min_width = 7};
		if (i == 0)
			columns[count++] = (struct table_column){
				.heading = "cum%", .align = TABLE_RIGHT, .gap = 1, .min_width = 7};
	}
	if (!report->request->by_image)
		columns[count++] = (struct table_column){
			.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = PROCEDURE_WIDTH};
	columns[count++] = (struct table_column){
		.heading = "image", .cut = TABLE_CUT_START, .gap = report->request->by_image ? 1 : 2};
	return table_new(columns, count);
}

static enum style
title_style(const struct histogram_row *row)
{
	return row->procedure.kind > PROCEDURE_UNNAMED ? STYLE_WARNING : STYLE_PLAIN;
}

static void
fill_table(const struct report *report, struct table *table)
{
	uint64_t sum = 0;

	for (size_t row_index = 0; row_index < report->shown; row_index++) {
		const struct histogram_row *row = &report->histogram.rows[row_index];

		for (size_t i = 0; i < report->columns.count; i++) {
			uint16_t event = report->columns.events[i];
			double percent = share_percent(row->counts[event], report->totals[event]);

			table_format(table, STYLE_PLAIN, "%" PRIu64, row->counts[event]);
			table_format(table, percent >= HOT_PERCENT ? STYLE_HOT : STYLE_PLAIN, "%.2f%%", percent);
			if (i > 0)
				continue;
			sum += row->counts[event];
			table_format(table, STYLE_PLAIN, "%.2f%%", share_percent(sum, report->totals[event]));
		}
		if (row->title)
			table_text(table, title_style(row), row->title);
		table_text(table, STYLE_PLAIN, row->image_title);
	}
}

static struct summary
summary_of(const struct report *report)
{
	return (struct summary){
		.selection = report->selection,
		.columns = &report->columns,
		.histogram = &report->histogram,
		.totals = report->totals,
		.shown = report->shown,
		.row_count = report->row_count,
	};
}

static int
print_text(const struct report *report, const struct output *output)
{
	bool header = report->request->options.header;
	struct summary summary = summary_of(report);
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	fill_table(report, table);
	if (header) {
		print_totals(report, output);
		for (size_t i = table_width(table, output->width); i > 0; i--)
			fputc('=', output->stream);
		fputc('\n', output->stream);
	}
	err = table_print(table, output, header);
	if (!err && header)
		summary_print(&summary, output);
	table_free(table);
	return err;
}

/* ---- CSV ---- */

static void
print_csv_headings(const struct report *report, struct csv *csv)
{
	for (size_t i = 0; i < report->columns.count; i++) {
		const char *name = report->selection->events[report->columns.events[i]].name;
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

static void
print_csv_percent(struct csv *csv, uint64_t part, uint64_t whole)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", share_percent(part, whole));
	csv_text(csv, text);
}

static int
print_csv_name(struct csv *csv, const char *name)
{
	char *shown = text_shown(name);

	if (!shown)
		return -ENOMEM;
	csv_text(csv, shown);
	free(shown);
	return 0;
}

static int
print_csv_row(const struct report *report, const struct histogram_row *row, uint64_t sum, struct csv *csv)
{
	const struct image *image = report->selection->images[row->image].image;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err = 0;

	for (size_t i = 0; i < report->columns.count; i++) {
		uint16_t event = report->columns.events[i];

		csv_number(csv, row->counts[event]);
		print_csv_percent(csv, row->counts[event], report->totals[event]);
		if (i == 0)
			print_csv_percent(csv, sum, report->totals[event]);
	}
	if (row->title)
		err = print_csv_name(csv, row->title);
	if (!err)
		err = print_csv_name(csv, image->path);
	csv_text(csv, build_id_format(image, build_id));
	csv_end(csv);
	return err;
}

static int
print_csv(const struct report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	uint64_t sum = 0;
	int err = 0;

	if (report->request->options.header)
		print_csv_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct histogram_row *row = &report->histogram.rows[i];

		sum += row->counts[report->columns.events[0]];
		err = print_csv_row(report, row, sum, &csv);
	}
	return err;
}

/* ---- JSON ---- */

static json_t *
counts_json(const struct report *report, const struct histogram_row *row)
{
	json_t *counts = json_object();
	int failed = !counts;

	for (size_t i = 0; i < report->columns.count; i++) {
		uint16_t event = report->columns.events[i];

		failed |= json_object_set_new(counts, report->selection->events[event].name,
		                              json_count(row->counts[event]));
	}
	if (!failed)
		return counts;
	json_decref(counts);
	return NULL;
}

static json_t *
row_json(const struct report *report, const struct histogram_row *row)
{
	const struct image *image = report->selection->images[row->image].image;
	bool has_offset = row->title && row->procedure.kind <= PROCEDURE_UNNAMED;
	char build_id[BUILD_ID_TEXT_SIZE];

	build_id_format(image, build_id);
	return json_pack("{s:o, s:o, s:o, s:s?, s:o}", "procedure", json_shown(row->title), "offset",
	                 has_offset ? json_count(row->procedure.offset) : json_null(), "image", json_shown(image->path),
	                 "build_id", build_id[0] ? build_id : NULL, "counts", counts_json(report, row));
}

static int
print_json(const struct report *report, FILE *stream)
{
	struct summary summary = summary_of(report);
	json_t *root = json_pack("{s:s}", "schema", "dcpiprof/1");
	json_t *rows = json_array();
	int failed = !root || !rows;

	failed |= summary_json_events(&summary, root);
	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->histogram.rows[i]));
	failed |= json_object_set_new(root, "rows", rows);
	failed |= summary_json_totals(&summary, root);
	if (!failed)
		return json_print(root, stream);
	json_decref(root);
	return -ENOMEM;
}

/* ---- the whole ---- */

static int
print_report(const struct report *report)
{
	const struct options *options = &report->request->options;
	bool is_text = options->format == FORMAT_TEXT;
	struct output output;
	int err, end;

	output_open(&output, is_text ? options->color : COLOR_NEVER, is_text && options->pager);
	if (options->format == FORMAT_JSON)
		err = print_json(report, output.stream);
	else if (options->format == FORMAT_CSV)
		err = print_csv(report, output.stream);
	else
		err = print_text(report, &output);
	end = output_close(&output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return STATUS_OK;
}

static int
make_histogram(struct report *report, struct profile *profile)
{
	struct histogram_request request = {
		.selection = report->selection,
		.wanted = report->wanted,
		.image_titles = report->titles,
		.demangle = report->request->demangle,
	};
	int err;

	if (!report->request->by_image)
		request.symbolizer = symbolizer_new(profile);
	err = report->request->by_image || request.symbolizer ? 0 : -ENOMEM;
	if (!err)
		err = histogram_make(&request, &report->histogram);
	symbolizer_free(request.symbolizer);
	return err;
}

static int
choose_columns(struct report *report, const char *directory)
{
	char why[1024];
	int err;

	err = columns_choose(report->selection, &report->request->columns, &report->columns, why, sizeof(why));
	if (!err)
		return 0;
	message_print(directory, "%s", why);
	return error_exit_status(err);
}

static int
make_report(struct report *report, struct database *database)
{
	int status, err;
	uint64_t total;

	status = database_select(database, &report->request->options.request, &report->selection);
	if (status)
		return status;
	status = choose_columns(report, database->directory);
	if (status)
		return status;
	status = choose_images(report);
	if (status)
		return status;
	err = make_histogram(report, database->profile);
	if (err)
		return message_cannot(database->directory, "read the profile database", err, NULL);
	choose_totals(report);
	histogram_sort(&report->histogram, &report->columns);
	total = report->totals[report->columns.events[0]];
	report->shown = histogram_cut(&report->histogram, &report->columns, total, report->request->keep_percent,
	                              report->request->limit);
	report->row_count = histogram_cut(&report->histogram, &report->columns, total, 100, 0);
	return STATUS_OK;
}

/* Whether there is nothing to report on: then a sentence says more than an empty table. */
static bool
is_empty(const struct report *report)
{
	for (size_t i = 0; i < report->columns.count; i++)
		if (report->totals[report->columns.events[i]] > 0)
			return false;
	return true;
}

static int
run(const struct request *request)
{
	struct report report = {.request = request};
	struct database database;
	int status;

	status = database_open(&database, request->options.directory);
	if (status)
		return status;
	status = make_report(&report, &database);
	database_close(&database);
	if (!status && is_empty(&report)) {
		message_print(request->options.directory, "no samples in what was selected");
		status = STATUS_EMPTY;
	}
	if (!status)
		status = print_report(&report);
	histogram_fini(&report.histogram);
	image_titles_free(report.titles, report.selection ? report.selection->image_count : 0);
	free(report.wanted);
	selection_free(report.selection);
	return status;
}

int
main(int argc, char **argv)
{
	struct request request = {.demangle = true, .keep_percent = 100};
	int status;

	text_init();
	options_init(&request.options);
	argp_parse(&argp, argc, argv, 0, NULL, &request);
	status = run(&request);
	free(request.images);
	return status;
}
