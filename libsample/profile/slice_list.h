/*
 * slice_list.h - slices and their blocks, for retention (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SLICE_LIST_H
#define DCPI_PROFILE_SLICE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/epoch.h"
#include "profile/handle.h"

struct slice_place {
	uint32_t id;
	uint32_t epoch;
	uint64_t start_ns, end_ns;
	bool is_kept, is_incoming; /* its epoch is; see slice_list_mark() */
};

struct slice_list {
	struct slice_place *slices; /* ascending by id */
	size_t count, capacity;
};

/* 0 or an error; *list is the caller's to free, also after an error. */
int slice_list_read(const struct store *store, MDB_txn *txn, struct slice_list *list);
void slice_list_fini(struct slice_list *list);

/* How many epochs are kept, and how many are incoming; none is both. */
struct epoch_marks {
	uint64_t kept, incoming;
};

/* Count them, and mark their slices in `list` (NULL is allowed). 0 or an error. */
int slice_list_mark(const struct store *store, MDB_txn *txn, struct slice_list *list, struct epoch_marks *marks);

int slice_read(const struct store *store, MDB_txn *txn, uint32_t id, struct slice *slice);
int slice_write(const struct store *store, MDB_txn *txn, const struct slice *slice);
int slice_remove(const struct store *store, MDB_txn *txn, uint32_t id);

/*
 * Take at most `max` blocks - of counts, then of edges, then times of labels - from slice `from` and add them to slice
 * `to`, or drop them when it is 0. taken[event] is the samples that were in them. How many, or an error.
 */
int64_t slice_take_blocks(struct profile *profile, MDB_txn *txn, uint32_t from, uint32_t to, size_t max,
                          uint64_t taken[EVENTS_MAX]);

/* Less by what was taken. */
void slice_subtract(struct slice *slice, const uint64_t taken[EVENTS_MAX]);

#endif
