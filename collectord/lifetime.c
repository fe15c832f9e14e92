#include "collectord/lifetime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lifetime_event *
find(const struct lifetime *lifetime, const char *name)
{
	for (size_t i = 0; i < lifetime->event_count; i++)
		if (strcmp(lifetime->events[i].name, name) == 0)
			return &lifetime->events[i];
	return NULL;
}

void
lifetime_fini(struct lifetime *lifetime)
{
	free(lifetime->events);
	*lifetime = (struct lifetime){0};
}

int
lifetime_reserve(struct lifetime *lifetime, const struct epoch *epoch)
{
	struct lifetime_event *events;

	events = reallocarray(lifetime->events, lifetime->event_count + epoch->event_count + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	lifetime->events = events;
	for (size_t i = 0; i < epoch->event_count; i++) {
		struct lifetime_event *event = &events[lifetime->event_count];

		if (!epoch->events[i].available || event_is_sum(&epoch->events[i]) ||
		    find(lifetime, epoch->events[i].name))
			continue;
		*event = (struct lifetime_event){0};
		snprintf(event->name, sizeof(event->name), "%s", epoch->events[i].name);
		lifetime->event_count++;
	}
	return 0;
}

void
lifetime_add(struct lifetime *lifetime, const struct epoch *epoch, const struct slice_event *counts)
{
	for (size_t i = 0; i < epoch->event_count; i++) {
		struct lifetime_event *event = find(lifetime, epoch->events[i].name);

		if (event && epoch->events[i].available)
			slice_event_add(&event->counts, &counts[i]);
	}
}
