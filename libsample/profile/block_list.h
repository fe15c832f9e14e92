/*
 * block_list.h - blocks of counts of one image, added up (private to profile/)
 *
 * Blocks are sorted, not samples: a block's pairs are added into an array over its offsets, so that a sample costs
 * an addition however many slices and contexts it is spread over. And they are sorted where they lie in the database,
 * an image at a time: the blocks of a month may be a gigabyte, those of an image fit into a cache.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_BLOCK_LIST_H
#define DCPI_PROFILE_BLOCK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"

struct block {
	const void *data; /* the value, borrowed until the list is emptied */
	uint32_t size;
	uint32_t number;
	uint16_t event;       /* of the selection */
	uint16_t epoch_event; /* of its epoch */
	uint16_t samples;     /* of its epoch: the event whose samples it weighs, or epoch_event */
	uint32_t epoch;       /* of the selection */
};

struct block_list {
	struct block *blocks, *spare;
	size_t count, capacity, spare_capacity;
};

/* 0, -ENOMEM, or -DCPI_EDAMAGED for a block that is empty. */
int block_list_add(struct block_list *list, const struct block *block);

/* Sort by number; blocks of one number keep their order. 0 or -ENOMEM. */
int block_list_sort(struct block_list *list);
void block_list_fini(struct block_list *list);

/* Adds lists up; `weighs`: events, too. NULL when memory ends. */
struct block_adder *block_adder_new(size_t event_count, bool weighs);
void block_adder_free(struct block_adder *adder); /* NULL is allowed */

/*
 * Sort the list, add it up into counts of `image`, which follow those of selection->counts, and empty it.
 * selection->events[].selected_taken, selected_events and weights grow by what was added. A count's `taken` is its
 * samples, `count` what they stand for, and `squares` the sum of squares of that, for selection_weigh(). *capacity is
 * that of selection->counts: 0 at first. 0, -ENOMEM, -DCPI_EDAMAGED.
 */
int block_adder_add(struct block_adder *adder, struct block_list *list, uint32_t image, struct selection *selection,
                    size_t *capacity);

#endif
