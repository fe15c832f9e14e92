
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/prof/report.h"

static json_t *
counts_json(const struct report *report, const struct histogram_row *row)
{
	json_t *counts = json_object();
	int failed = !counts;

	for (size_t i = 0; i < report->choice.columns.count; i++) {
		uint16_t event = report->choice.columns.events[i];

		failed |= json_object_set_new(counts, report->choice.selection->events[event].name,
		                              json_count(row->counts[event]));
	}
	return json_kept(counts, failed);
}

/* Where samples of an event are weighted: how many were taken, and what these stand for. */
static int
add_weights(const struct report *report, const struct histogram_row *row, json_t *object)
{
	json_t *taken = NULL, *events = NULL;
	int failed = 0;

	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const uint16_t index = report->choice.columns.events[i];
		const struct selection_event *event = &report->choice.selection->events[index];

		if (!event->is_weighted)
			continue;
		taken = taken ? taken : json_object();
		events = events ? events : json_object();
		failed |= json_object_set_new(taken, event->name, json_count(row->taken[index]));
		failed |= json_object_set_new(events, event->name, json_count(row->counts[index] * event->period));
	}
	if (taken || events) {
		failed |= json_object_set_new(object, "taken", taken);
		failed |= json_object_set_new(object, "events", events);
	}
	return failed;
}

static json_t *
row_json(const struct report *report, const struct histogram_row *row)
{
	const struct image *image = report->choice.selection->images[row->image].image;
	bool has_offset = row->title && row->procedure.kind <= PROCEDURE_UNNAMED;
	char build_id[BUILD_ID_TEXT_SIZE];
	json_t *object;

	build_id_format(image, build_id);
	object = json_pack("{s:o, s:o, s:o, s:s?, s:o}", "procedure", json_shown(row->title), "offset",
	                   has_offset ? json_count(row->procedure.offset) : json_null(), "image",
	                   json_shown(image->path), "build_id", build_id[0] ? build_id : NULL, "counts",
	                   counts_json(report, row));
	return json_kept(object, !object || add_weights(report, row, object));
}

int
prof_report_print_json(const struct report *report, FILE *stream)
{
	struct summary summary = prof_report_summary(report);
	json_t *root = json_pack("{s:s}", "schema", "dcpiprof/1");
	json_t *rows = json_array();
	int failed = !root || !rows;

	failed |= summary_json_events(&summary, root);
	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->histogram.rows[i]));
	failed |= json_object_set_new(root, "rows", rows);
	failed |= summary_json_totals(&summary, root);
	return json_print(json_kept(root, failed), stream);
}
