/*
 * incoming.h - epochs that an import brings in over several transactions (private to profile/)
 *
 * An import writes in pieces, a transaction each, so that a flush gets its turn between two. Its epochs have a mark in
 * their record until the last piece takes it from all of them at once: readers, merging and dropping pass by what has
 * it. The import holds a lock (fcntl(2), of the open file description) on `imports.lock` from before the first mark
 * until after the last, and the lock ends with the process. So epochs with a mark while nobody holds the lock are what
 * an import left that was killed, and any writer removes them, some blocks a transaction. What an import replaces it
 * marks when it takes its own marks away, and removes the same way. One import of a database runs at a time. While
 * there is an incoming epoch no image and no context is removed: its import has their numbers. Thread rule: the
 * profile's.
 */
#ifndef DCPI_PROFILE_INCOMING_H
#define DCPI_PROFILE_INCOMING_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/handle.h"

/*
 * Take the lock, and wait for an import that has it: `wait` is called again and again meanwhile, and what it returns,
 * if not 0, ends that; NULL is allowed. A descriptor that holds the lock until it is closed, or -errno; -DCPI_ESYMLINK.
 */
int incoming_lock(const struct profile *profile, int (*wait)(void *context), void *context);

/* Is `lock` what others find? Who removed or replaced the file let them take its epochs for what was left. */
bool incoming_is_locked(const struct profile *profile, int lock);

/* In a transaction: are there incoming epochs? 1, 0, or an error. */
int incoming_exist(const struct store *store, MDB_txn *txn);

/*
 * One transaction that removes at most `max` blocks of an incoming epoch whose import has ended, and the epoch after
 * its last slice; `is_ours`: we hold the lock, and need none of them. 1: there may be more to do; 0: there was nothing
 * (then nothing was written); or an error with nothing changed.
 */
int incoming_remove_some(struct profile *profile, bool is_ours, size_t max);

#endif
