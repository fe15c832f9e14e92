/*
 * columns.h - which events a report shows, in which order
 *
 * The first column's event is the one that rows are sorted by.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_COLUMNS_H
#define DCPI_TOOLS_COLUMNS_H

#include <stddef.h>

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
 * 0; -DCPI_ENOEVENT for a name that is none here, -DCPI_ENOSELECTION for an event that could not be counted or when
 * none could: `why` (of `size` bytes) holds a sentence.
 */
int columns_choose(const struct selection *selection, const struct columns_request *request, struct columns *columns,
                   char *why, size_t size);

#endif
