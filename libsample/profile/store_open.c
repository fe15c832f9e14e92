/* An environment opened, on files that may be anything: see store.h. */
#include "profile/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/lmdb_pages.h"
#include "profile/meta.h"
#include "profile/profile.h"

#define TOP_LEVEL_LEAVES 16 /* pages of the main tree that are looked at: ours has some thirty names in one or two */
#define DATA_MODE        0640
#define LOCK_MODE        0600 /* what writers share, mutexes among it, is nobody else's */

#define OPEN_TRIES    10
#define MOMENT_NS     1000000
#define LOCK_SIZE     8192
#define DATA_SIZE_MIN 8192 /* two pages of the smallest size */

#define ABSURD      1024                /* times as many pages as there are */
#define ABSURD_SIZE (UINT64_C(1) << 46) /* bytes to map: more than half of what a process has addresses for */

static void
log_assertion(MDB_env *env, const char *message)
{
	log_write(mdb_env_get_userctx(env), LOG_LEVEL_ERROR, "the profile database is damaged: %s", message);
}

static int
configure(struct store *store)
{
	int rc;

	rc = mdb_env_set_maxdbs(store->env, TABLE_COUNT);
	if (rc)
		return store_error(rc);
	mdb_env_set_userctx(store->env, (void *)store->log);
	mdb_env_set_assert(store->env, log_assertion);
	/* Beside another writer the limit is the one in the file. */
	if (!store->write || (store->beside && directory_file_size(store->directory, DIRECTORY_DATA) >= DATA_SIZE_MIN))
		return 0;
	return store_limit_size(store, store->size_limit);
}

/*
 * Who has had a lock file of an older version open may write to it for ever: another one takes its place, unless
 * somebody uses it now. Who opened it meanwhile finds out in store_open(). 1: it is gone.
 */
static int
replace_loose_lock(const struct store *store, int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
		return unlinkat(store->directory, DIRECTORY_LOCK, 0) < 0 ? -errno : 1;
	if (fchmod(fd, LOCK_MODE) < 0)
		return -errno;
	whole = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(fd, F_GETLK, &whole) < 0)
		whole.l_pid = 0;
	log_write(store->log, LOG_LEVEL_WARNING,
	          "%s could be written by others, and process %d has it open: no other can open it any more",
	          DIRECTORY_LOCK, (int)whole.l_pid);
	return 0;
}

/* As the data are, when root makes it in somebody's database. */
static int
give_to_owner(const struct store *store, int fd)
{
	struct stat data, made;

	if (geteuid() != 0 || fstatat(store->directory, DIRECTORY_DATA, &data, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstat(fd, &made) < 0 || (made.st_uid == data.st_uid && made.st_gid == data.st_gid))
		return 0;
	return fchown(fd, data.st_uid, data.st_gid) < 0 ? -errno : 0;
}

/*
 * The writers' lock file, made before LMDB opens it. LMDB maps it and writes to it: on a full disk, a page that the
 * file system did not set aside is a fault. Without a lock file LMDB makes one of this size, for 126 readers.
 */
static int
prepare_lock(const struct store *store)
{
	struct stat stat;
	int fd, err = 1;

	for (int tries = 0; err > 0 && tries < OPEN_TRIES; tries++) {
		fd = openat(store->directory, DIRECTORY_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		            LOCK_MODE);
		if (fd < 0)
			return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
		err = fstat(fd, &stat) < 0 ? -errno : 0;
		if (!err && !S_ISREG(stat.st_mode))
			err = -DCPI_EFOREIGN;
		if (!err && (stat.st_mode & 0077))
			err = replace_loose_lock(store, fd);
		if (!err)
			err = give_to_owner(store, fd);
		if (!err)
			err = -posix_fallocate(fd, 0, LOCK_SIZE);
		close(fd);
	}
	return err == -EOPNOTSUPP || err == -EINVAL ? 0 : err;
}

/* A disk that was full, or a kill, when the file was to get its first two pages: there is nothing in it to keep. */
static int
drop_stub(const struct store *store, off_t *size)
{
	int fd, err = 0;

	if (*size <= 0 || *size >= DATA_SIZE_MIN)
		return 0;
	log_write(store->log, LOG_LEVEL_WARNING, "%s has no more than %lld bytes: it is begun anew", DIRECTORY_DATA,
	          (long long)*size);
	fd = openat(store->directory, DIRECTORY_DATA, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, 0))
		err = -errno;
	close(fd);
	*size = 0;
	return err;
}

/* Does the file say that it is far larger than it is? LMDB maps it as large as it says, and has no memory for that. */
static bool
size_is_absurd(const struct store *store)
{
	int fd = openat(store->directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct pages_meta metas[2];
	struct pages *pages = NULL;
	bool is_absurd = false;

	if (fd >= 0 && pages_open(fd, &pages) == 0)
		for (size_t i = pages_metas(pages, metas); i > 0; i--)
			is_absurd |= metas[i - 1].last_page / ABSURD > pages_count(pages) ||
			             metas[i - 1].map_size > ABSURD_SIZE;
	pages_free(pages);
	if (fd >= 0)
		close(fd);
	return is_absurd;
}

/* By a path that no link can lead elsewhere: LMDB follows them. */
static int
open_for_reading(struct store *store)
{
	int fd = openat(store->directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char path[sizeof("/proc/self/fd/") + 16];
	struct stat stat;
	int err;

	if (fd < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	/* Its pages could be verified first, but its owner can change them at any time later. */
	if (geteuid() == 0 && fstat(fd, &stat) == 0 && !directory_trusts(stat.st_uid))
		log_write(store->log, LOG_LEVEL_WARNING,
		          "the database belongs to user %u, who can make it say anything: better read it as that user",
		          (unsigned)stat.st_uid);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = store_error(mdb_env_open(store->env, path, MDB_NOTLS | MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR, 0));
	close(fd);
	return err;
}

static int
open_for_writing(struct store *store, bool makes)
{
	char path[sizeof("/proc/self/fd/") + 16];
	int err, fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", store->directory);
	err = store_error(mdb_env_open(store->env, path, MDB_NOTLS, DATA_MODE));
	if (err || !makes)
		return err;
	err = store_error(mdb_env_get_fd(store->env, &fd));
	return !err && fchmod(fd, DATA_MODE) < 0 ? -errno : err; /* whatever the umask */
}

static int
open_environment(struct store *store)
{
	off_t data = directory_file_size(store->directory, DIRECTORY_DATA);
	off_t lock = directory_file_size(store->directory, DIRECTORY_LOCK);
	int err = 0;

	if (data < 0 && data != -ENOENT)
		return (int)data;
	if (data <= 0 && !store->write)
		return -DCPI_ENODATABASE;
	if (store->write && lock < 0 && lock != -ENOENT)
		return (int)lock;
	if (store->write && !store->beside)
		err = drop_stub(store, &data);
	if (!err)
		err = store->write ? open_for_writing(store, data < 0) : open_for_reading(store);
	return err == -ENOMEM && size_is_absurd(store) ? -DCPI_EDAMAGED : err;
}

/* The number of tables and other things at the top: 0 when nothing has been committed yet. */
static int
count_top_level(MDB_txn *txn, size_t *count)
{
	MDB_stat stat;
	MDB_dbi main;
	int rc = mdb_dbi_open(txn, NULL, 0, &main);

	if (!rc)
		rc = mdb_stat(txn, main, &stat);
	*count = rc ? 0 : stat.ms_entries;
	return store_error(rc);
}

static int
count_leaf(void *context, const struct pages_leaf *leaf)
{
	unsigned *count = context;

	(void)leaf;
	return ++*count == TOP_LEVEL_LEAVES ? 1 : 0;
}

/* LMDB finds nothing in a page of other bytes, if they happen to look like a leaf's: is each page what it should be? */
static bool
top_level_is_damaged(int fd)
{
	struct pages_meta metas[2];
	struct pages *pages = NULL;
	uint64_t damaged = 0;
	unsigned leaves = 0;

	if (pages_open(fd, &pages) == 0 && pages_metas(pages, metas) > 0)
		(void)pages_walk(pages, &metas[0].main, count_leaf, &leaves, &damaged);
	pages_free(pages);
	return damaged > 0;
}

/*
 * Where most of our tables are, the rest was damaged. Where they are not, somebody else has a database there, however
 * one of its tables may be called.
 */
static bool
is_ours(const struct store *store, MDB_txn *txn)
{
	size_t present = 0;
	MDB_dbi table;
	int fd;

	if (mdb_env_get_fd(store->env, &fd) || top_level_is_damaged(fd))
		return true; /* whose it is cannot be seen for damage */
	for (enum table i = 0; i < TABLE_COUNT; i++) {
		int rc = mdb_dbi_open(txn, table_name(i), 0, &table);

		if (rc && rc != MDB_NOTFOUND && rc != MDB_INCOMPATIBLE)
			return true; /* whose it is cannot be seen for damage */
		present += rc == 0;
	}
	return present > TABLE_COUNT / 2;
}

static int
open_table(struct store *store, MDB_txn *txn, enum table table, unsigned flags)
{
	int err = store_error(mdb_dbi_open(txn, table_name(table), flags, &store->tables[table]));

	return err == -ENOENT ? -DCPI_EDAMAGED : err;
}

/* Tables that an older database may lack, for whoever only reads. */
static int
open_newer(struct store *store, MDB_txn *txn, enum table table, unsigned flags)
{
	int err = store_error(mdb_dbi_open(txn, table_name(table), flags, &store->tables[table]));

	store->has[table] = err == 0;
	return err == -ENOENT && !store->write ? 0 : err;
}

static int
open_tables(struct store *store, MDB_txn *txn)
{
	unsigned flags = store->write ? MDB_CREATE : 0;
	size_t top_level;
	int err;

	err = count_top_level(txn, &top_level);
	if (err)
		return err;
	if (top_level == 0 && !store->write)
		return -DCPI_ENODATABASE;
	/* The schema first: nothing is written into a database that is not ours or is newer. */
	err = open_table(store, txn, TABLE_META, top_level == 0 ? flags : 0);
	if (!err && top_level == 0)
		err = meta_create(store, txn);
	if (!err)
		err = meta_check(store, txn);
	if (err == -DCPI_EDAMAGED && !is_ours(store, txn))
		return -DCPI_EFOREIGN;
	for (enum table table = TABLE_META + 1; !err && table < TABLE_EDGES; table++)
		err = open_table(store, txn, table, flags);
	for (enum table table = TABLE_EDGES; !err && table < TABLE_COUNT; table++)
		err = open_newer(store, txn, table, flags);
	return err;
}

/* LMDB keeps the tables that a transaction opened only when it is committed, also when that wrote nothing. */
static int
leave_opened(struct store *store, MDB_txn *txn, int err)
{
	const int gone = readers_check(store);

	err = store_end(store, txn, gone ? gone : err);
	readers_leave(store);
	return err;
}

static int
open_once(struct store *store)
{
	MDB_txn *txn;
	int err;

	err = store_error(mdb_env_create(&store->env));
	if (err)
		return err;
	err = configure(store);
	if (!err)
		err = open_environment(store);
	if (!err)
		err = readers_init(store);
	if (!err)
		err = store_begin(store, store->write, &txn);
	if (!err && store->write)
		err = store_end(store, txn, open_tables(store, txn));
	else if (!err)
		err = leave_opened(store, txn, open_tables(store, txn));
	if (err)
		store_close(store);
	return err;
}

/* What tells LMDB's lock file from another; 0: there is none. */
static ino_t
lock_number(const struct store *store)
{
	struct stat lock;

	return fstatat(store->directory, DIRECTORY_LOCK, &lock, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : lock.st_ino;
}

int
store_open(struct store *store)
{
	ino_t before;
	int err;

	if (!store->write)
		return open_once(store);
	/*
	 * What writers share must be what the directory has, and whole: another one may be replacing it, or may have
	 * left it half made, which ends when all have closed it. Hence a moment that differs between processes.
	 */
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		const struct timespec moment = {.tv_nsec = MOMENT_NS * (1 + getpid() % 16)};

		err = prepare_lock(store);
		if (err)
			return err;
		before = lock_number(store);
		err = open_once(store);
		if (err != -EAGAIN && (err || lock_number(store) == before))
			return err;
		store_close(store);
		nanosleep(&moment, NULL);
	}
	return -EAGAIN;
}

void
store_close(struct store *store)
{
	if (store->env)
		readers_fini(store);
	mdb_env_close(store->env);
	store->env = NULL;
}
