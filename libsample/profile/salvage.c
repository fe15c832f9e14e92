#include "profile/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/salvage_parts.h"

#define PUTS_MAX   20000 /* in one transaction: a few MiB of pages */
#define SIZE_LIMIT (UINT64_C(1) << 40)

int
salvage_step(struct salvage *salvage)
{
	MDB_txn *txn = salvage->txn;
	int err = 0;

	if (txn && salvage->puts++ < PUTS_MAX)
		return 0;
	salvage->txn = NULL;
	salvage->puts = 0;
	if (txn)
		err = store_end(&salvage->profile->store, txn, 0);
	return err ? err : store_begin(&salvage->profile->store, true, &salvage->txn);
}

static int
take_small(struct salvage *salvage, enum table table, enum salvage_source source, const struct pages_entry *entry)
{
	return salvage_things_add(&salvage->things[table], table, source, entry);
}

static int
take_large(struct salvage *salvage, enum table table, enum salvage_source source, const struct pages_entry *entry)
{
	if (table == TABLE_COUNTS)
		return salvage_take_counts(salvage, table, source, entry);
	if (table == TABLE_TEXT)
		return salvage_take_text(salvage, entry);
	if (table == TABLE_LABEL_TIMES)
		return salvage_take_label_time(salvage, entry);
	return table == TABLE_EDGES ? salvage_take_edges(salvage, entry) : salvage_take_symbols(salvage, entry);
}

static uint64_t
expected_in(const struct salvage *salvage, enum table table)
{
	return salvage->has_tree[0][table] ? salvage->trees[0][table].entries : 0;
}

static void
say_expected(struct salvage *salvage)
{
	struct salvage_result *result = salvage->result;

	result->is_known = true;
	for (enum table table = 0; table < TABLE_COUNT; table++)
		result->is_known &= salvage->has_tree[0][table] || table >= TABLE_EDGES; /* older ones have none */
	result->epochs.expected = expected_in(salvage, TABLE_EPOCHS);
	result->slices.expected = expected_in(salvage, TABLE_SLICES);
	result->images.expected = expected_in(salvage, TABLE_IMAGES);
	result->contexts.expected = expected_in(salvage, TABLE_CONTEXTS);
	result->blocks.expected = expected_in(salvage, TABLE_COUNTS);
	result->symbols.expected = expected_in(salvage, TABLE_SYMBOLS);
	result->edges.expected = expected_in(salvage, TABLE_EDGES);
	result->text.expected = expected_in(salvage, TABLE_TEXT);
	result->label_times.expected = expected_in(salvage, TABLE_LABEL_TIMES);
}

static int
read_all(struct salvage *salvage)
{
	static const enum table small[] = {TABLE_EPOCHS, TABLE_SLICES, TABLE_IMAGES, TABLE_CONTEXTS};
	static const enum table large[] = {TABLE_COUNTS, TABLE_SYMBOLS, TABLE_EDGES, TABLE_TEXT, TABLE_LABEL_TIMES};
	int err;

	salvage->meta_count = pages_metas(salvage->pages, salvage->metas);
	err = salvage_find_tables(salvage);
	if (err)
		return err;
	say_expected(salvage);
	err = salvage_visit(salvage, small, sizeof(small) / sizeof(small[0]), take_small);
	if (!err)
		err = salvage_put_things(salvage);
	if (!err)
		err = salvage_visit(salvage, large, sizeof(large) / sizeof(large[0]), take_large);
	return err ? err : salvage_put_slices(salvage);
}

static void
salvage_fini(struct salvage *salvage)
{
	for (enum table table = 0; table < TABLE_COUNT; table++)
		salvage_things_fini(&salvage->things[table]);
	for (size_t i = 0; i < salvage->slice_count; i++)
		slice_fini(&salvage->slices[i].slice);
	free(salvage->slices);
}

/* What was counted into `fd`, a database's file, into an empty profile. */
static int
salvage_file(int fd, struct profile *profile, struct salvage_result *result)
{
	struct salvage salvage = {.profile = profile, .result = result};
	int err;

	err = pages_open(fd, &salvage.pages);
	if (err)
		return err;
	result->pages = pages_count(salvage.pages);
	err = read_all(&salvage);
	if (salvage.txn)
		err = store_end(&profile->store, salvage.txn, err);
	salvage_fini(&salvage);
	pages_free(salvage.pages);
	return err;
}

/* A descriptor of the file of a database that nobody writes, or an error. */
static int
open_damaged(const char *path)
{
	int directory = directory_open(path, false), fd;
	struct stat stat;

	if (directory < 0)
		return directory == -ENOENT ? -DCPI_ENODATABASE : directory;
	if (writer_lock_owner(directory) > 0)
		fd = -DCPI_ERUNNING;
	else if ((fd = openat(directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)) < 0)
		fd = errno == ENOENT ? -DCPI_ENODATABASE : errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	close(directory);
	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		return fd;
	close(fd);
	return -DCPI_ENODATABASE;
}

/* 0 when there is no `path` or nothing in it. */
static int
check_target(const char *path)
{
	const struct dirent *entry;
	DIR *directory = opendir(path);
	int err = 0;

	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	errno = 0;
	while (!err && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			err = -EEXIST;
	if (!err && errno)
		err = -errno;
	closedir(directory);
	return err;
}

/* Others might put a link in the place of a file that is given away. */
static bool
is_ours(int directory)
{
	struct stat stat;

	return fstat(directory, &stat) == 0 && stat.st_uid == geteuid() && !(stat.st_mode & (S_IWGRP | S_IWOTH));
}

/* As the damaged one: for the same readers, and so that it can take its place. */
static int
give_owner(int damaged, int directory)
{
	static const char *const names[] = {DIRECTORY_DATA, DIRECTORY_LOCK, READERS_LOCK, WRITER_LOCK};
	struct stat old;

	if (fstat(damaged, &old) < 0)
		return -errno;
	if (!is_ours(directory) || (old.st_uid == geteuid() && old.st_gid == getegid()))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fchownat(directory, names[i], old.st_uid, old.st_gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
			return errno == EPERM ? 0 : -errno; /* not root: then it is ours */
	return fchown(directory, old.st_uid, old.st_gid) < 0 ? -errno : 0;
}

int
profile_salvage(const char *directory, const char *target, const struct log *log, struct salvage_result *result)
{
	const struct profile_options options = {.write = true, .size_limit = SIZE_LIMIT, .log = log};
	struct profile *profile = NULL;
	int fd, err;

	memset(result, 0, sizeof(*result));
	fd = open_damaged(directory);
	if (fd < 0)
		return fd;
	result->is_open = true;
	err = check_target(target);
	if (!err)
		err = profile_open(target, &options, &profile);
	if (!err)
		err = salvage_file(fd, profile, result);
	if (!err)
		err = give_owner(fd, profile->directory);
	profile_close(profile);
	close(fd);
	return err;
}
