
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

static json_t *
row_json(const struct report *report, const struct histogram_row *row)
{
	const struct image *image = report->choice.selection->images[row->image].image;
	bool has_offset = row->title && row->procedure.kind <= PROCEDURE_UNNAMED;
	char build_id[BUILD_ID_TEXT_SIZE];

	build_id_format(image, build_id);
	return json_pack("{s:o, s:o, s:o, s:s?, s:o}", "procedure", json_shown(row->title), "offset",
	                 has_offset ? json_count(row->procedure.offset) : json_null(), "image", json_shown(image->path),
	                 "build_id", build_id[0] ? build_id : NULL, "counts", counts_json(report, row));
}

int
report_print_json(const struct report *report, FILE *stream)
{
	struct summary summary = report_summary(report);
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
