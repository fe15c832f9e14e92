#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/prof/report.h"

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
	failed = columns_json_add(object, "counts", report->choice.selection, &report->choice.columns, row->counts,
	                          row->taken);
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const uint16_t index = report->choice.columns.events[i];
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

int
prof_report_print_json(const struct prof_report *report, FILE *stream)
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
