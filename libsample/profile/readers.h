/*
 * readers.h - versions of the database that are kept for whoever reads them (private to profile/)
 *
 * A version is what one transaction left. LMDB keeps the pages of a version as long as its table of readers, in
 * lock.mdb, has somebody who sees it. That table is for writers only: who can write to it can do anything to them.
 * A reader opens data.mdb without it (MDB_NOLOCK) and tells writers by a lock, for which it needs no right but to read:
 *
 * - The reader takes a read lock (fcntl(2)) of the byte of `readers.lock` whose offset is the number of the newest
 *   version, and looks whether that is the newest still.
 * - Each writing transaction N has a place in LMDB's table of readers for version N-1. Where nobody has locked its
 * byte, the place is given up at the beginning of N+1, else when the lock is gone, or has been there for
 * READERS_KEEP_S, or the database has no room. Before, it writes to `readers.lock` which version is the oldest that
 * transaction N spares.
 * - Transaction N uses pages again that transaction N-2 or an older one freed (mdb_page_alloc() of LMDB 0.9), which
 *   versions N-2 and later do not have. So what was read of version S is what was written if the newest version is S+1
 *   at most afterwards, or if the newest writer has spared S: the reader asks before it believes what it read.
 *
 * Who locks everything for ever makes the file grow by what is written in READERS_KEEP_S, and stops nobody.
 * Thread rule: as the store.
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
#define READERS_KEPT_MAX 32 /* versions: each takes one of LMDB's 126 places */
#define READERS_LAG_MAX  6  /* writes; a minute by default. A report takes some milliseconds */

struct store;

/* Where the lock of a version is: files have no offsets past 2^63. */
static inline off_t
readers_byte(uint64_t version)
{
	return (off_t)(version & (UINT64_MAX >> 2));
}

/* Who keeps the writer from using pages again. */
struct slow_reader {
	int pid;              /* 0: nobody; -1: the kernel does not tell which process it is */
	uint64_t transaction; /* that it sees */
	uint64_t lag;         /* how many writes it has not seen */
	uint64_t since_ns;    /* when it was first seen there, ns since 1970 */
	bool is_told;         /* the log has named it */
};

/* A version that this process keeps. */
struct kept_version {
	uint64_t number;
	uint64_t until_ns; /* CLOCK_MONOTONIC; 0: it was the newest when we looked */
	bool goes;
	MDB_txn *txn; /* reads nothing: it only has the place in LMDB's table */
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
	uint64_t version;        /* that is read */
	struct guard_excuse excuse;
};

/* After the environment was opened, and before it is closed; a writer gives up what it keeps. */
int readers_init(struct store *store);
void readers_fini(struct store *store);

/* A writing transaction has begun: nothing of it is on the disk yet. */
void readers_begin_write(struct store *store, MDB_txn *txn);

/* Give up all that is kept of versions that are at least `lag` writes old. How many of them somebody reads; an error.
 */
int readers_give_up(struct store *store, uint64_t lag);

/*
 * A reader that reads: lock the newest version, before its transaction begins. Once it has, whether that sees it;
 * -EAGAIN when somebody wrote in between: end the transaction, leave, and try again.
 */
int readers_enter(struct store *store);
int readers_confirm(const struct store *store, MDB_txn *txn);

/* Is what was read since then what was written? 0, -DCPI_EVERSION or -EIO. Async-signal-safe. */
int readers_check(const struct store *store);
void readers_leave(struct store *store);

/* The one that has not gone on for READERS_LAG_MAX writes; NULL: there is none. */
const struct slow_reader *readers_slow(const struct store *store);

#endif
