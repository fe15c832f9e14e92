#include "code/schedule.h"
#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/json.h"

static json_t *
ranges_json(const struct breakdown *breakdown)
{
	json_t *ranges = json_object();
	int failed = !ranges;

	for (unsigned i = 0; i < DYNAMIC_COUNT; i++)
		failed |= json_object_set_new(
			ranges, breakdown_dynamic_name(i),
			json_pack("{s:f, s:f}", "low", breakdown->low[i], "high", breakdown->high[i]));
	return json_kept(ranges, failed);
}

static json_t *
static_json(const struct breakdown *breakdown)
{
	json_t *fixed = json_object();
	int failed = !fixed;

	for (unsigned i = 0; i < BREAKDOWN_STATIC; i++)
		failed |= json_object_set_new(fixed, stall_reason_name(i), json_real(breakdown->fixed[i]));
	return json_kept(fixed, failed);
}

json_t *
breakdown_json(const struct breakdown *breakdown)
{
	return json_pack("{s:f, s:f, s:f, s:o, s:f, s:o, s:f, s:f, s:f}", "best_cycles", breakdown->best_cycles,
	                 "actual_cycles", breakdown->actual_cycles, "instructions", breakdown->instructions,
	                 "dynamic_by_reason", ranges_json(breakdown), "dynamic", breakdown->dynamic, "static",
	                 static_json(breakdown), "execution", breakdown->execution, "sampling_error",
	                 breakdown->sampling_error, "tallied", breakdown->tallied_percent);
}
