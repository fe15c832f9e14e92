#include "profile/profile.h"

#include <errno.h>

#include "base/error.h"
#include "profile/block_writer.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/edges.h"
#include "profile/handle.h"
#include "profile/label_times.h"

static int
put_epoch(const struct store *store, MDB_txn *txn, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	epoch_encode(epoch, &writer);
	err = store_put(store, txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
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
		err = put_epoch(&profile->store, txn, &new);
	err = store_end(&profile->store, txn, err);
	if (!err) {
		epoch->id = new.id;
		profile->begun = new.id;
	}
	return err;
}

static int
get_epoch(const struct store *store, MDB_txn *txn, uint32_t id, struct epoch *epoch)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_EPOCHS, id, &value);

	return err ? err : epoch_decode(id, value.mv_data, value.mv_size, epoch);
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
	err = get_epoch(&profile->store, txn, id, &epoch);
	if (!err && epoch.is_incoming)
		err = -ENOENT;
	epoch.is_kept = is_kept;
	if (!err)
		err = put_epoch(&profile->store, txn, &epoch);
	return store_end(&profile->store, txn, err);
}

/* What `more` is added to: the slice as it is stored, or `more` itself. */
static int
add_to_stored_slice(const struct store *store, MDB_txn *txn, const struct slice *more, struct byte_writer *writer)
{
	struct slice slice;
	MDB_val value;
	int err;

	err = store_get(store, txn, TABLE_SLICES, more->id, &value);
	if (err == -ENOENT) {
		slice_encode(more, writer);
		return 0;
	}
	if (!err)
		err = slice_decode(more->id, value.mv_data, value.mv_size, &slice);
	if (err)
		return err;
	err = slice_add(&slice, more);
	if (!err)
		slice_encode(&slice, writer);
	slice_fini(&slice);
	return err;
}

static int
put_slice(const struct store *store, MDB_txn *txn, const struct slice *more)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	err = add_to_stored_slice(store, txn, more, &writer);
	if (!err)
		err = store_put(store, txn, TABLE_SLICES, more->id, &writer);
	writer_fini(&writer);
	return err;
}

/*
 * An offset that no block number can name is a sample without a place: a hostile mapping of a sparse file must not
 * stop the flush, and no sample may disappear.
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

static int
put_numbers(struct profile *profile, MDB_txn *txn, const struct profile_batch *batch)
{
	const struct store *store = &profile->store;
	int err = numbers_add_images(&profile->images, store, txn, batch->images, batch->image_count);

	return err ? err : numbers_add_contexts(&profile->contexts, store, txn, batch->contexts, batch->context_count);
}

static int
put_batch(struct profile *profile, MDB_txn *txn, const struct profile_batch *batch, struct slice *slice)
{
	const struct store *store = &profile->store;
	struct epoch epoch;
	int err;

	err = get_epoch(store, txn, slice->epoch, &epoch);
	if (err)
		return err;
	if (slice->event_count != epoch.event_count)
		return -EINVAL;
	err = put_numbers(profile, txn, batch);
	if (!err && slice->id == 0)
		err = store_next_id(store, txn, TABLE_SLICES, &slice->id);
	if (!err)
		err = count_far_offsets(batch, slice);
	if (!err)
		err = put_slice(store, txn, slice);
	if (!err)
		err = blocks_put(profile, txn, slice->id, batch->entries, batch->entry_count);
	if (!err)
		err = edges_put(profile, txn, slice->id, batch->edges, batch->edge_count);
	if (!err)
		err = label_times_put(store, txn, slice->id, batch->times, batch->time_count);
	if (err)
		return err;
	epoch.end_ns = slice->end_ns;
	epoch.start_cpu_ns = add_saturating(epoch.start_cpu_ns, batch->start_cpu_ns);
	return put_epoch(store, txn, &epoch);
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
	put_err = profile->doubt.is_written ? put_numbers(profile, txn, batch) : put_batch(profile, txn, batch, &slice);
	err = store_end(&profile->store, txn, put_err);
	if (err) {
		/* for want of room it fails before anything is on the disk */
		if (!put_err && err != -DCPI_EFULL && !profile->doubt.is_written)
			profile->doubt = (struct doubt){.transaction = transaction, .slice = slice.id};
		numbers_abort(&profile->images);
		numbers_abort(&profile->contexts);
		return err;
	}
	numbers_commit(&profile->images);
	numbers_commit(&profile->contexts);
	batch->slice->id = profile->doubt.is_written ? profile->doubt.slice : slice.id;
	profile->doubt = (struct doubt){0};
	return 0;
}
