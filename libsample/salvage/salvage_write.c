/* What was found, into the new database: see salvage_internal.h. */
#include "salvage/salvage_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/captured.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/edges.h"
#include "profile/ids.h"

#define LOST_MAX 4096 /* things of a kind that get a name each */

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

/* The new database's number of an image, which is made when it is lost; 0 or an error. */
static int
intern_image(struct salvage *salvage, uint32_t id, uint32_t *number)
{
	const struct salvage_thing *thing = salvage_things_find(&salvage->things[TABLE_IMAGES], id);
	char name[32];
	const struct image lost = {.kind = IMAGE_UNKNOWN, .path = name};
	int err;

	if (thing) {
		*number = thing->number;
		return 0;
	}
	name_lost(&salvage->things[TABLE_IMAGES], id, name, sizeof(name));
	err = ids_intern_image(&salvage->profile->store, salvage->txn, &lost, number);
	if (err || is_crowded(&salvage->things[TABLE_IMAGES]))
		return err;
	return remember_lost(&salvage->things[TABLE_IMAGES], id, *number);
}

/* As intern_image(). */
static int
intern_context(struct salvage *salvage, uint32_t id, uint32_t *number)
{
	const struct salvage_thing *thing = salvage_things_find(&salvage->things[TABLE_CONTEXTS], id);
	char name[COMM_SIZE];
	const struct context lost = {.comm = name, .cgroup = "", .label = ""};
	int err;

	if (thing) {
		*number = thing->number;
		return 0;
	}
	name_lost(&salvage->things[TABLE_CONTEXTS], id, name, sizeof(name));
	err = ids_intern_context(&salvage->profile->store, salvage->txn, &lost, number);
	if (err || is_crowded(&salvage->things[TABLE_CONTEXTS]))
		return err;
	return remember_lost(&salvage->things[TABLE_CONTEXTS], id, *number);
}

static int
put_images(struct salvage *salvage)
{
	struct salvage_things *things = &salvage->things[TABLE_IMAGES];
	struct image_record record;
	int err = 0;

	for (size_t i = 0; i < things->count && !err; i++) {
		struct salvage_thing *thing = &things->things[i];

		err = salvage_step(salvage);
		if (!err)
			err = image_record_decode(thing->value, thing->size, &record);
		if (!err)
			err = ids_intern_image(&salvage->profile->store, salvage->txn, &record.image, &thing->number);
		if (!err && record.has_roots_names)
			err = ids_set_roots_names(&salvage->profile->store, salvage->txn, thing->number);
	}
	salvage->result->images.kept = things->count;
	return err;
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
			return err;
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

int
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

static uint64_t
sum_of_counts(const struct counts_pair *pairs, int count)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum = add_saturating(sum, pairs[i].count);
	return sum;
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

	err = intern_image(salvage, key->image, &key->image);
	if (!err)
		err = intern_context(salvage, key->context, &key->context);
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

int
salvage_counts(struct salvage *salvage, enum store_table table, enum salvage_source source,
               const struct pages_entry *entry)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct salvage_slice *slice;
	struct counts_key key;
	uint64_t sum;
	int count, err;

	(void)table;
	if (entry->is_tree || counts_key_decode(entry->key, entry->key_size, &key))
		return -DCPI_EDAMAGED;
	count = counts_decode(entry->value, entry->size, pairs);
	sum = count > 0 ? sum_of_counts(pairs, count) : 0;
	if (sum == 0)
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

int
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

int
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

int
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

int
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

int
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
		err = intern_image(salvage, key.image, &key.image);
	return err ? err : put_edges(salvage, &key, entry, sum);
}

int
salvage_validate_label_time(const struct pages_entry *entry, struct label_times_key *key,
                            struct profile_label_time *time)
{
	int err = entry->is_tree ? -DCPI_EDAMAGED : label_times_key_decode(entry->key, entry->key_size, key);

	return err ? err : label_time_decode(entry->value, entry->size, time);
}

/* A stored time is replaced by a longer one, because times grow. */
int
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
