/*
 * perf_import.h - import a recording of `perf record` as an epoch of a database
 *
 * Memory grows with the number of different sampled places, not with the number of samples.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_PERF_IMPORT_H
#define DCPI_TOOLS_IMPORT_PERF_IMPORT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/message.h"
#include "event/event.h"
#include "process/stack_table.h"
#include "profile/epoch.h"
#include "profile/profile.h"
#include "stream/perf_data.h"

struct perf_import_request {
	struct profile *profile; /* a writer's */
	struct profile *known;   /* may have unwind tables of the images (import_tables.h); NULL: none */
	int fd;
	const char *label;                 /* of the epoch */
	const char *host;                  /* NULL: what the recording says */
	bool sums;                         /* keep the sums of periods */
	const volatile sig_atomic_t *stop; /* not 0: break it off */
};

struct perf_import_report {
	struct epoch epoch;                    /* as it was written; its id is 0 when there was no sample */
	bool is_known;                         /* the caller's: it was in the database already */
	struct slice_event events[EVENTS_MAX]; /* of the epoch's events */
	uint64_t samples;                      /* in the epoch, of all events that are not sums or branches */
	uint64_t call_chains;                  /* samples that had one, or a copy of the stack */
	uint64_t call_chains_left_out;         /* of them, those of events whose stacks had no room */
	uint64_t truncated[STACK_END_COUNT];   /* stacks that were not followed to their outermost frame, by cause */
	uint64_t no_event; /* samples of an event that the recording does not describe, or that had no room */
	uint64_t events_left_out;
	uint64_t late;        /* records that came after a younger one had been taken */
	uint64_t duration_ns; /* from the first sample to the last */
	uint64_t bytes;       /* read */
	uint64_t images;
	struct perf_data_fault fault; /* text NULL: it was whole */
};

/*
 * 0; -DCPI_EDAMAGED with report->fault: what came before is in the database; -EINTR when *stop was set; -ENOMEM,
 * the errno of reading, an error of the database: then what was written is an epoch without its end.
 */
int perf_import(const struct perf_import_request *request, struct perf_import_report *report);

/*
 * ---- The events of a recording as those of an epoch ----
 *
 * Events of one name are merged. For an event whose period varies, the sum of its periods is an event, too
 * (EVENT_SUM_SUFFIX); so are its call stacks (EVENT_STACKS_SUFFIX); samples of branch recorders make two more events
 * (profile/edges.h). An epoch has room for EVENTS_MAX: stacks are left out first, then sums, then the last events.
 */

#define IMPORT_NO_EVENT UINT16_MAX

/* Where the samples of an event of the recording go: indices into the epoch's events, or IMPORT_NO_EVENT. */
struct import_slot {
	uint16_t samples;
	uint16_t sum;
	uint16_t stacks;
	uint16_t stacks_sum;
	uint64_t registers; /* of a sample with a copy of the stack, as in its attribute; 0: it has none */
};

struct import_events {
	struct event events[EVENTS_MAX];
	size_t count;
	struct import_slot *slots; /* by the recording's index */
	size_t slot_count;
	uint16_t branch_stacks, runs; /* of branches; IMPORT_NO_EVENT: the recording has none */
	size_t left_out;              /* events that have no room */
};

/* 0 or -ENOMEM; `sums`: keep them. */
int import_events_init(struct import_events *events, const struct perf_data_event *recorded, size_t count, bool sums);
void import_events_fini(struct import_events *events); /* a zeroed one is allowed */

#endif
