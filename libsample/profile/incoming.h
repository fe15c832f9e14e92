/*
 * incoming.h - epochs that an import brings in over several transactions (private to profile/)
 *
 * An import writes in pieces, a transaction each, so that a flush can run between two. Its epochs have the flag
 * is_incoming until the last piece clears it in all of them at once: readers, merging and dropping ignore such epochs.
 * The import holds a lock (fcntl(2), of the open file description) on `imports.lock` from before the first flag is set
 * until after the last is cleared, and the kernel releases the lock when the process ends. So incoming epochs without a
 * held lock were left by a killed import, and any writer removes them, some blocks a transaction. An import flags the
 * epochs that it replaces when it clears its own flags, and then removes them in this way. One import into a database
 * runs at a time. While there is an incoming epoch no image and no context is removed: its import has their numbers.
 * Thread rule: the profile's.
 */
#ifndef DCPI_PROFILE_INCOMING_H
#define DCPI_PROFILE_INCOMING_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/profile_internal.h"

/*
 * Take the lock, and wait for an import that has it: meanwhile `wait` is called repeatedly, and a result that is not 0
 * ends waiting with that result; NULL is allowed. A descriptor that holds the lock until it is closed, or -errno;
 * -DCPI_ESYMLINK.
 */
int incoming_lock(const struct profile *profile, int (*wait)(void *context), void *context);

/* Is the locked file still in the directory? Without it, other writers take our epochs for those of a killed import. */
bool incoming_is_locked(const struct profile *profile, int lock);

/* In a transaction: are there incoming epochs? 1, 0, or an error. */
int incoming_exist(const struct store *store, MDB_txn *txn);

/*
 * One transaction that removes at most `max` blocks of an incoming epoch whose import has ended, and the epoch after
 * its last slice; `is_ours`: we hold the lock, and all incoming epochs are to go. 1: there may be more to do; 0: there
 * was nothing (then nothing was written); or an error with nothing changed.
 */
int incoming_remove_some(struct profile *profile, bool is_ours, size_t max);

#endif
