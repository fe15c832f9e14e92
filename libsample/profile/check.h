/*
 * check.h - the parts of profile_check() (private to profile/)
 *
 * A check goes through one table, complains about what is wrong there and remembers what later tables refer to.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_CHECK_H
#define DCPI_PROFILE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/store.h"

#define CHECK_TEXT_SIZE 256

/* Numbers that are there, ascending. */
struct check_numbers {
	uint32_t *numbers;
	size_t count, capacity;
};

struct check_epoch {
	uint32_t id;
	size_t event_count;
	bool is_incoming;
};

struct check_slice {
	uint32_t id;
	size_t event_count;
	bool is_incoming;             /* not all of its blocks are there yet, or any more */
	uint64_t samples[EVENTS_MAX]; /* as the slice says */
	uint64_t unknown[EVENTS_MAX]; /* as the slice says, all causes */
	uint64_t counted[EVENTS_MAX]; /* as the blocks add up */
};

struct check {
	const struct store *store;
	MDB_txn *txn;
	int gone; /* an error: what is read is not to be believed any more */
	profile_complaint *complain;
	void *context;
	int64_t complaints;
	struct check_epoch *epochs; /* ascending by id, as the next */
	size_t epoch_count, epoch_capacity;
	struct check_slice *slices;
	size_t slice_count, slice_capacity;
	struct check_numbers images;
	struct check_numbers contexts;
};

void check_complain(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call `visit` for each entry of a table; what LMDB itself finds wrong is a complaint. 0 or -ENOMEM. */
int check_table(struct check *check, enum table table,
                int (*visit)(struct check *check, const MDB_val *key, const MDB_val *value));

/* Each: 0, or a negative error that ends the check. In this order. */
int check_epochs(struct check *check);
int check_slices(struct check *check);
int check_images(struct check *check);
int check_contexts(struct check *check);
int check_counts(struct check *check); /* and the totals of slices */
int check_edges(struct check *check);
int check_symbols(struct check *check);
int check_text(struct check *check);
int check_label_times(struct check *check);

bool check_numbers_have(const struct check_numbers *numbers, uint32_t number);
struct check_slice *check_find_slice(const struct check *check, uint32_t id);

#endif
