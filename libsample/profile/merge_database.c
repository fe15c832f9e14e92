#include "profile/merge_database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "profile/captured.h"
#include "profile/counts.h"
#include "profile/directory.h"
#include "profile/edges.h"
#include "profile/epoch.h"
#include "profile/ids.h"
#include "profile/label_times.h"
#include "profile/memory_rows.h"
#include "profile/profile_internal.h"
#include "profile/stacks.h"
#include "tally/tally.h"

#define LOOK_EVERY        1024 /* blocks */
#define PIECE_BYTES       (4u << 20)
#define PIECE_NS          50000000u /* and its sync, and what was captured of one image */
#define PAUSE_NS          5000000
#define NODE_BYTES        10       /* that LMDB takes for each entry of a page */
#define BLOCKS_WHEN_FULL  64       /* to remove in one transaction when there is hardly room */
#define IMPORTS_LOCK_MODE 0600     /* a user who can open the file can lock it and keep imports out */
#define LOCK_RETRY_NS     20000000 /* between two tries to take the lock */
#define LOCK_FLAGS        (O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
#define LOCK_TRIES        10

/* ---- epochs that are not whole yet ---- */

static int
open_lock(const struct profile *profile)
{
	int lock = openat(profile->directory, IMPORTS_LOCK, O_RDWR | O_CREAT | LOCK_FLAGS, IMPORTS_LOCK_MODE);
	int err;

	if (lock < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	err = directory_give_to_owner(profile->directory, lock); /* whose dcpid must see the lock */
	if (!err)
		return lock;
	close(lock);
	return err;
}

static int
take_lock(int lock, int (*wait)(void *context), void *context)
{
	const struct timespec moment = {.tv_nsec = LOCK_RETRY_NS};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int err = 0;

	while (!err && fcntl(lock, F_OFD_SETLK, &whole) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		nanosleep(&moment, NULL);
		err = wait(context);
	}
	return err;
}

/* Is the locked file still in the directory? Without it, other writers take our epochs for those of a killed import. */
static bool
is_locked(const struct profile *profile, int lock)
{
	return directory_has(lock, profile->directory, IMPORTS_LOCK);
}

/*
 * Wait for an import that has the lock: meanwhile `wait` is called repeatedly, and a result that is not 0 ends waiting
 * with that result. A descriptor that holds the lock until it is closed, or -errno; -DCPI_ESYMLINK.
 */
static int
lock_imports(const struct profile *profile, int (*wait)(void *context), void *context)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		const int lock = open_lock(profile);
		int err;

		if (lock < 0)
			return lock;
		err = take_lock(lock, wait, context);
		if (!err && is_locked(profile, lock))
			return lock;
		close(lock);
		if (err)
			return err;
	}
	return -EAGAIN; /* another process keeps removing the file */
}

/* True also when it cannot be found out: then nothing is removed. */
static bool
import_is_running(const struct profile *profile)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int lock = openat(profile->directory, IMPORTS_LOCK, O_RDONLY | LOCK_FLAGS);
	bool is_running;

	if (lock < 0)
		return errno != ENOENT;
	is_running = fcntl(lock, F_OFD_GETLK, &whole) < 0 || whole.l_type != F_UNLCK;
	close(lock);
	return is_running;
}

/* The first incoming epoch: 1 with *id, 0 when there is none, or an error. */
static int
find_first(const struct store *store, MDB_txn *txn, uint32_t *id)
{
	struct store_walk walk;
	int result;

	store_walk_begin(store, txn, TABLE_EPOCHS, &walk);
	while ((result = store_walk_next(&walk)) > 0)
		if (epoch_value_is_incoming(walk.value.mv_data, walk.value.mv_size) &&
		    store_key_number(&walk.key, id) == 0)
			break;
	store_walk_end(&walk);
	return result;
}

int
merge_database_has_incoming(const struct store *store, MDB_txn *txn)
{
	uint32_t id = 0;

	return find_first(store, txn, &id);
}

/* Remove at most `max` blocks of an epoch, a slice counting as one, and after its last slice the epoch. */
static int
remove_from_epoch(struct profile *profile, MDB_txn *txn, uint32_t id, size_t max)
{
	uint64_t taken[EVENTS_MAX];
	struct slice_list list;
	size_t left = max;
	int err;

	err = slice_list_read(&profile->store, txn, &list);
	for (size_t i = 0; !err && left > 0 && i < list.count; i++) {
		int64_t count;

		if (list.slices[i].epoch != id)
			continue;
		count = slice_take_blocks(profile, txn, list.slices[i].id, 0, left, taken);
		if (count < 0) {
			err = (int)count;
			break;
		}
		left -= (size_t)count;
		/* until the slice is removed its totals are too large: profile_check() ignores those of incoming slices
		 */
		if (left > 0) {
			left--;
			err = store_remove(&profile->store, txn, TABLE_SLICES, list.slices[i].id);
		}
	}
	slice_list_fini(&list);
	return err || left == 0 ? err : store_remove(&profile->store, txn, TABLE_EPOCHS, id);
}

int
merge_database_remove_incoming(struct profile *profile, bool is_ours, size_t max)
{
	int result, err;
	MDB_txn *txn;
	uint32_t id = 0;

	/* look without a write first: mostly there is none */
	result = store_begin(&profile->store, false, &txn);
	if (!result)
		result = store_leave(&profile->store, txn, find_first(&profile->store, txn, &id));
	if (result <= 0 || (!is_ours && import_is_running(profile)))
		return result < 0 ? result : 0;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	result = find_first(&profile->store, txn, &id);
	/* An import that takes the lock from now on writes its first epoch after this transaction. */
	if (result > 0 && !is_ours && import_is_running(profile))
		result = 0;
	if (result > 0) {
		err = remove_from_epoch(profile, txn, id, max);
		result = err ? err : 1;
	}
	if (result <= 0) {
		mdb_txn_abort(txn);
		return result;
	}
	err = store_end(&profile->store, txn, 0);
	if (!err)
		profile->gc.done = false;
	return err ? err : 1;
}

/* ---- numbers ---- */

/* From the numbers of one database to those of the other. */
struct number_pair {
	uint32_t from, to; /* from first, for array_compare_u32() */
};

struct number_map {
	struct number_pair *pairs; /* ascending by `from` */
	size_t count, capacity;
	size_t last; /* the last that was found: most lookups repeat it */
};

/* Insert in order of `from`, in which epochs and slices come, images and contexts do not. 0 or -ENOMEM. */
static int
number_map_insert(struct number_map *map, uint32_t from, uint32_t to)
{
	struct number_pair *pairs = array_grow(map->pairs, &map->capacity, map->count + 1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	map->pairs = pairs;
	pairs[array_make_gap_u32(pairs, map->count, sizeof(*pairs), from)] = (struct number_pair){from, to};
	map->count++;
	return 0;
}

/* 0: there is none. */
static uint32_t
number_map_find(struct number_map *map, uint32_t from)
{
	const struct number_pair *pair;

	if (map->last < map->count && map->pairs[map->last].from == from)
		return map->pairs[map->last].to;
	pair = map->count ? bsearch(&from, map->pairs, map->count, sizeof(*pair), array_compare_u32) : NULL;
	if (!pair)
		return 0;
	map->last = (size_t)(pair - map->pairs);
	return pair->to;
}

static void
number_map_fini(struct number_map *map)
{
	free(map->pairs);
	memset(map, 0, sizeof(*map));
}

/* ---- pieces ---- */

struct merger {
	const struct database_merge_options *options;
	struct database_merge *result;
	struct profile *to;
	const struct store *from_store, *to_store;
	MDB_txn *from_txn, *to_txn;
	struct number_map epochs, slices, images, contexts;
	struct stack_nodes nodes;   /* there */
	uint32_t *node_numbers;     /* here, by index there; 0: not merged yet */
	uint32_t stacks_image;      /* there: of kind IMAGE_STACKS; 0: there is none */
	struct number_map replaced; /* from a new epoch here to the older state of it here */
	uint64_t done, all;         /* blocks of counts and edges */
	int lock;                   /* of imports */
	size_t records, bytes;      /* of this piece; to_txn is NULL between two */
	uint64_t begun_ns;          /* CLOCK_MONOTONIC, the begin of this piece */
};

static int
proceed(void *context)
{
	const struct merger *merger = context;
	const struct database_merge_options *options = merger->options;

	return options->proceed ? options->proceed(options->context, merger->done, merger->all) : 0;
}

static int
begin_piece(struct merger *merger)
{
	int err = store_begin(&merger->to->store, true, &merger->to_txn);

	if (err)
		return err;
	merger->records = merger->bytes = 0;
	merger->begun_ns = monotonic_ns();
	return 0;
}

static int
end_piece(struct merger *merger, int err)
{
	if (!err)
		err = readers_check(merger->from_store); /* do not commit what was read from reused pages */
	if (!err && !is_locked(merger->to, merger->lock))
		err = -ESTALE; /* other writers may have removed our epochs */
	err = store_end(merger->to_store, merger->to_txn, err);
	merger->to_txn = NULL;
	merger->result->pieces += err == 0;
	return err;
}

/* A writer that waits is woken when a piece ends: give it the time to take the lock before us. */
static void
let_others_write(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

/*
 * Between two records: when the piece has enough, commit it, let others write, and begin another. 0, or an error with
 * no transaction open.
 */
static int
merge_step(struct merger *merger)
{
	const size_t max = merger->options->piece ? merger->options->piece : DATABASE_MERGE_PIECE;
	int err;

	if (merger->records < max && merger->bytes < PIECE_BYTES && monotonic_ns() - merger->begun_ns < PIECE_NS)
		return 0;
	err = end_piece(merger, proceed(merger));
	if (err)
		return err;
	let_others_write();
	return begin_piece(merger);
}

/* A record of `size` bytes was written. */
static void
merge_note(struct merger *merger, size_t size)
{
	merger->records++;
	merger->bytes += size;
}

/* ---- images and contexts ---- */

/*
 * The number here of an image there, stored when it is new here. A stored image keeps its path. 0; -DCPI_EDAMAGED, also
 * when it is missing there; an error.
 */
static int
merge_image(struct merger *merger, uint32_t from, uint32_t *to)
{
	struct image_record record;
	int err;

	*to = number_map_find(&merger->images, from);
	if (*to)
		return 0;
	err = ids_read_image(merger->from_store, merger->from_txn, from, &record);
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	if (record.image.build_id_size > 0) { /* device and inode of another machine */
		record.image.device_major = record.image.device_minor = 0;
		record.image.inode = record.image.inode_generation = 0;
	}
	record.image.is_roots = false; /* the file was root's on the other machine */
	merger->result->images++;
	err = ids_find_image(merger->to_store, merger->to_txn, &record.image, to);
	if (err == -ENOENT) {
		merger->result->new_images++;
		err = ids_intern_image(merger->to_store, merger->to_txn, &record.image, to);
	}
	return err ? err : number_map_insert(&merger->images, from, *to);
}

/* The number here of a context there, stored when it is new here. As merge_image(). */
static int
merge_context(struct merger *merger, uint32_t from, uint32_t *to)
{
	struct context_record record;
	MDB_val value;
	int err;

	*to = number_map_find(&merger->contexts, from);
	if (*to)
		return 0;
	err = store_get(merger->from_store, merger->from_txn, TABLE_CONTEXTS, from, &value);
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	err = context_record_decode(value.mv_data, value.mv_size, &record);
	if (!err)
		err = ids_intern_context(merger->to_store, merger->to_txn, &record.context, to);
	if (err)
		return err;
	merger->result->contexts++;
	return number_map_insert(&merger->contexts, from, *to);
}

/* Copy the names of an image, unless it has names here. */
static int
merge_symbols(struct merger *merger, const struct number_pair *image)
{
	MDB_val value, here;
	int err;

	err = store_get(merger->from_store, merger->from_txn, TABLE_SYMBOLS, image->from, &value);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = store_get(merger->to_store, merger->to_txn, TABLE_SYMBOLS, image->to, &here);
	if (err != -ENOENT)
		return err;
	merge_note(merger, value.mv_size);
	return store_put(merger->to_store, merger->to_txn, TABLE_SYMBOLS, image->to,
	                 &(struct byte_writer){.data = value.mv_data, .size = value.mv_size});
}

static bool
has_text(struct merger *merger, uint32_t image)
{
	struct store_walk walk;
	uint32_t block;
	int result;

	captured_walk_begin(merger->to_store, merger->to_txn, image, &walk);
	do {
		result = captured_walk_next(&walk, image, &block);
	} while (result > 0 && block == CAPTURED_BLOCK_UNWIND); /* which is no text */
	store_walk_end(&walk);
	return result != 0; /* after an error, too: keep what is stored */
}

/*
 * Copy layout, unwind table and text, unless the image has text here: parcels of an image must not have a block in
 * common.
 */
static int
merge_text(struct merger *merger, const struct number_pair *image)
{
	struct store_walk walk;
	uint32_t block;
	int result;

	if (!merger->from_store->has[TABLE_TEXT] || has_text(merger, image->to))
		return 0;
	captured_walk_begin(merger->from_store, merger->from_txn, image->from, &walk);
	while ((result = captured_walk_next(&walk, image->from, &block)) > 0) {
		/* dcpid trusts its tables for all files of their build-id: of another's database, it takes none */
		if (block == CAPTURED_BLOCK_UNWIND)
			continue;
		merge_note(merger, walk.value.mv_size);
		result = captured_table_put(merger->to_store, merger->to_txn, image->to, block, walk.value.mv_data,
		                            walk.value.mv_size, 0);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

/*
 * Names and text of all images that were merged. Those of an image are written in one piece: a part of them, left by a
 * kill, would be taken for all of them.
 */
static int
merge_captured(struct merger *merger)
{
	int err = 0;

	for (size_t i = 0; !err && i < merger->images.count; i++) {
		err = merge_step(merger);
		if (!err)
			err = merge_symbols(merger, &merger->images.pairs[i]);
		if (!err)
			err = merge_text(merger, &merger->images.pairs[i]);
	}
	return err;
}

/* Two images there are never one here, so a key that exists already means that the other database is damaged. */
static int
put_block(struct merger *merger, enum store_table table, uint8_t *key_data, size_t key_size, MDB_val value)
{
	MDB_val key = {key_size, key_data};
	int rc = mdb_put(merger->to_txn, merger->to_store->tables[table], &key, &value, MDB_NOOVERWRITE);

	if (rc == MDB_KEYEXIST)
		return -DCPI_EDAMAGED;
	merge_note(merger, key_size + value.mv_size);
	merger->result->blocks += rc == 0;
	return store_error(rc);
}

/* What is needed to merge counts of stacks. */
static int
begin_stacks(struct merger *merger)
{
	int err = stacks_image(merger->from_store, merger->from_txn, &merger->stacks_image);

	if (err || merger->stacks_image == 0)
		return err;
	err = stacks_read_all(merger->from_store, merger->from_txn, &merger->nodes);
	if (err)
		return err;
	merger->node_numbers = calloc((size_t)merger->nodes.count + 1, sizeof(*merger->node_numbers));
	return merger->node_numbers ? 0 : -ENOMEM;
}

/* The number here of the node at index `from` there, which is stored with all its callers where they are new here. */
static int
merge_node(struct merger *merger, uint32_t from, uint32_t *to)
{
	uint32_t *numbers = merger->node_numbers;

	while (!numbers[from]) {
		uint32_t outer = from; /* the outermost frame that is not merged yet */
		struct stack_node node;
		int err = 0;

		while (merger->nodes.nodes[outer].caller && !numbers[merger->nodes.nodes[outer].caller])
			outer = merger->nodes.nodes[outer].caller;
		node = merger->nodes.nodes[outer];
		node.caller = numbers[node.caller]; /* 0 at index 0 */
		if (node.image != STACK_NO_IMAGE)
			err = merge_image(merger, node.image, &node.image);
		if (!err)
			err = stacks_intern(merger->to_store, merger->to_txn, &node, &numbers[outer]);
		if (err)
			return err;
		merge_note(merger, STACKS_KEY_SIZE);
	}
	*to = numbers[from];
	return 0;
}

/* Nodes have other numbers here: the pairs of block key->block there belong to several blocks here. */
static int
merge_stacks_block(struct merger *merger, const struct counts_key *key, const struct counts_pair *pairs, size_t count)
{
	struct tally_entry *entries = calloc(count, sizeof(*entries));
	int err = entries ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++) {
		const uint64_t there = (uint64_t)key->block << COUNTS_BLOCK_SHIFT | pairs[i].offset;
		const uint32_t index = stack_nodes_find(&merger->nodes, there);
		uint32_t number = 0;

		err = index ? merge_node(merger, index, &number) : -DCPI_EDAMAGED;
		entries[i].offset = number;
		entries[i].count = pairs[i].count;
	}
	if (!err)
		err = counts_add(merger->to_store, merger->to_txn, key, entries, stacks_sort(entries, count));
	free(entries);
	merger->result->blocks += err == 0;
	return err;
}

static int
merge_counts_block(struct merger *merger, const struct store_walk *walk)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	uint8_t data[COUNTS_KEY_SIZE];
	struct counts_key key;
	bool is_stacks;
	int count, err;

	err = counts_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	key.slice = number_map_find(&merger->slices, key.slice);
	if (key.slice == 0)
		return 0;
	count = counts_decode(walk->value.mv_data, walk->value.mv_size, pairs);
	if (count < 0)
		return count;
	is_stacks = key.image == merger->stacks_image;
	err = merge_image(merger, key.image, &key.image);
	if (!err)
		err = merge_context(merger, key.context, &key.context);
	if (err)
		return err;
	if (is_stacks)
		return merge_stacks_block(merger, &key, pairs, (size_t)count);
	counts_key_encode(&key, data);
	return put_block(merger, TABLE_COUNTS, data, sizeof(data), walk->value);
}

static int
merge_edges_block(struct merger *merger, const struct store_walk *walk)
{
	uint8_t data[EDGES_KEY_SIZE];
	struct edge_list list = {0};
	struct edges_key key;
	int err;

	err = edges_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	key.slice = number_map_find(&merger->slices, key.slice);
	if (key.slice == 0)
		return 0;
	err = edges_decode(walk->value.mv_data, walk->value.mv_size, &key, &list);
	edge_list_fini(&list);
	if (!err)
		err = merge_image(merger, key.image, &key.image);
	if (err)
		return err;
	edges_key_encode(&key, data);
	return put_block(merger, TABLE_EDGES, data, sizeof(data), walk->value);
}

static int
merge_label_time(struct merger *merger, const struct store_walk *walk)
{
	struct profile_label_time time;
	struct label_times_key key;
	int err;

	err = label_times_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	key.slice = number_map_find(&merger->slices, key.slice);
	if (key.slice == 0)
		return 0;
	err = label_time_decode(walk->value.mv_data, walk->value.mv_size, &time);
	time.label = key.label;
	merge_note(merger, walk->key.mv_size + walk->value.mv_size);
	return err ? err : label_times_put(merger->to_store, merger->to_txn, key.slice, &time, 1);
}

static int
merge_memory_row(struct merger *merger, const struct store_walk *walk)
{
	uint8_t data[MEMORY_ROW_KEY_SIZE];
	struct memory_row_key key;
	size_t size;
	void *row;
	int err = memory_row_key_decode(walk->key.mv_data, walk->key.mv_size, &key);

	if (err)
		return err;
	key.slice = number_map_find(&merger->slices, key.slice);
	if (key.slice == 0)
		return 0;
	err = memory_row_decode(walk->value.mv_data, walk->value.mv_size, &row, &size);
	if (err)
		return err;
	free(row);
	memory_row_key_encode(&key, data);
	return put_block(merger, TABLE_MEMORY, data, sizeof(data), walk->value);
}

/* Merge the entries of a table that belong to merged slices. */
static int
merge_table(struct merger *merger, enum store_table table,
            int (*merge_entry)(struct merger *merger, const struct store_walk *walk))
{
	struct store_walk walk;
	int result;

	if (!merger->from_store->has[table])
		return 0; /* the other database is older than the table */
	store_walk_begin(merger->from_store, merger->from_txn, table, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		result = 0;
		if (table != TABLE_LABEL_TIMES && table != TABLE_MEMORY && merger->done++ % LOOK_EVERY == 0)
			result = proceed(merger);
		if (!result)
			result = merge_step(merger);
		if (!result)
			result = merge_entry(merger, &walk);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

/* ---- epochs and slices ---- */

static bool
is_same_epoch(const struct epoch *a, const struct epoch *b)
{
	if (a->start_ns != b->start_ns || a->event_count != b->event_count || strcmp(a->host, b->host) != 0 ||
	    strcmp(a->kernel, b->kernel) != 0 || strcmp(a->label, b->label) != 0)
		return false;
	for (size_t i = 0; i < a->event_count; i++)
		if (strcmp(a->events[i].name, b->events[i].name) != 0 || a->events[i].period != b->events[i].period)
			return false;
	return true;
}

/* Find the epoch here that equals `epoch`: 1 with *here, 0 when there is none, or an error. */
static int
find_epoch(struct merger *merger, const struct epoch *epoch, struct epoch *here)
{
	struct store_walk walk;
	int result;

	store_walk_begin(merger->to_store, merger->to_txn, TABLE_EPOCHS, &walk);
	do {
		result = epoch_walk_next(&walk, here);
	} while (result > 0 && !is_same_epoch(epoch, here));
	store_walk_end(&walk);
	return result;
}

static int
put_epoch(struct merger *merger, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	epoch_encode(epoch, &writer);
	merge_note(merger, writer.size);
	err = store_put(merger->to_store, merger->to_txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
	return err;
}

static int
merge_epoch(struct merger *merger, uint32_t from, struct epoch *epoch, struct epoch *here)
{
	struct database_merge *totals = merger->result;
	int result, err;

	if (merger->options->host && *merger->options->host)
		snprintf(epoch->host, sizeof(epoch->host), "%s", merger->options->host);
	result = find_epoch(merger, epoch, here);
	if (result < 0)
		return result;
	epoch->is_imported = true;
	epoch->continues = false; /* other epochs may get numbers in between */
	if (result > 0 && here->end_ns >= epoch->end_ns) {
		totals->known++;
		totals->known_epoch = here->id;
		return 0;
	}
	totals->updated += result > 0;
	totals->epochs += result == 0;
	epoch->is_kept = true;
	epoch->is_incoming = true;
	err = store_next_id(merger->to_store, merger->to_txn, TABLE_EPOCHS, &epoch->id);
	if (!err)
		err = put_epoch(merger, epoch);
	if (!err && result > 0)
		err = number_map_insert(&merger->replaced, epoch->id, here->id);
	if (err)
		return err;
	if (totals->first == 0)
		totals->first = epoch->id;
	totals->last = epoch->id;
	return number_map_insert(&merger->epochs, from, epoch->id);
}

static int
merge_epochs(struct merger *merger)
{
	struct epoch *epoch = calloc(2, sizeof(*epoch));
	struct store_walk walk;
	int result;

	if (!epoch)
		return -ENOMEM;
	store_walk_begin(merger->from_store, merger->from_txn, TABLE_EPOCHS, &walk);
	while ((result = epoch_walk_next(&walk, &epoch[0])) > 0) {
		result = merge_step(merger);
		if (!result)
			result = merge_epoch(merger, epoch[0].id, &epoch[0], &epoch[1]);
		if (result)
			break;
	}
	store_walk_end(&walk);
	free(epoch);
	return result;
}

static int
merge_slices(struct merger *merger)
{
	struct slice *slice = calloc(1, sizeof(*slice));
	struct store_walk walk;
	uint32_t id;
	int result;

	if (!slice)
		return -ENOMEM;
	store_walk_begin(merger->from_store, merger->from_txn, TABLE_SLICES, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		result = store_key_number(&walk.key, &id);
		if (!result)
			result = slice_decode(id, walk.value.mv_data, walk.value.mv_size, slice);
		if (result)
			break;
		slice->epoch = number_map_find(&merger->epochs, slice->epoch);
		if (slice->epoch) {
			result = merge_step(merger);
			if (!result)
				result = store_next_id(merger->to_store, merger->to_txn, TABLE_SLICES, &slice->id);
			if (!result)
				result = slice_write(merger->to_store, merger->to_txn, slice);
			if (!result)
				result = number_map_insert(&merger->slices, id, slice->id);
			merge_note(merger, walk.value.mv_size);
			merger->result->slices += result == 0;
		}
		slice_fini(slice);
		if (result)
			break;
	}
	store_walk_end(&walk);
	free(slice);
	return result;
}

/* The least number of bytes that the blocks of merged slices take. */
static int
add_sizes(struct merger *merger, enum store_table table, uint64_t *bytes)
{
	struct byte_reader reader;
	struct store_walk walk;
	int result;

	store_walk_begin(merger->from_store, merger->from_txn, table, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		result = merge_step(merger);
		if (result)
			break;
		reader_init(&reader, walk.key.mv_data, walk.key.mv_size);
		if (number_map_find(&merger->slices, read_u32_be(&reader)) !=
		    0) /* the keys of these tables begin with the slice */
			*bytes += walk.key.mv_size + walk.value.mv_size + NODE_BYTES;
	}
	store_walk_end(&walk);
	return result;
}

/*
 * -DCPI_EFULL for a database that cannot fit: it would fill this one, and dcpid would then drop its oldest counts to
 * make room for a flush.
 */
static int
check_room(struct merger *merger)
{
	struct profile_stats stats;
	uint64_t bytes = 0;
	int err;

	err = profile_stats(merger->to, &stats);
	if (!err)
		err = add_sizes(merger, TABLE_COUNTS, &bytes);
	if (!err && merger->from_store->has[TABLE_EDGES])
		err = add_sizes(merger, TABLE_EDGES, &bytes);
	if (!err && merger->from_store->has[TABLE_MEMORY])
		err = add_sizes(merger, TABLE_MEMORY, &bytes);
	if (err)
		return err;
	return stats.used_bytes > stats.size_limit || bytes > stats.size_limit - stats.used_bytes ? -DCPI_EFULL : 0;
}

/* Show a merged epoch; the one that it replaces is hidden, then removed, and hands down whether it was kept. */
static int
show_epoch(struct merger *merger, uint32_t id, struct epoch *new, struct epoch *old)
{
	const uint32_t replaced = number_map_find(&merger->replaced, id);
	int err = epoch_read(merger->to_store, merger->to_txn, id, new);

	if (!err && replaced) {
		err = epoch_read(merger->to_store, merger->to_txn, replaced, old);
		if (!err) {
			new->is_kept = old->is_kept;
			old->is_incoming = true;
			err = put_epoch(merger, old);
		} else if (err == -ENOENT) {
			err = 0;
		}
	}
	new->is_incoming = false;
	return err ? err : put_epoch(merger, new);
}

/* All in one piece: readers see all merged epochs from then on, and none that they replace. */
static int
show_all(struct merger *merger)
{
	struct epoch *epoch = calloc(2, sizeof(*epoch));
	int err = epoch ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < merger->epochs.count; i++)
		err = show_epoch(merger, merger->epochs.pairs[i].to, &epoch[0], &epoch[1]);
	free(epoch);
	return err;
}

static int
merge_all(struct merger *merger)
{
	uint64_t edges = 0;
	int err;

	err = store_entries(merger->from_store, merger->from_txn, TABLE_COUNTS, &merger->all);
	if (!err && merger->from_store->has[TABLE_EDGES])
		err = store_entries(merger->from_store, merger->from_txn, TABLE_EDGES, &edges);
	if (err)
		return err;
	merger->all += edges;
	err = merge_epochs(merger);
	if (err || merger->epochs.count == 0)
		return err;
	err = merge_slices(merger);
	if (err)
		return err;
	err = check_room(merger);
	if (err)
		return err;
	err = begin_stacks(merger);
	if (err)
		return err;
	err = merge_table(merger, TABLE_COUNTS, merge_counts_block);
	if (err)
		return err;
	err = merge_table(merger, TABLE_EDGES, merge_edges_block);
	if (err)
		return err;
	err = merge_table(merger, TABLE_LABEL_TIMES, merge_label_time);
	if (err)
		return err;
	err = merge_table(merger, TABLE_MEMORY, merge_memory_row);
	if (err)
		return err;
	err = merge_captured(merger);
	return err ? err : show_all(merger);
}

/* Remove the incoming epochs of a killed import, or of this one, in pieces. */
static int
remove_left(struct merger *merger)
{
	size_t max = DATABASE_MERGE_PIECE;
	int result = 1;

	while (result > 0 || (result == -DCPI_EFULL && max > BLOCKS_WHEN_FULL)) {
		max = result < 0 ? BLOCKS_WHEN_FULL : max; /* LMDB writes before it removes */
		result = merge_database_remove_incoming(merger->to, true, max);
		if (result > 0)
			let_others_write();
	}
	return result;
}

static int
merge_in_pieces(struct merger *merger, struct store *from)
{
	int err, gone;

	err = store_begin(from, false, &merger->from_txn);
	if (err)
		return err;
	err = begin_piece(merger);
	if (!err)
		err = merge_all(merger);
	if (merger->to_txn)
		err = end_piece(merger, err);
	gone = readers_check(from);
	store_leave(from, merger->from_txn, 0);
	return err && err != -ESTALE && gone ? gone : err;
}

int
profile_merge_database(struct profile *to, struct profile *from, const struct database_merge_options *options,
                       struct database_merge *result)
{
	struct merger merger = {
		.options = options,
		.result = result,
		.to = to,
		.from_store = &from->store,
		.to_store = &to->store,
		.all = 1,
	};
	int err;

	memset(result, 0, sizeof(*result));
	if (!to->store.write)
		return -EINVAL;
	merger.lock = lock_imports(to, proceed, &merger);
	if (merger.lock < 0)
		return merger.lock;
	err = remove_left(&merger);
	if (!err)
		err = merge_in_pieces(&merger, &from->store);
	/*
	 * Remove the slices of an import that failed, or the epochs that this one has replaced. When there is no room
	 * even for that, dcpid's retention or the next import removes them. After -ESTALE the lock is not ours:
	 * incoming epochs may be those of a running import.
	 */
	if (err ? err != -ESTALE : merger.replaced.count > 0)
		(void)remove_left(&merger);
	close(merger.lock);
	number_map_fini(&merger.epochs);
	number_map_fini(&merger.slices);
	number_map_fini(&merger.images);
	number_map_fini(&merger.contexts);
	number_map_fini(&merger.replaced);
	stack_nodes_fini(&merger.nodes);
	free(merger.node_numbers);
	to->gc.done = false;
	return err;
}
