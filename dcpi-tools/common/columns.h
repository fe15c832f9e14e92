/*
 * columns.h - which events a report shows, in which order, and which of them a line has room for
 *
 * Rows are sorted by the event of the first column.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_COLUMNS_H
#define DCPI_TOOLS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

struct columns_request {
	const char *events[EVENTS_MAX]; /* --event, in the order given */
	size_t event_count;             /* 0: all that can be counted */
	const char *sort;               /* --sort; NULL: the first of the events */
};

struct columns {
	size_t count;                          /* at least 1 */
	uint16_t events[SELECTION_EVENTS_MAX]; /* indices into selection->events */
};

/*
 * 0; -DCPI_ENOEVENT for an unknown name, -DCPI_ENOSELECTION for an event that could not be counted or when none could:
 * `why` (of `size` bytes) holds a sentence.
 */
int columns_choose(const struct selection *selection, const struct columns_request *request, struct columns *columns,
                   char *why, size_t size);

/* columns_choose() that prints the sentence, about the database in `directory`: 0, or an exit status. */
int columns_ask(const struct selection *selection, const struct columns_request *request, const char *directory,
                struct columns *columns);

/* The index of the event called `name`; selection->event_count when there is none. */
size_t columns_find_event(const struct selection *selection, const char *name);

/* The event of a column. */
static inline const struct selection_event *
columns_event(const struct selection *selection, const struct columns *columns, size_t column)
{
	return &selection->events[columns->events[column]];
}

bool columns_include(const struct columns *columns, size_t event);

/*
 * Add to `object` the counts of the columns' events as the object `key`, and where an event is weighted, how many
 * samples were `taken`. `counts` and `taken` are by event of the selection. Not 0: no memory.
 */
int columns_json_add(json_t *object, const char *key, const struct selection *selection, const struct columns *columns,
                     const uint64_t *counts, const uint64_t *taken);

struct columns_fit_request {
	const struct selection *selection;
	const struct columns *columns; /* all of them */
	const uint64_t *totals;        /* samples by event of the selection */
	size_t shares;                 /* columns of text that an event needs in addition to those of its count */
	bool asked;                    /* the user named the events */
};

struct columns_fit {
	struct columns shown; /* in their order; includes the first one */
	struct columns left_out;
};

/*
 * All events that the user named are shown. Otherwise, if they do not fit the terminal together with procedure names,
 * the ones with the fewest samples are left out, exact counts first; without a terminal, lines are limited to 132
 * columns.
 */
void columns_fit(const struct columns_fit_request *request, const struct output *output, struct columns_fit *fit);

/* "Not shown: branches, faults (--event NAME)" and a newline; nothing if nothing was left out. */
void columns_fit_print(const struct columns_fit *fit, const struct selection *selection, FILE *stream);

#endif
