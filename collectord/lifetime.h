/*
 * lifetime.h - what was counted in the epochs that have ended, since dcpid began
 *
 * An epoch's numbers begin at 0, and events come and go with the configuration; who draws curves of a daemon wants
 * numbers that only grow. Events are told apart by their name, so that two that became the same (a clock that stands in
 * for cycles, beside that clock) are one.
 * Thread rule: the event loop's thread.
 */
#ifndef DCPI_COLLECTORD_LIFETIME_H
#define DCPI_COLLECTORD_LIFETIME_H

#include <stddef.h>
#include <stdint.h>

#include "profile/epoch.h"

struct lifetime_event {
	char name[EVENT_NAME_SIZE];
	struct slice_event counts;
};

struct lifetime {
	size_t event_count;
	struct lifetime_event *events; /* in the order in which they came up first */
	uint64_t epochs;               /* begun, the one that goes on included */
};

void lifetime_fini(struct lifetime *lifetime);

/* Make room for the events of an epoch that is to begin: 0, or -ENOMEM with nothing changed. */
int lifetime_reserve(struct lifetime *lifetime, const struct epoch *epoch);

/* Add what was counted in `epoch` (room was made for it), one of `counts` for each of its events. */
void lifetime_add(struct lifetime *lifetime, const struct epoch *epoch, const struct slice_event *counts);

#endif
