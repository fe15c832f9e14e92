#include "collectord/totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct totals_event *
find(const struct totals *totals, const char *name)
{
	for (size_t i = 0; i < totals->event_count; i++)
		if (strcmp(totals->events[i].name, name) == 0)
			return &totals->events[i];
	return NULL;
}

void
totals_fini(struct totals *totals)
{
	free(totals->events);
	*totals = (struct totals){0};
}

int
totals_reserve(struct totals *totals, const struct epoch *epoch)
{
	struct totals_event *events;

	events = reallocarray(totals->events, totals->event_count + epoch->event_count + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	totals->events = events;
	for (size_t i = 0; i < epoch->event_count; i++) {
		struct totals_event *event = &events[totals->event_count];

		if (!epoch->events[i].available || event_is_sum(&epoch->events[i]) ||
		    find(totals, epoch->events[i].name))
			continue;
		*event = (struct totals_event){0};
		snprintf(event->name, sizeof(event->name), "%s", epoch->events[i].name);
		totals->event_count++;
	}
	return 0;
}

void
totals_add(struct totals *totals, const struct epoch *epoch, const struct slice_event *counts)
{
	for (size_t i = 0; i < epoch->event_count; i++) {
		struct totals_event *event = find(totals, epoch->events[i].name);

		if (event && epoch->events[i].available)
			slice_event_add(&event->counts, &counts[i]);
	}
}
