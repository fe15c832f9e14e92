#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/survey_all.h"

static json_t *
event_json(const struct survey_all *survey)
{
	const struct selection_event *event = &survey->selection->events[survey->event];

	return json_pack("{s:o, s:o, s:o}", "name", json_shown(event->name), "unit", json_shown(event->unit), "period",
	                 event->period ? json_count(event->period) : json_null());
}

static json_t *
gap_json(const struct survey_all *survey, const struct survey_gap *gap)
{
	return json_pack("{s:s, s:o, s:o}", "reason", gap->why, "image",
	                 gap->image == SURVEY_NO_IMAGE ? json_null() : json_shown(survey->titles[gap->image]),
	                 "samples", json_count(gap->samples));
}

static json_t *
gaps_json(const struct survey_all *survey)
{
	json_t *gaps = json_array();
	int failed = !gaps;

	for (size_t i = 0; i < survey->gap_count; i++)
		failed |= json_array_append_new(gaps, gap_json(survey, &survey->gaps[i]));
	return json_kept(gaps, failed);
}

json_t *
survey_all_json(const struct survey_all *survey, const char *schema)
{
	const struct selection *selection = survey->selection;
	json_t *root =
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "schema", schema, "start",
	                  json_time(selection->start_ns), "end", json_time(selection->end_ns), "event",
	                  event_json(survey), "model", model_json(&survey->model), "relative", survey->is_relative,
	                  "samples", json_count(survey->samples), "analyzed", json_count(survey->analyzed),
	                  "procedure_count", json_count(survey->procedure_count), "not_analyzed", gaps_json(survey));
	int failed = !root;

	if (selection->events[survey->event].is_weighted)
		failed |= json_object_set_new(root, "taken", json_count(survey->taken));
	failed |= other_cores_json(&survey->left_out, selection, root);
	return json_kept(root, failed);
}
