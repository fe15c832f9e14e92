/*
 * What a label selects: the epochs that have something under it, and their events. It is looked for in all epochs, but
 * those that have nothing of it may be of another year and another machine, and say nothing about it.
 */
#include "profile/selection_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
keep_matched_epochs(struct selection_parts *parts)
{
	struct selection *selection = parts->selection;
	bool *wanted = calloc(selection->epoch_count + 1, sizeof(*wanted));
	size_t kept = 0;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < parts->scope->slice_count; i++)
		if (parts->matched[i])
			wanted[selection_epoch_index(selection, parts->scope->slices[i].epoch)] = true;
	for (size_t i = 0; i < selection->epoch_count; i++)
		if (wanted[i])
			selection->epochs[kept++] = selection->epochs[i];
	selection->epoch_count = kept;
	free(wanted);
	return 0;
}

/* What was added up goes with an event to its new place. */
static void
move_sums(const struct selection_event *from, struct selection_event *to)
{
	to->overhead = from->overhead;
	to->totals = from->totals;
	to->matched = from->matched;
	to->selected_taken = from->selected_taken;
	to->selected_events = from->selected_events;
	to->weights.beyond = from->weights.beyond;
	to->weights.varied_events = from->weights.varied_events;
	to->weights.varied_samples = from->weights.varied_samples;
	to->weights.totals = from->weights.totals;
	to->weights.matched = from->weights.matched;
}

static uint16_t
place_of(const struct selection *selection, const char *name)
{
	size_t i = 0;

	while (i < selection->event_count && strcmp(selection->events[i].name, name) != 0)
		i++;
	return (uint16_t)i;
}

/* Counts stay ascending by image, offset, event. */
static void
move_counts(struct selection *selection, const uint16_t *places)
{
	struct selection_count *counts = selection->counts;

	for (size_t i = 0; i < selection->count_count; i++) {
		struct selection_count moved = counts[i];
		size_t at = i;

		moved.event = places[moved.event];
		for (; at > 0 && counts[at - 1].image == moved.image && counts[at - 1].offset == moved.offset &&
		       counts[at - 1].event > moved.event;
		     at--)
			counts[at] = counts[at - 1];
		counts[at] = moved;
	}
}

static int
keep_their_events(struct selection_parts *parts)
{
	struct selection *selection = parts->selection;
	struct selection_event *before = selection->events;
	const size_t count = selection->event_count;
	uint16_t places[SELECTION_EVENTS_MAX];
	int err;

	selection->events = NULL;
	selection->event_count = parts->event_capacity = 0;
	err = selection_merge_events(parts);
	for (size_t i = 0; !err && i < count; i++) {
		places[i] = place_of(selection, before[i].name);
		if (places[i] < selection->event_count)
			move_sums(&before[i], &selection->events[places[i]]);
	}
	if (!err)
		move_counts(selection, places);
	free(before);
	return err;
}

int
selection_narrow(struct selection_parts *parts)
{
	int err;

	if (!parts->label || parts->selection->match.last_epoch == 0)
		return 0;
	err = keep_matched_epochs(parts);
	return err ? err : keep_their_events(parts);
}
