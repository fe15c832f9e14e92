/*
 * selection_parts.h - the steps of selection_read() (private to profile/)
 *
 * Each fills its part of the selection from the open transaction; 0 or an error. Selections that are read together have
 * one scope.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SELECTION_PARTS_H
#define DCPI_PROFILE_SELECTION_PARTS_H

#include <stdbool.h>

#include "profile/block_list.h"
#include "profile/context_filter.h"
#include "profile/scope.h"
#include "profile/selection.h"
#include "profile/store.h"

/* For the events of one epoch, where they are in the selection. */
struct event_map {
	uint16_t events[EVENTS_MAX];
	uint16_t samples[EVENTS_MAX]; /* of the epoch: the event whose samples it weighs, or itself */
};

struct selection_parts {
	struct store *store;
	MDB_txn *txn;
	const struct scope *scope;
	struct context_filter filter;
	bool is_passed;                                        /* no context matches: nothing is read */
	struct event_map *event_maps;                          /* one for each epoch of the selection */
	size_t event_capacity, image_capacity, count_capacity; /* of the selection's arrays */
	struct block_list blocks;                              /* of the image that is read */
	bool *matched;     /* by slice of the scope: it has a sample whose context matches */
	const char *label; /* the request's; NULL: none */
	bool *timed;       /* by epoch of the selection: a time of the label is known in it */
	struct selection *selection;
};

int selection_read_epochs(struct selection_parts *parts);               /* and events */
int selection_read_blocks(struct selection_parts *parts, size_t count); /* of all: into counts and images */
int selection_read_runs(struct selection_parts *parts, size_t count);   /* of all: for how long labels lasted */
int selection_read_slices(struct selection_parts *parts); /* totals and times, also of those that had a match */

int selection_merge_events(struct selection_parts *parts); /* of the epochs that there are */
int selection_narrow(struct selection_parts *parts);       /* epochs and events to those of a label */
void selection_weigh(struct selection *selection);         /* at last: samples by what they stand for */

/* Whether samples of some event may have to be weighed: their events are added up. */
bool selection_has_weights(const struct selection *selection);

/* The place of epoch `id` among the selected ones, which must have it. */
size_t selection_epoch_index(const struct selection *selection, uint32_t id);

#endif
