/*
 * totals.h - what was counted in the epochs that have ended, since dcpid began
 *
 * An epoch's numbers begin at 0, and events come and go with the configuration; a program that draws curves of a
 * daemon needs numbers that only grow. Events are identified by their name, so that two that became the same (a clock
 * that stands in for cycles, beside that clock) are one.
 * Thread rule: the event loop's thread.
 */
#ifndef DCPI_COLLECTORD_TOTALS_H
#define DCPI_COLLECTORD_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/epoch.h"

struct totals_event {
	char name[EVENT_NAME_SIZE];
	struct slice_event counts;
};

struct totals {
	size_t event_count;
	struct totals_event *events; /* in the order in which they came up first */
	uint64_t epochs;             /* begun, the one that goes on included */
};

void totals_fini(struct totals *totals);

/* Make room for the events of an epoch that is to begin: 0, or -ENOMEM with nothing changed. */
int totals_reserve(struct totals *totals, const struct epoch *epoch);

/* Add what was counted in `epoch` (room was made for it), one of `counts` for each of its events. */
void totals_add(struct totals *totals, const struct epoch *epoch, const struct slice_event *counts);

#endif
