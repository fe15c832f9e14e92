/*
 * label_times.h - how long the runs under a label lasted, by slice
 *
 * A run lasts as long as a process with its label lives. The part of it within a slice is stored under that slice, so
 * that it is merged, dropped and selected with the samples of that time. Runs under one label that overlap count once:
 * the writer counts the time in which at least one such process lived. The key is big-endian: slice, then the label's
 * bytes; so the labels of a slice are together. Thread rule: the profile's.
 */
#ifndef DCPI_PROFILE_LABEL_TIMES_H
#define DCPI_PROFILE_LABEL_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "profile/ids.h"
#include "profile/profile.h"
#include "profile/store.h"

/* ---- lists, before a flush ---- */

struct label_times {
	size_t count, capacity;
	struct profile_label_time *list; /* labels are the list's */
};

int label_times_add(struct label_times *times, const struct profile_label_time *time); /* a copy; 0 or -ENOMEM */
void label_times_fini(struct label_times *times);                                      /* a zeroed one is allowed */

/* ---- for profile/ ---- */

#define LABEL_TIMES_KEY_MIN 5 /* a label has a byte at least */
#define LABEL_TIMES_KEY_MAX (4 + RECORD_LABEL_SIZE - 1)

struct label_times_key {
	uint32_t slice;
	char label[RECORD_LABEL_SIZE]; /* not "" */
};

/* A label that is too long is cut, as in its context. The size of the key; 0 for the label "". */
size_t label_times_key_encode(uint32_t slice, const char *label, uint8_t data[LABEL_TIMES_KEY_MAX]);
int label_times_key_decode(const void *data, size_t size, struct label_times_key *key); /* 0 or -DCPI_EDAMAGED */

void label_time_encode(const struct profile_label_time *time, struct byte_writer *writer);

/* All but the label. 0 or -DCPI_EDAMAGED. */
int label_time_decode(const void *data, size_t size, struct profile_label_time *time);

/* Merge `more`, whose label is that of `time`, into it: the first begin, the last end, the sum of the elapsed times. */
void label_time_merge(struct profile_label_time *time, const struct profile_label_time *more);

/* Add to the times of `slice`. Times without a label, or of no length, are ignored. 0 or an error. */
int label_times_put(const struct store *store, MDB_txn *txn, uint32_t slice, const struct profile_label_time *times,
                    size_t count);

/* Take at most `max` labels' times from slice `from` and add them to `to`, or drop them when it is 0. How many. */
int64_t label_times_take(const struct store *store, MDB_txn *txn, uint32_t from, uint32_t to, size_t max);

#endif
