/*
 * store.h - the LMDB environment below a profile (private to profile/)
 *
 * The only place that knows LMDB's flags and return codes. Tables are LMDB's named databases; those keyed by a number
 * have it as four big-endian bytes.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_STORE_H
#define DCPI_PROFILE_STORE_H

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/log.h"
#include "profile/readers.h"

enum store_table {
	TABLE_META,
	TABLE_EPOCHS,
	TABLE_SLICES,
	TABLE_IMAGES,
	TABLE_IMAGE_IDS,
	TABLE_CONTEXTS,
	TABLE_CONTEXT_IDS,
	TABLE_COUNTS,
	TABLE_SYMBOLS,
	TABLE_EDGES,       /* since schema 3 */
	TABLE_TEXT,        /* since schema 4 */
	TABLE_LABEL_TIMES, /* since schema 7 */
	TABLE_STACKS,      /* since schema 8 */
	TABLE_MEMORY,      /* since schema 9 */
	TABLE_COUNT
};

struct store {
	MDB_env *env; /* NULL: opening it again failed; functions that need it give -ENODEV */
	MDB_dbi tables[TABLE_COUNT];
	int directory; /* borrowed */
	bool write;
	bool beside;           /* beside another writer, whose size limit holds */
	bool has[TABLE_COUNT]; /* false: the database is older than the table, and is only read */
	uint64_t size_limit;   /* bytes; writers */
	const struct log *log; /* borrowed */
	struct readers readers;
};

const char *store_table_name(enum store_table table);

/* 0 or the error that stands for `rc`, of an LMDB call. */
int store_error(int rc);

/*
 * Open what lies in store->directory; a writer makes what is missing. Caller sets directory, write, size_limit and log.
 * 0, or an error with nothing left open.
 */
int store_open(struct store *store);
void store_close(struct store *store);

/* Let the file grow to `bytes`, or to what it has already. While no transaction is open. */
int store_limit_size(struct store *store, uint64_t bytes);

/* Let the file grow past the limit by `bytes`, until store_restore_limit(). While no transaction is open. */
int store_raise_limit(const struct store *store, uint64_t bytes);
int store_restore_limit(const struct store *store);

/*
 * Begin a transaction; one that writes ends with store_end(), one that reads with store_leave(). A reader has one
 * transaction at a time (-EBUSY). -ESTALE when another writer has replaced the file, -EAGAIN when the lock file is half
 * initialised: close the store and open it again.
 */
int store_begin(struct store *store, bool write, MDB_txn **txn);

/* Commit, or abort when `err` is not 0, which is then returned. */
int store_end(const struct store *store, MDB_txn *txn, int err);

/*
 * End a transaction that only read, with `err`, which is returned; -DCPI_EVERSION instead when pages of the version
 * that it read have been reused: nothing that was read can be trusted.
 */
int store_leave(struct store *store, MDB_txn *txn, int err);

/* -ENOENT when there is no `id`; the value is valid until the transaction writes or ends. */
int store_get(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t id, MDB_val *value);

/* Store what `writer` holds; -ENOMEM when it failed. */
int store_put(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t id,
              const struct byte_writer *writer);

/* -ENOENT when there is no `id`. */
int store_remove(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t id);

/*
 * Remove entries whose keys begin with `number` - those of one slice, or of one image - in the order of their keys,
 * until they count `max`: each counts one, and one more for every STORE_LARGE bytes of its value. After an entry was
 * removed, `move` (NULL: none) gets a copy of it, valid during the call, and may put it under another key of the table.
 * What the removed ones count, at most `max`; or an error, which may be that of `move`: then abort the transaction.
 */
#define STORE_LARGE 4096
typedef int store_move(const struct store *store, MDB_txn *txn, const MDB_val *key, const MDB_val *value,
                       void *context);
int64_t store_take(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t number, size_t max,
                   store_move *move, void *context);

/* The number that follows the highest one: from 1. -EOVERFLOW when there is none. */
int store_next_id(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t *id);

/* Bytes of the file that the table takes. */
int store_table_bytes(const struct store *store, MDB_txn *txn, enum store_table table, uint64_t *bytes);

int store_entries(const struct store *store, MDB_txn *txn, enum store_table table, uint64_t *entries);

/* The number that is a key; -DCPI_EDAMAGED for other sizes. */
int store_key_number(const MDB_val *key, uint32_t *number);

/*
 * Step through a table: `store_walk_next` gives 1 with key and value (valid until the transaction ends), 0 at the end,
 * or an error, also of store_walk_begin() and store_walk_seek().
 */
struct store_walk {
	MDB_cursor *cursor;
	MDB_cursor_op next;
	int err; /* of beginning and seeking, which the next step returns */
	bool ended;
	MDB_val key;
	MDB_val value;
};
void store_walk_begin(const struct store *store, MDB_txn *txn, enum store_table table, struct store_walk *walk);

/* From the first key that is not below the `size` bytes at `key`. */
void store_walk_seek(struct store_walk *walk, const void *key, size_t size);
int store_walk_next(struct store_walk *walk);
void store_walk_end(struct store_walk *walk); /* before the transaction ends */

/*
 * Decode a value of TABLE_META, where keys are names: "schema" (its number), "created" (ns since 1970), "host" (text).
 * The format of "schema" must never change: every version has to be able to read it. 0 or -DCPI_EDAMAGED, also for an
 * unknown key.
 */
int store_meta_decode(const void *key, size_t key_size, const void *data, size_t size);

#endif
