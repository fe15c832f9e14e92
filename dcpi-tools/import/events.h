/*
 * events.h - the events of a recording as those of an epoch
 *
 * Events of one name are merged. For an event whose period varies, the sum of its periods is an event, too
 * (EVENT_SUM_SUFFIX); samples of branch recorders make two more events (profile/edges.h). An epoch has room for
 * EVENTS_MAX: sums are left out first, then the last events.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_IMPORT_EVENTS_H
#define DCPI_TOOLS_IMPORT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "stream/perf_data.h"

#define IMPORT_NO_EVENT UINT16_MAX

/* Where the samples of an event of the recording go: indices into the epoch's events, or IMPORT_NO_EVENT. */
struct import_slot {
	uint16_t samples;
	uint16_t sum;
};

struct import_events {
	struct event events[EVENTS_MAX];
	size_t count;
	struct import_slot *slots; /* by the recording's index */
	size_t slot_count;
	uint16_t stacks, runs; /* of branches; IMPORT_NO_EVENT: the recording has none */
	size_t left_out;       /* events that have no room */
};

/* 0 or -ENOMEM; `sums`: keep them. */
int import_events_init(struct import_events *events, const struct perf_data_event *recorded, size_t count, bool sums);
void import_events_fini(struct import_events *events); /* a zeroed one is allowed */

#endif
