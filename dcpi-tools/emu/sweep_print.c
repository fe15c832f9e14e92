#include <errno.h>
#include <stdlib.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/sweep.h"

static double
scale(const struct sweep_point *point)
{
	return point->throughput * point->first / point->threads;
}

/* How far the slowest and the fastest run are apart, in percent of the median. */
static double
spread(const struct sweep_point *point)
{
	return point->median > 0 ? 100 * (point->seconds[point->runs - 1] - point->seconds[0]) / point->median : 0;
}

static void
add_row(struct table *table, const struct sweep_point *point)
{
	table_format(table, STYLE_PLAIN, "%u", point->threads);
	table_format(table, STYLE_PLAIN, "%.6f", point->median);
	if (point->runs > 1)
		table_format(table, STYLE_PLAIN, "%.2f%%", spread(point));
	else
		table_text(table, STYLE_PLAIN, "-");
	table_format(table, STYLE_PLAIN, "%.3f", point->throughput);
	table_format(table, STYLE_PLAIN, "%.1f%%", 100 * scale(point));
	table_format(table, STYLE_PLAIN, "%.2f", point->cores_busy);
	table_format(table, STYLE_PLAIN, "%.2f", point->bandwidth);
	table_format(table, STYLE_PLAIN, "%.1f%%", point->limit > 0 ? 100 * point->bandwidth / point->limit : 0);
	table_format(table, STYLE_PLAIN, "%.1f", point->host_seconds);
	table_text(table, STYLE_PLAIN, point->machine->name);
}

int
sweep_print_text(const struct sweep *sweep, const struct output *output, bool header)
{
	static const struct table_column columns[] = {
		{.heading = "threads", .align = TABLE_RIGHT},
		{.heading = "seconds", .align = TABLE_RIGHT, .gap = 1, .min_width = 11},
		{.heading = "spread", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "throughput", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "perfect", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "busy", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "GB/s", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "limit", .align = TABLE_RIGHT, .gap = 1, .min_width = 6},
		{.heading = "s here", .align = TABLE_RIGHT, .gap = 1},
		{.heading = "machine", .gap = 2},
	};
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int err;

	for (size_t i = 0; table && i < sweep->count; i++)
		add_row(table, &sweep->points[i]);
	err = table ? table_print(table, output, header) : -ENOMEM;
	table_free(table);
	return err;
}

static json_t *
point_of(const struct sweep_point *point)
{
	json_t *object = json_object(), *runs = json_array();
	int err = 0;

	err |= json_object_set_new(object, "machine", json_shown(point->machine->name));
	err |= json_object_set_new(object, "title", json_shown(point->machine->title));
	err |= json_object_set_new(object, "cores", json_count(point->machine->cores));
	err |= json_object_set_new(object, "threads", json_count(point->threads));
	for (unsigned i = 0; i < point->runs; i++)
		err |= json_array_append_new(runs, json_real(point->seconds[i]));
	err |= json_object_set_new(object, "runs_seconds", runs);
	err |= json_object_set_new(object, "seconds", json_real(point->median));
	err |= json_object_set_new(object, "throughput", json_real(point->throughput));
	err |= json_object_set_new(object, "of_perfect", json_real(scale(point)));
	err |= json_object_set_new(object, "cores_busy", json_real(point->cores_busy));
	err |= json_object_set_new(object, "gb_per_second", json_real(point->bandwidth));
	err |= json_object_set_new(object, "limit_gb_per_second", json_real(point->limit));
	err |= json_object_set_new(object, "host_seconds", json_real(point->host_seconds));
	err |= json_object_set_new(object, "label", point->epoch ? json_shown(point->label) : json_null());
	err |= json_object_set_new(object, "epoch", point->epoch ? json_count(point->epoch) : json_null());
	return json_kept(object, err);
}

int
sweep_print_json(const struct sweep *sweep, FILE *stream)
{
	json_t *root = json_object(), *points = json_array(), *command = json_array();
	int err = 0;

	err |= json_object_set_new(root, "schema", json_string("dcpiemu-sweep/1"));
	for (size_t i = 0; sweep->command[i]; i++)
		err |= json_array_append_new(command, json_shown(sweep->command[i]));
	err |= json_object_set_new(root, "command", command);
	err |= json_object_set_new(root, "database", json_shown(sweep->database));
	for (size_t i = 0; i < sweep->count; i++)
		err |= json_array_append_new(points, point_of(&sweep->points[i]));
	err |= json_object_set_new(root, "points", points);
	return err ? (json_decref(root), -ENOMEM) : json_print_exact(root, stream);
}

int
sweep_print_csv(const struct sweep *sweep, FILE *stream, bool header)
{
	static const char *const headings[] = {"machine",     "threads",       "seconds",
	                                       "least",       "most",          "throughput",
	                                       "cores_busy",  "gb_per_second", "limit_gb_per_second",
	                                       "host_seconds"};
	struct csv csv = {.stream = stream};
	int err = 0;

	for (size_t i = 0; header && i < sizeof(headings) / sizeof(headings[0]); i++)
		csv_text(&csv, headings[i]);
	if (header)
		csv_end(&csv);
	for (size_t i = 0; i < sweep->count && !err; i++) {
		const struct sweep_point *point = &sweep->points[i];

		err = csv_shown(&csv, point->machine->name);
		csv_number(&csv, point->threads);
		csv_real(&csv, point->median, 9);
		csv_real(&csv, point->seconds[0], 9);
		csv_real(&csv, point->seconds[point->runs - 1], 9);
		csv_real(&csv, point->throughput, 6);
		csv_real(&csv, point->cores_busy, 3);
		csv_real(&csv, point->bandwidth, 3);
		csv_real(&csv, point->limit, 3);
		csv_real(&csv, point->host_seconds, 3);
		csv_end(&csv);
	}
	return err;
}
