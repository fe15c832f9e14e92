/*
 * shown_events.h - which events a report shows, in which order, and which of them a line has room for
 *
 * Rows are sorted by the event of the first column.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_SHOWN_EVENTS_H
#define DCPI_TOOLS_SHOWN_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

struct shown_events_request {
	const char *events[EVENTS_MAX]; /* --event, in the order given */
	size_t event_count;             /* 0: all that can be counted */
	const char *sort;               /* --sort; NULL: the first of the events */
};

struct shown_events {
	size_t count;                          /* at least 1 */
	uint16_t events[SELECTION_EVENTS_MAX]; /* indices into selection->events */
};

/*
 * 0; -DCPI_ENOEVENT for an unknown name, -DCPI_ENOSELECTION for an event that could not be counted or when none could:
 * `why` (of `size` bytes) holds a sentence.
 */
int shown_events_choose(const struct selection *selection, const struct shown_events_request *request,
                        struct shown_events *shown, char *why, size_t size);

/* shown_events_choose() that prints the sentence, about the database in `directory`: 0, or an exit status. */
int shown_events_ask(const struct selection *selection, const struct shown_events_request *request,
                     const char *directory, struct shown_events *shown);

/* The index of the event called `name`; selection->event_count when there is none. */
size_t shown_events_find_event(const struct selection *selection, const char *name);

/* The event at `position` in the order of the report. */
static inline const struct selection_event *
shown_events_event(const struct selection *selection, const struct shown_events *shown, size_t position)
{
	return &selection->events[shown->events[position]];
}

bool shown_events_include(const struct shown_events *shown, size_t event);

/*
 * Add to `object` the counts of the events that are shown as the object `key`, and where an event is weighted, how many
 * samples were `taken`. `counts` and `taken` are by event of the selection. Not 0: no memory.
 */
int shown_events_json_add(json_t *object, const char *key, const struct selection *selection,
                          const struct shown_events *shown, const uint64_t *counts, const uint64_t *taken);

struct shown_events_fit_request {
	const struct selection *selection;
	const struct shown_events *all; /* those chosen, of which some may be left out */
	const uint64_t *totals;         /* samples by event of the selection */
	size_t shares;                  /* columns of text that an event needs in addition to those of its count */
	bool asked;                     /* the user named the events */
};

struct shown_events_fit {
	struct shown_events shown; /* in their order; includes the first one */
	struct shown_events left_out;
};

/*
 * All events that the user named are shown. Otherwise, if they do not fit the terminal together with procedure names,
 * the ones with the fewest samples are left out, exact counts first; without a terminal, lines are limited to 132
 * columns.
 */
void shown_events_fit(const struct shown_events_fit_request *request, const struct output *output,
                      struct shown_events_fit *fit);

/* "Not shown: branches, faults (--event NAME)" and a newline; nothing if nothing was left out. */
void shown_events_fit_print(const struct shown_events_fit *fit, const struct selection *selection, FILE *stream);

#endif
