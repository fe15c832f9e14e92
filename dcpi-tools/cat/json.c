/* One image a line, each made and freed before the next: a database may have millions of offsets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/cat/report.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"

static json_t *
row_json(const struct cat_report *report, const struct sampled_offset *row)
{
	json_t *values = json_array();
	int failed = !values;

	failed |= json_array_append_new(values, json_count(row->offset));
	for (size_t i = 0; i < report->choice.columns.count; i++)
		failed |= json_array_append_new(values, json_count(cat_row_samples(report, row, i)));
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const uint16_t event = report->choice.columns.events[i];

		if (report->choice.selection->events[event].is_weighted)
			failed |= json_array_append_new(values,
			                                json_count(sample_points_taken(&report->points, row, event)));
	}
	if (report->request->names) {
		uint64_t base;
		const char *procedure = cat_row_procedure(report, row, &base);

		failed |= json_array_append_new(values, json_shown(procedure));
		failed |= json_array_append_new(values, procedure ? json_count(base) : json_null());
	}
	return json_kept(values, failed);
}

static json_t *
image_json(const struct cat_report *report, const struct cat_image *image)
{
	const struct image *which = cat_image_of(report, image);
	char build_id[BUILD_ID_TEXT_SIZE];
	json_t *rows = json_array(), *samples = json_array();
	int failed = !rows || !samples;

	build_id_format(which, build_id);
	for (size_t i = 0; i < image->row_count; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->points.points[image->first_row + i]));
	for (size_t i = 0; i < report->choice.columns.count; i++)
		failed |= json_array_append_new(samples, json_count(cat_image_samples(report, image, i)));
	return json_pack("{s:o, s:s, s:s?, s:o, s:o}", "image", json_shown(which->path), "kind", cat_kind(which),
	                 "build_id", build_id[0] ? build_id : NULL, "samples", samples, "rows",
	                 json_kept(rows, failed));
}

static json_t *
columns_json(const struct cat_report *report)
{
	json_t *columns = json_array();
	int failed = !columns;

	failed |= json_array_append_new(columns, json_string("offset"));
	for (size_t i = 0; i < report->choice.columns.count; i++)
		failed |= json_array_append_new(
			columns, json_shown(columns_event(report->choice.selection, &report->choice.columns, i)->name));
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const struct selection_event *event =
			columns_event(report->choice.selection, &report->choice.columns, i);
		char name[EVENT_NAME_SIZE + sizeof(" taken")];

		snprintf(name, sizeof(name), "%s taken", event->name);
		if (event->is_weighted)
			failed |= json_array_append_new(columns, json_shown(name));
	}
	if (report->request->names) {
		failed |= json_array_append_new(columns, json_string("procedure"));
		failed |= json_array_append_new(columns, json_string("procedure_offset"));
	}
	return json_kept(columns, failed);
}

/* Everything but the images. */
static json_t *
head_json(const struct cat_report *report)
{
	const struct summary summary = {
		.selection = report->choice.selection,
		.request = &report->request->options.request,
		.columns = &report->choice.columns,
		.totals = report->totals,
	};
	json_t *root = json_pack("{s:s}", "schema", "dcpicat/1");
	int failed = !root;

	failed |= summary_json_events(&summary, root);
	failed |= summary_json_totals(&summary, root);
	failed |= json_object_set_new(root, "columns", columns_json(report));
	return json_kept(root, failed);
}

/* A value on one line, without its last `left_out` bytes; it is freed. */
static int
print_line(json_t *value, size_t left_out, FILE *stream)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(value);
	if (!text)
		return -ENOMEM;
	fwrite(text, 1, strlen(text) - left_out, stream);
	free(text);
	return 0;
}

int
cat_report_print_json(const struct cat_report *report, FILE *stream)
{
	int err = print_line(head_json(report), 1, stream); /* without its closing brace */

	fputs(",\"images\":[", stream);
	for (size_t i = 0; i < report->image_count && !err; i++) {
		fputs(i ? ",\n" : "\n", stream);
		err = print_line(image_json(report, &report->images[i]), 0, stream);
	}
	fputs("\n]}\n", stream);
	return err;
}
