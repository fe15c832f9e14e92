/*
 * block_set.h - numbers of blocks, each once, ascending
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_COLLECTORD_BLOCK_SET_H
#define DCPI_COLLECTORD_BLOCK_SET_H

#include <stddef.h>
#include <stdint.h>

struct block_set {
	uint32_t *blocks;
	size_t count, capacity;
};

void block_set_fini(struct block_set *set);

/*
 * Add `count` numbers, in any order, which are put in order; no more than `room` new ones. How many were new, or
 * -ENOMEM.
 */
long block_set_add(struct block_set *set, uint32_t *blocks, size_t count, size_t room);

#endif
