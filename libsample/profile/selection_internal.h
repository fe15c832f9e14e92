/*
 * selection_internal.h - a selection while it is read: selection.c, and selection_counts.c for the counts (private to
 * profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SELECTION_INTERNAL_H
#define DCPI_PROFILE_SELECTION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/catalog.h"
#include "profile/selection.h"
#include "profile/store.h"

/* For the events of one epoch, their indices in the selection. */
struct event_map {
	uint16_t events[EVENTS_MAX];
	uint16_t samples[EVENTS_MAX]; /* of the epoch: the event whose samples it weighs, or itself */
};

/* A block of counts. */
struct counts_block {
	const void *data; /* the value, borrowed until the list is emptied */
	uint32_t size;
	uint32_t number;
	uint16_t event;       /* of the selection */
	uint16_t epoch_event; /* of its epoch */
	uint16_t samples;     /* of its epoch: the event whose samples it weighs, or epoch_event */
	uint32_t epoch;       /* of the selection */
};

/*
 * Blocks of one image, to be added up. Blocks are sorted, not samples: the pairs of a block are added into an array
 * over its offsets, so that a sample costs an addition however many slices and contexts it is spread over. They are
 * sorted in place in the database, an image at a time: the blocks of a month may be a gigabyte, those of an image fit
 * into a cache.
 */
struct block_list {
	struct counts_block *blocks, *spare;
	size_t count, capacity, spare_capacity;
};

/* A selection under way. Those that are read together have one scope. */
struct selection_builder {
	struct store *store;
	MDB_txn *txn;
	const struct scope *scope;
	struct context_filter filter;
	bool wants_stacks;                                     /* and no other samples */
	bool is_skipped;                                       /* no context matches: nothing is read */
	struct event_map *event_maps;                          /* one for each epoch of the selection */
	size_t event_capacity, image_capacity, count_capacity; /* of the selection's arrays */
	struct block_list blocks;                              /* of the image that is read */
	bool *matched;     /* by slice of the scope: it has a sample whose context matches */
	const char *label; /* the request's; NULL: none */
	bool *timed;       /* by epoch of the selection: a time of the label is known in it */
	struct selection *selection;
};

/* The nodes and images that the counts of stacks refer to, which were read before. 0 or an error. */
int selection_read_stacks(struct selection_builder *builder);

/* Read the counts and images of all `count` selections. 0 or an error. */
int selection_read_counts(struct selection_builder *builders, size_t count);
void selection_block_list_fini(struct block_list *list);

/* Can samples of some event have weights? Then their events are added up. */
bool selection_has_weights(const struct selection *selection);

/* The index of epoch `id` among the selected ones, which must have it. */
size_t selection_epoch_index(const struct selection *selection, uint32_t id);

#endif
