/* Counts and names into the new database, and then the slices, whose totals follow them: see salvage_parts.h. */
#include "profile/salvage_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "profile/captured_table.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/symbol_blob.h"

struct salvage_slice *
salvage_find_slice(const struct salvage *salvage, uint32_t id)
{
	size_t low = 0, high = salvage->slice_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (salvage->slices[middle].slice.id == id)
			return &salvage->slices[middle];
		if (salvage->slices[middle].slice.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static uint64_t
sum_of(const struct counts_pair *pairs, int count)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum = add_saturating(sum, pairs[i].count);
	return sum;
}

static uint64_t
unknown_of(const struct slice_event *event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < UNKNOWN_CAUSE_COUNT; i++)
		sum = add_saturating(sum, event->unknown[i]);
	return sum;
}

/* Do `more` samples of one event fit into what the slice says it has? What is known of an old slice is too little. */
static bool
has_room(const struct salvage_slice *slice, uint16_t event, uint64_t more)
{
	const struct slice_event *totals = &slice->slice.events[event];

	if (!slice->is_newest)
		return more <= UINT64_MAX / 2 - slice->counted[event];
	return add_saturating(add_saturating(slice->counted[event], more), unknown_of(totals)) <= totals->samples;
}

/* The block that is there already is replaced by one that has more: blocks grow. *before is what it has. */
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
	*before = sum_of(pairs, count);
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

	err = salvage_image(salvage, key->image, &key->image);
	if (!err)
		err = salvage_context(salvage, key->context, &key->context);
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
salvage_take_counts(struct salvage *salvage, enum table table, enum salvage_source source,
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
	sum = count > 0 ? sum_of(pairs, count) : 0;
	if (sum == 0)
		return -DCPI_EDAMAGED;
	slice = salvage_find_slice(salvage, key.slice);
	if (!slice || key.event >= slice->slice.event_count) {
		if (source == SOURCE_NEWEST)
			salvage->result->samples_lost = add_saturating(salvage->result->samples_lost, sum);
		return -DCPI_EDAMAGED;
	}
	err = salvage_step(salvage);
	return err ? err : put_block(salvage, slice, &key, entry, sum);
}

int
salvage_take_symbols(struct salvage *salvage, const struct pages_entry *entry)
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
	err = symbol_blob_decode(entry->value, entry->size, &symbols, &count);
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
salvage_take_text(struct salvage *salvage, const struct pages_entry *entry)
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
	return err == -EEXIST ? 0 : err; /* a newer one is there */
}

static int
put_slice(struct salvage *salvage, struct salvage_slice *slice)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	for (size_t i = 0; i < slice->slice.event_count; i++) {
		struct slice_event *event = &slice->slice.events[i];
		const uint64_t said = event->samples;

		event->samples = add_saturating(slice->counted[i], unknown_of(event));
		salvage->result->samples = add_saturating(salvage->result->samples, event->samples);
		if (said > event->samples)
			salvage->result->samples_lost =
				add_saturating(salvage->result->samples_lost, said - event->samples);
	}
	err = salvage_step(salvage);
	slice_encode(&slice->slice, &writer);
	if (!err)
		err = store_put(&salvage->profile->store, salvage->txn, TABLE_SLICES, slice->slice.id, &writer);
	writer_fini(&writer);
	return err;
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
