#include "dcpi-tools/emu/profile_events.h"

#include <stdio.h>
#include <string.h>

#include "dcpi-tools/common/stall_truth.h"

static struct event *
add(struct profile_events *events, const char *name, const char *unit, uint32_t type, uint16_t *number)
{
	struct event *event = &events->events[events->count];

	*event = (struct event){.encoding = {.type = type}, .period = 1, .available = true, .user = true};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", name);
	snprintf(event->encoding.unit, sizeof(event->encoding.unit), "%s", unit);
	*number = events->count++;
	return event;
}

static void
add_sampled(struct profile_events *events, const struct setup *setup, enum setup_event which)
{
	const bool is_time = which == SETUP_EVENT_CYCLES;
	struct event *event = add(events, setup_event_name(which), is_time ? "cycles" : "events", EVENT_TYPE_EMULATED,
	                          &events->sampled[which]);

	event->period = setup->periods[which];
	event->precise = EVENT_PRECISE_MAX;
	if (!is_time)
		return;
	event->rate = (uint64_t)(setup->machine.clock_mhz * 1e6 / (double)event->period);
	snprintf(event->note, sizeof(event->note), "virtual cycles of %s, which was emulated", setup->machine.name);
}

static const uint8_t truths[REASON_COUNT] = {
	[REASON_EXECUTION] = TRUTH_COUNT,
	[REASON_CODE_CACHE] = TRUTH_CODE_CACHE,
	[REASON_CODE_TLB] = TRUTH_CODE_TLB,
	[REASON_DATA_CACHE] = TRUTH_DATA_CACHE,
	[REASON_DATA_TLB] = TRUTH_DATA_TLB,
	[REASON_WRITE_BUFFER] = TRUTH_WRITE_BUFFER,
	[REASON_MISPREDICT] = TRUTH_MISPREDICT,
	[REASON_BANDWIDTH] = TRUTH_BANDWIDTH,
	[REASON_CALL] = TRUTH_CALL,
	[REASON_BLOCKED] = TRUTH_BLOCKED,
};

static void
add_truth(struct profile_events *events, const struct setup *setup, unsigned reason)
{
	const char *name = stall_truth_event_name(truths[reason]);
	struct event *event;

	if (!name)
		return;
	event = add(events, name, "stall cycles", EVENT_TYPE_TRUTH, &events->truth[reason]);
	snprintf(event->note, sizeof(event->note), "no samples, but cycles that instructions of %s waited",
	         setup->machine.name);
}

void
profile_events_init(struct profile_events *events, const struct setup *setup)
{
	memset(events, 0, sizeof(*events));
	events->executions = PROFILE_NO_EVENT;
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++) {
		events->sampled[i] = PROFILE_NO_EVENT;
		if (setup->parts & SETUP_SAMPLES && setup->periods[i] > 0)
			add_sampled(events, setup, i);
	}
	if (setup->parts & SETUP_COUNTS)
		add(events, "executions", "executions", EVENT_TYPE_DCPIX, &events->executions);
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		events->truth[i] = PROFILE_NO_EVENT;
		if (setup->parts & SETUP_TRUTH)
			add_truth(events, setup, i);
	}
}
