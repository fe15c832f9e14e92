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

static json_t *
sum_json(const struct verdict_sum *sum)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "judged_samples", sum->samples, "within_5_percent",
	                 sum->within[0], "within_10_percent", sum->within[1], "within_15_percent", sum->within[2],
	                 "stall_cycles", sum->stall_cycles, "right_reason_cycles", sum->causes, "right_culprit_cycles",
	                 sum->culprits);
}

static json_t *
accuracy_json(const struct topstalls_report *report)
{
	const struct accuracy *accuracy = &report->accuracy;
	json_t *procedures = json_array(), *object = sum_json(&accuracy->sum);
	int failed = !procedures || !object;

	for (size_t i = 0; !failed && i < accuracy->count && topstalls_report_shows_procedure(report, i); i++) {
		const struct accuracy_procedure *procedure = &accuracy->procedures[i];
		json_t *row = sum_json(&procedure->sum);

		failed |= json_object_set_new(row, "procedure", json_shown(procedure->title));
		failed |= json_object_set_new(row, "image", json_shown(report->survey.titles[procedure->image]));
		failed |= json_object_set_new(row, "samples", json_count(procedure->samples));
		failed |= json_array_append_new(procedures, row);
	}
	failed |= json_object_set_new(object, "epoch", accuracy->epoch ? json_count(accuracy->epoch) : json_null());
	failed |= json_object_set_new(object, "procedures", procedures);
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
	if (report->request->survey.check)
		failed |= json_object_set_new(root, "check", accuracy_json(report));
	return json_print(json_kept(root, failed), stream);
}
