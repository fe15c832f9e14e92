#include "dcpi-tools/import/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRANCH_EVENTS 2

/* The sum of periods is not samples times period. */
static bool
varies(const struct perf_event_attr *attr)
{
	return attr->freq && attr->sample_type & PERF_SAMPLE_PERIOD;
}

static uint16_t
find(const struct import_events *events, const char *name)
{
	for (size_t i = 0; i < events->count; i++)
		if (strcmp(events->events[i].name, name) == 0)
			return (uint16_t)i;
	return IMPORT_NO_EVENT;
}

static void
describe(const struct perf_data_event *recorded, const char *name, struct event *event)
{
	const struct perf_event_attr *attr = &recorded->attr;

	*event = (struct event){
		.encoding = {.type = attr->type,
	                     .config = attr->config,
	                     .config1 = attr->config1,
	                     .config2 = attr->config2},
		.period = attr->freq ? 0 : attr->sample_period,
		.rate = attr->freq ? attr->sample_freq : 0,
		.precise = attr->precise_ip,
		.available = true,
		.user = !attr->exclude_user,
		.kernel = !attr->exclude_kernel,
		.idle = !attr->exclude_idle,
	};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", name);
	event_unit_of(name, event->encoding.unit);
}

/* An event of which each count is one. */
static uint16_t
add_counted(struct import_events *events, const char *name, const char *unit, const char *note)
{
	struct event *event = &events->events[events->count];

	*event = (struct event){.encoding = {.type = EVENT_TYPE_DCPIX}, .period = 1, .available = true, .user = true};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", name);
	snprintf(event->note, sizeof(event->note), "%s", note);
	snprintf(event->encoding.unit, sizeof(event->encoding.unit), "%s", unit);
	return (uint16_t)events->count++;
}

static void
add_samples(struct import_events *events, const struct perf_data_event *recorded, size_t count, size_t room)
{
	for (size_t i = 0; i < count; i++) {
		const struct perf_event_attr *attr = &recorded[i].attr;
		struct import_slot *slot = &events->slots[i];
		char name[EVENT_NAME_SIZE];

		*slot = (struct import_slot){IMPORT_NO_EVENT, IMPORT_NO_EVENT};
		if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY)
			continue;
		if (recorded[i].name && recorded[i].name[0])
			snprintf(name, EVENT_NAME_SIZE, "%s", recorded[i].name);
		else
			event_name_of(attr, name);
		slot->samples = find(events, name);
		if (slot->samples != IMPORT_NO_EVENT)
			continue;
		if (events->count == room) {
			events->left_out++;
			continue;
		}
		slot->samples = (uint16_t)events->count;
		describe(&recorded[i], name, &events->events[events->count++]);
	}
}

static void
add_sums(struct import_events *events, const struct perf_data_event *recorded, size_t count, size_t room)
{
	for (size_t i = 0; i < count; i++) {
		struct import_slot *slot = &events->slots[i];
		struct event sum;

		if (slot->samples == IMPORT_NO_EVENT || !varies(&recorded[i].attr) ||
		    !event_sum_of(&events->events[slot->samples], &sum))
			continue;
		slot->sum = find(events, sum.name);
		if (slot->sum != IMPORT_NO_EVENT || events->count >= room)
			continue;
		slot->sum = (uint16_t)events->count;
		events->events[events->count++] = sum;
	}
}

int
import_events_init(struct import_events *events, const struct perf_data_event *recorded, size_t count, bool sums)
{
	bool branches = false;
	size_t room = EVENTS_MAX;

	memset(events, 0, sizeof(*events));
	events->stacks = events->runs = IMPORT_NO_EVENT;
	events->slots = calloc(count + 1, sizeof(*events->slots));
	if (!events->slots)
		return -ENOMEM;
	events->slot_count = count;
	for (size_t i = 0; i < count; i++)
		branches |= (recorded[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
	if (branches)
		room -= BRANCH_EVENTS;
	add_samples(events, recorded, count, room);
	if (sums)
		add_sums(events, recorded, count, room);
	if (branches) {
		events->stacks =
			add_counted(events, "branch-stacks", "branches", "taken, as a branch recorder saw them");
		events->runs =
			add_counted(events, "branch-runs", "runs", "executed between two branches that were taken");
	}
	return 0;
}

void
import_events_fini(struct import_events *events)
{
	free(events->slots);
	memset(events, 0, sizeof(*events));
}
