/*
 * block_list.h - blocks of counts, copied out of the database and added up (private to profile/)
 *
 * Blocks are sorted, not samples: a block's pairs are added into an array over its offsets, so that a sample costs
 * an addition however many slices and contexts it is spread over.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_BLOCK_LIST_H
#define DCPI_PROFILE_BLOCK_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profile/selection.h"

struct block {
	uint32_t image;
	uint32_t number;
	uint16_t event;
	uint32_t size; /* of the value */
	size_t at;     /* where it is in the list's bytes */
};

struct block_list {
	struct block *blocks;
	size_t count, capacity;
	struct byte_writer bytes;
};

/* Copy the value of a block in. 0, -ENOMEM, or -DCPI_EDAMAGED for one that is empty or too long. */
int block_list_add(struct block_list *list, uint32_t image, uint32_t number, uint16_t event, const void *data,
                   size_t size);

/*
 * Sort the list and add it up into counts by image, offset, event; `image` of a count is the database's number.
 * selected[event] grows by what was added. *counts is the caller's to free, also after an error. 0, -ENOMEM,
 * -DCPI_EDAMAGED.
 */
int block_list_sum(struct block_list *list, size_t event_count, struct selection_count **counts, size_t *count,
                   uint64_t *selected);

/* Sort by image and number; blocks of one place keep their order. 0 or -ENOMEM. */
int block_list_sort(struct block_list *list);
void block_list_fini(struct block_list *list);

#endif
