/*
 * sampled_blocks.h - blocks of text that have samples: what of an image is worth capturing
 *
 * There are two containers. One is a table by image and block with a bit for each granule (capture/protocol.h), which
 * also says what was requested already. It holds at most SAMPLED_BLOCKS_MAX blocks, 1.5 MiB. The other is a sorted set
 * of block numbers.
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_COLLECTORD_SAMPLED_BLOCKS_H
#define DCPI_COLLECTORD_SAMPLED_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/protocol.h"

#define SAMPLED_BLOCKS_MAX 49152

struct sampled_block {
	uint32_t image, block;
	uint64_t seen;      /* granules with samples; 0: the slot is free */
	uint64_t requested; /* of them, those that were requested */
};

/* All zero: empty. */
struct sampled_blocks {
	struct sampled_block *slots;
	size_t size, count; /* slots, a power of two or 0; those in use */
};

void sampled_blocks_fini(struct sampled_blocks *blocks);

enum sampled_granule {
	GRANULE_REQUESTED, /* or there is no room for it */
	GRANULE_SEEN,      /* not requested yet */
	GRANULE_NEW,       /* likewise, and this is its first sample */
};

/* A sample at byte `offset` of the image: in what granule is it? */
enum sampled_granule sampled_blocks_add(struct sampled_blocks *blocks, uint32_t image, uint64_t offset);

/*
 * Granules of the image that were seen and not requested, ascending by block, up to `max` blocks; from here on they
 * count as requested. Returns the number of blocks.
 */
size_t sampled_blocks_request(struct sampled_blocks *blocks, uint32_t image, struct request_place *places, size_t max);

/* The request failed: all granules of the image are to be requested again. */
void sampled_blocks_reset(struct sampled_blocks *blocks, uint32_t image);

/* All zero: empty. */
struct sampled_block_set {
	uint32_t *blocks; /* ascending, each once */
	size_t count, capacity;
};

void sampled_block_set_fini(struct sampled_block_set *set);

/*
 * Add `count` numbers in any order, which are sorted in place; at most `room` new ones. The number of new ones, or
 * -ENOMEM.
 */
long sampled_block_set_add(struct sampled_block_set *set, uint32_t *blocks, size_t count, size_t room);

#endif
