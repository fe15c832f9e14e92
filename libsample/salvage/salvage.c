#include "salvage/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/captured.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/directory.h"
#include "profile/edges.h"
#include "profile/epoch.h"
#include "profile/ids.h"
#include "profile/label_times.h"
#include "profile/memory_rows.h"
#include "profile/lmdb_pages.h"
#include "profile/profile_internal.h"
#include "profile/stacks.h"

#define PUTS_MAX   20000 /* in one transaction: a few MiB of pages */
#define SIZE_LIMIT (UINT64_C(1) << 40)
#define LOST_MAX   4096 /* things of a kind that get a name each */

/* Where something was found, the best first. */
enum salvage_source {
	SOURCE_NEWEST, /* the trees of the newest transaction */
	SOURCE_BEFORE, /* those of the transaction before */
	SOURCE_PAGES,  /* any page */
};

/* The value of a table that is keyed by a number, as it was found. */
struct salvage_thing {
	uint32_t id; /* first, for array_make_gap_u32() */
	enum salvage_source source;
	uint64_t weight; /* among those of one source and id, the greatest is the latest */
	uint32_t number; /* images and contexts: in the new database; 0: not there yet */
	size_t size;
	uint8_t *value;
};

struct salvage_things {
	struct salvage_thing *things; /* ascending by id, each once, after salvage_things_choose() */
	size_t count, capacity;
	size_t lost_count; /* among them, only known by what refers to them */
};

struct salvage_slice {
	struct slice slice;
	bool is_newest; /* its totals hold for the counts */
	uint64_t counted[EVENTS_MAX];
};

/* A node of a stack. It keeps its number in the new database, because counts refer to it. */
struct salvage_node {
	uint32_t number; /* first, for array_compare_u32() */
	enum salvage_source source;
	struct stack_node node; /* its image is the old database's */
};

struct salvage {
	struct pages *pages;
	struct pages_meta metas[2];
	size_t meta_count;
	struct pages_tree trees[2][TABLE_COUNT]; /* by meta page, the newest first */
	bool has_tree[2][TABLE_COUNT];
	bool is_whole[TABLE_COUNT];                /* all of the newest transaction's was read */
	struct salvage_things things[TABLE_COUNT]; /* epochs, slices, images, contexts */
	struct salvage_slice *slices;              /* ascending by id */
	size_t slice_count;
	struct salvage_node *nodes;
	size_t node_count, node_capacity;
	uint32_t stacks_image;   /* the new database's number of the image that counts nodes; 0: there is none */
	struct profile *profile; /* the new one */
	MDB_txn *txn;
	size_t puts; /* in this transaction */
	struct salvage_result *result;
};

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

static uint64_t
sum_of_counts(const struct counts_pair *pairs, int count)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum = add_saturating(sum, pairs[i].count);
	return sum;
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
		*weight = sum_of_counts(pairs, count);
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
	struct salvage_thing *added;
	int err;

	err = store_key_number(&key, &thing.id);
	if (!err)
		err = thing.id == 0 || entry->is_tree
		              ? -DCPI_EDAMAGED
		              : salvage_validate(table, thing.id, entry->value, entry->size, &thing.weight);
	if (err)
		return err;
	thing.value = malloc(thing.size);
	added = thing.value ? ARRAY_APPEND(things->things, things->count, things->capacity) : NULL;
	if (!added) {
		free(thing.value);
		return -ENOMEM;
	}
	memcpy(thing.value, entry->value, thing.size);
	*added = thing;
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

/* Sort; of things with one id, keep the one of the best source and the greatest weight. */
static void
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

static struct salvage_thing *
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

/* ---- into the new database ---- */

/* Before a write to the new database: begins a transaction, or commits a full one and begins another. */
static int
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

/* Insert a lost thing among the others, so that it is found the next time. */
static int
remember_lost(struct salvage_things *things, uint32_t id, uint32_t number)
{
	struct salvage_thing *grown = array_grow(things->things, &things->capacity, things->count + 1, sizeof(*grown));
	size_t at;

	things->lost_count++;
	if (!grown)
		return -ENOMEM;
	things->things = grown;
	at = array_make_gap_u32(grown, things->count, sizeof(*grown), id);
	grown[at] = (struct salvage_thing){.id = id, .number = number};
	things->count++;
	return 0;
}

/* A hostile file may refer to any number of lost ids: past LOST_MAX they share one name. */
static bool
is_crowded(const struct salvage_things *things)
{
	return things->lost_count >= LOST_MAX;
}

static void
name_lost(const struct salvage_things *things, uint32_t id, char *name, size_t size)
{
	if (is_crowded(things))
		snprintf(name, size, "[lost]");
	else
		snprintf(name, size, "[lost %" PRIu32 "]", id);
}

/* The new database's number of image or context `id`, which is made when it is lost; 0 or an error. */
static int
intern_thing(struct salvage *salvage, enum store_table table, uint32_t id, uint32_t *number)
{
	struct salvage_things *things = &salvage->things[table];
	const struct salvage_thing *thing = salvage_things_find(things, id);
	const struct store *store = &salvage->profile->store;
	char name[32];
	const struct context context = {.comm = name, .cgroup = "", .label = ""};
	const struct image image = {.kind = IMAGE_UNKNOWN, .path = name};
	int err;

	if (thing) {
		*number = thing->number;
		return 0;
	}
	name_lost(things, id, name, table == TABLE_IMAGES ? sizeof(name) : COMM_SIZE);
	if (table == TABLE_IMAGES)
		err = ids_intern_image(store, salvage->txn, &image, number);
	else
		err = ids_intern_context(store, salvage->txn, &context, number);
	return err || is_crowded(things) ? err : remember_lost(things, id, *number);
}

static int
put_images(struct salvage *salvage)
{
	struct salvage_things *things = &salvage->things[TABLE_IMAGES];
	struct image_record record;
	int err;

	salvage->result->images.kept = things->count;
	for (size_t i = 0; i < things->count; i++) {
		struct salvage_thing *thing = &things->things[i];

		err = salvage_step(salvage);
		if (err)
			return err;
		err = image_record_decode(thing->value, thing->size, &record);
		if (err)
			return err;
		err = ids_intern_image(&salvage->profile->store, salvage->txn, &record.image, &thing->number);
		if (err)
			return err;
		if (record.has_roots_names)
			err = ids_set_roots_names(&salvage->profile->store, salvage->txn, thing->number);
		if (err)
			return err;
		if (record.image.kind == IMAGE_STACKS)
			salvage->stacks_image = thing->number;
	}
	return 0;
}

static int
put_contexts(struct salvage *salvage)
{
	struct salvage_things *things = &salvage->things[TABLE_CONTEXTS];
	struct context_record record;
	int err = 0;

	for (size_t i = 0; i < things->count && !err; i++) {
		struct salvage_thing *thing = &things->things[i];

		err = salvage_step(salvage);
		if (!err)
			err = context_record_decode(thing->value, thing->size, &record);
		if (!err)
			err = ids_intern_context(&salvage->profile->store, salvage->txn, &record.context,
			                         &thing->number);
	}
	salvage->result->contexts.kept = things->count;
	return err;
}

static int
put_epoch(struct salvage *salvage, const struct epoch *epoch)
{
	const int err = salvage_step(salvage);

	return err ? err : epoch_write(&salvage->profile->store, salvage->txn, epoch);
}

static int
put_epochs(struct salvage *salvage)
{
	const struct salvage_things *things = &salvage->things[TABLE_EPOCHS];
	struct epoch epoch;
	int err = 0;

	for (size_t i = 0; i < things->count && !err; i++) {
		err = epoch_decode(things->things[i].id, things->things[i].value, things->things[i].size, &epoch);
		if (!err)
			err = put_epoch(salvage, &epoch);
	}
	salvage->result->epochs.kept = things->count;
	return err;
}

/* Make a lost epoch from what its slices tell. */
static int
put_lost_epoch(struct salvage *salvage, const struct slice *slice)
{
	struct epoch epoch = {
		.id = slice->epoch,
		.start_ns = slice->start_ns,
		.label = "salvaged",
		.event_count = slice->event_count,
	};
	int err;

	for (size_t i = 0; i < salvage->slice_count; i++)
		if (salvage->slices[i].slice.epoch == epoch.id && salvage->slices[i].slice.end_ns > epoch.end_ns)
			epoch.end_ns = salvage->slices[i].slice.end_ns;
	for (size_t i = 0; i < epoch.event_count; i++) {
		snprintf(epoch.events[i].name, sizeof(epoch.events[i].name), "lost-%zu", i + 1);
		snprintf(epoch.events[i].requested, sizeof(epoch.events[i].requested), "lost-%zu", i + 1);
		snprintf(epoch.events[i].note, sizeof(epoch.events[i].note), "its name was lost in a damaged database");
		snprintf(epoch.events[i].encoding.unit, sizeof(epoch.events[i].encoding.unit), "events");
		epoch.events[i].period = 1;
		epoch.events[i].available = true;
	}
	err = put_epoch(salvage, &epoch);
	return err ? err : remember_lost(&salvage->things[TABLE_EPOCHS], epoch.id, (uint32_t)epoch.event_count);
}

/* Is there an epoch for this slice, with as many events? */
static int
has_epoch(const struct salvage *salvage, const struct slice *slice, bool *lost)
{
	const struct salvage_thing *thing = salvage_things_find(&salvage->things[TABLE_EPOCHS], slice->epoch);
	struct epoch epoch;
	int err;

	*lost = !thing;
	if (!thing)
		return slice->epoch ? 0 : -DCPI_EDAMAGED;
	if (!thing->value)
		return thing->number == slice->event_count ? 0 : -DCPI_EDAMAGED;
	err = epoch_decode(thing->id, thing->value, thing->size, &epoch);
	return err ? err : epoch.event_count == slice->event_count ? 0 : -DCPI_EDAMAGED;
}

static int
decode_slices(struct salvage *salvage)
{
	const struct salvage_things *things = &salvage->things[TABLE_SLICES];

	salvage->slices = calloc(things->count + 1, sizeof(*salvage->slices));
	if (!salvage->slices)
		return -ENOMEM;
	for (size_t i = 0; i < things->count; i++) {
		struct salvage_slice *slice = &salvage->slices[salvage->slice_count];
		const struct salvage_thing *thing = &things->things[i];
		int err = slice_decode(thing->id, thing->value, thing->size, &slice->slice);

		if (err)
			return err;
		slice->is_newest = thing->source == SOURCE_NEWEST;
		salvage->slice_count++;
	}
	return 0;
}

/* Make epochs for slices that have none, and remove slices that contradict theirs. */
static int
join_epochs(struct salvage *salvage)
{
	size_t kept = 0;

	for (size_t i = 0; i < salvage->slice_count; i++) {
		struct salvage_slice *slice = &salvage->slices[i];
		bool lost;
		int err = has_epoch(salvage, &slice->slice, &lost);

		if (!err && lost)
			err = put_lost_epoch(salvage, &slice->slice);
		if (err && err != -DCPI_EDAMAGED)
			return err; /* NOLINT(clang-analyzer-unix.Malloc): salvage_fini() frees salvage->slices */
		if (err) {
			slice_fini(&slice->slice);
			memset(slice, 0, sizeof(*slice)); /* nothing of it is left to free */
			continue;
		}
		if (kept != i) {
			salvage->slices[kept] = *slice;
			memset(slice, 0, sizeof(*slice));
		}
		kept++;
	}
	salvage->slice_count = kept;
	return 0;
}

static int
salvage_put_things(struct salvage *salvage)
{
	int err;

	salvage_things_choose(&salvage->things[TABLE_EPOCHS]);
	salvage_things_choose(&salvage->things[TABLE_SLICES]);
	salvage_things_choose(&salvage->things[TABLE_IMAGES]);
	salvage_things_choose(&salvage->things[TABLE_CONTEXTS]);
	err = put_epochs(salvage);
	if (err)
		return err;
	err = decode_slices(salvage);
	if (err)
		return err;
	err = join_epochs(salvage);
	if (err)
		return err;
	err = put_images(salvage);
	return err ? err : put_contexts(salvage);
}

static struct salvage_slice *
find_slice(const struct salvage *salvage, uint32_t id)
{
	const size_t at = ARRAY_LOWER_BOUND(salvage->slices, salvage->slice_count, slice.id, id);

	return at < salvage->slice_count && salvage->slices[at].slice.id == id ? &salvage->slices[at] : NULL;
}

/* Do `more` samples of one event fit into the total of the slice? Totals of an old slice are too small: no limit. */
static bool
has_room(const struct salvage_slice *slice, uint16_t event, uint64_t more)
{
	const struct slice_event *totals = &slice->slice.events[event];

	if (!slice->is_newest)
		return more <= UINT64_MAX / 2 - slice->counted[event];
	return add_saturating(add_saturating(slice->counted[event], more), slice_event_unknown(totals)) <=
	       totals->samples;
}

/* *before is the number of samples of the stored block. It is replaced by one with more samples, because blocks grow.
 */
static int
look_before(struct salvage *salvage, const MDB_val *key, uint64_t *before)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	MDB_val name = *key, value;
	int err, count;

	*before = 0;
	err = store_error(mdb_get(salvage->txn, salvage->profile->store.tables[TABLE_COUNTS], &name, &value));
	if (err)
		return err == -ENOENT ? 0 : err;
	count = counts_decode(value.mv_data, value.mv_size, pairs);
	*before = sum_of_counts(pairs, count);
	return 0;
}

static int
put_block(struct salvage *salvage, struct salvage_slice *slice, struct counts_key *key, const struct pages_entry *entry,
          uint64_t sum)
{
	uint8_t data[COUNTS_KEY_SIZE];
	MDB_val name = {sizeof(data), data}, value = {entry->size, (void *)entry->value};
	uint64_t before = 0;
	int err;

	err = intern_thing(salvage, TABLE_IMAGES, key->image, &key->image);
	if (!err)
		err = intern_thing(salvage, TABLE_CONTEXTS, key->context, &key->context);
	if (err)
		return err;
	counts_key_encode(key, data);
	err = look_before(salvage, &name, &before);
	if (err || sum <= before)
		return err;
	if (!has_room(slice, key->event, sum - before)) {
		if (!before)
			return -DCPI_EDAMAGED;
		return 0;
	}
	err = store_error(mdb_put(salvage->txn, salvage->profile->store.tables[TABLE_COUNTS], &name, &value, 0));
	if (err)
		return err;
	slice->counted[key->event] += sum - before;
	salvage->result->blocks.kept += !before;
	return 0;
}

static uint64_t
node_of_pair(const struct counts_key *key, const struct counts_pair *pair)
{
	return (uint64_t)key->block << COUNTS_BLOCK_SHIFT | pair->offset;
}

/* Are the offsets of these counts numbers that nodes can have, if they are to be nodes? */
static bool
can_be_counted(const struct salvage *salvage, const struct counts_key *key, const struct counts_pair *pairs, int count)
{
	const struct salvage_thing *image = salvage_things_find(&salvage->things[TABLE_IMAGES], key->image);

	if (!image || image->number == 0 || image->number != salvage->stacks_image)
		return true;
	for (int i = 0; i < count; i++)
		if (node_of_pair(key, &pairs[i]) == 0 || node_of_pair(key, &pairs[i]) >= UINT32_MAX)
			return false;
	return true;
}

static int
salvage_counts(struct salvage *salvage, enum salvage_source source, const struct pages_entry *entry)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct salvage_slice *slice;
	struct counts_key key;
	uint64_t sum;
	int count, err;

	if (entry->is_tree || counts_key_decode(entry->key, entry->key_size, &key))
		return -DCPI_EDAMAGED;
	count = counts_decode(entry->value, entry->size, pairs);
	sum = count > 0 ? sum_of_counts(pairs, count) : 0;
	if (sum == 0 || !can_be_counted(salvage, &key, pairs, count))
		return -DCPI_EDAMAGED;
	slice = find_slice(salvage, key.slice);
	if (!slice || key.event >= slice->slice.event_count) {
		if (source == SOURCE_NEWEST)
			salvage->result->samples_lost = add_saturating(salvage->result->samples_lost, sum);
		return -DCPI_EDAMAGED;
	}
	err = salvage_step(salvage);
	return err ? err : put_block(salvage, slice, &key, entry, sum);
}

static int
salvage_symbols(struct salvage *salvage, const struct pages_entry *entry)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	const MDB_val key = {entry->key_size, (void *)entry->key};
	const struct store *store = &salvage->profile->store;
	const struct salvage_thing *image;
	struct profile_symbol *symbols;
	MDB_val there;
	uint32_t id;
	size_t count;
	int err;

	if (entry->is_tree || store_key_number(&key, &id))
		return -DCPI_EDAMAGED;
	image = salvage_things_find(&salvage->things[TABLE_IMAGES], id);
	if (!image || !image->value)
		return -DCPI_EDAMAGED;
	err = captured_symbols_decode(entry->value, entry->size, &symbols, &count);
	if (err)
		return err;
	free(symbols);
	err = salvage_step(salvage);
	if (!err)
		err = store_get(store, salvage->txn, TABLE_SYMBOLS, image->number, &there);
	if (err != -ENOENT)
		return err;
	write_bytes(&writer, entry->value, entry->size);
	err = store_put(store, salvage->txn, TABLE_SYMBOLS, image->number, &writer);
	writer_fini(&writer);
	salvage->result->symbols.kept += !err;
	return err;
}

static int
salvage_text(struct salvage *salvage, const struct pages_entry *entry)
{
	const struct store *store = &salvage->profile->store;
	const struct salvage_thing *image;
	uint32_t id, block;
	int err;

	if (entry->is_tree || captured_key_decode(entry->key, entry->key_size, &id, &block))
		return -DCPI_EDAMAGED;
	image = salvage_things_find(&salvage->things[TABLE_IMAGES], id);
	if (!image || !image->value)
		return -DCPI_EDAMAGED;
	err = captured_value_check(block, entry->value, entry->size);
	if (!err)
		err = salvage_step(salvage);
	if (err)
		return err;
	err = captured_table_put(store, salvage->txn, image->number, block, entry->value, entry->size, MDB_NOOVERWRITE);
	salvage->result->text.kept += !err;
	return err == -EEXIST ? 0 : err; /* a newer one is stored */
}

static int
put_slice(struct salvage *salvage, struct salvage_slice *slice)
{
	int err;

	for (size_t i = 0; i < slice->slice.event_count; i++) {
		struct slice_event *event = &slice->slice.events[i];
		const uint64_t said = event->samples;

		event->samples = add_saturating(slice->counted[i], slice_event_unknown(event));
		salvage->result->samples = add_saturating(salvage->result->samples, event->samples);
		if (said > event->samples)
			salvage->result->samples_lost =
				add_saturating(salvage->result->samples_lost, said - event->samples);
	}
	err = salvage_step(salvage);
	return err ? err : slice_write(&salvage->profile->store, salvage->txn, &slice->slice);
}

static int
salvage_put_slices(struct salvage *salvage)
{
	int err = 0;

	for (size_t i = 0; i < salvage->slice_count && !err; i++)
		err = put_slice(salvage, &salvage->slices[i]);
	salvage->result->slices.kept = err ? 0 : salvage->slice_count;
	return err;
}

static int
sum_of_edges(const void *data, size_t size, const struct edges_key *key, uint64_t *sum)
{
	struct edge_list list = {0};
	int err = edges_decode(data, size, key, &list);

	*sum = 0;
	for (size_t i = 0; i < list.count && !err; i++)
		*sum = add_saturating(*sum, list.edges[i].count);
	edge_list_fini(&list);
	return err;
}

static int
salvage_validate_edges(const struct pages_entry *entry, struct edges_key *key, uint64_t *sum)
{
	int err = edges_key_decode(entry->key, entry->key_size, key);

	if (!err && entry->is_tree)
		err = -DCPI_EDAMAGED;
	if (!err)
		err = sum_of_edges(entry->value, entry->size, key, sum);
	return err ? err : *sum ? 0 : -DCPI_EDAMAGED;
}

/* A stored block is replaced by one with a larger sum, because blocks grow. */
static int
put_edges(struct salvage *salvage, const struct edges_key *key, const struct pages_entry *entry, uint64_t sum)
{
	const MDB_dbi table = salvage->profile->store.tables[TABLE_EDGES];
	uint8_t data[EDGES_KEY_SIZE];
	MDB_val name = {sizeof(data), data}, value;
	uint64_t before = 0;
	int err;

	edges_key_encode(key, data);
	err = store_error(mdb_get(salvage->txn, table, &name, &value));
	if (!err)
		err = sum_of_edges(value.mv_data, value.mv_size, key, &before);
	else if (err == -ENOENT)
		err = 0;
	if (err || sum <= before)
		return err;
	value = (MDB_val){entry->size, (void *)entry->value};
	err = store_error(mdb_put(salvage->txn, table, &name, &value, 0));
	salvage->result->edges.kept += !err && !before;
	return err;
}

static int
salvage_edges(struct salvage *salvage, const struct pages_entry *entry)
{
	const struct salvage_slice *slice;
	struct edges_key key;
	uint64_t sum;
	int err;

	err = salvage_validate_edges(entry, &key, &sum);
	if (err)
		return err;
	slice = find_slice(salvage, key.slice);
	if (!slice || key.event >= slice->slice.event_count)
		return -DCPI_EDAMAGED;
	err = salvage_step(salvage);
	if (!err)
		err = intern_thing(salvage, TABLE_IMAGES, key.image, &key.image);
	return err ? err : put_edges(salvage, &key, entry, sum);
}

static int
salvage_validate_label_time(const struct pages_entry *entry, struct label_times_key *key,
                            struct profile_label_time *time)
{
	int err = entry->is_tree ? -DCPI_EDAMAGED : label_times_key_decode(entry->key, entry->key_size, key);

	return err ? err : label_time_decode(entry->value, entry->size, time);
}

static int
salvage_validate_memory_row(const struct pages_entry *entry, struct memory_row_key *key)
{
	size_t size;
	void *row;
	int err = entry->is_tree ? -DCPI_EDAMAGED : memory_row_key_decode(entry->key, entry->key_size, key);

	if (!err)
		err = memory_row_decode(entry->value, entry->size, &row, &size);
	if (!err)
		free(row);
	return err;
}

/* Rows do not change: the first that is found is kept. */
static int
salvage_memory_row(struct salvage *salvage, const struct pages_entry *entry)
{
	MDB_val name = {entry->key_size, (void *)entry->key}, value = {entry->size, (void *)entry->value};
	struct memory_row_key key;
	int err = salvage_validate_memory_row(entry, &key);

	if (!err && !find_slice(salvage, key.slice))
		err = -DCPI_EDAMAGED;
	if (!err)
		err = salvage_step(salvage);
	if (err)
		return err;
	err = store_error(
		mdb_put(salvage->txn, salvage->profile->store.tables[TABLE_MEMORY], &name, &value, MDB_NOOVERWRITE));
	salvage->result->memory.kept += !err;
	return err == -EEXIST ? 0 : err;
}

/* A stored time is replaced by a longer one, because times grow. */
static int
salvage_label_time(struct salvage *salvage, const struct pages_entry *entry)
{
	const MDB_dbi table = salvage->profile->store.tables[TABLE_LABEL_TIMES];
	const MDB_val longer = {entry->size, (void *)entry->value};
	MDB_val name = {entry->key_size, (void *)entry->key}, value;
	struct profile_label_time time, before = {0};
	struct label_times_key key;
	int err;

	err = salvage_validate_label_time(entry, &key, &time);
	if (!err && !find_slice(salvage, key.slice))
		err = -DCPI_EDAMAGED;
	if (!err)
		err = salvage_step(salvage);
	if (err)
		return err;
	err = store_error(mdb_get(salvage->txn, table, &name, &value));
	if (!err)
		err = label_time_decode(value.mv_data, value.mv_size, &before);
	else if (err == -ENOENT)
		err = 0;
	if (err || time.elapsed_ns <= before.elapsed_ns)
		return err;
	value = longer;
	err = store_error(mdb_put(salvage->txn, table, &name, &value, 0));
	salvage->result->label_times.kept += !err && !before.elapsed_ns;
	return err;
}

/* ---- nodes of stacks ---- */

static int
add_node(struct salvage *salvage, const struct salvage_node *node)
{
	struct salvage_node *added = ARRAY_APPEND(salvage->nodes, salvage->node_count, salvage->node_capacity);

	if (!added)
		return -ENOMEM;
	*added = *node;
	return 0;
}

/* What stacks_decode() is to do with the nodes of a run. */
struct salvage_run {
	struct salvage *salvage;
	enum salvage_source source;
};

static int
add_node_of_run(void *context, uint32_t number, const struct stack_node *node)
{
	const struct salvage_run *run = context;
	const struct salvage_node added = {.number = number, .source = run->source, .node = *node};

	return add_node(run->salvage, &added);
}

static int
ignore_node(void *context, uint32_t number, const struct stack_node *node)
{
	(void)context;
	(void)number;
	(void)node;
	return 0;
}

static int
salvage_validate_stacks(const struct pages_entry *entry, struct stacks_key *key)
{
	int err = entry->is_tree ? -DCPI_EDAMAGED : stacks_key_decode(entry->key, entry->key_size, key);

	if (!err && key->image == 0) {
		uint32_t highest;

		return stacks_highest_decode(entry->value, entry->size, &highest);
	}
	return err ? err : stacks_decode(key, entry->value, entry->size, ignore_node, NULL);
}

static int
salvage_stacks(struct salvage *salvage, enum salvage_source source, const struct pages_entry *entry)
{
	struct salvage_run run = {.salvage = salvage, .source = source};
	struct stacks_key key;
	int err = salvage_validate_stacks(entry, &key);

	if (err || key.image == 0) /* the highest number, which is found anew */
		return err;
	return stacks_decode(&key, entry->value, entry->size, add_node_of_run, &run);
}

static int
compare_nodes(const void *a, const void *b)
{
	const struct salvage_node *one = a, *other = b;

	if (one->number != other->number)
		return one->number < other->number ? -1 : 1;
	return (one->source > other->source) - (one->source < other->source);
}

/* Sort; of nodes with one number, keep the one of the best source. */
static void
choose_nodes(struct salvage *salvage)
{
	size_t kept = 0;

	if (salvage->node_count > 0)
		qsort(salvage->nodes, salvage->node_count, sizeof(*salvage->nodes), compare_nodes);
	for (size_t i = 0; i < salvage->node_count; i++)
		if (kept == 0 || salvage->nodes[kept - 1].number != salvage->nodes[i].number)
			salvage->nodes[kept++] = salvage->nodes[i];
	salvage->node_count = kept;
}

/* A node that is lost: what called it, and what it was, is not known. */
static const struct stack_node lost_node = {.image = STACK_NO_IMAGE, .offset = STACK_END_UNKNOWN};

/* The first `count` nodes are sorted. */
static int
need_node(struct salvage *salvage, size_t count, uint32_t number)
{
	const size_t at = ARRAY_LOWER_BOUND(salvage->nodes, count, number, number);
	const struct salvage_node lost = {
		.number = number,
		.source = SOURCE_PAGES,
		.node = lost_node,
	};

	return at < count && salvage->nodes[at].number == number ? 0 : add_node(salvage, &lost);
}

/* The nodes that the new database's counts of stacks refer to. */
static int
need_counted_nodes(struct salvage *salvage, size_t count)
{
	const struct store *store = &salvage->profile->store;
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct counts_key key;
	struct store_walk walk;
	int result;

	if (salvage->stacks_image == 0)
		return 0;
	store_walk_begin(store, salvage->txn, TABLE_COUNTS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		int pair_count = 0;

		result = counts_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (!result && key.image == salvage->stacks_image)
			pair_count = counts_decode(walk.value.mv_data, walk.value.mv_size, pairs);
		for (int i = 0; !result && i < pair_count; i++)
			result = need_node(salvage, count, (uint32_t)node_of_pair(&key, &pairs[i]));
		if (result || pair_count < 0)
			break;
	}
	store_walk_end(&walk);
	return result;
}

/* Numbers of callers may be damaged: of a stack that is too deep, the outer frames are kept. */
static int
put_nodes(struct salvage *salvage)
{
	uint16_t *depths = calloc(salvage->node_count + 1, sizeof(*depths)); /* by index of the node */
	int err = depths ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < salvage->node_count; i++) {
		struct salvage_node *node = &salvage->nodes[i];
		const size_t caller = ARRAY_LOWER_BOUND(salvage->nodes, i, number, node->node.caller);

		depths[i] = node->node.caller ? (uint16_t)(depths[caller] + 1) : 1;
		if (depths[i] > STACK_DEPTH_MAX) {
			node->node = lost_node;
			depths[i] = 1;
		}
		err = salvage_step(salvage);
		if (!err && node->node.image != STACK_NO_IMAGE)
			err = intern_thing(salvage, TABLE_IMAGES, node->node.image, &node->node.image);
		if (!err)
			err = stacks_append(&salvage->profile->store, salvage->txn, node->number, &node->node);
	}
	if (!err && salvage->node_count > 0)
		err = stacks_set_highest(&salvage->profile->store, salvage->txn,
		                         salvage->nodes[salvage->node_count - 1].number);
	free(depths);
	return err;
}

/* After the counts. */
static int
salvage_put_stacks(struct salvage *salvage)
{
	size_t count;
	int err = salvage_step(salvage);

	choose_nodes(salvage);
	salvage->result->stacks.kept = count = salvage->node_count;
	for (size_t i = 0; !err && i < count; i++)
		if (salvage->nodes[i].node.caller)
			err = need_node(salvage, count, salvage->nodes[i].node.caller);
	if (!err)
		err = need_counted_nodes(salvage, count);
	if (err)
		return err;
	choose_nodes(salvage); /* the lost ones, too */
	salvage->result->stacks.expected = salvage->node_count;
	return put_nodes(salvage);
}

/* ---- out of the damaged one ---- */

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
	struct stacks_key stacks;
	struct memory_row_key memory;
	uint32_t id = 0;
	uint64_t weight;

	if (entry->is_tree)
		return -DCPI_EDAMAGED;
	if (table == TABLE_EDGES)
		return salvage_validate_edges(entry, &key, &weight);
	if (table == TABLE_LABEL_TIMES)
		return salvage_validate_label_time(entry, &label, &time);
	if (table == TABLE_STACKS)
		return salvage_validate_stacks(entry, &stacks);
	if (table == TABLE_MEMORY)
		return salvage_validate_memory_row(entry, &memory);
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
		return salvage_counts(salvage, source, entry);
	if (table == TABLE_TEXT)
		return salvage_text(salvage, entry);
	if (table == TABLE_LABEL_TIMES)
		return salvage_label_time(salvage, entry);
	if (table == TABLE_STACKS)
		return salvage_stacks(salvage, source, entry);
	if (table == TABLE_MEMORY)
		return salvage_memory_row(salvage, entry);
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
	result->memory.expected = expected_in(salvage, TABLE_MEMORY);
}

static int
read_all(struct salvage *salvage)
{
	static const enum store_table small[] = {TABLE_EPOCHS, TABLE_SLICES, TABLE_IMAGES, TABLE_CONTEXTS};
	static const enum store_table large[] = {TABLE_COUNTS,      TABLE_SYMBOLS, TABLE_EDGES, TABLE_TEXT,
	                                         TABLE_LABEL_TIMES, TABLE_STACKS,  TABLE_MEMORY};
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
	if (!err)
		err = salvage_put_stacks(salvage);
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
	free(salvage->nodes);
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
	if (err)
		goto out;
	err = profile_open(target, &options, &profile);
	if (err)
		goto out;
	err = salvage_file(fd, profile, result);
	if (err)
		goto out;
	err = give_owner(fd, profile->directory);
out:
	profile_close(profile);
	close(fd);
	return err;
}
