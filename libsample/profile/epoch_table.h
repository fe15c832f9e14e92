/*
 * epoch_table.h - epochs, slices and the blocks of slices in the store (for profile/ and salvage/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_EPOCH_TABLE_H
#define DCPI_PROFILE_EPOCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/epoch.h"
#include "profile/profile.h"
#include "profile/store.h"

/*
 * Step through TABLE_EPOCHS, from store_walk_begin() on: 1 with the next epoch that is not incoming (incoming.h), 0 at
 * the end; -DCPI_EDAMAGED, ...
 */
int epoch_walk_next(struct store_walk *walk, struct epoch *epoch);

/* Each: 0; -ENOENT when there is none with this id; -DCPI_EDAMAGED, ... */
int epoch_read(const struct store *store, MDB_txn *txn, uint32_t id, struct epoch *epoch);
int epoch_write(const struct store *store, MDB_txn *txn, const struct epoch *epoch);
int slice_read(const struct store *store, MDB_txn *txn, uint32_t id, struct slice *slice);
int slice_write(const struct store *store, MDB_txn *txn, const struct slice *slice);

struct slice_entry {
	uint32_t id;
	uint32_t epoch;
	uint64_t start_ns, end_ns;
	bool is_kept, is_incoming; /* flags of its epoch, set by epoch_table_marks() */
};

struct slice_list {
	struct slice_entry *slices; /* ascending by id */
	size_t count, capacity;
};

/* 0 or an error; *list is the caller's to free, also after an error. */
int slice_list_read(const struct store *store, MDB_txn *txn, struct slice_list *list);
void slice_list_fini(struct slice_list *list);

/* How many epochs are kept, and how many are incoming; none is both. */
struct epoch_marks {
	uint64_t kept, incoming;
};

/* Count them, and set the flags of their slices in `list` (NULL is allowed). 0 or an error. */
int epoch_table_marks(const struct store *store, MDB_txn *txn, struct slice_list *list, struct epoch_marks *marks);

/*
 * Take at most `max` blocks - of counts, then of edges, then times of labels - from slice `from` and add them to slice
 * `to`, or drop them when it is 0. taken[event] is the samples that were in them. How many blocks, or an error.
 */
int64_t slice_take_blocks(struct profile *profile, MDB_txn *txn, uint32_t from, uint32_t to, size_t max,
                          uint64_t taken[EVENTS_MAX]);

/* Subtract the samples that were taken. */
void slice_subtract(struct slice *slice, const uint64_t taken[EVENTS_MAX]);

#endif
