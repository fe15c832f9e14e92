#include "profile/epoch_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/counts.h"
#include "profile/edges_codec.h"
#include "profile/label_times.h"
#include "profile/profile_internal.h"

int
epoch_walk_next(struct store_walk *walk, struct epoch *epoch)
{
	uint32_t id;
	int result, err;

	while ((result = store_walk_next(walk)) > 0) {
		err = store_key_number(&walk->key, &id);
		if (!err)
			err = epoch_decode(id, walk->value.mv_data, walk->value.mv_size, epoch);
		if (err)
			return err;
		if (!epoch->is_incoming)
			return 1;
	}
	return result;
}

int
epoch_read(const struct store *store, MDB_txn *txn, uint32_t id, struct epoch *epoch)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_EPOCHS, id, &value);

	return err ? err : epoch_decode(id, value.mv_data, value.mv_size, epoch);
}

int
epoch_write(const struct store *store, MDB_txn *txn, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	epoch_encode(epoch, &writer);
	err = store_put(store, txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
	return err;
}

static int
list_add(struct slice_list *list, const struct store_walk *walk)
{
	struct slice_entry *slices;
	struct slice slice;
	uint32_t id;
	int err = store_key_number(&walk->key, &id);

	if (!err)
		err = slice_decode(id, walk->value.mv_data, walk->value.mv_size, &slice);
	if (err)
		return err;
	slices = array_grow(list->slices, &list->capacity, list->count + 1, sizeof(*slices));
	if (slices) {
		list->slices = slices;
		slices[list->count++] = (struct slice_entry){id, slice.epoch, slice.start_ns, slice.end_ns};
	}
	slice_fini(&slice);
	return slices ? 0 : -ENOMEM;
}

int
slice_list_read(const struct store *store, MDB_txn *txn, struct slice_list *list)
{
	struct store_walk walk;
	int result;

	memset(list, 0, sizeof(*list));
	result = store_walk_begin(store, txn, TABLE_SLICES, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		result = list_add(list, &walk);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

void
slice_list_fini(struct slice_list *list)
{
	free(list->slices);
}

int
epoch_table_marks(const struct store *store, MDB_txn *txn, struct slice_list *list, struct epoch_marks *marks)
{
	struct store_walk walk;
	uint32_t id;
	int result;

	*marks = (struct epoch_marks){0};
	result = store_walk_begin(store, txn, TABLE_EPOCHS, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		const bool is_incoming = epoch_value_is_incoming(walk.value.mv_data, walk.value.mv_size);
		const bool is_kept = !is_incoming && epoch_value_is_kept(walk.value.mv_data, walk.value.mv_size);

		/* A damaged key is skipped: retention goes on, and dcpictl check reports it. */
		if ((!is_kept && !is_incoming) || store_key_number(&walk.key, &id) != 0)
			continue;
		marks->kept += is_kept;
		marks->incoming += is_incoming;
		for (size_t i = 0; list && i < list->count; i++) {
			if (list->slices[i].epoch != id)
				continue;
			list->slices[i].is_kept = is_kept;
			list->slices[i].is_incoming = is_incoming;
		}
	}
	store_walk_end(&walk);
	return result;
}

int
slice_read(const struct store *store, MDB_txn *txn, uint32_t id, struct slice *slice)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_SLICES, id, &value);

	return err ? err : slice_decode(id, value.mv_data, value.mv_size, slice);
}

int
slice_write(const struct store *store, MDB_txn *txn, const struct slice *slice)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	slice_encode(slice, &writer);
	err = store_put(store, txn, TABLE_SLICES, slice->id, &writer);
	writer_fini(&writer);
	return err;
}

void
slice_subtract(struct slice *slice, const uint64_t taken[EVENTS_MAX])
{
	for (size_t i = 0; i < slice->event_count; i++) {
		uint64_t *samples = &slice->events[i].samples;

		*samples -= taken[i] < *samples ? taken[i] : *samples;
	}
}

int64_t
slice_take_blocks(struct profile *profile, MDB_txn *txn, uint32_t from, uint32_t to, size_t max,
                  uint64_t taken[EVENTS_MAX])
{
	int64_t more, count = counts_take(profile, txn, from, to, max, taken);

	if (count < 0)
		return count;
	more = edges_take(&profile->store, txn, from, to, max - (size_t)count);
	if (more < 0)
		return more;
	count += more;
	more = label_times_take(&profile->store, txn, from, to, max - (size_t)count);
	return more < 0 ? more : count + more;
}
