/*
 * dcpitimeline - where the samples fell, slice by slice: man/dcpitimeline.1.scd
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "profile/timeline.h"

#define SERIES_DEFAULT 6
#define SERIES_MAX     64
#define NAME_WIDTH     16 /* columns that a heading is cut to */
#define SECOND_NS      1e9

const char *argp_program_version = "dcpitimeline " DCPI_VERSION;

/* What the user asked for. */
struct timeline_command {
	struct options options;
	const char *event;
	enum timeline_key key;
	size_t limit; /* series that have a column */
};

/* What is shown. */
struct timeline_report {
	const struct timeline_command *request;
	struct timeline timeline;
	size_t shown;   /* series, from the first on */
	double *matrix; /* [slice * (shown + 1) + series]: events; the last of a slice: of all other series */
};

static const char *const key_names[] = {
	[TIMELINE_IMAGE] = "image", [TIMELINE_COMMAND] = "command", [TIMELINE_CGROUP] = "cgroup"};

static void
fill_matrix(struct timeline_report *report)
{
	const size_t columns = report->shown + 1;

	for (size_t i = 0; i < report->timeline.cell_count; i++) {
		const struct timeline_cell *cell = &report->timeline.cells[i];
		const size_t column = cell->series < report->shown ? cell->series : report->shown;

		report->matrix[cell->slice * columns + column] += cell->events;
	}
}

static int
timeline_report_make(struct timeline_report *report, const struct timeline_command *request, struct database *database)
{
	const struct timeline_request wanted = {
		.selection = &request->options.request, .event = request->event, .key = request->key};
	char why[512] = "";
	int err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	err = timeline_read(database->profile, &wanted, &report->timeline, why, sizeof(why));
	if (err)
		return database_cannot_select(database, err, why);
	if (report->timeline.cell_count == 0)
		return report_choice_empty(database);
	report->shown = report->timeline.series_count < request->limit ? report->timeline.series_count : request->limit;
	report->matrix = calloc(report->timeline.slice_count * (report->shown + 1) + 1, sizeof(*report->matrix));
	if (!report->matrix)
		return database_cannot_read(database, -ENOMEM);
	fill_matrix(report);
	return STATUS_OK;
}

static void
timeline_report_fini(struct timeline_report *report)
{
	free(report->matrix);
	timeline_fini(&report->timeline);
}

static double
timeline_value(const struct timeline_report *report, size_t slice, size_t column)
{
	return report->matrix[slice * (report->shown + 1) + column];
}

/* ---- text: a line for each slice, and CSV ---- */

/* A clock's nanoseconds in a second are CPUs that were busy. */
static double
timeline_rate(const struct timeline_report *report, size_t slice, double events)
{
	const struct timeline_slice *of = &report->timeline.slices[slice];
	const double ns = of->end_ns > of->start_ns ? (double)(of->end_ns - of->start_ns) : 1;

	return strcmp(report->timeline.unit, "ns") == 0 ? events / ns : events * SECOND_NS / ns;
}

static struct table_column
number_column(const char *heading)
{
	return (struct table_column){.heading = heading, .align = TABLE_RIGHT, .gap = 2, .min_width = 6};
}

static struct table *
make_table(const struct timeline_report *report)
{
	struct table_column columns[SERIES_MAX + 5] = {{.heading = "from"}, {.heading = "for", .gap = 2}};
	char names[SERIES_MAX][4 * NAME_WIDTH + 1];
	size_t count = 2;

	columns[count++] = number_column("all");
	for (size_t i = 0; i < report->shown; i++) {
		const char *name = text_basename(report->timeline.series[i].name);

		if (report->request->key != TIMELINE_IMAGE)
			name = report->timeline.series[i].name;
		snprintf(names[i], sizeof(names[i]), "%.*s", (int)text_prefix(name, NAME_WIDTH), name);
		columns[count++] = number_column(names[i][0] ? names[i] : "-");
	}
	columns[count++] = number_column("others");
	columns[count++] = number_column("unknown");
	return table_new(columns, count);
}

static void
add_rate(const struct timeline_report *report, size_t slice, double events, struct table *table)
{
	const double rate = timeline_rate(report, slice, events);

	if (events > 0)
		table_format(table, STYLE_PLAIN, rate < 100 ? "%.3f" : "%.0f", rate);
	else
		table_text(table, STYLE_FAINT, "-");
}

static int
timeline_report_print_text(const struct timeline_report *report, const struct output *output)
{
	const struct timeline *timeline = &report->timeline;
	const bool is_clock = strcmp(timeline->unit, "ns") == 0;
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->slice_count; i++) {
		const struct timeline_slice *slice = &timeline->slices[i];
		char text[TIME_TEXT_SIZE];

		table_text(table, STYLE_PLAIN, time_format(slice->start_ns, text));
		table_text(table, STYLE_PLAIN, duration_format(slice->end_ns - slice->start_ns, text));
		add_rate(report, i, slice->events, table);
		for (size_t column = 0; column <= report->shown; column++)
			add_rate(report, i, timeline_value(report, i, column), table);
		add_rate(report, i, slice->unknown, table);
	}
	if (report->request->options.header) {
		text_print(timeline->event, output->stream);
		fprintf(output->stream, " by %s: %s\n\n", key_names[report->request->key],
		        is_clock ? "CPUs that were busy" : "events a second");
	}
	err = table_print(table, output, report->request->options.header);
	table_free(table);
	return err;
}

static int
timeline_report_print_csv(const struct timeline_report *report, FILE *stream)
{
	const struct timeline *timeline = &report->timeline;
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header) {
		csv_text(&csv, "start");
		csv_text(&csv, "end");
		csv_text(&csv, "epoch");
		csv_text(&csv, timeline->event);
		for (size_t i = 0; i < report->shown && !err; i++)
			err = csv_shown(&csv, timeline->series[i].name);
		csv_text(&csv, "others");
		csv_text(&csv, "unknown");
		csv_end(&csv);
	}
	for (size_t i = 0; i < timeline->slice_count && !err; i++) {
		csv_real(&csv, (double)timeline->slices[i].start_ns / SECOND_NS, 3);
		csv_real(&csv, (double)timeline->slices[i].end_ns / SECOND_NS, 3);
		csv_number(&csv, timeline->slices[i].epoch);
		csv_real(&csv, timeline->slices[i].events, 0);
		for (size_t column = 0; column <= report->shown; column++)
			csv_real(&csv, timeline_value(report, i, column), 0);
		csv_real(&csv, timeline->slices[i].unknown, 0);
		csv_end(&csv);
	}
	return err;
}

/* ---- schema dcpitimeline/1 ---- */

static json_t *
slice_json(const struct timeline_report *report, size_t index)
{
	const struct timeline_slice *slice = &report->timeline.slices[index];
	json_t *values = json_array();
	int failed = !values;

	for (size_t column = 0; column < report->shown; column++)
		failed |= json_array_append_new(values, json_real(timeline_value(report, index, column)));
	return json_pack("{s:f, s:f, s:I, s:I, s:f, s:o, s:f, s:f}", "start", (double)slice->start_ns / SECOND_NS,
	                 "end", (double)slice->end_ns / SECOND_NS, "epoch", (json_int_t)slice->epoch, "cpus",
	                 (json_int_t)slice->cpu_count, "events", slice->events, "values", json_kept(values, failed),
	                 "others", timeline_value(report, index, report->shown), "unknown", slice->unknown);
}

static int
timeline_report_print_json(const struct timeline_report *report, FILE *stream)
{
	const struct timeline *timeline = &report->timeline;
	json_t *series = json_array(), *slices = json_array();
	int failed = !series || !slices;

	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(series,
		                                json_pack("{s:o, s:f}", "name", json_shown(timeline->series[i].name),
		                                          "events", timeline->series[i].events));
	for (size_t i = 0; i < timeline->slice_count; i++)
		failed |= json_array_append_new(slices, slice_json(report, i));
	return json_print_exact(
		json_kept(json_pack("{s:s, s:o, s:o, s:s, s:I, s:o, s:o}", "schema", "dcpitimeline/1", "event",
	                            json_shown(timeline->event), "unit", json_shown(timeline->unit), "by",
	                            key_names[report->request->key], "series_count", (json_int_t)timeline->series_count,
	                            "series", series, "slices", slices),
	                  failed),
		stream);
}

static void
take_key(void *member, char *text, struct argp_state *state)
{
	*(enum timeline_key *)member = (enum timeline_key)options_choice(state, "kind of series", text, key_names,
	                                                                 sizeof(key_names) / sizeof(key_names[0]));
}

static void
check(void *checked, struct argp_state *state)
{
	const struct timeline_command *request = checked;

	if (request->limit > SERIES_MAX)
		argp_error(state, "--limit takes a whole number from 1 to %d", SERIES_MAX);
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_CALL(1, "by", 0, "KIND", offsetof(struct timeline_command, key), take_key,
                    "A column for each image (default), command or cgroup"),
	OPTION_TEXT(1, "event", "EVENT", struct timeline_command, event,
                    "Samples of this event (default: the first that could be counted)"),
	OPTION_COUNT(1, "limit", "N", struct timeline_command, limit,
                     "Columns for the N largest; the rest are others (default: 6)"),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.doc = "Show what a machine did over time: a row for each slice of a dcpi profile database.\v"
	       "Without options: the latest epoch, by image. See dcpitimeline(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct timeline_command, options),
	.check = check,
};

TOOL_CSV_FUNCTION(timeline)
TOOL_DEFINE(timeline, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct timeline_command request = {.limit = SERIES_DEFAULT};
	struct timeline_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
