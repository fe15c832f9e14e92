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
#include "profile/compact_copy.h"
#include "profile/directory.h"
#include "profile/handle.h"

#define HOLD_TRIES  5
#define SPARE_SHARE 32                  /* of what is in use, and */
#define SPARE_BYTES (UINT64_C(1) << 20) /* that others may write meanwhile */

static int
measure(const struct profile *profile, const struct profile_stats *stats, struct compaction *compaction)
{
	struct statvfs statvfs;

	if (fstatvfs(profile->directory, &statvfs) < 0)
		return -errno;
	*compaction = (struct compaction){
		.before_bytes = stats->file_bytes,
		.needed_bytes = stats->used_bytes + stats->used_bytes / SPARE_SHARE + SPARE_BYTES,
		.free_bytes = (uint64_t)statvfs.f_bavail * statvfs.f_frsize,
	};
	return compaction->needed_bytes > compaction->free_bytes ? -ENOSPC : 0;
}

static int
last_transaction(MDB_env *env, size_t *number)
{
	MDB_envinfo info;
	int err = store_error(mdb_env_info(env, &info));

	*number = info.me_last_txnid;
	return err;
}

/* A transaction that changes nothing: the first value is stored as it is. */
static int
write_nothing(struct store *store)
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
	int err, repay_err;

	err = last_transaction(store->env, &number);
	if (err || number % 2 == 1)
		return err;
	err = write_nothing(store);
	if (err != -DCPI_EFULL)
		return err;
	err = store_lend(store, SPARE_BYTES);
	if (err)
		return err;
	err = write_nothing(store);
	repay_err = store_repay(store);
	return err ? err : repay_err;
}

/* Open it as LMDB would: what cannot be opened must not take the place of what can. */
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

/* The new file is the database now: go on with it, whatever else fails. */
static int
move_over(struct profile *profile)
{
	int err = fsync(profile->directory) < 0 ? -errno : 0; /* so that it is after a loss of power, too */

	/* for profile_recover(): it is no other one. Before, should opening it fail; after, for it may make a lock */
	(void)place_note(&profile->place, profile->directory);
	store_close(&profile->store);
	profile->store.size_limit = profile->size_limit;
	if (store_open(&profile->store))
		return -ENODEV;
	return err ? err : place_note(&profile->place, profile->directory);
}

/*
 * Keep those who write beside us (dcpix) away until the copy is in place: what they add must not be missing there, nor
 * may they write to the old file afterwards, which counts its transactions in the same lock file.
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
		mdb_txn_abort(*txn); /* somebody wrote in between */
	}
	return -EAGAIN;
}

int
profile_compact(struct profile *profile, struct compaction *compaction)
{
	struct profile_stats stats;
	MDB_txn *txn = NULL;
	int err;

	memset(compaction, 0, sizeof(*compaction));
	if (!profile->store.write)
		return -EINVAL;
	if (profile->doubt.transaction) /* its number says whether it was written, and numbers begin again */
		return -EIO;
	err = profile_stats(profile, &stats);
	if (!err)
		err = measure(profile, &stats, compaction);
	if (!err)
		err = hold_writers(&profile->store, &txn);
	if (err)
		return err;
	directory_remove_copy(profile->directory);
	err = compact_write_copy(profile);
	if (!err)
		err = check_copy(profile, &compaction->after_bytes);
	if (!err && renameat(profile->directory, DIRECTORY_COPY, profile->directory, DIRECTORY_DATA) < 0)
		err = -errno;
	mdb_txn_abort(txn);
	if (!err)
		return move_over(profile);
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
		snprintf(why, size, "dcpid was told to end; the database is as it was");
	else if (err == -ENODEV)
		snprintf(why, size, "it was compacted, and then could not be opened");
	else
		snprintf(why, size, "%s", error_text(err));
}
