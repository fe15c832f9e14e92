#include "dcpi-tools/common/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

static const struct selection_event *
event_called(const struct selection *selection, const char *name)
{
	for (size_t i = 0; i < selection->event_count; i++)
		if (strcmp(selection->events[i].name, name) == 0)
			return &selection->events[i];
	return NULL;
}

/* The event that was counted because `name`, which was asked for, could not be. */
static const struct selection_event *
stand_in_for(const struct selection *selection, const char *name)
{
	for (size_t i = 0; i < selection->event_count; i++)
		if (selection->events[i].available && strcmp(selection->events[i].requested, name) == 0)
			return &selection->events[i];
	return NULL;
}

static void
list_events(const struct selection *selection, char *list, size_t size)
{
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; i < selection->event_count && used < size; i++) {
		char shown[4 * EVENT_NAME_SIZE];

		if (!selection->events[i].available)
			continue;
		escape_text(selection->events[i].name, shown, sizeof(shown));
		used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "", shown);
	}
}

static int
explain_unknown(const struct selection *selection, const char *name, char *why, size_t size)
{
	const struct selection_event *stand_in = stand_in_for(selection, name);
	const char *names[SELECTION_EVENTS_MAX], *near;
	char list[512], shown[4 * EVENT_NAME_SIZE];
	size_t count = 0;

	escape_text(name, shown, sizeof(shown));
	if (stand_in) {
		snprintf(why, size, "%s was not counted; %s stands in for it (--event %s)", shown, stand_in->name,
		         stand_in->name);
		return -DCPI_ENOSELECTION;
	}
	for (size_t i = 0; i < selection->event_count && count < SELECTION_EVENTS_MAX; i++)
		names[count++] = selection->events[i].name;
	near = suggest_name(name, names, count);
	list_events(selection, list, sizeof(list));
	if (near)
		snprintf(why, size, "no event '%s' in the selected epochs; did you mean %s?", shown, near);
	else
		snprintf(why, size, "no event '%s' in the selected epochs; there are %s", shown, list);
	return -DCPI_ENOEVENT;
}

static int
add_event(const struct selection *selection, const char *name, struct columns *columns, char *why, size_t size)
{
	const struct selection_event *event = event_called(selection, name);
	uint16_t index;

	if (!event)
		return explain_unknown(selection, name, why, size);
	if (!event->available) {
		snprintf(why, size, "%s was not available on this machine%s%s", event->name, event->note[0] ? ": " : "",
		         event->note);
		return -DCPI_ENOSELECTION;
	}
	index = (uint16_t)(event - selection->events);
	for (size_t i = 0; i < columns->count; i++)
		if (columns->events[i] == index)
			return 0;
	if (columns->count < SELECTION_EVENTS_MAX)
		columns->events[columns->count++] = index;
	return 0;
}

static int
add_all(const struct selection *selection, struct columns *columns, char *why, size_t size)
{
	for (size_t i = 0; i < selection->event_count; i++) {
		int err = 0;

		if (selection->events[i].available)
			err = add_event(selection, selection->events[i].name, columns, why, size);
		if (err)
			return err;
	}
	if (columns->count > 0)
		return 0;
	snprintf(why, size, "none of the configured events could be counted on this machine");
	return -DCPI_ENOSELECTION;
}

int
columns_choose(const struct selection *selection, const struct columns_request *request, struct columns *columns,
               char *why, size_t size)
{
	int err = 0;

	memset(columns, 0, sizeof(*columns));
	if (request->sort)
		err = add_event(selection, request->sort, columns, why, size);
	for (size_t i = 0; !err && i < request->event_count; i++)
		err = add_event(selection, request->events[i], columns, why, size);
	if (!err && request->event_count == 0)
		err = add_all(selection, columns, why, size);
	return err;
}
