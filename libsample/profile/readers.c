#include "profile/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "profile/directory.h"
#include "profile/lmdb_pages.h"
#include "profile/store.h"

#define NEW_LOCKS READERS_LOCK ".new"
#define FORMAT    UINT64_C(0x31737265646165) /* "readers1" without its first letter */

/* The content of `readers.lock`. */
struct promise {
	uint64_t format;
	uint64_t device, inode; /* of the data.mdb that it is about */
	uint64_t transaction;   /* the last that was begun: the promise holds until another begins */
	uint64_t oldest;        /* version whose pages are not reused, as those of all later versions */
	uint64_t sum;           /* checksum of the other members: a reader may see half a write */
};

static uint64_t
sum_of(const struct promise *promise)
{
	return promise->format + promise->device * 3 + promise->inode * 5 + promise->transaction * 7 +
	       promise->oldest * 11;
}

/* False when there is none, or it is about another data.mdb. Async-signal-safe. */
static bool
read_promise(const struct readers *readers, struct promise *promise)
{
	struct stat data;

	return readers->locks >= 0 && pread(readers->locks, promise, sizeof(*promise), 0) == sizeof(*promise) &&
	       promise->format == FORMAT && promise->sum == sum_of(promise) && fstat(readers->data, &data) == 0 &&
	       promise->device == data.st_dev && promise->inode == data.st_ino;
}

static bool
write_promise(int locks, const struct readers *readers, uint64_t transaction, uint64_t oldest)
{
	struct promise promise = {.format = FORMAT, .transaction = transaction, .oldest = oldest};
	struct stat data;

	if (locks < 0 || fstat(readers->data, &data) < 0)
		return false;
	promise.device = data.st_dev;
	promise.inode = data.st_ino;
	promise.sum = sum_of(&promise);
	return pwrite(locks, &promise, sizeof(promise), 0) == sizeof(promise);
}

int
readers_init(struct store *store)
{
	struct readers *readers = &store->readers;
	MDB_stat stat;
	int err;

	*readers = (struct readers){.locks = -1, .data = -1, .keep_ns = READERS_KEEP_S * SECOND_NS};
	err = store_error(mdb_env_get_fd(store->env, &readers->data));
	if (!err)
		err = store_error(mdb_env_stat(store->env, &stat));
	if (!err)
		readers->page_size = stat.ms_psize;
	return err;
}

static void
close_locks(struct readers *readers)
{
	if (readers->locks >= 0)
		close(readers->locks);
	readers->locks = -1;
}

/* ---- writers: all of it within a writing transaction, one writer at a time ---- */

/* The owner of data.mdb, and its rights to read: a user who cannot read data.mdb does not need the lock file. */
static bool
give_owner_and_mode(const struct readers *readers, int locks)
{
	struct stat data, made;

	return fstat(readers->data, &data) == 0 && fstat(locks, &made) == 0 &&
	       ((data.st_uid == made.st_uid && data.st_gid == made.st_gid) ||
	        fchown(locks, data.st_uid, data.st_gid) == 0) &&
	       fchmod(locks, 0600 | (data.st_mode & 0044)) == 0;
}

/* For a new data.mdb. Readers of an old one keep the old lock file open, whose promise does not change any more. */
static void
make_locks(struct store *store)
{
	struct readers *readers = &store->readers;

	close_locks(readers);
	unlinkat(store->directory, NEW_LOCKS, 0);
	readers->locks = openat(store->directory, NEW_LOCKS, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (write_promise(readers->locks, readers, 0, UINT64_MAX) && give_owner_and_mode(readers, readers->locks) &&
	    renameat(store->directory, NEW_LOCKS, store->directory, READERS_LOCK) == 0)
		return;
	unlinkat(store->directory, NEW_LOCKS, 0);
	close_locks(readers); /* e.g. a full disk: the next transaction tries again */
}

static void
find_locks(struct store *store)
{
	struct readers *readers = &store->readers;
	struct promise promise;

	if (!directory_has(readers->locks, store->directory, READERS_LOCK)) {
		/* the file was removed or replaced: its readers must not rely on it any more */
		(void)write_promise(readers->locks, readers, 0, UINT64_MAX);
		close_locks(readers);
		readers->locks = openat(store->directory, READERS_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	}
	if (!read_promise(readers, &promise))
		make_locks(store);
}

/* A process that has locked the version: its id, -1 when the kernel does not say which; 0: there is none. */
static int
find_reader(const struct readers *readers, uint64_t version)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = readers_byte(version), .l_len = 1};

	if (readers->locks < 0 || fcntl(readers->locks, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

/* The oldest version that other processes hold in LMDB's table of readers: other writers, and programs of others. */
struct lmdb_readers {
	uint64_t last; /* version */
	uint64_t oldest;
	int pid; /* 0: there is none */
};

/* LMDB's list has a line for each slot, "PID THREAD TRANSACTION" or "PID THREAD -"; the format is not documented. */
static int
note_lmdb_reader(const char *line, void *context)
{
	struct lmdb_readers *others = context;
	uint64_t version;
	int pid;

	if (sscanf(line, "%d %*x %" SCNu64, &pid, &version) != 2 || pid == getpid() || version > others->last ||
	    (others->pid && version >= others->oldest))
		return 0;
	others->pid = pid;
	others->oldest = version;
	return 0;
}

static void
note_slow_reader(struct store *store, uint64_t last, int pid, uint64_t version)
{
	struct slow_reader *slow = &store->readers.slow;

	if (pid != slow->pid || version != slow->transaction)
		*slow = (struct slow_reader){
			.pid = pid,
			.transaction = version,
			.since_ns = clock_ns(CLOCK_REALTIME),
		};
	slow->lag = last - version;
	if (!slow->pid || slow->is_logged || slow->lag < READERS_LAG_MAX)
		return;
	if (slow->pid > 0)
		log_write(store->log, LOG_LEVEL_WARNING,
		          "process %d reads the database and does not go on: the file grows meanwhile", slow->pid);
	else
		log_write(store->log, LOG_LEVEL_WARNING,
		          "a process reads the database and does not go on: the file grows meanwhile");
	slow->is_logged = true;
}

/*
 * Mark the versions that no reader needs, and all that are at least `lag` writes old. Returns the oldest version whose
 * pages are not reused; *cut_off grows by the marked ones that a reader still needs.
 */
static uint64_t
mark_released(struct store *store, uint64_t lag, const struct lmdb_readers *others, int *cut_off)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t oldest = others->oldest, slow = oldest;
	struct readers *readers = &store->readers;
	int slow_pid = others->pid;

	for (size_t i = 0; i < readers->kept_count; i++) {
		struct kept_version *kept = &readers->kept[i];
		int pid = 0;

		kept->is_released = false;
		if (kept->number < others->last) { /* readers may be about to lock the newest */
			if (!kept->until_ns)
				kept->until_ns = now_ns + readers->keep_ns;
			pid = find_reader(readers, kept->number);
			kept->is_released = !pid || now_ns >= kept->until_ns || others->last - kept->number >= lag;
			*cut_off += pid && kept->is_released;
		}
		if (!kept->is_released && kept->number < oldest)
			oldest = kept->number;
		if (pid && !kept->is_released && (!slow_pid || kept->number < slow)) {
			slow_pid = pid;
			slow = kept->number;
		}
	}
	note_slow_reader(store, others->last, slow_pid, slow_pid ? slow : 0);
	return oldest;
}

/*
 * Keep the newest version. When the table is full, a middle one is given up: the older ones protect its pages, too, as
 * long as they are kept.
 */
static void
keep_version(struct store *store, uint64_t version)
{
	struct readers *readers = &store->readers;
	struct kept_version *kept = readers->kept;
	MDB_txn *txn;

	if (readers->kept_count > 0 && kept[readers->kept_count - 1].number == version)
		return;
	/* without a slot in LMDB's table the version cannot be kept: its readers get -DCPI_EVERSION */
	if (mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn))
		return;
	if (readers->kept_count == READERS_KEPT_MAX) {
		const size_t middle = READERS_KEPT_MAX / 2;

		mdb_txn_abort(kept[middle].txn);
		memmove(kept + middle, kept + middle + 1, (READERS_KEPT_MAX - middle - 1) * sizeof(*kept));
		readers->kept_count--;
	}
	kept[readers->kept_count++] = (struct kept_version){.number = version, .txn = txn};
}

/*
 * Write down which versions transaction `number` keeps, then release the others. How many were released that a reader
 * still needs.
 */
static int
release_versions(struct store *store, uint64_t number, uint64_t lag)
{
	struct lmdb_readers others = {.last = number - 1, .oldest = number - 1};
	struct readers *readers = &store->readers;
	uint64_t oldest;
	size_t stay = 0;
	int cut_off = 0;

	if (mdb_reader_list(store->env, note_lmdb_reader, &others) < 0)
		others.pid = 0;
	oldest = mark_released(store, lag, &others, &cut_off);
	if (readers->locks >= 0 && !write_promise(readers->locks, readers, number, oldest))
		return 0; /* the old promise stands, and must be kept */
	for (size_t i = 0; i < readers->kept_count; i++) {
		if (readers->kept[i].is_released)
			mdb_txn_abort(readers->kept[i].txn);
		else
			readers->kept[stay++] = readers->kept[i];
	}
	readers->kept_count = stay;
	return cut_off;
}

void
readers_begin_write(struct store *store, MDB_txn *txn)
{
	const uint64_t number = mdb_txn_id(txn);
	int dead;

	if (mdb_reader_check(store->env, &dead) == 0 && dead > 0)
		log_write(store->log, LOG_LEVEL_INFO, "cleared the slots of readers that are gone: %d", dead);
	find_locks(store);
	release_versions(store, number, UINT64_MAX);
	keep_version(store, number - 1);
}

int
readers_release(struct store *store, uint64_t lag)
{
	MDB_txn *txn;
	int rc, count;

	if (!store->env)
		return -ENODEV;
	rc = mdb_txn_begin(store->env, NULL, 0, &txn);
	if (rc)
		return store_error(rc);
	count = release_versions(store, mdb_txn_id(txn), lag);
	mdb_txn_abort(txn);
	return count;
}

void
readers_fini(struct store *store)
{
	struct readers *readers = &store->readers;
	MDB_txn *txn = NULL;

	/*
	 * Within a transaction: another writer may have promised what our slots keep. A file that a compaction has
	 * replaced is not written any more: its readers rely on the last promise.
	 */
	if (readers->kept_count > 0 && directory_has(readers->data, store->directory, DIRECTORY_DATA) &&
	    mdb_txn_begin(store->env, NULL, 0, &txn) == 0)
		release_versions(store, mdb_txn_id(txn), 0);
	for (size_t i = 0; i < readers->kept_count; i++)
		mdb_txn_abort(readers->kept[i].txn);
	readers->kept_count = 0;
	if (txn)
		mdb_txn_abort(txn);
	readers_leave(store);
	close_locks(readers);
}

const struct slow_reader *
readers_slow(const struct store *store)
{
	const struct slow_reader *slow = &store->readers.slow;

	return slow->pid && slow->is_logged ? slow : NULL;
}

/* ---- readers ---- */

static bool
is_version_gone(const void *context)
{
	return readers_check(context) == -DCPI_EVERSION;
}

int
readers_enter(struct store *store)
{
	struct readers *readers = &store->readers;
	struct promise promise;
	struct flock lock;

	if (readers->is_reading)
		return -EBUSY;
	if (!pages_newest(readers->data, readers->page_size, &readers->version))
		return -EIO;
	if (!read_promise(readers, &promise)) { /* there is none, or a compaction has made another */
		close_locks(readers);
		readers->locks = openat(store->directory, READERS_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	}
	lock = (struct flock){.l_type = F_RDLCK, .l_start = readers_byte(readers->version), .l_len = 1};
	readers->is_locked = readers->locks >= 0 && fcntl(readers->locks, F_SETLK, &lock) == 0;
	readers->is_reading = true;
	/* LMDB trusts page contents: reused pages may make it fault, which the guard then reports as -DCPI_EVERSION */
	readers->excuse = (struct guard_excuse){
		.applies = is_version_gone,
		.context = store,
		.sentence = error_text(-DCPI_EVERSION),
		.status = error_exit_status(-DCPI_EVERSION),
	};
	guard_set_excuse(&readers->excuse);
	return 0;
}

int
readers_confirm(const struct store *store, MDB_txn *txn)
{
	const struct readers *readers = &store->readers;
	uint64_t newest;

	if (!pages_newest(readers->data, readers->page_size, &newest))
		return -EIO;
	return newest == readers->version && mdb_txn_id(txn) == newest ? 0 : -EAGAIN;
}

int
readers_check(const struct store *store)
{
	const struct readers *readers = &store->readers;
	struct promise promise;
	uint64_t newest;

	if (!readers->is_reading)
		return 0;
	atomic_thread_fence(memory_order_seq_cst); /* the reads of data come before the reads that validate them */
	if (!pages_newest(readers->data, readers->page_size, &newest))
		return -EIO;
	if (newest - readers->version <= 1)
		return 0;
	return readers->is_locked && read_promise(readers, &promise) && promise.transaction >= newest &&
	                       promise.oldest <= readers->version
	               ? 0
	               : -DCPI_EVERSION;
}

void
readers_leave(struct store *store)
{
	struct readers *readers = &store->readers;
	struct flock lock = {.l_type = F_UNLCK, .l_start = readers_byte(readers->version), .l_len = 1};

	if (readers->is_reading && readers->is_locked)
		(void)fcntl(readers->locks, F_SETLK, &lock);
	if (readers->is_reading)
		guard_set_excuse(NULL);
	readers->is_reading = readers->is_locked = false;
}
