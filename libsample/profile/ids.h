/*
 * ids.h - each image and each context once in the database, and their numbers (for profile/ and salvage/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_IDS_H
#define DCPI_PROFILE_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/store.h"

struct image_record;

/*
 * The number of the image or context that has this identity (records.h); it is stored when it is new. An image with a
 * build-id is also found by its file, if that was stored without a build-id. 0 or an error.
 */
int ids_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number);
int ids_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number);

/* Find an image without storing it: -ENOENT when it is new. */
int ids_find_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number);

/* 0; -ENOENT; -DCPI_EDAMAGED; an error. */
int ids_read_image(const struct store *store, MDB_txn *txn, uint32_t number, struct image_record *record);

/* Note that what was captured of image `number` comes from root's file. 0; -ENOENT; an error. */
int ids_set_roots_names(const struct store *store, MDB_txn *txn, uint32_t number);

/* One of the two kinds of things that are found by identity. */
struct ids_kind {
	enum store_table things; /* number -> value */
	enum store_table ids;    /* hash of identity, number -> nothing */
	/* Append the identity of an encoded value to `identity`: 0 or -DCPI_EDAMAGED. */
	int (*identify)(const MDB_val *value, struct byte_writer *identity);
	/* Likewise a second identity, or nothing when the value has none. NULL: this kind has no second identities. */
	int (*identify_also)(const MDB_val *value, struct byte_writer *identity);
};
extern const struct ids_kind ids_images;
extern const struct ids_kind ids_contexts;

/* Has the table of ids the keys of `value`, with `number`? 0; -ENOENT; -DCPI_EDAMAGED when it cannot be read; an error.
 */
int ids_check(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
              const MDB_val *value);

/* Has thing `number` an identity of this hash? 0; -ENOENT; an error. */
int ids_check_hash(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
                   uint64_t hash);

/* Remove thing `number` and its keys. 0; -ENOENT; -DCPI_EDAMAGED when it cannot be read; an error. */
int ids_remove(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number);

/* An entry of image_ids or context_ids: 0 or -DCPI_EDAMAGED. */
int ids_key_decode(const MDB_val *key, const MDB_val *value, uint64_t *hash, uint32_t *number);

/*
 * From the session's numbers of images or contexts to the database's. Entries are added within a transaction, kept when
 * it is committed, and removed when it is not.
 */
struct ids_map {
	uint32_t *numbers; /* by the session's number */
	uint32_t count;    /* committed */
	uint32_t pending;  /* of the transaction under way, behind those */
	size_t capacity;
};

void ids_map_fini(struct ids_map *map);
void ids_map_clear(struct ids_map *map);
void ids_map_commit(struct ids_map *map);
void ids_map_abort(struct ids_map *map);

/* The database's number, 0 when `session` has none. */
uint32_t ids_map_get(const struct ids_map *map, uint32_t session);

/* Intern images (contexts) and append their numbers; 0 or an error. */
int ids_map_add_images(struct ids_map *map, const struct store *store, MDB_txn *txn, const struct image *const *images,
                       uint32_t count);
int ids_map_add_contexts(struct ids_map *map, const struct store *store, MDB_txn *txn,
                         const struct context *const *contexts, uint32_t count);

#endif
