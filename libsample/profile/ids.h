/*
 * ids.h - each image and each context once in the database, and their numbers (for profile/ and salvage/)
 *
 * An image's identity is its kind and its build-id; without a build-id it is kind, device, inode, generation and path.
 * The path is a part of it because a database outlives mounts: device numbers and inodes are reused. An image with a
 * build-id may also name a file, and is then found by the file, too: samples from before its build-id was read, or from
 * a time when it could not be read, count for one image. The identity of a context is its value.
 * Both are found by a 64-bit hash of the identity. The key of image_ids and context_ids is the hash and then the
 * number, so that an identity of any length fits below LMDB's limit. Two identities with one hash are two entries; the
 * values that they lead to are compared.
 * Thread rule: one thread; records are stateless.
 */
#ifndef DCPI_PROFILE_IDS_H
#define DCPI_PROFILE_IDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "profile/store.h"

#define RECORD_PATH_SIZE  (PATH_MAX + 16) /* with its NUL; room for what the kernel appends, as " (deleted)" */
#define RECORD_LABEL_SIZE 256
#define RECORD_ID_SIZE    12 /* key of image_ids and context_ids */

struct image_record {
	struct image
		image; /* its path is the one below; is_roots: the file at that path was root's when it was seen last */
	bool has_roots_names; /* what was captured of it comes from root's file */
	char path[RECORD_PATH_SIZE];
};

struct context_record {
	struct context context; /* its strings are those below */
	char comm[COMM_SIZE];
	char cgroup[RECORD_PATH_SIZE];
	char label[RECORD_LABEL_SIZE];
};

/* Strings that are too long are cut. */
void image_record_encode(const struct image *image, bool has_roots_names, struct byte_writer *writer);
void context_record_encode(const struct context *context, struct byte_writer *writer);

/* 0 or -DCPI_EDAMAGED. */
int image_record_decode(const void *data, size_t size, struct image_record *record);
int context_record_decode(const void *data, size_t size, struct context_record *record);

/* The identity of the image. */
void image_record_identity(const struct image *image, struct byte_writer *writer);

uint64_t record_identity_hash(const void *data, size_t size);
void record_id_encode(uint64_t hash, uint32_t number, uint8_t key[RECORD_ID_SIZE]);
int record_id_decode(const void *data, size_t size, uint64_t *hash, uint32_t *number); /* 0 or -DCPI_EDAMAGED */

/*
 * The number of the image or context that has this identity; it is stored when it is new. An image with a
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
typedef int ids_identify(const MDB_val *value, struct byte_writer *identity);
struct ids_kind {
	enum store_table things; /* number -> value */
	enum store_table ids;    /* hash of identity, number -> nothing */
	/* Append the identity of an encoded value to `identity`: 0 or -DCPI_EDAMAGED. */
	ids_identify *identify;
	/* Likewise a second identity, or nothing when the value has none. NULL: this kind has no second identities. */
	ids_identify *identify_also;
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
 * From the session's numbers of images, contexts or nodes of stacks to the database's. Entries are added within a
 * transaction, kept when it is committed, and removed when it is not.
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

/* Make room for `more` entries that are to be pending. 0, -ENOMEM, -EOVERFLOW. */
int ids_map_reserve(struct ids_map *map, uint32_t more);

/* The database's number, 0 when `session` has none. */
uint32_t ids_map_get(const struct ids_map *map, uint32_t session);

/* Intern images (contexts) and append their numbers; 0 or an error. */
int ids_map_add_images(struct ids_map *map, const struct store *store, MDB_txn *txn, const struct image *const *images,
                       uint32_t count);
int ids_map_add_contexts(struct ids_map *map, const struct store *store, MDB_txn *txn,
                         const struct context *const *contexts, uint32_t count);

#endif
