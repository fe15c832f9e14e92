#include "salvage/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/directory.h"
#include "profile/ids.h"
#include "salvage/salvage_internal.h"

#define PUTS_MAX   20000 /* in one transaction: a few MiB of pages */
#define SIZE_LIMIT (UINT64_C(1) << 40)

static int
validate_epoch(uint32_t id, const uint8_t *value, size_t size, uint64_t *weight)
{
	struct epoch epoch;
	int err = epoch_decode(id, value, size, &epoch);

	*weight = err ? 0 : epoch.end_ns;
	return err;
}

static int
validate_slice(uint32_t id, const uint8_t *value, size_t size, uint64_t *weight)
{
	struct slice slice;
	int err = slice_decode(id, value, size, &slice);

	*weight = 0;
	if (err)
		return err;
	for (size_t i = 0; i < slice.event_count; i++)
		*weight = add_saturating(*weight, slice.events[i].samples);
	slice_fini(&slice);
	return 0;
}

/*
 * Does `value` decode as one of `table`, keyed by `id`? *weight as in struct salvage_thing. 0, -DCPI_EDAMAGED, -ENOMEM.
 */
static int
salvage_validate(enum store_table table, uint32_t id, const uint8_t *value, size_t size, uint64_t *weight)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct context_record context;
	struct image_record image;
	int count;

	*weight = 0;
	switch (table) {
	case TABLE_EPOCHS:
		return validate_epoch(id, value, size, weight);
	case TABLE_SLICES:
		return validate_slice(id, value, size, weight);
	case TABLE_IMAGES:
		return image_record_decode(value, size, &image);
	case TABLE_CONTEXTS:
		return context_record_decode(value, size, &context);
	case TABLE_COUNTS:
		count = counts_decode(value, size, pairs);
		for (int i = 0; i < count; i++)
			*weight = add_saturating(*weight, pairs[i].count);
		return count < 0 ? count : 0;
	default:
		return -DCPI_EDAMAGED;
	}
}

/* Add a copy of a value that decodes; -DCPI_EDAMAGED for one that does not. */
static int
salvage_things_add(struct salvage_things *things, enum store_table table, enum salvage_source source,
                   const struct pages_entry *entry)
{
	struct salvage_thing thing = {.source = source, .size = entry->size};
	const MDB_val key = {entry->key_size, (void *)entry->key};
	struct salvage_thing *grown;
	int err;

	err = store_key_number(&key, &thing.id);
	if (!err)
		err = thing.id == 0 || entry->is_tree
		              ? -DCPI_EDAMAGED
		              : salvage_validate(table, thing.id, entry->value, entry->size, &thing.weight);
	if (err)
		return err;
	grown = array_grow(things->things, &things->capacity, things->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	things->things = grown;
	thing.value = malloc(thing.size);
	if (!thing.value)
		return -ENOMEM;
	memcpy(thing.value, entry->value, thing.size);
	grown[things->count++] = thing;
	return 0;
}

static int
compare_things(const void *a, const void *b)
{
	const struct salvage_thing *one = a, *other = b;

	if (one->id != other->id)
		return one->id < other->id ? -1 : 1;
	if (one->source != other->source)
		return one->source < other->source ? -1 : 1;
	if (one->weight != other->weight)
		return one->weight > other->weight ? -1 : 1;
	return 0;
}

void
salvage_things_choose(struct salvage_things *things)
{
	size_t kept = 0;

	if (things->count > 0)
		qsort(things->things, things->count, sizeof(*things->things), compare_things);
	for (size_t i = 0; i < things->count; i++) {
		if (kept > 0 && things->things[kept - 1].id == things->things[i].id)
			free(things->things[i].value);
		else
			things->things[kept++] = things->things[i];
	}
	things->count = kept;
}

struct salvage_thing *
salvage_things_find(const struct salvage_things *things, uint32_t id)
{
	const size_t at = ARRAY_LOWER_BOUND(things->things, things->count, id, id);

	return at < things->count && things->things[at].id == id ? &things->things[at] : NULL;
}

static void
salvage_things_fini(struct salvage_things *things)
{
	for (size_t i = 0; i < things->count; i++)
		free(things->things[i].value);
	free(things->things);
	memset(things, 0, sizeof(*things));
}

/* 0, -DCPI_EDAMAGED for an entry that cannot be used, or an error that ends it all. */
typedef int salvage_visitor(struct salvage *salvage, enum store_table table, enum salvage_source source,
                            const struct pages_entry *entry);

struct salvage_pass {
	struct salvage *salvage;
	const enum store_table *tables;
	size_t table_count;
	enum salvage_source source;
	enum store_table table; /* of the walk under way */
	salvage_visitor *take;
	uint64_t damaged;
	uint64_t taken;
};

static int
visit_main(void *context, const struct pages_leaf *leaf)
{
	struct salvage_pass *pass = context;
	struct pages_entry entry;

	for (size_t i = 0; i < pages_leaf_count(leaf); i++) {
		int err = pages_leaf_entry(leaf, i, &entry);

		if (err == -ENOMEM)
			return err;
		for (enum store_table table = 0; !err && table < TABLE_COUNT; table++) {
			const char *name = store_table_name(table);

			if (entry.key_size != strlen(name) || memcmp(entry.key, name, entry.key_size) != 0)
				continue;
			if (pages_entry_tree(&entry, &pass->salvage->trees[pass->source][table]) == 0)
				pass->salvage->has_tree[pass->source][table] = true;
		}
	}
	return 0;
}

/* Find the roots of all tables. */
static int
salvage_find_tables(struct salvage *salvage)
{
	struct salvage_pass pass = {.salvage = salvage};
	int err = 0;

	for (size_t i = 0; i < salvage->meta_count && !err; i++) {
		pass.source = (enum salvage_source)i;
		pages_begin(salvage->pages);
		err = pages_walk(salvage->pages, &salvage->metas[i].main, visit_main, &pass, &pass.damaged);
		if (i == SOURCE_NEWEST)
			salvage->result->damaged_pages = pass.damaged;
	}
	if (salvage->meta_count < 2)
		salvage->result->damaged_pages += 2 - salvage->meta_count;
	return err;
}

/* Give every entry of `leaf` to the table; those that are of no use count as damage. */
static int
take_leaf(struct salvage_pass *pass, enum store_table table, const struct pages_leaf *leaf)
{
	struct pages_entry entry;
	bool damaged = false;
	int err;

	for (size_t i = 0; i < pages_leaf_count(leaf); i++) {
		err = pages_leaf_entry(leaf, i, &entry);
		if (!err)
			err = pass->take(pass->salvage, table, pass->source, &entry);
		if (err && err != -DCPI_EDAMAGED)
			return err;
		damaged |= err != 0;
		pass->taken += !err;
	}
	pass->damaged += damaged;
	return 0;
}

static int
visit_leaf(void *context, const struct pages_leaf *leaf)
{
	struct salvage_pass *pass = context;

	return take_leaf(pass, pass->table, leaf);
}

static int
walk_tables(struct salvage_pass *pass)
{
	struct salvage *salvage = pass->salvage;
	int err = 0;

	pages_begin(salvage->pages);
	for (size_t i = 0; i < pass->table_count && !err; i++) {
		const enum store_table table = pass->tables[i];

		if (salvage->is_whole[table] || !salvage->has_tree[pass->source][table])
			continue;
		pass->table = table;
		pass->damaged = pass->taken = 0;
		err = pages_walk(salvage->pages, &salvage->trees[pass->source][table], visit_leaf, pass,
		                 &pass->damaged);
		if (pass->source != SOURCE_NEWEST)
			continue;
		salvage->result->damaged_pages += pass->damaged;
		salvage->is_whole[table] = pass->damaged == 0 && pass->taken == salvage->trees[0][table].entries;
	}
	return err;
}

/* Could it be an entry of this table? 0, -DCPI_EDAMAGED, -ENOMEM. */
static int
validate_entry(const struct pages_entry *entry, enum store_table table)
{
	const MDB_val name = {entry->key_size, (void *)entry->key};
	struct profile_label_time time;
	struct label_times_key label;
	struct edges_key key;
	uint32_t id = 0;
	uint64_t weight;

	if (entry->is_tree)
		return -DCPI_EDAMAGED;
	if (table == TABLE_EDGES)
		return salvage_validate_edges(entry, &key, &weight);
	if (table == TABLE_LABEL_TIMES)
		return salvage_validate_label_time(entry, &label, &time);
	if (table == TABLE_COUNTS ? entry->key_size != COUNTS_KEY_SIZE : store_key_number(&name, &id))
		return -DCPI_EDAMAGED;
	return salvage_validate(table, id, entry->value, entry->size, &weight);
}

/* How many of the entries could be of this table? */
static int
count_valid(const struct pages_leaf *leaf, enum store_table table, size_t *fitting)
{
	struct pages_entry entry;

	*fitting = 0;
	for (size_t i = 0; i < pages_leaf_count(leaf); i++) {
		int err = pages_leaf_entry(leaf, i, &entry);

		if (!err)
			err = validate_entry(&entry, table);
		if (err == -ENOMEM)
			return err;
		*fitting += !err;
	}
	return 0;
}

/* A page does not name its table: take the table of which most entries are valid. */
static int
visit_any_leaf(void *context, const struct pages_leaf *leaf)
{
	struct salvage_pass *pass = context;
	enum store_table best = TABLE_COUNT;
	size_t most = 0, fitting;
	int err;

	for (enum store_table table = TABLE_EPOCHS; table < TABLE_COUNT; table++) {
		if (table == TABLE_IMAGE_IDS || table == TABLE_CONTEXT_IDS || table == TABLE_SYMBOLS ||
		    table == TABLE_TEXT)
			continue;
		err = count_valid(leaf, table, &fitting);
		if (err)
			return err;
		if (fitting > most) {
			most = fitting;
			best = table;
		}
	}
	for (size_t i = 0; i < pass->table_count; i++)
		if (pass->tables[i] == best && !pass->salvage->is_whole[best])
			return take_leaf(pass, best, leaf);
	return 0;
}

/*
 * Visit the entries of tables in each source in turn, as long as what was read is not whole. `take` gives 0,
 * -DCPI_EDAMAGED for an entry that cannot be used, or an error that ends it all.
 */
static int
salvage_visit(struct salvage *salvage, const enum store_table *tables, size_t count, salvage_visitor *take)
{
	struct salvage_pass pass = {.salvage = salvage, .tables = tables, .table_count = count, .take = take};
	bool whole = true;
	int err = 0;

	for (size_t i = 0; i < salvage->meta_count && !err; i++) {
		pass.source = (enum salvage_source)i;
		err = walk_tables(&pass);
	}
	for (size_t i = 0; i < count; i++)
		whole &= salvage->is_whole[tables[i]];
	if (err || whole)
		return err;
	salvage->result->scanned = true;
	pass.source = SOURCE_PAGES;
	pages_begin(salvage->pages);
	return pages_scan(salvage->pages, visit_any_leaf, &pass);
}

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
visit_small(struct salvage *salvage, enum store_table table, enum salvage_source source,
            const struct pages_entry *entry)
{
	return salvage_things_add(&salvage->things[table], table, source, entry);
}

static int
visit_large(struct salvage *salvage, enum store_table table, enum salvage_source source,
            const struct pages_entry *entry)
{
	if (table == TABLE_COUNTS)
		return salvage_counts(salvage, table, source, entry);
	if (table == TABLE_TEXT)
		return salvage_text(salvage, entry);
	if (table == TABLE_LABEL_TIMES)
		return salvage_label_time(salvage, entry);
	return table == TABLE_EDGES ? salvage_edges(salvage, entry) : salvage_symbols(salvage, entry);
}

static uint64_t
expected_in(const struct salvage *salvage, enum store_table table)
{
	return salvage->has_tree[0][table] ? salvage->trees[0][table].entries : 0;
}

static void
note_expected(struct salvage *salvage)
{
	struct salvage_result *result = salvage->result;

	result->is_known = true;
	for (enum store_table table = 0; table < TABLE_COUNT; table++)
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
	static const enum store_table small[] = {TABLE_EPOCHS, TABLE_SLICES, TABLE_IMAGES, TABLE_CONTEXTS};
	static const enum store_table large[] = {TABLE_COUNTS, TABLE_SYMBOLS, TABLE_EDGES, TABLE_TEXT,
	                                         TABLE_LABEL_TIMES};
	int err;

	salvage->meta_count = pages_metas(salvage->pages, salvage->metas);
	err = salvage_find_tables(salvage);
	if (err)
		return err;
	note_expected(salvage);
	err = salvage_visit(salvage, small, sizeof(small) / sizeof(small[0]), visit_small);
	if (!err)
		err = salvage_put_things(salvage);
	if (!err)
		err = salvage_visit(salvage, large, sizeof(large) / sizeof(large[0]), visit_large);
	return err ? err : salvage_put_slices(salvage);
}

static void
salvage_fini(struct salvage *salvage)
{
	for (enum store_table table = 0; table < TABLE_COUNT; table++)
		salvage_things_fini(&salvage->things[table]);
	for (size_t i = 0; i < salvage->slice_count; i++)
		slice_fini(&salvage->slices[i].slice);
	free(salvage->slices);
}

/* Salvage the data file `fd` into an empty profile. */
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
	if (directory_lock_owner(directory) > 0)
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

/* In a directory that others may write, a file could be replaced by a link before its owner is changed. */
static bool
is_ours(int directory)
{
	struct stat stat;

	return fstat(directory, &stat) == 0 && stat.st_uid == geteuid() && !(stat.st_mode & (S_IWGRP | S_IWOTH));
}

/* The new database gets the owner of the damaged one, so that it can replace it and has its readers. */
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
