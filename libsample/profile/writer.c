/* Epochs and flushes: see profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/edges_codec.h"
#include "profile/epoch_table.h"
#include "profile/label_times.h"
#include "profile/profile_internal.h"
#include "tally/tally.h"

/* Entries of one event, image and context; they are neighbours in the batch and in the database. */
struct block_group {
	uint16_t event;
	uint32_t image; /* the database's numbers */
	uint32_t context;
	const struct tally_entry *entries;
	size_t count;
};

struct block_writer {
	const struct store *store;
	MDB_cursor *cursor;
	uint32_t slice;
	bool append; /* all keys so far are above the stored ones: no need to look for a stored block */
	struct byte_writer value;
	struct counts_pair fresh[COUNTS_BLOCK_SIZE];
	struct counts_pair stored[COUNTS_BLOCK_SIZE];
	struct counts_pair sum[COUNTS_BLOCK_SIZE];
};

static bool
is_same_group(const struct tally_entry *a, const struct tally_entry *b)
{
	return a->event == b->event && a->image == b->image && a->context == b->context;
}

static int
group_compare(const void *left, const void *right)
{
	const struct block_group *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->context > b->context) - (a->context < b->context);
}

static int
group_init(struct block_group *group, const struct profile *profile, const struct tally_entry *entries, size_t left)
{
	group->event = entries->event;
	group->image = ids_map_get(&profile->images, entries->image);
	group->context = ids_map_get(&profile->contexts, entries->context);
	group->entries = entries;
	for (group->count = 1; group->count < left; group->count++) {
		const struct tally_entry *entry = &entries[group->count];

		if (!is_same_group(entry, entries))
			break;
		if (entry->offset <= entry[-1].offset)
			return -EINVAL;
	}
	return group->image == 0 || group->context == 0 ? -EINVAL : 0;
}

/* Split the entries into groups, in the order of the database's keys. `groups` is the caller's to free. */
static int
make_groups(const struct profile *profile, const struct tally_entry *entries, size_t count, struct block_group **groups,
            size_t *group_count)
{
	size_t needed = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		needed += i == 0 || !is_same_group(&entries[i - 1], &entries[i]);
	*groups = calloc(needed ? needed : 1, sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	for (*group_count = 0; *group_count < needed; ++*group_count) {
		struct block_group *group = &(*groups)[*group_count];
		int err = group_init(group, profile, &entries[at], count - at);

		if (err)
			return err;
		at += group->count;
	}
	qsort(*groups, needed, sizeof(**groups), group_compare);
	return 0;
}

/* Set writer->append: all stored keys are below those of the slice. */
static int
find_append(struct block_writer *writer)
{
	struct counts_key last;
	MDB_val key, value;
	int err;

	writer->append = true;
	err = store_error(mdb_cursor_get(writer->cursor, &key, &value, MDB_LAST));
	if (err)
		return err == -ENOENT ? 0 : err;
	err = counts_key_decode(key.mv_data, key.mv_size, &last);
	writer->append = !err && last.slice < writer->slice;
	return err;
}

/* Add the block that is stored under `key` to the fresh pairs; *count is the length of writer->sum, 0: none is stored.
 */
static int
merge_stored(struct block_writer *writer, MDB_val *key, size_t fresh_count, size_t *count)
{
	MDB_val value;
	int stored, err;

	*count = 0;
	err = store_error(mdb_cursor_get(writer->cursor, key, &value, MDB_SET));
	if (err)
		return err == -ENOENT ? 0 : err;
	stored = counts_decode(value.mv_data, value.mv_size, writer->stored);
	if (stored < 0)
		return stored;
	*count = counts_merge(writer->fresh, fresh_count, writer->stored, (size_t)stored, writer->sum);
	return 0;
}

static int
put_block(struct block_writer *writer, const struct counts_key *block, size_t fresh_count)
{
	uint8_t data[COUNTS_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	size_t merged = 0;
	int err = 0;

	counts_key_encode(block, data);
	if (!writer->append)
		err = merge_stored(writer, &key, fresh_count, &merged);
	if (err)
		return err;
	writer_reset(&writer->value);
	if (merged > 0)
		counts_encode(writer->sum, merged, &writer->value);
	else
		counts_encode(writer->fresh, fresh_count, &writer->value);
	if (writer->value.failed)
		return -ENOMEM;
	value = (MDB_val){writer->value.size, writer->value.data};
	return store_error(mdb_cursor_put(writer->cursor, &key, &value,
	                                  writer->append ? MDB_APPEND
	                                  : merged > 0   ? MDB_CURRENT
	                                                 : 0));
}

static int
put_group(struct block_writer *writer, const struct block_group *group)
{
	struct counts_key key = {writer->slice, group->event, group->image, group->context, 0};
	size_t at = 0;
	int err = 0;

	while (!err && at < group->count && group->entries[at].offset <= COUNTS_OFFSET_MAX) {
		size_t count = 0;

		key.block = (uint32_t)(group->entries[at].offset >> COUNTS_BLOCK_SHIFT);
		while (at < group->count && group->entries[at].offset >> COUNTS_BLOCK_SHIFT == key.block) {
			writer->fresh[count].offset = group->entries[at].offset & (COUNTS_BLOCK_SIZE - 1);
			writer->fresh[count].count = group->entries[at].count;
			count += group->entries[at].count > 0;
			at++;
		}
		if (count > 0)
			err = put_block(writer, &key, count);
	}
	return err;
}

static int
put_groups(struct block_writer *writer, MDB_txn *txn, const struct block_group *groups, size_t count)
{
	int err;

	err = store_error(mdb_cursor_open(txn, writer->store->tables[TABLE_COUNTS], &writer->cursor));
	if (err)
		return err;
	err = find_append(writer);
	for (size_t i = 0; !err && i < count; i++) {
		/* Two numbers of the session can be one image here, e.g. when their paths were found to be equal. */
		if (i > 0 && group_compare(&groups[i - 1], &groups[i]) == 0)
			writer->append = false;
		err = put_group(writer, &groups[i]);
	}
	mdb_cursor_close(writer->cursor);
	return err;
}

/*
 * Add `entries` (sorted as tally_sort() does) to the blocks of `slice`, in key order. Offsets past COUNTS_OFFSET_MAX
 * are left out. 0; -EINVAL for entries that are not sorted or whose image or context has not been given; an error.
 */
static int
put_blocks(const struct profile *profile, MDB_txn *txn, uint32_t slice, const struct tally_entry *entries, size_t count)
{
	struct block_writer *writer = calloc(1, sizeof(*writer));
	struct block_group *groups = NULL;
	size_t group_count;
	int err;

	if (!writer)
		return -ENOMEM;
	writer->store = &profile->store;
	writer->slice = slice;
	err = make_groups(profile, entries, count, &groups, &group_count);
	if (!err)
		err = put_groups(writer, txn, groups, group_count);
	free(groups);
	writer_fini(&writer->value);
	free(writer);
	return err;
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

/* Intern the images and contexts of a batch. */
static int
put_ids(struct profile *profile, MDB_txn *txn, const struct profile_batch *batch)
{
	const struct store *store = &profile->store;
	int err = ids_map_add_images(&profile->images, store, txn, batch->images, batch->image_count);

	return err ? err : ids_map_add_contexts(&profile->contexts, store, txn, batch->contexts, batch->context_count);
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
	err = put_blocks(profile, txn, slice->id, batch->entries, batch->entry_count);
	if (err)
		return err;
	err = edges_put(profile, txn, slice->id, batch->edges, batch->edge_count);
	if (err)
		return err;
	err = label_times_put(store, txn, slice->id, batch->times, batch->time_count);
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
	    batch->first_context != profile->contexts.count || slice.event_count > EVENTS_MAX)
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
		return err;
	}
	ids_map_commit(&profile->images);
	ids_map_commit(&profile->contexts);
	batch->slice->id = profile->uncertain.is_written ? profile->uncertain.slice : slice.id;
	profile->uncertain = (struct uncertain_commit){0};
	return 0;
}
