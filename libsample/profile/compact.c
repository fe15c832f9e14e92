#include "profile/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/profile_internal.h"

#define SYNC_BYTES  (UINT64_C(8) << 20) /* synced in one piece */
#define HOLD_TRIES  5
#define SPARE_SHARE 32                  /* of the bytes in use, and */
#define SPARE_BYTES (UINT64_C(1) << 20) /* for writes of others during the copy */

/* The new file gets owner and mode of the old one; 0 or -errno. */
static int
give_owner_and_mode(int directory, int fd)
{
	struct stat old, new;

	if (fstatat(directory, DIRECTORY_DATA, &old, AT_SYMLINK_NOFOLLOW) < 0 || fstat(fd, &new) < 0)
		return -errno;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) && fchown(fd, old.st_uid, old.st_gid) < 0)
		return -errno;
	return fchmod(fd, old.st_mode & 0777) < 0 ? -errno : 0;
}

static bool
copy_is_canceled(struct compact_copy *copy)
{
	bool is_canceled;

	pthread_mutex_lock(&copy->lock);
	is_canceled = copy->is_canceled;
	pthread_mutex_unlock(&copy->lock);
	return is_canceled;
}

static void
copy_set_file(struct compact_copy *copy, int fd)
{
	pthread_mutex_lock(&copy->lock);
	copy->fd = fd;
	pthread_mutex_unlock(&copy->lock);
}

/*
 * fsync(2) of gigabytes may take half a minute and cannot be interrupted: sync in pieces. A file system without
 * sync_file_range(2) refuses, and does all of it at the end.
 */
static int
sync_file(struct compact_copy *copy, int fd)
{
	const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	for (off64_t at = 0; at < stat.st_size && !copy_is_canceled(copy); at += SYNC_BYTES)
		if (sync_file_range(fd, at, SYNC_BYTES, wait) < 0 && (errno == EIO || errno == ENOSPC))
			return -errno;
	if (copy_is_canceled(copy))
		return -ECANCELED;
	return fsync(fd) < 0 ? -errno : 0;
}

/*
 * Write what is in use to DIRECTORY_COPY, which does not exist yet, and sync it. 0, an error, or -ECANCELED after
 * profile_break_compaction(); the file is left.
 */
static int
write_copy(struct profile *profile)
{
	struct compact_copy *copy = &profile->copy;
	int fd = openat(profile->directory, DIRECTORY_COPY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = give_owner_and_mode(profile->directory, fd);
	copy_set_file(copy, fd);
	if (!err && copy_is_canceled(copy))
		err = -ECANCELED;
	if (!err)
		err = store_error(mdb_env_copyfd2(profile->store.env, fd, MDB_CP_COMPACT));
	if (err && copy_is_canceled(copy))
		err = -ECANCELED;
	if (!err)
		err = sync_file(copy, fd);
	copy_set_file(copy, -1);
	close(fd);
	return err;
}

/* LMDB's copy cannot be interrupted: replace its descriptor by one of a directory, which cannot be written to. */
void
profile_break_compaction(struct profile *profile)
{
	struct compact_copy *copy = &profile->copy;

	pthread_mutex_lock(&copy->lock);
	copy->is_canceled = true;
	if (copy->fd >= 0)
		(void)dup3(profile->directory, copy->fd, O_CLOEXEC); /* on failure it ends by itself */
	pthread_mutex_unlock(&copy->lock);
}

static int
last_transaction(MDB_env *env, size_t *number)
{
	MDB_envinfo info;
	int err = store_error(mdb_env_info(env, &info));

	*number = info.me_last_txnid;
	return err;
}

/* Commit a transaction that changes nothing: it stores the first value again. */
static int
commit_no_change(struct store *store)
{
	MDB_val key, value;
	MDB_cursor *cursor;
	MDB_txn *txn;
	void *copy;
	int err;

	err = store_begin(store, true, &txn);
	if (err)
		return err;
	err = store_error(mdb_cursor_open(txn, store->tables[TABLE_META], &cursor));
	if (err)
		return store_end(store, txn, err);
	err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_FIRST));
	copy = err ? NULL : malloc(value.mv_size + 1);
	if (copy) {
		memcpy(copy, value.mv_data, value.mv_size);
		value.mv_data = copy;
		err = store_error(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT));
	} else if (!err) {
		err = -ENOMEM;
	}
	mdb_cursor_close(cursor);
	err = store_end(store, txn, err);
	free(copy);
	return err;
}

/*
 * While another process has the database open, LMDB takes the number of the last transaction from the lock file, which
 * the old and the new file share, and looks for its root in the first or second page of the data file as the number is
 * even or odd. In a compacted file it is in the second: so the last transaction's number has to be odd.
 */
static int
make_last_transaction_odd(struct store *store)
{
	size_t number;
	int err, restore_err;

	err = last_transaction(store->env, &number);
	if (err || number % 2 == 1)
		return err;
	err = commit_no_change(store);
	if (err != -DCPI_EFULL)
		return err;
	err = store_raise_limit(store, SPARE_BYTES);
	if (err)
		return err;
	err = commit_no_change(store);
	restore_err = store_restore_limit(store);
	return err ? err : restore_err;
}

/* Open the copy by LMDB before it replaces the database. */
static int
check_copy(const struct profile *profile, uint64_t *bytes)
{
	char path[sizeof("/proc/self/fd//" DIRECTORY_COPY) + 16];
	off_t size = directory_file_size(profile->directory, DIRECTORY_COPY);
	size_t number = 0;
	MDB_env *env;
	int err;

	if (size < 0)
		return (int)size;
	*bytes = (uint64_t)size;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" DIRECTORY_COPY, profile->directory);
	err = store_error(mdb_env_create(&env));
	if (err)
		return err;
	err = store_error(mdb_env_open(env, path, MDB_RDONLY | MDB_NOSUBDIR | MDB_NOLOCK, 0));
	if (!err)
		err = last_transaction(env, &number);
	mdb_env_close(env);
	return err ? err : (number % 2 == 1 ? 0 : -EPROTO);
}

/* The new file is the database now: open it, whatever else fails. */
static int
reopen_compacted(struct profile *profile)
{
	int err = fsync(profile->directory) < 0 ? -errno : 0; /* the rename must survive a loss of power */

	/*
	 * profile_recover() must not take it for another database: note the files before opening, which may fail, and
	 * after it, which may make a lock file.
	 */
	(void)directory_files_note(&profile->files, profile->directory);
	store_close(&profile->store);
	profile->store.size_limit = profile->size_limit;
	if (store_open(&profile->store))
		return -ENODEV;
	return err ? err : directory_files_note(&profile->files, profile->directory);
}

/*
 * Hold a write transaction until the copy has replaced the database: what writers beside us (dcpix) add must not be
 * missing in the copy, and they must not write to the old file afterwards, which shares the lock file and its
 * transaction number with the new one.
 */
static int
hold_writers(struct store *store, MDB_txn **txn)
{
	int err;

	for (int i = 0; i < HOLD_TRIES; i++) {
		err = make_last_transaction_odd(store);
		if (!err)
			err = store_begin(store, true, txn);
		if (err)
			return err;
		if (mdb_txn_id(*txn) % 2 == 0)
			return 0;
		mdb_txn_abort(*txn); /* another process wrote in between */
	}
	return -EAGAIN;
}

int
profile_compact(struct profile *profile, struct compaction *compaction)
{
	struct profile_stats stats;
	struct statvfs statvfs;
	MDB_txn *txn;
	int err;

	memset(compaction, 0, sizeof(*compaction));
	if (!profile->store.write)
		return -EINVAL;
	if (profile->uncertain.transaction) /* compaction would reset the number that tells whether it was written */
		return -EIO;
	err = profile_stats(profile, &stats);
	if (err)
		return err;
	if (fstatvfs(profile->directory, &statvfs) < 0)
		return -errno;
	compaction->before_bytes = stats.file_bytes;
	compaction->needed_bytes = stats.used_bytes + stats.used_bytes / SPARE_SHARE + SPARE_BYTES;
	compaction->free_bytes = (uint64_t)statvfs.f_bavail * statvfs.f_frsize;
	if (compaction->needed_bytes > compaction->free_bytes)
		return -ENOSPC;
	err = hold_writers(&profile->store, &txn);
	if (err)
		return err;
	directory_remove_copy(profile->directory);
	err = write_copy(profile);
	if (!err)
		err = check_copy(profile, &compaction->after_bytes);
	if (!err && renameat(profile->directory, DIRECTORY_COPY, profile->directory, DIRECTORY_DATA) < 0)
		err = -errno;
	mdb_txn_abort(txn);
	if (!err)
		return reopen_compacted(profile);
	directory_remove_copy(profile->directory);
	return err;
}

const char *
compaction_size(uint64_t bytes, char *text, size_t size)
{
	snprintf(text, size, "%.1f MiB", (double)bytes / (1 << 20));
	return text;
}

void
compaction_explain(const struct compaction *compaction, int err, char *why, size_t size)
{
	char needed[32], free_bytes[32];

	if (err == -ENOSPC && compaction->needed_bytes > compaction->free_bytes)
		snprintf(why, size, "to compact it, %s must be free in its file system, and only %s are",
		         compaction_size(compaction->needed_bytes, needed, sizeof(needed)),
		         compaction_size(compaction->free_bytes, free_bytes, sizeof(free_bytes)));
	else if (err == -ECANCELED)
		snprintf(why, size, "dcpid is ending; the database is as it was");
	else if (err == -ENODEV)
		snprintf(why, size, "it was compacted, and then could not be opened");
	else
		snprintf(why, size, "%s", error_text(err));
}
