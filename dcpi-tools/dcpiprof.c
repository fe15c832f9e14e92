/*
 * dcpiprof - where the samples fell, by procedure or by image: man/dcpiprof.1.scd
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/prof/call_report.h"

#define HOT_PERCENT     5  /* rows from here on are coloured */
#define PROCEDURE_WIDTH 50 /* columns that names are aligned in */
#define COLUMNS_MAX     (2 * SELECTION_EVENTS_MAX + 3)
#define SHARE_WIDTH     8 /* columns of text that a share takes */
#define IMAGES_NAMED    3 /* at most, of those that were asked for */

const char *argp_program_version = "dcpiprof " DCPI_VERSION;

/* What the user asked for. */
struct prof_request {
	struct options options;
	struct shown_events_request shown_events;
	bool by_image;
	bool demangle;
	bool no_inline; /* of call stacks */
	double keep_percent;
	size_t limit; /* rows; 0: all */
	enum call_view view;
	const char *procedure; /* of CALL_VIEW_CALLERS and CALL_VIEW_CALLEES; else NULL */
	double least_percent;
};

/* What is shown. */
struct prof_report {
	const struct prof_request *request;
	struct call_report_request call_request; /* unless its view is CALL_VIEW_NONE: calls, and nothing below */
	struct call_report calls;
	struct report_choice choice;
	struct histogram histogram;
	uint64_t totals[SELECTION_EVENTS_MAX]; /* what shares are of, by event */
	size_t shown, row_count;               /* rows, and what they would be without --keep and --limit */
};

/* Unknown samples have no image and no context: they are part of the whole only. */
static void
choose_totals(struct prof_report *report)
{
	const struct selection_request *wanted = &report->request->options.request;

	for (size_t i = 0; i < report->choice.selection->event_count; i++) {
		const struct selection_event *event = &report->choice.selection->events[i];

		report->totals[i] = event->totals.samples;
		if (wanted->comm || wanted->cgroup || wanted->label)
			report->totals[i] = event->selected;
		if (report->request->options.image_count > 0)
			report->totals[i] = report->histogram.totals[i];
	}
}

static int
make_histogram(struct prof_report *report, struct profile *profile)
{
	struct histogram_request request = {
		.selection = report->choice.selection,
		.wanted = report->choice.wanted,
		.image_titles = report->choice.titles,
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
prof_report_make(struct prof_report *report, const struct prof_request *request, struct database *database)
{
	const struct shown_events *shown_events = &report->choice.shown_events;
	int status, err;
	uint64_t total;

	memset(report, 0, sizeof(*report));
	report->request = request;
	if (request->view != CALL_VIEW_NONE) {
		report->call_request = (struct call_report_request){
			.options = &request->options,
			.view = request->view,
			.procedure = request->procedure,
			.demangle = request->demangle,
			.no_inline = request->no_inline,
			.least_percent = request->least_percent,
			.limit = request->limit,
		};
		return call_report_make(&report->calls, &report->call_request, &request->shown_events, database);
	}
	status = report_choose(&report->choice, database, &request->options, &request->shown_events);
	if (status)
		return status;
	err = make_histogram(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	choose_totals(report);
	histogram_sort(&report->histogram, shown_events);
	total = report->totals[shown_events->events[0]];
	report->shown = histogram_cut(&report->histogram, shown_events, total, request->keep_percent, request->limit);
	report->row_count = histogram_cut(&report->histogram, shown_events, total, 100, 0);
	for (size_t i = 0; i < shown_events->count; i++)
		if (report->totals[shown_events->events[i]] > 0)
			return STATUS_OK;
	return report_choice_empty(database); /* a sentence says more than an empty table */
}

static void
prof_report_fini(struct prof_report *report)
{
	call_report_fini(&report->calls);
	histogram_fini(&report->histogram);
	report_choice_fini(&report->choice);
}

static struct summary
prof_report_summary(const struct prof_report *report)
{
	return (struct summary){
		.selection = report->choice.selection,
		.request = &report->request->options.request,
		.shown_events = &report->choice.shown_events,
		.histogram = &report->histogram,
		.totals = report->totals,
		.shown = report->shown,
		.row_count = report->row_count,
	};
}

/* ---- text in the layout of figure 1 of the DCPI paper, and CSV ---- */

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
print_totals(const struct prof_report *report, const struct shown_events_fit *fit, const struct output *output)
{
	const struct selection_request *wanted = &report->request->options.request;
	uint16_t first = report->choice.shown_events.events[0];
	const struct selection_event *event = &report->choice.selection->events[first];
	FILE *stream = output->stream;

	fputs("Total samples for event type ", stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		uint16_t index = report->choice.shown_events.events[i];

		fputs(i ? ", " : "", stream);
		text_print(report->choice.selection->events[index].name, stream);
		fprintf(stream, " = %" PRIu64, report->totals[index]);
	}
	fputc('\n', stream);
	shown_events_fit_print(fit, report->choice.selection, stream);
	if (wanted->comm || wanted->cgroup || wanted->label || report->choice.wanted) {
		fputs("Only ", stream);
		print_restriction(report, stream);
		fprintf(stream, ": %" PRIu64 " of %" PRIu64 " ", report->totals[first], event->totals.samples);
		text_print(event->name, stream);
		fprintf(stream, " samples (%.2f%%)\n", summary_percent(report->totals[first], event->totals.samples));
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

	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const char *name = shown_events_event(report->choice.selection, &report->choice.shown_events, i)->name;

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

		for (size_t i = 0; i < report->choice.shown_events.count; i++) {
			uint16_t event = report->choice.shown_events.events[i];
			double percent = summary_percent(row->counts[event], report->totals[event]);

			table_format(table, STYLE_PLAIN, "%" PRIu64, row->counts[event]);
			table_format(table, percent >= HOT_PERCENT ? STYLE_HOT : STYLE_PLAIN, "%.2f%%", percent);
			if (i > 0)
				continue;
			sum += row->counts[event];
			table_format(table, STYLE_PLAIN, "%.2f%%", summary_percent(sum, report->totals[event]));
		}
		if (row->title)
			table_text(table, row->procedure.kind > PROCEDURE_UNNAMED ? STYLE_WARNING : STYLE_PLAIN,
			           row->title);
		table_text(table, STYLE_PLAIN, row->image_title);
	}
}

static int
print_table(const struct prof_report *report, const struct shown_events_fit *fit, const struct output *output)
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

static int
prof_report_print_text(const struct prof_report *report, const struct output *output)
{
	const struct shown_events_fit_request request = {
		.selection = report->choice.selection,
		.all = &report->choice.shown_events,
		.totals = report->totals,
		.shares = SHARE_WIDTH,
		.asked = report->request->shown_events.event_count > 0,
	};
	struct prof_report shown = *report;
	struct shown_events_fit fit;

	if (report->request->view != CALL_VIEW_NONE)
		return call_report_print_text(&report->calls, output);
	shown_events_fit(&request, output, &fit);
	shown.choice.shown_events = fit.shown;
	return print_table(&shown, &fit, output);
}

static void
print_csv_headings(const struct prof_report *report, struct csv *csv)
{
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const char *name = shown_events_event(report->choice.selection, &report->choice.shown_events, i)->name;
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

	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		uint16_t event = report->choice.shown_events.events[i];

		csv_number(csv, row->counts[event]);
		csv_real(csv, summary_percent(row->counts[event], report->totals[event]), 2);
		if (i == 0)
			csv_real(csv, summary_percent(sum, report->totals[event]), 2);
	}
	if (row->title)
		err = csv_shown(csv, row->title);
	if (!err)
		err = csv_shown(csv, image->path);
	csv_text(csv, build_id_format(image, build_id));
	csv_end(csv);
	return err;
}

static int
prof_report_print_csv(const struct prof_report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	uint64_t sum = 0;
	int err = 0;

	if (report->request->view != CALL_VIEW_NONE)
		return call_report_print_csv(&report->calls, stream);
	if (report->request->options.header)
		print_csv_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct histogram_row *row = &report->histogram.rows[i];

		sum += row->counts[report->choice.shown_events.events[0]];
		err = print_csv_row(report, row, sum, &csv);
	}
	return err;
}

/* ---- schema dcpiprof/1 ---- */

static json_t *
row_json(const struct prof_report *report, const struct histogram_row *row)
{
	const struct image *image = report->choice.selection->images[row->image].image;
	bool has_offset = row->title && row->procedure.kind <= PROCEDURE_UNNAMED;
	char build_id[BUILD_ID_TEXT_SIZE];
	json_t *object, *events = NULL;
	int failed;

	build_id_format(image, build_id);
	object = json_pack("{s:o, s:o, s:o, s:s?}", "procedure", json_shown(row->title), "offset",
	                   has_offset ? json_count(row->procedure.offset) : json_null(), "image",
	                   json_shown(image->path), "build_id", build_id[0] ? build_id : NULL);
	failed = shown_events_json_add(object, "counts", report->choice.selection, &report->choice.shown_events,
	                               row->counts, row->taken);
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const uint16_t index = report->choice.shown_events.events[i];
		const struct selection_event *event = &report->choice.selection->events[index];

		if (!event->is_weighted)
			continue;
		events = events ? events : json_object();
		failed |= json_object_set_new(events, event->name, json_count(row->counts[index] * event->period));
	}
	if (events) /* that the weighted samples stand for */
		failed |= json_object_set_new(object, "events", events);
	return json_kept(object, failed);
}

static int
prof_report_print_json(const struct prof_report *report, FILE *stream)
{
	struct summary summary;
	json_t *root, *rows;
	int failed;

	if (report->request->view != CALL_VIEW_NONE)
		return call_report_print_json(&report->calls, stream);
	summary = prof_report_summary(report);
	root = json_pack("{s:s}", "schema", "dcpiprof/1");
	rows = json_array();
	failed = !root || !rows;
	failed |= summary_json_events(&summary, root);
	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->histogram.rows[i]));
	failed |= json_object_set_new(root, "rows", rows);
	failed |= summary_json_totals(&summary, root);
	return json_print(json_kept(root, failed), stream);
}

/* ---- options ---- */

/* One view at a time, and of the samples whose stacks are known. */
static void
choose_view(struct prof_request *request, enum call_view view, struct argp_state *state)
{
	if (request->view != CALL_VIEW_NONE && request->view != view)
		argp_error(state, "--tree, --callers, --callees and --inclusive are four views: choose one");
	request->view = view;
	request->options.request.stacks = true;
}

static void
take_tree(void *member, char *text, struct argp_state *state)
{
	(void)text;
	choose_view(member, CALL_VIEW_TREE, state);
}

static void
take_inclusive(void *member, char *text, struct argp_state *state)
{
	(void)text;
	choose_view(member, CALL_VIEW_INCLUSIVE, state);
}

static void
take_callers(void *member, char *text, struct argp_state *state)
{
	struct prof_request *request = member;

	choose_view(request, CALL_VIEW_CALLERS, state);
	request->procedure = text;
}

static void
take_callees(void *member, char *text, struct argp_state *state)
{
	struct prof_request *request = member;

	choose_view(request, CALL_VIEW_CALLEES, state);
	request->procedure = text;
}

static void
check(void *checked, struct argp_state *state)
{
	const struct prof_request *request = checked;

	if (request->view == CALL_VIEW_NONE)
		return;
	if (request->by_image)
		argp_error(state, "--by-image is no view of call stacks: leave it out, or --tree, --callers, --callees "
		                  "or --inclusive");
	if (request->keep_percent < 100)
		argp_error(state, "--keep is not for call stacks: --least leaves out what has few samples");
	if (request->shown_events.sort)
		argp_error(state, "--sort is not for call stacks, which are of one event: --event names it");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_CALL(1, "tree", 0, NULL, 0, take_tree, "Call stacks, from the outermost callers down"),
	OPTION_CALL(1, "callers", 0, "PROCEDURE", 0, take_callers, "Call stacks, from PROCEDURE up to its callers"),
	OPTION_CALL(1, "callees", 0, "PROCEDURE", 0, take_callees, "Call stacks, from PROCEDURE down to what it calls"),
	OPTION_CALL(1, "inclusive", 0, NULL, 0, take_inclusive,
                    "Procedures of call stacks, with what they call and without"),
	OPTION_DOUBLE(1, "least", "PERCENT", struct prof_request, least_percent, 0, 100,
                      "Of call stacks, only what has PERCENT of the samples (0.5)"),
	OPTION_TRUE(1, "by-image", 'i', struct prof_request, by_image, "A row for each image, not each procedure"),
	OPTION_IMAGE(struct prof_request, options),
	OPTION_SHOWN_EVENTS(struct prof_request, shown_events, "Only the columns of this event"),
	OPTION_TEXT(1, "sort", "EVENT", struct prof_request, shown_events.sort, "Sort by this event"),
	OPTION_DOUBLE(1, "keep", "PERCENT", struct prof_request, keep_percent, 0, 100,
                      "Only the rows that PERCENT of the samples need"),
	OPTION_ROW_LIMIT(struct prof_request, limit),
	OPTION_NO_DEMANGLE(struct prof_request, demangle),
	OPTION_NO_INLINE(struct prof_request, no_inline),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_IMAGE_ARGUMENTS(struct prof_request, options),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Show where the samples of a dcpi profile database fell, by procedure or by image.\v"
	       "Without options: the latest epoch, all images. See dcpiprof(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct prof_request, options),
	.check = check,
};

TOOL_CSV_FUNCTION(prof)
TOOL_DEFINE(prof, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct prof_request request = {.demangle = true, .keep_percent = 100, .least_percent = 0.5};
	struct prof_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
