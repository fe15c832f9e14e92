/*
 * identity.h - each image and each context once in the database (private to profile/)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_IDENTITY_H
#define DCPI_PROFILE_IDENTITY_H

#include <stdint.h>

#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/store.h"

/*
 * The number of what has this identity; stored when it is new. An image with a build-id is also found by the file that
 * it names, if that was stored without one. 0 or an error.
 */
int identity_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number);
int identity_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number);

/* The same without storing anything: -ENOENT when it is new. */
int identity_find_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number);

/* What was captured of image `number` is from root's file from now on. 0; -ENOENT; an error. */
int identity_set_roots_names(const struct store *store, MDB_txn *txn, uint32_t number);

/* One of the two kinds of things that are kept by identity. */
struct identity_kind {
	enum table things; /* number -> value */
	enum table ids;    /* hash of identity, number -> nothing */
	/* Append the identity of an encoded value to `identity`: 0 or -DCPI_EDAMAGED. */
	int (*identify)(const MDB_val *value, struct byte_writer *identity);
	/* Likewise another identity that leads to it; nothing, when it has none. NULL: there are none of this kind. */
	int (*identify_also)(const MDB_val *value, struct byte_writer *identity);
};
extern const struct identity_kind identity_images;
extern const struct identity_kind identity_contexts;

/* Does the identity of `value` lead to `number`? 0; -ENOENT; -DCPI_EDAMAGED when it cannot be read; an error. */
int identity_check(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
                   const MDB_val *value);

/* Has thing `number` an identity of this hash? 0; -ENOENT; an error. */
int identity_check_hash(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
                        uint64_t hash);

/* Remove thing `number` and the way to it. 0; -ENOENT; -DCPI_EDAMAGED when it cannot be read; an error. */
int identity_remove(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number);

/* An entry of image_ids or context_ids: 0 or -DCPI_EDAMAGED. */
int identity_key_decode(const MDB_val *key, const MDB_val *value, uint64_t *hash, uint32_t *number);

#endif
