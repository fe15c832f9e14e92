/*
 * readers.h - versions of the database that are kept while a process reads them (private to profile/)
 *
 * A version is the state after one transaction. LMDB keeps the pages of a version as long as its table of readers, in
 * lock.mdb, has a slot for it. That table is for writers only: a process that can write to it can damage them. A reader
 * opens data.mdb without it (MDB_NOLOCK) and announces itself by a file lock, which needs only read permission:
 *
 * - The reader takes a read lock (fcntl(2)) of the byte of `readers.lock` whose offset is the number of the newest
 *   version, and checks that this is still the newest.
 * - Each writing transaction N holds a slot of LMDB's table of readers for version N-1. If no reader has locked the
 *   byte of that version, transaction N+1 releases the slot when it begins. Otherwise a later transaction does: when
 *   the lock is gone, when it has been there for READERS_KEEP_S, or when the database has no room. Before a transaction
 *   releases slots, it writes to `readers.lock` the oldest version whose pages it does not reuse.
 * - Transaction N reuses pages that transaction N-2 or an older one freed (mdb_page_alloc() of LMDB 0.9), which
 *   versions N-2 and later do not have. So what was read of version S is valid if the newest version is at most S+1
 *   afterwards, or if the newest writer keeps S: the reader checks this before it uses what it read.
 *
 * A process that locks everything for ever makes the file grow by what is written in READERS_KEEP_S, and blocks nobody.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_READERS_H
#define DCPI_PROFILE_READERS_H

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/guard.h"

#define READERS_KEEP_S   300
#define READERS_KEPT_MAX 32 /* versions: each takes one of LMDB's 126 slots */
#define READERS_LAG_MAX  6  /* writes; a minute by default. A report takes some milliseconds */

struct store;

/* Where the lock of a version is: files have no offsets past 2^63. */
static inline off_t
readers_byte(uint64_t version)
{
	return (off_t)(version & (UINT64_MAX >> 2));
}

/* The reader that keeps the writer from reusing pages. */
struct slow_reader {
	int pid;              /* 0: there is none; -1: the kernel does not say which process it is */
	uint64_t transaction; /* the version that it reads */
	uint64_t lag;         /* writes since that version */
	uint64_t since_ns;    /* when it was first seen there, ns since 1970 */
	bool is_logged;       /* the log has named it */
};

/* A version that this process keeps. */
struct kept_version {
	uint64_t number;
	uint64_t until_ns; /* CLOCK_MONOTONIC; 0: it was still the newest at the last look */
	bool is_released;
	MDB_txn *txn; /* reads nothing: it only holds the slot in LMDB's table */
};

struct readers {
	int locks; /* readers.lock; -1: there is none */
	int data;  /* borrowed from LMDB */
	size_t page_size;
	uint64_t keep_ns;
	struct kept_version kept[READERS_KEPT_MAX]; /* a writer's, oldest first */
	size_t kept_count;
	struct slow_reader slow; /* a writer's */
	bool is_reading;         /* a reader's */
	bool is_locked;          /* the byte of `version` */
	uint64_t version;        /* the one that is read */
	struct guard_excuse excuse;
};

/* After the environment was opened, and before it is closed; a writer then releases the versions that it keeps. */
int readers_init(struct store *store);
void readers_fini(struct store *store);

/* A writing transaction has begun: nothing of it is on the disk yet. */
void readers_begin_write(struct store *store, MDB_txn *txn);

/* Release all versions that are at least `lag` writes old. How many of them a reader still needs, or an error. */
int readers_release(struct store *store, uint64_t lag);

/*
 * For a reader: lock the newest version, before its transaction begins (-EBUSY: one is under way). Once it has begun,
 * readers_confirm() checks that it reads that version; -EAGAIN when a process wrote in between: end the transaction,
 * leave, and try again.
 */
int readers_enter(struct store *store);
int readers_confirm(const struct store *store, MDB_txn *txn);

/* Is everything that was read since readers_enter() valid? 0, -DCPI_EVERSION or -EIO. Async-signal-safe. */
int readers_check(const struct store *store);
void readers_leave(struct store *store);

/* A reader that has stayed at its version for READERS_LAG_MAX writes; NULL: there is none. */
const struct slow_reader *readers_slow(const struct store *store);

#endif
