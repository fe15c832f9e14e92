#include "profile/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/directory.h"
#include "profile/lmdb_pages.h"
#include "profile/profile.h"

#define NUMBER_KEY_SIZE  4
#define BEGIN_TRIES      1000 /* each fails only when another process wrote in between */
#define TOP_LEVEL_LEAVES 16   /* pages of the main tree that are checked: ours has its names in one or two */
#define DATA_MODE        0640
#define LOCK_MODE        0600 /* it holds the writers' mutexes: readers do not open it */

#define OPEN_TRIES    10
#define RETRY_NS      1000000
#define LOCK_SIZE     8192
#define DATA_SIZE_MIN 8192 /* two pages of the smallest size */

#define PAGES_FACTOR_MAX 1024                /* pages claimed for each page that the file has */
#define MAP_SIZE_MAX     (UINT64_C(1) << 46) /* bytes; more than half of the address space of a process */

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
	[TABLE_STACKS] = "stacks",
	[TABLE_MEMORY] = "memory",
};

const char *
store_table_name(enum store_table table)
{
	return table_names[table];
}

int
store_error(int rc)
{
	if (rc >= 0)
		return -rc; /* LMDB returns errno values unchanged */
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
	case MDB_CURSOR_FULL: /* a tree deeper than LMDB can make one */
	case MDB_PAGE_FULL:
	case MDB_BAD_DBI: /* a table has disappeared */
	case MDB_BAD_TXN: /* opening a cursor found damage; LMDB reports it at the first use */
		return -DCPI_EDAMAGED;
	case MDB_TXN_FULL:
	case MDB_MAP_RESIZED:
		return -EAGAIN;
	default:
		return -EIO; /* a fatal error of the environment (MDB_PANIC), or a misuse of LMDB */
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
store_raise_limit(const struct store *store, uint64_t bytes)
{
	return store->env ? store_error(mdb_env_set_mapsize(store->env, store->size_limit + bytes)) : -ENODEV;
}

int
store_restore_limit(const struct store *store)
{
	return store_error(
		mdb_env_set_mapsize(store->env, store->size_limit)); /* LMDB never goes below what is in use */
}

static int
begin_txn(struct store *store, bool write, MDB_txn **txn)
{
	int rc = mdb_txn_begin(store->env, NULL, write ? 0 : MDB_RDONLY, txn);

	if (rc == MDB_MAP_RESIZED) { /* another writer has raised the size limit */
		rc = mdb_env_set_mapsize(store->env, 0);
		if (!rc)
			rc = mdb_txn_begin(store->env, NULL, write ? 0 : MDB_RDONLY, txn);
		if (rc == MDB_MAP_RESIZED) /* the meta page claims more pages than the file has */
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
		err = begin_txn(store, false, txn);
		if (!err) {
			err = readers_confirm(store, *txn);
			if (!err)
				return 0;
			mdb_txn_abort(*txn);
		}
		readers_leave(store);
	}
	return err;
}

/*
 * LMDB's lock file holds the number of the last transaction. The process that opens it first initialises it; when that
 * process dies half-way, a process that waited continues with a half-initialised file and would overwrite pages in use,
 * beginning at transaction 0. The meta pages of the data file are right: compare with them.
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
	int err, fd;

	if (!store->env)
		return -ENODEV;
	if (!store->write)
		return write ? -EINVAL : begin_reading(store, txn);
	err = begin_txn(store, write, txn);
	if (err == -EINVAL) /* LMDB 0.9.31 destroys the mutexes when the last process closes, also when another waits */
		return -EAGAIN;
	if (err || !write)
		return err;
	if (is_behind(store, *txn)) {
		mdb_txn_abort(*txn);
		return -EAGAIN;
	}
	/* A compaction holds this transaction's lock until it has replaced the file. */
	if (store->beside &&
	    (mdb_env_get_fd(store->env, &fd) || !directory_has(fd, store->directory, DIRECTORY_DATA))) {
		mdb_txn_abort(*txn);
		return -ESTALE;
	}
	readers_begin_write(store, *txn);
	return 0;
}

int
store_end(const struct store *store, MDB_txn *txn, int err)
{
	struct statvfs statvfs;

	if (err)
		mdb_txn_abort(txn);
	else
		err = store_error(mdb_txn_commit(txn));
	/* LMDB reports a partial write on a full disk as EIO. */
	return err == -EIO && fstatvfs(store->directory, &statvfs) == 0 && statvfs.f_bavail == 0 ? -ENOSPC : err;
}

int
store_leave(struct store *store, MDB_txn *txn, int err)
{
	const int gone = readers_check(store);

	mdb_txn_abort(txn);
	readers_leave(store);
	return gone ? gone : err;
}

/* ---- the table meta: what a database says of itself ---- */

/* Store `text`, or `number` when that is NULL. */
static int
put_meta(const struct store *store, MDB_txn *txn, const char *name, uint64_t number, const char *text)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	MDB_val key = {strlen(name), (void *)name}, value;
	int err;

	write_u8(&writer, FORMAT_1);
	if (text)
		write_string(&writer, text);
	else
		write_varint(&writer, number);
	value = (MDB_val){writer.size, writer.data};
	err = writer.failed ? -ENOMEM : store_error(mdb_put(txn, store->tables[TABLE_META], &key, &value, 0));
	writer_fini(&writer);
	return err;
}

static int
create_meta(const struct store *store, MDB_txn *txn)
{
	struct utsname names;
	int err;

	if (uname(&names) < 0)
		return -errno;
	err = put_meta(store, txn, "schema", PROFILE_SCHEMA, NULL);
	if (err)
		return err;
	err = put_meta(store, txn, "created", clock_ns(CLOCK_REALTIME), NULL);
	return err ? err : put_meta(store, txn, "host", 0, names.nodename);
}

static int
get_schema(const struct store *store, MDB_txn *txn, uint64_t *schema)
{
	MDB_val key = {strlen("schema"), "schema"}, value;
	struct byte_reader reader;
	int err;

	err = store_error(mdb_get(txn, store->tables[TABLE_META], &key, &value));
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	reader_init(&reader, value.mv_data, value.mv_size);
	read_format(&reader);
	*schema = read_varint(&reader);
	return reader_done(&reader) && *schema > 0 ? 0 : -DCPI_EDAMAGED;
}

/*
 * 0; -DCPI_ENEWER; -DCPI_EDAMAGED when there is no schema, or none that can be read. A writer gives a database of an
 * older schema the present one.
 */
static int
check_schema(const struct store *store, MDB_txn *txn)
{
	uint64_t schema;
	int err;

	err = get_schema(store, txn, &schema);
	if (err || schema == PROFILE_SCHEMA)
		return err;
	if (schema > PROFILE_SCHEMA)
		return -DCPI_ENEWER;
	/* All older value formats can still be read; only what is written from here on is of this schema. */
	return store->write ? put_meta(store, txn, "schema", PROFILE_SCHEMA, NULL) : 0;
}

static bool
is_meta_name(const void *key, size_t size, const char *name)
{
	return size == strlen(name) && memcmp(key, name, size) == 0;
}

int
store_meta_decode(const void *key, size_t key_size, const void *data, size_t size)
{
	struct byte_reader reader;
	char host[EPOCH_TEXT_SIZE];

	reader_init(&reader, data, size);
	read_format(&reader);
	if (is_meta_name(key, key_size, "schema") || is_meta_name(key, key_size, "created"))
		read_varint(&reader);
	else if (is_meta_name(key, key_size, "host"))
		read_string(&reader, host, sizeof(host));
	else
		return -DCPI_EDAMAGED;
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* ---- opening, on files that may have any content ---- */

static void
log_assertion(MDB_env *env, const char *message)
{
	log_write(mdb_env_get_userctx(env), LOG_LEVEL_ERROR, "the profile database is damaged: %s", message);
}

static int
configure_environment(struct store *store)
{
	int rc;

	rc = mdb_env_set_maxdbs(store->env, TABLE_COUNT);
	if (rc)
		return store_error(rc);
	mdb_env_set_userctx(store->env, (void *)store->log);
	mdb_env_set_assert(store->env, log_assertion);
	/* Beside another writer, the limit in the file holds. */
	if (!store->write || (store->beside && directory_file_size(store->directory, DIRECTORY_DATA) >= DATA_SIZE_MIN))
		return 0;
	return store_limit_size(store, store->size_limit);
}

/*
 * A lock file of an older version could be opened by others, who may write to it for ever: remove it, so that another
 * is made, unless a process uses it now. A process that has just opened it notices in store_open(). 1: it was removed.
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

/* 0; 1 when the file was removed, and has to be made again; or an error. */
static int
prepare_open_lock(const struct store *store, int fd)
{
	struct stat stat;
	int err;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -DCPI_EFOREIGN;
	if (stat.st_mode & 0077) {
		err = replace_loose_lock(store, fd);
		if (err)
			return err;
	}
	err = directory_give_to_owner(store->directory, fd);
	if (err && err != -ENOENT) /* there is no data yet */
		return err;
	return -posix_fallocate(fd, 0, LOCK_SIZE);
}

/*
 * Make LMDB's lock file before LMDB opens it. LMDB maps the file and writes to it: on a full disk, a page without an
 * allocated block is a SIGBUS. LMDB itself makes one of this size, for 126 readers.
 */
static int
prepare_lock(const struct store *store)
{
	int fd, err = 1;

	for (int tries = 0; err > 0 && tries < OPEN_TRIES; tries++) {
		fd = openat(store->directory, DIRECTORY_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		            LOCK_MODE);
		if (fd < 0)
			return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
		err = prepare_open_lock(store, fd);
		close(fd);
	}
	return err == -EOPNOTSUPP || err == -EINVAL ? 0 : err;
}

/* A full disk or a kill while the first two pages were written leaves a shorter file without content: empty it. */
static int
drop_incomplete_file(const struct store *store, off_t *size)
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

/* Do the meta pages claim a size far above that of the file? LMDB would map that much, and fail with ENOMEM. */
static bool
size_is_impossible(const struct store *store)
{
	int fd = openat(store->directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct pages_meta metas[2];
	struct pages *pages = NULL;
	bool is_impossible = false;

	if (fd >= 0 && pages_open(fd, &pages) == 0)
		for (size_t i = pages_metas(pages, metas); i > 0; i--)
			is_impossible |= metas[i - 1].last_page / PAGES_FACTOR_MAX > pages_count(pages) ||
			                 metas[i - 1].map_size > MAP_SIZE_MAX;
	pages_free(pages);
	if (fd >= 0)
		close(fd);
	return is_impossible;
}

/* LMDB follows symbolic links: open the file ourselves and give LMDB the path of the descriptor. */
static int
open_for_reading(struct store *store)
{
	int fd = openat(store->directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char path[sizeof("/proc/self/fd/") + 16];
	struct stat stat;
	int err;

	if (fd < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	/* Verifying its pages here would not help: the owner can change them at any time. */
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
	return !err && fchmod(fd, DATA_MODE) < 0 ? -errno : err; /* independent of the umask */
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
		err = drop_incomplete_file(store, &data);
	if (!err)
		err = store->write ? open_for_writing(store, data < 0) : open_for_reading(store);
	return err == -ENOMEM && size_is_impossible(store) ? -DCPI_EDAMAGED : err;
}

static int
count_leaf(void *context, const struct pages_leaf *leaf)
{
	unsigned *count = context;

	(void)leaf;
	return ++*count == TOP_LEVEL_LEAVES ? 1 : 0;
}

/* LMDB does not notice a damaged page that looks like an empty leaf: check every page of the main tree. */
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
 * A database that has most of our tables is ours, and the rest is damaged; one with fewer belongs to another program,
 * even when it has a table of one of our names.
 */
static bool
is_ours(const struct store *store, MDB_txn *txn)
{
	size_t present = 0;
	MDB_dbi table;
	int fd;

	if (mdb_env_get_fd(store->env, &fd) || top_level_is_damaged(fd))
		return true; /* damaged: its owner cannot be determined */
	for (enum store_table i = 0; i < TABLE_COUNT; i++) {
		int rc = mdb_dbi_open(txn, store_table_name(i), 0, &table);

		if (rc && rc != MDB_NOTFOUND && rc != MDB_INCOMPATIBLE)
			return true; /* damaged: its owner cannot be determined */
		present += rc == 0;
	}
	return present > TABLE_COUNT / 2;
}

/* A table that an older database may lack, from TABLE_EDGES on, is made by a writer; a reader does without it. */
static int
open_table(struct store *store, MDB_txn *txn, enum store_table table, unsigned flags)
{
	int err = store_error(mdb_dbi_open(txn, store_table_name(table), flags, &store->tables[table]));

	store->has[table] = err == 0;
	if (err == -ENOENT && table < TABLE_EDGES)
		return -DCPI_EDAMAGED;
	return err == -ENOENT && !store->write ? 0 : err;
}

static int
open_tables(struct store *store, MDB_txn *txn)
{
	unsigned flags = store->write ? MDB_CREATE : 0;
	size_t top_level; /* entries of the main tree: 0 when nothing has been committed yet */
	MDB_stat stat;
	MDB_dbi main;
	int err;

	err = store_error(mdb_dbi_open(txn, NULL, 0, &main));
	if (!err)
		err = store_error(mdb_stat(txn, main, &stat));
	if (err)
		return err;
	top_level = stat.ms_entries;
	if (top_level == 0 && !store->write)
		return -DCPI_ENODATABASE;
	/* The schema first: nothing is written into a database that is not ours or is newer. */
	err = open_table(store, txn, TABLE_META, top_level == 0 ? flags : 0);
	if (!err && top_level == 0)
		err = create_meta(store, txn);
	if (!err)
		err = check_schema(store, txn);
	if (err == -DCPI_EDAMAGED && !is_ours(store, txn))
		return -DCPI_EFOREIGN;
	for (enum store_table table = TABLE_META + 1; !err && table < TABLE_COUNT; table++)
		err = open_table(store, txn, table, flags);
	return err;
}

static int
open_files(struct store *store)
{
	MDB_txn *txn;
	int err, gone;

	err = store_error(mdb_env_create(&store->env));
	if (err)
		return err;
	err = configure_environment(store);
	if (err)
		goto out;
	err = open_environment(store);
	if (err)
		goto out;
	err = readers_init(store);
	if (err)
		goto out;
	err = store_begin(store, store->write, &txn);
	if (err)
		goto out;
	err = open_tables(store, txn);
	gone = readers_check(store); /* 0 of a writer */
	/* LMDB keeps the handles of tables only of a transaction that is committed, also when it wrote nothing. */
	err = store_end(store, txn, gone ? gone : err);
	readers_leave(store);
out:
	if (err)
		store_close(store);
	return err;
}

/* The inode of LMDB's lock file; 0: there is none. */
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
		return open_files(store);
	/*
	 * Another writer may be replacing the lock file, or may have left it half-initialised until every process has
	 * closed it: retry, after a pause that differs between processes.
	 */
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		const struct timespec moment = {.tv_nsec = RETRY_NS * (1 + getpid() % 16)};

		err = prepare_lock(store);
		if (err)
			return err;
		before = lock_number(store);
		err = open_files(store);
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

/* ---- entries ---- */

int
store_key_number(const MDB_val *key, uint32_t *number)
{
	struct byte_reader reader;

	reader_init(&reader, key->mv_data, key->mv_size);
	*number = read_u32_be(&reader);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

int
store_get(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t id, MDB_val *value)
{
	uint8_t data[NUMBER_KEY_SIZE];
	MDB_val key = {sizeof(data), data};

	put_be(data, id, sizeof(data));
	return store_error(mdb_get(txn, store->tables[table], &key, value));
}

int
store_put(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t id,
          const struct byte_writer *writer)
{
	uint8_t data[NUMBER_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value = {writer->size, writer->data};

	if (writer->failed)
		return -ENOMEM;
	put_be(data, id, sizeof(data));
	return store_error(mdb_put(txn, store->tables[table], &key, &value, 0));
}

int
store_remove(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t id)
{
	uint8_t data[NUMBER_KEY_SIZE];
	MDB_val key = {sizeof(data), data};

	put_be(data, id, sizeof(data));
	return store_error(mdb_del(txn, store->tables[table], &key, NULL));
}

/* Remove the entry at the cursor. It is copied first for `move`: LMDB's pointers are invalid once the entry is removed.
 */
static int
remove_entry(const struct store *store, MDB_cursor *cursor, const MDB_val *key, const MDB_val *value, store_move *move,
             void *context, struct byte_writer *copy)
{
	MDB_val moved_key = *key, moved_value = *value;
	int err;

	if (!move)
		return store_error(mdb_cursor_del(cursor, 0));
	copy->size = 0;
	write_bytes(copy, key->mv_data, key->mv_size);
	write_bytes(copy, value->mv_data, value->mv_size);
	err = copy->failed ? -ENOMEM : store_error(mdb_cursor_del(cursor, 0));
	if (err)
		return err;
	moved_key.mv_data = copy->data;
	moved_value.mv_data = copy->data + moved_key.mv_size;
	return move(store, mdb_cursor_txn(cursor), &moved_key, &moved_value, context);
}

int64_t
store_take(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t number, size_t max,
           store_move *move, void *context)
{
	struct byte_writer copy = BYTE_WRITER_INIT;
	uint8_t first[NUMBER_KEY_SIZE];
	MDB_cursor *cursor;
	size_t count = 0, size;
	int err;

	put_be(first, number, sizeof(first));
	err = store_error(mdb_cursor_open(txn, store->tables[table], &cursor));
	if (err)
		return err;
	/* LMDB does not define the cursor position after a deletion at the end of a table: seek again. */
	while (count < max) {
		MDB_val key = {sizeof(first), first}, value;

		err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
		if (err == -ENOENT ||
		    (!err && (key.mv_size < sizeof(first) || memcmp(key.mv_data, first, sizeof(first)) != 0))) {
			err = 0;
			break;
		}
		size = err ? 0 : value.mv_size;
		if (!err)
			err = remove_entry(store, cursor, &key, &value, move, context, &copy);
		if (err)
			break;
		count += 1 + size / STORE_LARGE;
	}
	writer_fini(&copy);
	mdb_cursor_close(cursor);
	if (err)
		return err;
	return count < max ? (int64_t)count : (int64_t)max;
}

int
store_next_id(const struct store *store, MDB_txn *txn, enum store_table table, uint32_t *id)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	uint32_t last = 0;
	int err;

	err = store_error(mdb_cursor_open(txn, store->tables[table], &cursor));
	if (err)
		return err;
	err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_LAST));
	if (!err)
		err = store_key_number(&key, &last);
	else if (err == -ENOENT)
		err = 0;
	mdb_cursor_close(cursor);
	if (!err && last == UINT32_MAX)
		err = -EOVERFLOW;
	*id = last + 1;
	return err;
}

int
store_entries(const struct store *store, MDB_txn *txn, enum store_table table, uint64_t *entries)
{
	MDB_stat stat;
	int err = store_error(mdb_stat(txn, store->tables[table], &stat));

	*entries = err ? 0 : stat.ms_entries;
	return err;
}

int
store_table_bytes(const struct store *store, MDB_txn *txn, enum store_table table, uint64_t *bytes)
{
	MDB_stat stat;
	int err = store_error(mdb_stat(txn, store->tables[table], &stat));

	*bytes = err ? 0
	             : (uint64_t)(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
	return err;
}

void
store_walk_begin(const struct store *store, MDB_txn *txn, enum store_table table, struct store_walk *walk)
{
	*walk = (struct store_walk){.next = MDB_FIRST};
	walk->err = store_error(mdb_cursor_open(txn, store->tables[table], &walk->cursor));
}

void
store_walk_seek(struct store_walk *walk, const void *key, size_t size)
{
	if (walk->err)
		return;
	walk->key = (MDB_val){size, (void *)key};
	walk->err = store_error(mdb_cursor_get(walk->cursor, &walk->key, &walk->value, MDB_SET_RANGE));
	walk->next = MDB_GET_CURRENT;
	walk->ended = walk->err == -ENOENT;
	if (walk->ended)
		walk->err = 0;
}

int
store_walk_next(struct store_walk *walk)
{
	int err;

	if (walk->err || walk->ended)
		return walk->err;
	err = store_error(mdb_cursor_get(walk->cursor, &walk->key, &walk->value, walk->next));
	walk->next = MDB_NEXT;
	walk->ended = err == -ENOENT;
	if (walk->ended)
		return 0;
	return err ? err : 1;
}

void
store_walk_end(struct store_walk *walk)
{
	if (walk->cursor)
		mdb_cursor_close(walk->cursor);
}
