/* Schema dcpitopstalls/1: man/dcpitopstalls.1.scd. */
#include "dcpi-tools/topstalls/report.h"

#include "dcpi-tools/common/json.h"

static json_t *
place_json(const struct top_place *place)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "address", json_count(place->address), "text", json_shown(place->text),
	                 "file", json_shown(place->path), "line",
	                 place->path ? json_integer(place->line) : json_null());
}

static json_t *
reason_json(const struct top_reason *reason)
{
	json_t *culprits = json_array();
	int failed = !culprits;

	for (size_t i = 0; i < reason->culprit_count; i++)
		failed |= json_array_append_new(culprits, place_json(&reason->culprits[i]));
	return json_pack("{s:s, s:f, s:f, s:o}", "reason", stall_cause_name(reason->cause), "low", reason->low, "high",
	                 reason->high, "culprits", json_kept(culprits, failed));
}

static json_t *
stall_json(const struct topstalls_report *report, const struct top_stall *stall)
{
	json_t *reasons = json_array(), *object = place_json(&stall->place);
	int failed = !reasons || !object;

	for (size_t i = 0; i < stall->reason_count; i++)
		failed |= json_array_append_new(reasons, reason_json(&stall->reasons[i]));
	failed |= json_object_set_new(object, "image", json_shown(report->survey.titles[stall->image]));
	failed |= json_object_set_new(object, "procedure", json_shown(stall->title));
	failed |= json_object_set_new(object, "lost", json_real(stall->lost));
	failed |= json_object_set_new(object, "percent", json_real(topstalls_report_percent(report, stall->lost)));
	failed |= json_object_set_new(object, "samples", json_real(stall->samples));
	failed |= json_object_set_new(object, "executions",
	                              stall->executions < 0 ? json_null() : json_real(stall->executions));
	failed |= json_object_set_new(object, "confidence", json_string(frequency_confidence_name(stall->confidence)));
	failed |= json_object_set_new(object, "cycles", json_real(stall->cycles));
	failed |= json_object_set_new(object, "unexplained", json_real(stall->unexplained));
	failed |= json_object_set_new(object, "reasons", reasons);
	return json_kept(object, failed);
}

int
topstalls_report_print_json(const struct topstalls_report *report, FILE *stream)
{
	const struct top_instructions *top = &report->top;
	json_t *root = survey_all_json(&report->survey, "dcpitopstalls/1"), *stalls = json_array();
	int failed = !root || !stalls;

	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(stalls, stall_json(report, &report->top.stalls[i]));
	failed |= json_object_set_new(root, "lost", json_real(top->lost));
	failed |= json_object_set_new(root, "instructions", json_count(top->instruction_count));
	failed |= json_object_set_new(root, "well_known_samples", json_real(top->well_known_samples));
	failed |= json_object_set_new(root, "stalls", stalls);
	return json_print(json_kept(root, failed), stream);
}
