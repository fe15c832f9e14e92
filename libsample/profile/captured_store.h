/*
 * captured_store.h - the table `text` (for profile/ and salvage/)
 *
 * Its key is the image's number and, both big-endian, the number of a parcel's first block; CAPTURED_BLOCK_NONE for the
 * layout, which therefore comes last.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_CAPTURED_STORE_H
#define DCPI_PROFILE_CAPTURED_STORE_H

#include "profile/captured.h"
#include "profile/store.h"

#define CAPTURED_KEY_SIZE 8

/* 0 or -DCPI_EDAMAGED. */
int captured_key_decode(const void *data, size_t size, uint32_t *image, uint32_t *block);

/* Does all of the value decode, and is a parcel stored under its first block? 0, -DCPI_EDAMAGED, -ENOMEM. */
int captured_value_check(uint32_t block, const void *data, size_t size);

/* The image's values one by one: 1 with walk->key and ->value, *block set; 0 at the end; or an error. */
int captured_walk_begin(const struct store *store, MDB_txn *txn, uint32_t image, struct store_walk *walk);
int captured_walk_next(struct store_walk *walk, uint32_t image, uint32_t *block);

int captured_table_put(const struct store *store, MDB_txn *txn, uint32_t image, uint32_t block, const void *data,
                       size_t size, unsigned flags); /* of mdb_put() */

/* Remove all symbols and text of an image; 0 also when there are none. */
int captured_remove(const struct store *store, MDB_txn *txn, uint32_t image);

#endif
