/*
 * edges_codec.h - blocks of edges in the store (for profile/ and salvage/)
 *
 * Offsets are those of the image's file, as in counts.h. The key is big-endian: slice, event, image, block, so that the
 * edges that leave one 4 KiB block are together.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_EDGES_CODEC_H
#define DCPI_PROFILE_EDGES_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profile/edges.h"
#include "profile/store.h"

#define EDGES_KEY_SIZE    14
#define EDGES_BLOCK_SHIFT 12

struct edges_key {
	uint32_t slice;
	uint16_t event;
	uint32_t image;
	uint32_t block; /* of `from` */
};

void edges_key_encode(const struct edges_key *key, uint8_t data[EDGES_KEY_SIZE]);
int edges_key_decode(const void *data, size_t size, struct edges_key *key); /* 0 or -DCPI_EDAMAGED */

/* `list`: of one block, merged. */
void edges_encode(const struct edge_list *list, const struct edges_key *key, struct byte_writer *writer);

/* Appended to the list; 0, -DCPI_EDAMAGED, -ENOMEM. */
int edges_decode(const void *data, size_t size, const struct edges_key *key, struct edge_list *list);

/* Add a batch's edges to `slice`. 0 or an error. */
int edges_put(const struct profile *profile, MDB_txn *txn, uint32_t slice, const struct profile_edge *edges,
              size_t count);

/* Take at most `max` blocks of edges from slice `from` and add them to `to`, or drop them when it is 0. How many. */
int64_t edges_take(const struct store *store, MDB_txn *txn, uint32_t from, uint32_t to, size_t max);

#endif
