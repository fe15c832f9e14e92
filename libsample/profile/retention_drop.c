#include "profile/retention.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/handle.h"
#include "profile/incoming.h"
#include "profile/slice_list.h"

#define LENT_SHARE  16          /* of the size limit */
#define LENT_BYTES  (256 << 10) /* for the least limit */
#define LENT_BLOCKS 256         /* of a step: each may need a page or two */

/*
 * The slice that ended first; never the newest, which is still being written, nor one that is kept or of an import that
 * is under way. NULL: no other.
 */
static const struct slice_place *
oldest(const struct slice_list *list)
{
	const struct slice_place *oldest = NULL;

	for (size_t i = 0; i + 1 < list->count; i++) {
		if (list->slices[i].is_kept || list->slices[i].is_incoming)
			continue;
		if (!oldest || list->slices[i].end_ns < oldest->end_ns)
			oldest = &list->slices[i];
	}
	return oldest;
}

static bool
has_slice(const struct slice_list *list, uint32_t epoch, uint32_t gone)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->slices[i].epoch == epoch && list->slices[i].id != gone)
			return true;
	}
	return false;
}

/* The lowest epoch from *id on that has no slice but `gone`, and is older than the newest slice's: 1, 0 or an error. */
static int
find_empty_epoch(const struct profile *profile, MDB_txn *txn, const struct slice_list *list, uint32_t gone,
                 uint32_t *id)
{
	/* Who writes beside us may have a newer one than we, who are to write into ours. */
	const uint32_t newest = list->slices[list->count - 1].epoch;
	const uint32_t end = profile->begun && profile->begun < newest ? profile->begun : newest;
	struct store_walk walk;
	int result;

	result = store_walk_begin(&profile->store, txn, TABLE_EPOCHS, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		result = store_key_number(&walk.key, id);
		if (result || *id >= end)
			break;
		if (!has_slice(list, *id, gone) && !epoch_value_is_incoming(walk.value.mv_data, walk.value.mv_size)) {
			result = 1;
			break;
		}
	}
	store_walk_end(&walk);
	return result;
}

static int
drop_empty_epochs(const struct profile *profile, MDB_txn *txn, const struct slice_list *list, uint32_t gone)
{
	uint32_t id = 0;
	int result;

	while ((result = find_empty_epoch(profile, txn, list, gone, &id)) > 0) {
		result = store_remove(&profile->store, txn, TABLE_EPOCHS, id);
		if (result)
			break;
	}
	return result;
}

static int
drop_blocks(struct profile *profile, MDB_txn *txn, uint32_t id, size_t max, bool *last)
{
	uint64_t taken[EVENTS_MAX];
	struct slice slice;
	int64_t count;
	int err;

	err = slice_read(&profile->store, txn, id, &slice);
	if (err)
		return err;
	count = slice_take_blocks(profile, txn, id, 0, max, taken);
	*last = count >= 0 && (size_t)count < max;
	slice_subtract(&slice, taken);
	if (count < 0)
		err = (int)count;
	else if (*last)
		err = slice_remove(&profile->store, txn, id);
	else
		err = slice_write(&profile->store, txn, &slice);
	slice_fini(&slice);
	return err;
}

static int
drop_from_list(struct profile *profile, MDB_txn *txn, const struct slice_list *list, uint64_t ended_ns, size_t max,
               bool *dropped, bool *last)
{
	const struct slice_place *slice = oldest(list);
	int err;

	*dropped = slice && slice->end_ns <= ended_ns;
	if (!*dropped)
		return 0;
	err = drop_blocks(profile, txn, slice->id, max, last);
	return err || !*last ? err : drop_empty_epochs(profile, txn, list, slice->id);
}

/* One step with the oldest slice that ended before `ended_ns`. */
static int
drop_step(struct profile *profile, uint64_t ended_ns, size_t max)
{
	bool dropped = false, last = false;
	struct epoch_marks marks;
	struct slice_list list;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = slice_list_read(&profile->store, txn, &list);
	if (!err)
		err = slice_list_mark(&profile->store, txn, &list, &marks);
	if (!err)
		err = drop_from_list(profile, txn, &list, ended_ns, max, &dropped, &last);
	slice_list_fini(&list);
	err = store_end(&profile->store, txn, err);
	if (!err && last)
		profile->sweep.done = false;
	return err ? err : dropped;
}

/*
 * To remove something LMDB writes new pages first. A flush may have taken the very last one: then the file grows a
 * little past its limit, once, because what is removed is used again.
 */
static int
drop_from_full(struct profile *profile, uint64_t ended_ns, size_t max)
{
	int result, err;

	result = store_lend(&profile->store, profile->store.size_limit / LENT_SHARE + LENT_BYTES);
	if (result)
		return result;
	max = max < LENT_BLOCKS ? max : LENT_BLOCKS;
	result = incoming_remove_some(profile, false, max);
	if (result == 0)
		result = drop_step(profile, ended_ns, max);
	err = store_repay(&profile->store);
	return result < 0 || !err ? result : err;
}

int
profile_drop_old(struct profile *profile, const struct retention_options *options, uint64_t now_ns)
{
	size_t max = options->blocks_max ? options->blocks_max : RETENTION_BLOCKS;
	uint64_t ended_ns = 0;
	struct profile_stats stats;
	int result;

	if (!profile->store.write)
		return -EINVAL;
	result = incoming_remove_some(profile, false, max);
	if (result && result != -DCPI_EFULL)
		return result;
	if (result == -DCPI_EFULL)
		return drop_from_full(profile, 0, max);
	result = profile_stats(profile, &stats);
	if (result)
		return result;
	if (options->size_limit && stats.used_bytes > options->size_limit)
		ended_ns = UINT64_MAX;
	else if (options->max_age_ns && options->max_age_ns <= now_ns)
		ended_ns = now_ns - options->max_age_ns;
	if (ended_ns == 0)
		return 0;
	result = drop_step(profile, ended_ns, max);
	return result == -DCPI_EFULL ? drop_from_full(profile, ended_ns, max) : result;
}
