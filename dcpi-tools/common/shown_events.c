#include "dcpi-tools/common/shown_events.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define COUNT_WIDTH 7   /* that a count has at least */
#define NAMES_WIDTH 40  /* that names of procedure and image should have */
#define PIPE_WIDTH  132 /* of a line that no terminal limits */

size_t
shown_events_find_event(const struct selection *selection, const char *name)
{
	size_t index = 0;

	while (index < selection->event_count && strcmp(selection->events[index].name, name) != 0)
		index++;
	return index;
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

static int
explain_unknown(const struct selection *selection, const char *name, char *why, size_t size)
{
	const struct selection_event *stand_in = stand_in_for(selection, name);
	const char *names[SELECTION_EVENTS_MAX], *near;
	char list[512], shown[4 * EVENT_NAME_SIZE];
	size_t used = 0;

	escape_text(name, shown, sizeof(shown));
	if (stand_in) {
		snprintf(why, size, "%s was not counted; %s stands in for it (--event %s)", shown, stand_in->name,
		         stand_in->name);
		return -DCPI_ENOSELECTION;
	}
	for (size_t i = 0; i < selection->event_count; i++)
		names[i] = selection->events[i].name;
	near = suggest_name(name, names, selection->event_count);
	if (near) {
		snprintf(why, size, "no event '%s' in the selected epochs; did you mean %s?", shown, near);
		return -DCPI_ENOEVENT;
	}
	list[0] = '\0';
	for (size_t i = 0; i < selection->event_count && used < sizeof(list); i++) {
		char one[4 * EVENT_NAME_SIZE];

		if (!selection->events[i].available)
			continue;
		escape_text(selection->events[i].name, one, sizeof(one));
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", one);
	}
	snprintf(why, size, "no event '%s' in the selected epochs; there are %s", shown, list);
	return -DCPI_ENOEVENT;
}

bool
shown_events_include(const struct shown_events *shown, size_t event)
{
	for (size_t i = 0; i < shown->count; i++)
		if (shown->events[i] == event)
			return true;
	return false;
}

/* Of a selection of stacks, an event may be named by the samples whose stacks they are. */
static size_t
find_stacks(const struct selection *selection, size_t index)
{
	const struct selection_event *event = &selection->events[index];
	char name[EVENT_NAME_SIZE + sizeof(EVENT_STACKS_SUFFIX)];
	size_t stacks;

	if (!event->is_hidden)
		return index;
	snprintf(name, sizeof(name), "%s" EVENT_STACKS_SUFFIX, event->name);
	stacks = shown_events_find_event(selection, name);
	return stacks < selection->event_count ? stacks : index;
}

static int
add_event(const struct selection *selection, const char *name, struct shown_events *shown, char *why, size_t size)
{
	const struct selection_event *event;
	size_t index = shown_events_find_event(selection, name);

	if (index == selection->event_count)
		return explain_unknown(selection, name, why, size);
	index = find_stacks(selection, index);
	event = &selection->events[index];
	if (event->is_hidden && strstr(event->name, EVENT_STACKS_SUFFIX)) {
		snprintf(why, size,
		         "%s has call stacks, which --tree, --callers, --callees and --inclusive of dcpiprof show",
		         event->name);
		return -DCPI_ENOSELECTION;
	}
	if (!event->available) {
		snprintf(why, size, "%s was not available on this machine%s%s", event->name, event->note[0] ? ": " : "",
		         event->note);
		return -DCPI_ENOSELECTION;
	}
	if (!shown_events_include(shown, index) && shown->count < SELECTION_EVENTS_MAX)
		shown->events[shown->count++] = (uint16_t)index;
	return 0;
}

int
shown_events_choose(const struct selection *selection, const struct shown_events_request *request,
                    struct shown_events *shown, char *why, size_t size)
{
	int err = 0;

	memset(shown, 0, sizeof(*shown));
	if (request->sort)
		err = add_event(selection, request->sort, shown, why, size);
	for (size_t i = 0; !err && i < request->event_count; i++)
		err = add_event(selection, request->events[i], shown, why, size);
	if (err || request->event_count > 0)
		return err;
	for (size_t i = 0; !err && i < selection->event_count; i++)
		if (selection->events[i].available)
			err = add_event(selection, selection->events[i].name, shown, why, size);
	if (err || shown->count > 0)
		return err;
	snprintf(why, size, "none of the configured events could be counted on this machine");
	return -DCPI_ENOSELECTION;
}

int
shown_events_ask(const struct selection *selection, const struct shown_events_request *request, const char *directory,
                 struct shown_events *shown)
{
	char why[1024];
	int err;

	err = shown_events_choose(selection, request, shown, why, sizeof(why));
	if (!err)
		return STATUS_OK;
	message_print(directory, "%s", why);
	return error_exit_status(err);
}

int
shown_events_json_add(json_t *object, const char *key, const struct selection *selection,
                      const struct shown_events *shown, const uint64_t *counts, const uint64_t *taken)
{
	json_t *counted = json_object(), *weighted = NULL;
	int failed = 0;

	for (size_t i = 0; i < shown->count; i++) {
		const uint16_t index = shown->events[i];
		const struct selection_event *event = &selection->events[index];

		failed |= json_object_set_new(counted, event->name, json_count(counts[index]));
		if (!event->is_weighted)
			continue;
		weighted = weighted ? weighted : json_object();
		failed |= json_object_set_new(weighted, event->name, json_count(taken[index]));
	}
	failed |= json_object_set_new(object, key, counted);
	return weighted ? failed | json_object_set_new(object, "taken", weighted) : failed;
}

/* Executions that were counted exactly always outnumber samples, but tell least about time: they come last. */
static bool
is_hotter(const struct shown_events_fit_request *request, uint16_t event, uint16_t than)
{
	const struct selection_event *events = request->selection->events;
	const bool is_exact = strcmp(events[event].name, "executions") == 0;

	if (is_exact != (strcmp(events[than].name, "executions") == 0))
		return !is_exact;
	return request->totals[event] > request->totals[than];
}

static size_t
width_of(const struct shown_events_fit_request *request, uint16_t event)
{
	const size_t heading = text_width(request->selection->events[event].name);

	return 1 + (heading > COUNT_WIDTH ? heading : COUNT_WIDTH) + request->shares;
}

/* Mark the events that are shown: the first, then the hottest ones as long as there is room. */
static void
choose_shown(const struct shown_events_fit_request *request, size_t room, bool *marks)
{
	const struct shown_events *all = request->all;
	const uint16_t *events = all->events;
	size_t used = width_of(request, events[0]);

	marks[0] = true;
	for (;;) {
		size_t hottest = all->count;

		for (size_t i = 0; i < all->count; i++)
			if (!marks[i] && (hottest == all->count || is_hotter(request, events[i], events[hottest])))
				hottest = i;
		if (hottest == all->count)
			return;
		used += width_of(request, events[hottest]);
		if (used > room)
			return;
		marks[hottest] = true;
	}
}

void
shown_events_fit(const struct shown_events_fit_request *request, const struct output *output,
                 struct shown_events_fit *fit)
{
	const size_t width = output->width ? output->width : PIPE_WIDTH;
	bool marks[SELECTION_EVENTS_MAX] = {false};

	memset(fit, 0, sizeof(*fit));
	if (!request->asked)
		choose_shown(request, width > NAMES_WIDTH ? width - NAMES_WIDTH : 0, marks);
	for (size_t i = 0; i < request->all->count; i++) {
		struct shown_events *to = request->asked || marks[i] ? &fit->shown : &fit->left_out;

		to->events[to->count++] = request->all->events[i];
	}
}

void
shown_events_fit_print(const struct shown_events_fit *fit, const struct selection *selection, FILE *stream)
{
	if (fit->left_out.count == 0)
		return;
	fputs("Not shown: ", stream);
	for (size_t i = 0; i < fit->left_out.count; i++) {
		fputs(i ? ", " : "", stream);
		text_print(selection->events[fit->left_out.events[i]].name, stream);
	}
	fputs(" (--event NAME)\n", stream);
}
