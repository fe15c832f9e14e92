#include "profile/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/directory.h"
#include "profile/edges.h"
#include "profile/label_times.h"
#include "profile/profile_internal.h"
#include "profile/stacks.h"

/* In whole pages; 0 asks for the default. */
static uint64_t
size_limit_of(uint64_t asked)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = asked ? asked : PROFILE_SIZE_DEFAULT;

	return bytes > UINT64_MAX - page ? bytes / page * page : (bytes + page - 1) / page * page;
}

static int
open_files(const char *directory, struct profile *profile)
{
	int err;

	profile->directory = directory_open(directory, profile->store.write);
	if (profile->directory < 0)
		return profile->directory;
	profile->store.directory = profile->directory;
	if (profile->store.write && !profile->store.beside) {
		profile->lock = directory_lock(profile->directory);
		if (profile->lock < 0)
			return profile->lock;
		directory_remove_copy(profile->directory);
	}
	err = store_open(&profile->store);
	return err || !profile->store.write ? err : directory_files_note(&profile->files, profile->directory);
}

int
profile_open(const char *directory, const struct profile_options *options, struct profile **profile)
{
	struct profile *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->directory = -1;
	new->lock = -1;
	new->copy.fd = -1;
	pthread_mutex_init(&new->copy.lock, NULL);
	new->files = (struct directory_files)DIRECTORY_FILES_INIT;
	new->store.write = options->write;
	new->store.beside = options->write && options->beside;
	new->size_limit = size_limit_of(options->size_limit);
	new->store.size_limit = new->size_limit;
	new->store.log = options->log;
	new->path = strdup(directory);
	err = new->path ? open_files(directory, new) : -ENOMEM;
	/* A missing directory and a missing file both mean: there is no database. */
	if (err == -ENOENT && !options->write)
		err = -DCPI_ENODATABASE;
	if (err) {
		profile_close(new);
		return err;
	}
	*profile = new;
	return 0;
}

void
profile_close(struct profile *profile)
{
	if (!profile)
		return;
	if (profile->store.env)
		store_close(&profile->store);
	if (profile->lock >= 0)
		directory_unlock(profile->lock);
	if (profile->directory >= 0)
		close(profile->directory);
	ids_map_fini(&profile->images);
	ids_map_fini(&profile->contexts);
	ids_map_fini(&profile->nodes);
	gc_fini(&profile->gc);
	directory_files_fini(&profile->files);
	pthread_mutex_destroy(&profile->copy.lock);
	free(profile->path);
	free(profile);
}

int
profile_begin_epoch(struct profile *profile, struct epoch *epoch)
{
	struct epoch new = *epoch;
	MDB_txn *txn;
	int err;

	if (!profile->store.write || epoch->event_count > EVENTS_MAX)
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = store_next_id(&profile->store, txn, TABLE_EPOCHS, &new.id);
	if (!err)
		err = epoch_write(&profile->store, txn, &new);
	err = store_end(&profile->store, txn, err);
	if (err)
		return err;
	epoch->id = new.id;
	profile->begun = new.id;
	return 0;
}

int
profile_keep_epoch(struct profile *profile, uint32_t id, bool is_kept)
{
	struct epoch epoch;
	MDB_txn *txn;
	int err;

	if (!profile->store.write)
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = epoch_read(&profile->store, txn, id, &epoch);
	if (!err && epoch.is_incoming)
		err = -ENOENT;
	epoch.is_kept = is_kept;
	if (!err)
		err = epoch_write(&profile->store, txn, &epoch);
	return store_end(&profile->store, txn, err);
}

/* Add `more` to the stored slice of its id, or store it. */
static int
put_slice(const struct store *store, MDB_txn *txn, const struct slice *more)
{
	struct slice slice;
	int err;

	err = slice_read(store, txn, more->id, &slice);
	if (err == -ENOENT)
		return slice_write(store, txn, more);
	if (err)
		return err;
	err = slice_add(&slice, more);
	if (!err)
		err = slice_write(store, txn, &slice);
	slice_fini(&slice);
	return err;
}

/*
 * Samples at an offset that is too large for a block number count as unknown: a hostile mapping of a sparse file must
 * not make the flush fail, and no sample may be lost.
 */
static int
count_far_offsets(const struct profile_batch *batch, struct slice *slice)
{
	for (size_t i = 0; i < batch->entry_count; i++) {
		const struct tally_entry *entry = &batch->entries[i];
		uint64_t *unknown;

		if (entry->event >= slice->event_count)
			return -EINVAL;
		if (entry->offset <= COUNTS_OFFSET_MAX)
			continue;
		unknown = &slice->events[entry->event].unknown[UNKNOWN_ADDRESS];
		*unknown = add_saturating(*unknown, entry->count);
	}
	return 0;
}

/* Intern the images, contexts and nodes of a batch. */
static int
put_ids(struct profile *profile, MDB_txn *txn, const struct profile_batch *batch)
{
	const struct store *store = &profile->store;
	int err = ids_map_add_images(&profile->images, store, txn, batch->images, batch->image_count);

	if (err)
		return err;
	for (uint32_t i = 0; i < batch->image_count; i++)
		if (batch->images[i]->kind == IMAGE_STACKS)
			profile->stacks_image = ids_map_get(&profile->images, batch->first_image + i);
	err = ids_map_add_contexts(&profile->contexts, store, txn, batch->contexts, batch->context_count);
	return err ? err : stacks_add(profile, txn, batch->nodes, batch->node_count);
}

/* -EEXIST: the slice has a memory profile. */
static int
put_memory_rows(const struct store *store, MDB_txn *txn, uint32_t slice, const struct profile_batch *batch)
{
	uint8_t data[4 + PROFILE_MEMORY_KEY_SIZE];
	int err = 0;

	put_be(data, slice, 4);
	for (size_t i = 0; i < batch->row_count && !err; i++) {
		MDB_val key = {sizeof(data), data}, value = {batch->rows[i].size, batch->rows[i].value};

		memcpy(data + 4, batch->rows[i].key, PROFILE_MEMORY_KEY_SIZE);
		err = store_error(mdb_put(txn, store->tables[TABLE_MEMORY], &key, &value, MDB_NOOVERWRITE));
	}
	return err;
}

static int
put_batch(struct profile *profile, MDB_txn *txn, const struct profile_batch *batch, struct slice *slice)
{
	const struct store *store = &profile->store;
	struct epoch epoch;
	int err;

	err = epoch_read(store, txn, slice->epoch, &epoch);
	if (err)
		return err;
	if (slice->event_count != epoch.event_count)
		return -EINVAL;
	err = put_ids(profile, txn, batch);
	if (err)
		return err;
	if (slice->id == 0) {
		err = store_next_id(store, txn, TABLE_SLICES, &slice->id);
		if (err)
			return err;
	}
	err = count_far_offsets(batch, slice);
	if (err)
		return err;
	err = put_slice(store, txn, slice);
	if (err)
		return err;
	err = counts_put(profile, txn, slice->id, batch->entries, batch->entry_count);
	if (err)
		return err;
	err = edges_put(profile, txn, slice->id, batch->edges, batch->edge_count);
	if (err)
		return err;
	err = label_times_put(store, txn, slice->id, batch->times, batch->time_count);
	if (err)
		return err;
	err = put_memory_rows(store, txn, slice->id, batch);
	if (err)
		return err;
	epoch.end_ns = slice->end_ns;
	epoch.start_cpu_ns = add_saturating(epoch.start_cpu_ns, batch->start_cpu_ns);
	return epoch_write(store, txn, &epoch);
}

int
profile_flush(struct profile *profile, const struct profile_batch *batch)
{
	struct slice slice = *batch->slice; /* borrows its cpus */
	size_t transaction;
	MDB_txn *txn;
	int err, put_err;

	if (!profile->store.write || batch->first_image != profile->images.count ||
	    batch->first_context != profile->contexts.count || slice.event_count > EVENTS_MAX ||
	    (batch->node_count > 0 && batch->first_node != profile->nodes.count + 1))
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	transaction = mdb_txn_id(txn);
	put_err = profile->uncertain.is_written ? put_ids(profile, txn, batch) : put_batch(profile, txn, batch, &slice);
	err = store_end(&profile->store, txn, put_err);
	if (err) {
		/* a commit that fails with -DCPI_EFULL has written nothing */
		if (!put_err && err != -DCPI_EFULL && !profile->uncertain.is_written)
			profile->uncertain = (struct uncertain_commit){.transaction = transaction, .slice = slice.id};
		ids_map_abort(&profile->images);
		ids_map_abort(&profile->contexts);
		ids_map_abort(&profile->nodes);
		return err;
	}
	ids_map_commit(&profile->images);
	ids_map_commit(&profile->contexts);
	ids_map_commit(&profile->nodes);
	batch->slice->id = profile->uncertain.is_written ? profile->uncertain.slice : slice.id;
	profile->uncertain = (struct uncertain_commit){0};
	return 0;
}

void
profile_reset_session(struct profile *profile)
{
	gc_end_session(profile);
	ids_map_clear(&profile->images);
	ids_map_clear(&profile->contexts);
	ids_map_clear(&profile->nodes);
	profile->stacks_image = 0;
}

int
profile_set_size_limit(struct profile *profile, uint64_t size_limit)
{
	int err;

	if (!profile->store.write)
		return -EINVAL;
	err = store_limit_size(&profile->store, size_limit_of(size_limit));
	if (!err)
		profile->size_limit = size_limit_of(size_limit);
	return err;
}

const char *
profile_path(const struct profile *profile)
{
	return profile->path;
}

int
profile_owner(const char *directory)
{
	int fd = directory_open(directory, false), owner;

	if (fd < 0)
		return fd;
	owner = directory_lock_owner(fd);
	close(fd);
	return owner;
}

int
profile_snapshot(struct profile *profile, int fd)
{
	struct store *store = &profile->store;
	MDB_txn *txn;
	int err;

	/* LMDB's copy begins a transaction of its own, of this version or a later one: keeping this one keeps both. */
	err = store_begin(store, false, &txn);
	if (err)
		return err;
	return store_leave(store, txn, store_error(mdb_env_copyfd2(store->env, fd, MDB_CP_COMPACT)));
}

static int
drop_pages_of_mapping(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t start, end;
	char *line = NULL;
	size_t size = 0;
	int err = -ENOENT;

	if (!maps)
		return -errno;
	while (err == -ENOENT && getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) != 2 || address < start || address >= end)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives the address as text */
		err = madvise((void *)start, end - start, MADV_DONTNEED) ? -errno : 0;
	}
	free(line);
	fclose(maps);
	return err;
}

int
profile_drop_pages(struct profile *profile)
{
	struct store *store = &profile->store;
	uintptr_t address = 0;
	struct store_walk walk;
	MDB_txn *txn;
	int result;

	result = store_begin(store, false, &txn);
	if (result)
		return result;
	/* The address of some value, which lies in the file's mapping: LMDB does not say where the mapping begins. */
	store_walk_begin(store, txn, TABLE_META, &walk);
	result = store_walk_next(&walk);
	if (result > 0)
		address = (uintptr_t)walk.value.mv_data;
	store_walk_end(&walk);
	result = store_leave(store, txn, result < 0 ? result : 0);
	if (result)
		return result;
	return address ? drop_pages_of_mapping(address) : -ENOENT;
}

/*
 * Free pages: LMDB's database 0 lists them by the transaction that freed them, each value a page count and then the
 * pages. Those of transaction `pinned_from` and later cannot be reused yet, because a reader still needs them.
 */
static int
count_free_pages(MDB_txn *txn, uint64_t pinned_from, uint64_t *pages, uint64_t *pinned)
{
	size_t transaction;
	MDB_val key, value;
	MDB_cursor *cursor;
	size_t count;
	int rc;

	*pages = 0;
	*pinned = 0;
	rc = mdb_cursor_open(txn, 0, &cursor);
	if (rc)
		return store_error(rc);
	while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		if (value.mv_size < sizeof(count))
			break;
		memcpy(&count, value.mv_data, sizeof(count));
		*pages += count;
		if (key.mv_size != sizeof(transaction))
			break;
		memcpy(&transaction, key.mv_data, sizeof(transaction));
		if (transaction >= pinned_from)
			*pinned += count;
	}
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return 0;
	return rc ? store_error(rc) : -DCPI_EDAMAGED;
}

static int
count_entries(const struct store *store, MDB_txn *txn, struct profile_stats *stats)
{
	const struct {
		enum store_table table;
		uint64_t *entries;
	} counted[] = {
		{TABLE_EPOCHS, &stats->epochs},     {TABLE_SLICES, &stats->slices}, {TABLE_IMAGES, &stats->images},
		{TABLE_CONTEXTS, &stats->contexts}, {TABLE_COUNTS, &stats->blocks},
	};
	struct epoch_marks marks;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(counted) / sizeof(counted[0]); i++)
		err = store_entries(store, txn, counted[i].table, counted[i].entries);
	if (!err)
		err = epoch_marks_read(store, txn, NULL, &marks);
	if (err)
		return err;
	stats->kept = marks.kept;
	stats->incoming = marks.incoming;
	stats->epochs -= marks.incoming;
	return 0;
}

static int
measure_use(const struct store *store, MDB_txn *txn, struct profile_stats *stats)
{
	const struct slow_reader *slow = readers_slow(store);
	uint64_t free_pages, pinned, pages;
	MDB_envinfo info;
	MDB_stat stat;
	int err;

	err = store_error(mdb_env_info(store->env, &info));
	if (!err)
		err = store_error(mdb_env_stat(store->env, &stat));
	if (!err)
		err = count_free_pages(txn, slow ? slow->transaction : UINT64_MAX, &free_pages, &pinned);
	if (err)
		return err;
	pages = (uint64_t)info.me_last_pgno + 1;
	stats->used_bytes = pages > free_pages ? (pages - free_pages) * stat.ms_psize : 0;
	stats->size_limit = info.me_mapsize;
	if (slow) {
		stats->reader = slow->pid;
		stats->reader_since_ns = slow->since_ns;
		stats->reader_bytes = pinned * stat.ms_psize;
	}
	return count_entries(store, txn, stats);
}

int
profile_stats(struct profile *profile, struct profile_stats *stats)
{
	off_t size = directory_file_size(profile->directory, DIRECTORY_DATA);
	MDB_txn *txn;
	int err;

	memset(stats, 0, sizeof(*stats));
	if (size < 0)
		return (int)size;
	stats->file_bytes = (uint64_t)size;
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	return store_leave(&profile->store, txn, measure_use(&profile->store, txn, stats));
}

/* Close what is open, and open the database in `directory`, which becomes the profile's. As profile_recover(). */
static int
reopen(struct profile *profile, int directory)
{
	const bool is_same = directory_files_have_data(&profile->files, directory);
	struct uncertain_commit *uncertain = &profile->uncertain;
	MDB_envinfo info;
	int err;

	if (profile->store.env)
		store_close(&profile->store);
	close(profile->directory);
	profile->directory = directory;
	profile->store.directory = directory;
	profile->store.size_limit = profile->size_limit;
	err = store_open(&profile->store);
	if (err)
		return err;
	err = directory_files_note(&profile->files, directory);
	if (err) {
		store_close(&profile->store);
		return err;
	}
	if (is_same) {
		/* the commit that failed may be on the disk after all: then the batch must not be written again */
		if (uncertain->transaction && mdb_env_info(profile->store.env, &info) == 0)
			uncertain->is_written = info.me_last_txnid >= uncertain->transaction;
		uncertain->transaction = 0;
		return 0;
	}
	ids_map_fini(&profile->images);
	ids_map_fini(&profile->contexts);
	ids_map_fini(&profile->nodes);
	profile->stacks_image = 0;
	gc_fini(&profile->gc);
	*uncertain = (struct uncertain_commit){0};
	return 1;
}

/* Needs no new descriptor: works when the process has none left. */
static bool
is_in_place(const struct profile *profile)
{
	return profile->store.env && directory_has(profile->directory, AT_FDCWD, profile->path) &&
	       directory_has(profile->lock, profile->directory, WRITER_LOCK) &&
	       directory_files_have_data(&profile->files, profile->directory) &&
	       directory_files_have_lock(&profile->files, profile->directory);
}

int
profile_recover(struct profile *profile, bool anew)
{
	struct stat stat;
	int directory, lock;

	if (!profile->store.write)
		return -EINVAL;
	if (!anew && is_in_place(profile))
		return 0;
	directory = directory_open(profile->path, true);
	if (directory < 0)
		return lstat(profile->path, &stat) < 0 && errno == ENOENT ? -DCPI_EGONE : directory;
	/* take the writer's lock of the database at the path, when the lock file that is held was deleted or moved */
	if (!directory_has(profile->lock, directory, WRITER_LOCK)) {
		lock = directory_lock(directory);
		if (lock < 0) {
			close(directory);
			return lock;
		}
		if (profile->lock >= 0)
			close(profile->lock); /* no other process can find that file any more */
		profile->lock = lock;
	}
	if (!anew && profile->store.env && directory_files_have_data(&profile->files, directory) &&
	    directory_files_have_lock(&profile->files, directory)) {
		close(directory);
		return 0;
	}
	return reopen(profile, directory);
}

/* ---- a damaged database is moved away ---- */

#define QUARANTINE_PREFIX "damaged-"
#define QUARANTINE_LENGTH (sizeof(QUARANTINE_PREFIX "2026-11-21T09:43:00Z") - 1)
#define QUARANTINE_MODE   0750
#define QUARANTINE_TRIES  60 /* of the seconds that follow, when a name is taken */
#define TO_DATA           "/" DIRECTORY_DATA
#define INNER_SIZE        (QUARANTINE_NAME_SIZE + sizeof(TO_DATA))

/* The directories that are kept; names sort by time. */
struct quarantine_list {
	size_t count;
	char first[QUARANTINE_NAME_SIZE];
	struct quarantined latest;
	int64_t latest_s; /* when it was moved there */
};

static const char *
inner_path(const char *name, const char *file, char path[INNER_SIZE])
{
	snprintf(path, INNER_SIZE, "%s/%s", name, file);
	return path;
}

static void
note_kept(int directory, const char *name, struct quarantine_list *kept)
{
	char path[INNER_SIZE];
	struct stat data, place;

	if (strncmp(name, QUARANTINE_PREFIX, strlen(QUARANTINE_PREFIX)) != 0 || strlen(name) != QUARANTINE_LENGTH)
		return;
	if (fstatat(directory, inner_path(name, DIRECTORY_DATA, path), &data, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(directory, name, &place, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (kept->count == 0 || strcmp(name, kept->first) < 0)
		snprintf(kept->first, sizeof(kept->first), "%s", name);
	if (kept->count++ > 0 && strcmp(name, kept->latest.name) < 0)
		return;
	snprintf(kept->latest.name, sizeof(kept->latest.name), "%s", name);
	kept->latest.bytes = (uint64_t)data.st_size;
	kept->latest_s = place.st_mtim.tv_sec;
}

static int
find_kept(int directory, struct quarantine_list *kept)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err;

	memset(kept, 0, sizeof(*kept));
	if (!list) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (errno = 0, (entry = readdir(list)))
		note_kept(directory, entry->d_name, kept);
	err = -errno;
	closedir(list);
	return err;
}

/* A directory named by the time, or by one of the seconds that follow. */
static int
make_directory(int directory, time_t now_s, char name[QUARANTINE_NAME_SIZE])
{
	struct tm broken;

	for (time_t time_s = now_s; time_s < now_s + QUARANTINE_TRIES; time_s++) {
		if (!gmtime_r(&time_s, &broken) ||
		    strftime(name, QUARANTINE_NAME_SIZE, QUARANTINE_PREFIX "%Y-%m-%dT%H:%M:%SZ", &broken) !=
		            QUARANTINE_LENGTH)
			return -EOVERFLOW;
		if (mkdirat(directory, name, QUARANTINE_MODE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* The lock file first: no process may use the old one with a new data file. */
static int
move_files(int directory, const char *name)
{
	char lock[INNER_SIZE], data[INNER_SIZE];
	int err;

	inner_path(name, DIRECTORY_LOCK, lock);
	inner_path(name, DIRECTORY_DATA, data);
	if (renameat(directory, DIRECTORY_LOCK, directory, lock) < 0 && errno != ENOENT)
		return -errno;
	if (renameat(directory, DIRECTORY_DATA, directory, data) == 0)
		return fsync(directory) < 0 ? -errno : 0;
	err = -errno;
	(void)!renameat(directory, lock, directory, DIRECTORY_LOCK); /* without it, the writer makes another */
	return err;
}

static void
remove_kept(int directory, const char *name)
{
	char path[INNER_SIZE];

	unlinkat(directory, inner_path(name, DIRECTORY_DATA, path), 0);
	unlinkat(directory, inner_path(name, DIRECTORY_LOCK, path), 0);
	unlinkat(directory, name, AT_REMOVEDIR); /* other files there are not ours, and stay */
}

static int
quarantine(int directory, char name[QUARANTINE_NAME_SIZE])
{
	struct timespec now;
	struct quarantine_list kept;
	int err;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -errno;
	err = find_kept(directory, &kept);
	if (err)
		return err;
	if (kept.count > 0 && now.tv_sec >= kept.latest_s && now.tv_sec - kept.latest_s < QUARANTINE_PAUSE_S)
		return -EAGAIN;
	err = make_directory(directory, now.tv_sec, name);
	if (err)
		return err;
	err = move_files(directory, name);
	if (err)
		unlinkat(directory, name, AT_REMOVEDIR);
	else if (kept.count > 1 && strcmp(kept.first, kept.latest.name) != 0)
		remove_kept(directory, kept.latest.name);
	return err;
}

int
profile_quarantine(const struct profile *profile, char name[QUARANTINE_NAME_SIZE])
{
	return profile->store.write && profile->lock >= 0 ? quarantine(profile->directory, name) : -EINVAL;
}

int
profile_quarantine_at(const char *path, char name[QUARANTINE_NAME_SIZE])
{
	int directory = directory_open(path, false), lock, err;

	if (directory < 0)
		return directory;
	lock = directory_lock(directory);
	err = lock < 0 ? lock : quarantine(directory, name);
	if (lock >= 0)
		directory_unlock(lock);
	close(directory);
	return err;
}

int
profile_find_quarantined(const char *path, struct quarantined *quarantined)
{
	int directory = directory_open(path, false), err;
	struct quarantine_list kept;

	if (directory < 0)
		return directory;
	err = find_kept(directory, &kept);
	close(directory);
	if (err)
		return err;
	*quarantined = kept.latest;
	return kept.count > 0;
}
