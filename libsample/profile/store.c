#include "profile/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/lmdb_pages.h"
#include "profile/readers.h"

#define BEGIN_TRIES 1000 /* each fails only when somebody wrote in between */

static const char *const table_names[TABLE_COUNT] = {
	[TABLE_META] = "meta",
	[TABLE_EPOCHS] = "epochs",
	[TABLE_SLICES] = "slices",
	[TABLE_IMAGES] = "images",
	[TABLE_IMAGE_IDS] = "image_ids",
	[TABLE_CONTEXTS] = "contexts",
	[TABLE_CONTEXT_IDS] = "context_ids",
	[TABLE_COUNTS] = "counts",
	[TABLE_SYMBOLS] = "symbols",
	[TABLE_EDGES] = "edges",
	[TABLE_TEXT] = "text",
	[TABLE_LABEL_TIMES] = "label_times",
};

const char *
table_name(enum table table)
{
	return table_names[table];
}

int
store_error(int rc)
{
	if (rc >= 0)
		return -rc; /* LMDB passes errno through as it is */
	switch (rc) {
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_KEYEXIST:
		return -EEXIST;
	case MDB_MAP_FULL:
		return -DCPI_EFULL;
	case MDB_READERS_FULL:
		return -DCPI_EREADERS;
	case MDB_PAGE_NOTFOUND:
	case MDB_CORRUPTED:
	case MDB_VERSION_MISMATCH:
	case MDB_INVALID:
	case MDB_INCOMPATIBLE:
	case MDB_BAD_VALSIZE:
	case MDB_CURSOR_FULL: /* a tree deeper than any can grow */
	case MDB_PAGE_FULL:
	case MDB_BAD_DBI: /* a table that was there is not any more */
	case MDB_BAD_TXN: /* opening a cursor met damage, which LMDB says at its first use only */
		return -DCPI_EDAMAGED;
	case MDB_TXN_FULL:
	case MDB_MAP_RESIZED:
		return -EAGAIN;
	default:
		return -EIO; /* the environment has had a fatal error (MDB_PANIC), or we broke a rule of LMDB's */
	}
}

int
store_limit_size(struct store *store, uint64_t bytes)
{
	off_t size = directory_file_size(store->directory, DIRECTORY_DATA);
	int err;

	if (!store->env)
		return -ENODEV;
	if (size < 0 && size != -ENOENT)
		return (int)size;
	if (size > 0 && (uint64_t)size > bytes)
		bytes = (uint64_t)size; /* a file does not shrink */
	err = store_error(mdb_env_set_mapsize(store->env, bytes));
	if (!err)
		store->size_limit = bytes;
	return err;
}

int
store_lend(const struct store *store, uint64_t bytes)
{
	return store->env ? store_error(mdb_env_set_mapsize(store->env, store->size_limit + bytes)) : -ENODEV;
}

int
store_repay(const struct store *store)
{
	return store_error(mdb_env_set_mapsize(store->env, store->size_limit)); /* LMDB keeps what is in use */
}

/* Is what is open still what the directory has? Whoever compacts holds the writers' lock until it has not. */
static bool
is_in_place(const struct store *store)
{
	struct stat open, named;
	int fd;

	return mdb_env_get_fd(store->env, &fd) == 0 && fstat(fd, &open) == 0 &&
	       fstatat(store->directory, DIRECTORY_DATA, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

static int
begin(struct store *store, bool write, MDB_txn **txn)
{
	int rc = mdb_txn_begin(store->env, NULL, write ? 0 : MDB_RDONLY, txn);

	if (rc == MDB_MAP_RESIZED) { /* a writer with a larger limit came by */
		rc = mdb_env_set_mapsize(store->env, 0);
		if (!rc)
			rc = mdb_txn_begin(store->env, NULL, write ? 0 : MDB_RDONLY, txn);
		if (rc == MDB_MAP_RESIZED) /* it says that it is larger than itself */
			rc = MDB_CORRUPTED;
	}
	return store_error(rc);
}

static int
begin_reading(struct store *store, MDB_txn **txn)
{
	int err = -EAGAIN;

	for (int tries = 0; err == -EAGAIN && tries < BEGIN_TRIES; tries++) {
		err = readers_enter(store);
		if (err)
			return err;
		err = begin(store, false, txn);
		if (!err) {
			err = readers_confirm(store, *txn);
			if (err)
				mdb_txn_abort(*txn);
		}
		if (err)
			readers_leave(store);
	}
	return err;
}

/*
 * LMDB's lock file says which transaction was the last. Who opens it first makes it anew, and who dies or fails in the
 * midst of that lets another, which waited, go on with what is half made: from transaction 0 it would write over pages
 * that are in use. What the data say holds.
 */
static bool
is_behind(const struct store *store, MDB_txn *txn)
{
	uint64_t newest;

	return pages_newest(store->readers.data, store->readers.page_size, &newest) && mdb_txn_id(txn) <= newest;
}

int
store_begin(struct store *store, bool write, MDB_txn **txn)
{
	int err;

	if (!store->env)
		return -ENODEV;
	if (!store->write)
		return write ? -EINVAL : begin_reading(store, txn);
	err = begin(store, write, txn);
	if (err == -EINVAL) /* LMDB 0.9.31 destroys the mutexes when the last one closes, also when another waits */
		return -EAGAIN;
	if (err || !write)
		return err;
	if (is_behind(store, *txn)) {
		mdb_txn_abort(*txn);
		return -EAGAIN;
	}
	if (store->beside && !is_in_place(store)) {
		mdb_txn_abort(*txn);
		return -ESTALE;
	}
	readers_begin_write(store, *txn);
	return 0;
}

/* LMDB calls a write that the disk had no room for in the middle EIO. */
static bool
disk_is_full(const struct store *store)
{
	struct statvfs statvfs;

	return fstatvfs(store->directory, &statvfs) == 0 && statvfs.f_bavail == 0;
}

int
store_end(const struct store *store, MDB_txn *txn, int err)
{
	if (!err)
		err = store_error(mdb_txn_commit(txn));
	else
		mdb_txn_abort(txn);
	return err == -EIO && disk_is_full(store) ? -ENOSPC : err;
}

int
store_leave(struct store *store, MDB_txn *txn, int err)
{
	const int gone = readers_check(store);

	mdb_txn_abort(txn); /* there is nothing to commit */
	readers_leave(store);
	return gone ? gone : err;
}
