/* Schema dcpiwhatcg/1: man/dcpiwhatcg.1.scd. */

#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/whatcg/report.h"

static json_t *
summary_json(const struct whatcg_part *part)
{
	struct breakdown breakdown;
	double vague, missing;
	json_t *summary;
	int failed = 0;

	breakdown_make(&part->summary, (double)part->samples, &breakdown);
	whatcg_part_rest(part, breakdown.tallied, &vague, &missing);
	breakdown.tallied_percent = breakdown.tallied;
	summary = breakdown_json(&breakdown);
	failed |= json_object_set_new(summary, "frequency_unknown", json_real(vague));
	failed |= json_object_set_new(summary, "not_analyzed", json_real(missing));
	return json_kept(summary, failed);
}

/* Whose samples: an image's, or a procedure's. */
static json_t *
part_samples_json(const struct whatcg_report *report, const struct whatcg_part *part)
{
	const struct survey_all *survey = &report->survey;
	json_t *object = json_pack("{s:o, s:o}", "image", json_shown(survey->titles[part->image]), "samples",
	                           json_count(part->samples));
	int failed = !object;

	if (survey->selection->events[survey->event].is_weighted)
		failed |= json_object_set_new(object, "taken", json_count(part->taken));
	if (part->title)
		failed |= json_object_set_new(object, "procedure", json_shown(part->title));
	return json_kept(object, failed);
}

static json_t *
parts_json(const struct whatcg_report *report, const struct whatcg_part *parts, size_t count)
{
	const size_t shown = whatcg_report_cut(report, parts, count);
	json_t *array = json_array();
	int failed = !array;

	for (size_t i = 0; i < shown; i++) {
		json_t *object = part_samples_json(report, &parts[i]);

		failed |= json_object_set_new(object, "summary", summary_json(&parts[i]));
		failed |= json_array_append_new(array, object);
	}
	return json_kept(array, failed);
}

static json_t *
stalled_json(const struct whatcg_report *report)
{
	const struct whatcg_row *row = &report->request->stall;
	json_t *array = json_array();
	int failed = !array;

	for (size_t i = 0; i < report->stalled_count; i++) {
		const struct whatcg_part *part = report->stalled[i];
		json_t *object = part_samples_json(report, part);

		failed |= json_object_set_new(object, "low", json_real(whatcg_row_low(row, &part->summary)));
		failed |= json_object_set_new(object, "high", json_real(whatcg_row_high(row, &part->summary)));
		failed |= json_array_append_new(array, object);
	}
	return json_pack("{s:s, s:o}", "reason", row->name, "procedures", json_kept(array, failed));
}

int
whatcg_report_print_json(const struct whatcg_report *report, FILE *stream)
{
	const struct whatcg_request *request = report->request;
	json_t *root = survey_all_json(&report->survey, "dcpiwhatcg/1");
	int failed = 0;

	failed |= json_object_set_new(root, "summary", summary_json(&report->all));
	if (request->by_image)
		failed |= json_object_set_new(
			root, "images", parts_json(report, report->images, report->survey.selection->image_count));
	if (request->by_procedure)
		failed |= json_object_set_new(root, "procedures",
		                              parts_json(report, report->procedures, report->procedure_count));
	if (request->has_stall)
		failed |= json_object_set_new(root, "stall", stalled_json(report));
	return json_print(json_kept(root, failed), stream);
}
