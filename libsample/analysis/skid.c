#include "analysis/skid.h"

#include <linux/perf_event.h>
#include <string.h>

#define ADDRESS_OF_NEXT 1 /* precise_ip of PEBS whose address is that behind the instruction */

enum vendor {
	VENDOR_PEBS, /* Intel's, and whatever else grants levels of precision */
	VENDOR_IBS,
	VENDOR_ARM,
};

/* epoch.cpu is "... (VENDOR family F model M ...)", as dcpid and dcpimport write it; or of Arm "... implementer 0x..."
 */
static enum vendor
vendor_of(const char *cpu)
{
	if (strstr(cpu, "(AuthenticAMD ") || strstr(cpu, "(HygonGenuine "))
		return VENDOR_IBS;
	if (strstr(cpu, "implementer 0x"))
		return VENDOR_ARM;
	return VENDOR_PEBS;
}

static bool
is_recorded_by_unit(const char *name)
{
	static const char *const units[] = {"ibs_op", "ibs_fetch", "arm_spe"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strncmp(name, units[i], strlen(units[i])) == 0)
			return true;
	return false;
}

/* Arm's PMU takes every precise_ip, and counts as with none: what perf asks for by itself means nothing there. */
static bool
is_precise(const struct event *event, enum vendor vendor)
{
	return is_recorded_by_unit(event->name) || (event->precise > 0 && vendor != VENDOR_ARM);
}

struct skid
skid_of_event(const struct event *event, const char *cpu, const struct pipeline *pipeline)
{
	const uint32_t type = event->encoding.type;
	const enum vendor vendor = vendor_of(cpu);

	if (type == EVENT_TYPE_DCPIX || type == EVENT_TYPE_EMULATED || type == EVENT_TYPE_TRUTH)
		return (struct skid){0, SKID_NONE, false};
	/* perf asks for precise levels of clocks, too, and the kernel takes them without a meaning. */
	if (event_is_clock(&event->encoding) || strcmp(event->encoding.unit, "ns") == 0)
		return (struct skid){pipeline->timer_skid, SKID_TIMER, false};
	if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT || type == PERF_TYPE_BREAKPOINT)
		return (struct skid){0, SKID_NONE, false}; /* the kernel takes the sample where it happens */
	if (is_precise(event, vendor))
		return (struct skid){vendor == VENDOR_PEBS && event->precise == ADDRESS_OF_NEXT, SKID_PRECISE, false};
	if (pipeline->pmu_skid == PIPELINE_SKID_UNKNOWN)
		return (struct skid){pipeline->timer_skid, SKID_ASSUMED, false};
	return (struct skid){pipeline->pmu_skid, SKID_PMU, false};
}

struct skid
skid_of_selection(const struct selection *selection, const char *name, const struct pipeline *pipeline)
{
	struct skid found = {pipeline->timer_skid, SKID_ASSUMED, false};
	bool is_first = true;

	for (size_t i = selection_epochs_matched(selection); i-- > 0;) {
		const struct epoch *epoch = &selection->epochs[i];

		for (size_t k = 0; k < epoch->event_count; k++) {
			const struct event *event = &epoch->events[k];
			struct skid skid;

			if (!event->available || strcmp(event->name, name) != 0)
				continue;
			skid = skid_of_event(event, epoch->cpu, pipeline);
			if (is_first)
				found = skid;
			else if (skid.instructions != found.instructions || skid.source != found.source)
				found.differs = true;
			is_first = false;
		}
	}
	return found;
}
