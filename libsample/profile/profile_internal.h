/*
 * profile_internal.h - the members of a struct profile, and what files of profile/ share (for profile/ and salvage/)
 */
#ifndef DCPI_PROFILE_PROFILE_INTERNAL_H
#define DCPI_PROFILE_PROFILE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "profile/directory.h"
#include "profile/ids.h"
#include "profile/profile.h"
#include "profile/retention.h"
#include "profile/store.h"

/* A flush whose commit failed: it may be on the disk nevertheless. */
struct uncertain_commit {
	size_t transaction; /* LMDB's number of it; 0: there is none */
	uint32_t slice;
	bool is_written; /* it is on the disk: when this batch is given again, only its ids are taken */
};

/* The file that a compaction writes. */
struct compact_copy {
	pthread_mutex_t lock;
	bool is_canceled; /* never reset */
	int fd;           /* -1: none */
};

struct profile {
	struct store store;
	int directory;
	int lock; /* the writer's, else -1 */
	char *path;
	uint64_t size_limit; /* as asked for: a larger file may have raised the store's */
	struct directory_files files;
	struct uncertain_commit uncertain;
	struct ids_map images;
	struct ids_map contexts;
	struct ids_map nodes;  /* of stacks: number n at n - 1 */
	uint32_t stacks_image; /* the database's number of the image of kind IMAGE_STACKS; 0: the session has none */
	struct gc gc;
	struct compact_copy copy;
	uint32_t begun; /* the last epoch that was begun by this profile; 0: none */
};

/* ---- epochs that an import brings in over several transactions (merge_database.h) ---- */

/* In a transaction: are there incoming epochs? 1, 0, or an error. */
int merge_database_has_incoming(const struct store *store, MDB_txn *txn);

/*
 * One transaction that removes at most `max` blocks of an incoming epoch whose import has ended, and the epoch after
 * its last slice; `is_ours`: we hold the lock, and all incoming epochs are to go. 1: there may be more to do; 0: there
 * was nothing (then nothing was written); or an error with nothing changed.
 */
int merge_database_remove_incoming(struct profile *profile, bool is_ours, size_t max);

#endif
