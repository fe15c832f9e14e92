/*
 * counts.h - the counts of one 4 KiB block of offsets, packed
 *
 * A block is a list of (varint distance from the offset before, varint count) pairs, offsets ascending within
 * the block. The key is big-endian, so that LMDB's order is slice, event, image, context, block.
 * Thread rule: stateless; functions on a profile are its thread's.
 */
#ifndef DCPI_PROFILE_COUNTS_H
#define DCPI_PROFILE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "event/event.h"

struct MDB_txn;
struct gc_marks;
struct profile;
struct store;
struct tally_entry;

#define COUNTS_BLOCK_SHIFT 12
#define COUNTS_BLOCK_SIZE  (1u << COUNTS_BLOCK_SHIFT) /* bytes of an image in one block */
#define COUNTS_OFFSET_MAX  ((UINT64_C(1) << (32 + COUNTS_BLOCK_SHIFT)) - 1)
#define COUNTS_KEY_SIZE    18

struct counts_key {
	uint32_t slice;
	uint16_t event; /* index into the epoch's events */
	uint32_t image; /* the database's number */
	uint32_t context;
	uint32_t block; /* offset >> COUNTS_BLOCK_SHIFT */
};

struct counts_pair {
	uint16_t offset; /* within the block, below COUNTS_BLOCK_SIZE */
	uint64_t count;  /* samples, at least 1 */
};

void counts_key_encode(const struct counts_key *key, uint8_t data[COUNTS_KEY_SIZE]);
int counts_key_decode(const void *data, size_t size, struct counts_key *key); /* 0 or -DCPI_EDAMAGED */

/* `pairs` ascending by offset, each offset once. */
void counts_encode(const struct counts_pair *pairs, size_t count, struct byte_writer *writer);

/* Into `pairs`, which has room for COUNTS_BLOCK_SIZE. How many, or -DCPI_EDAMAGED. */
int counts_decode(const void *data, size_t size, struct counts_pair *pairs);

/* Both lists ascending; `sum` has room for COUNTS_BLOCK_SIZE. Returns its length. Counts saturate at UINT64_MAX. */
size_t counts_merge(const struct counts_pair *a, size_t a_count, const struct counts_pair *b, size_t b_count,
                    struct counts_pair *sum);

/* ---- for profile/: in the store ---- */

/*
 * Add `entries` (sorted as tally_sort() does) to the blocks of `slice`, in key order. Offsets past COUNTS_OFFSET_MAX
 * are left out. 0; -EINVAL for entries that are not sorted or whose image or context has not been given; an error.
 */
int counts_put(const struct profile *profile, struct MDB_txn *txn, uint32_t slice, const struct tally_entry *entries,
               size_t count);

/*
 * Add entries, ascending by offset, to the blocks of one slice, event, image and context (the database's numbers;
 * key->block and what else the entries have are ignored). 0 or an error.
 */
int counts_add(const struct store *store, struct MDB_txn *txn, const struct counts_key *key,
               const struct tally_entry *entries, size_t count);

/* Of a block of stacks: mark the nodes that it counts. */
void counts_mark_nodes(uint32_t block, const struct counts_pair *pairs, size_t count, struct gc_marks *nodes);

/*
 * Take at most `max` blocks from slice `from` and add them to `to`, or drop them when it is 0. taken[event] is the
 * samples that were in them. How many blocks, or an error.
 */
int64_t counts_take(struct profile *profile, struct MDB_txn *txn, uint32_t from, uint32_t to, size_t max,
                    uint64_t taken[EVENTS_MAX]);

#endif
