#include "profile/retention.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/captured.h"
#include "profile/codec.h"
#include "profile/profile_internal.h"
#include "profile/stacks.h"

#define RAISED_SHARE  16          /* of the size limit */
#define RAISED_BYTES  (256 << 10) /* for the least limit */
#define RAISED_BLOCKS 256         /* of a step: each may need a page or two */
#define HOUR_NS       (3600 * UINT64_C(1000000000))
#define DAY_NS        (24 * HOUR_NS)
#define GAP_SHARE     600 /* of the hour or day may be missing between two slices: time without sampling must not count */

#define LOOKS_PER_BLOCK 16 /* to look at an entry costs less than to move one */

void
retention_default(struct retention_options *options)
{
	*options = (struct retention_options){
		.max_age_ns = 30 * DAY_NS,
		.size_limit = PROFILE_SIZE_DEFAULT,
		.hour_after_ns = DAY_NS,
		.day_after_ns = 7 * DAY_NS,
	};
}

int
profile_clock_is_plausible(struct profile *profile, uint64_t now_ns)
{
	const uint64_t from_ns = now_ns > 7 * DAY_NS ? now_ns - 7 * DAY_NS : 0;
	uint64_t covered_ns = 0;
	struct slice_list list;
	MDB_txn *txn;
	int result;

	result = store_begin(&profile->store, false, &txn);
	if (result)
		return result;
	result = slice_list_read(&profile->store, txn, &list);
	for (size_t i = 0; !result && i < list.count; i++) {
		const uint64_t start_ns = list.slices[i].start_ns > from_ns ? list.slices[i].start_ns : from_ns;
		const uint64_t end_ns = list.slices[i].end_ns < now_ns ? list.slices[i].end_ns : now_ns;

		if (end_ns > start_ns)
			covered_ns = add_saturating(covered_ns, end_ns - start_ns);
	}
	if (!result)
		result = covered_ns >= HOUR_NS;
	slice_list_fini(&list);
	return store_leave(&profile->store, txn, result);
}

/*
 * The slice that ended first, except the newest (still being written), those that are kept, and those of an import that
 * is under way. NULL: no other.
 */
static const struct slice_entry *
oldest_slice(const struct slice_list *list)
{
	const struct slice_entry *oldest = NULL;

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
	/* A writer beside us may have begun a newer epoch than ours, in which we still have to write. */
	const uint32_t newest = list->slices[list->count - 1].epoch;
	const uint32_t end = profile->begun && profile->begun < newest ? profile->begun : newest;
	struct store_walk walk;
	int result;

	store_walk_begin(&profile->store, txn, TABLE_EPOCHS, &walk);
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
		err = store_remove(&profile->store, txn, TABLE_SLICES, id);
	else
		err = slice_write(&profile->store, txn, &slice);
	slice_fini(&slice);
	return err;
}

/* One step with the oldest slice that ended before `ended_ns`. */
static int
drop_step(struct profile *profile, uint64_t ended_ns, size_t max)
{
	const struct slice_entry *oldest = NULL;
	struct slice_list list;
	bool dropped, last = false;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = slice_list_read(&profile->store, txn, &list);
	if (!err)
		err = epoch_marks_read(&profile->store, txn, &list, NULL);
	if (!err)
		oldest = oldest_slice(&list);
	dropped = oldest && oldest->end_ns <= ended_ns;
	if (dropped)
		err = drop_blocks(profile, txn, oldest->id, max, &last);
	if (!err && last)
		err = drop_empty_epochs(profile, txn, &list, oldest->id);
	slice_list_fini(&list);
	err = store_end(&profile->store, txn, err);
	if (!err && last)
		profile->gc.done = false;
	return err ? err : dropped;
}

/*
 * To remove an entry, LMDB writes new pages first. When a flush has taken the last one, `step` is done with a file that
 * may grow a little past its limit; this happens once, because removed pages are reused.
 */
static int
step_when_full(struct profile *profile, uint64_t ended_ns, size_t max,
               int step(struct profile *profile, uint64_t ended_ns, size_t max))
{
	const uint64_t raised = profile->store.size_limit / RAISED_SHARE + RAISED_BYTES;
	int result, err;

	result = store_raise_limit(&profile->store, raised);
	if (result)
		return result;
	result = step(profile, ended_ns, max < RAISED_BLOCKS ? max : RAISED_BLOCKS);
	err = store_restore_limit(&profile->store);
	return result < 0 || !err ? result : err;
}

static int
drop_when_full(struct profile *profile, uint64_t ended_ns, size_t max)
{
	const int result = merge_database_remove_incoming(profile, false, max);

	return result == 0 ? drop_step(profile, ended_ns, max) : result;
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
	result = merge_database_remove_incoming(profile, false, max);
	if (result && result != -DCPI_EFULL)
		return result;
	if (result == -DCPI_EFULL)
		return step_when_full(profile, 0, max, drop_when_full);
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
	return result == -DCPI_EFULL ? step_when_full(profile, ended_ns, max, drop_when_full) : result;
}

/* Do both begin in one hour (day) that ended at least `after_ns` ago, and does `b` begin where `a` ends? */
static bool
fit_into(const struct slice_entry *a, const struct slice_entry *b, uint64_t length_ns, uint64_t after_ns,
         uint64_t now_ns)
{
	const uint64_t hour = a->start_ns / length_ns;
	const uint64_t gap_ns = a->end_ns > b->start_ns ? a->end_ns - b->start_ns : b->start_ns - a->end_ns;

	return b->start_ns / length_ns == hour && b->end_ns >= a->end_ns && gap_ns <= length_ns / GAP_SHARE &&
	       after_ns && add_saturating((hour + 1) * length_ns, after_ns) <= now_ns;
}

static bool
should_merge(const struct slice_entry *a, const struct slice_entry *b, const struct retention_options *options,
             uint64_t now_ns)
{
	if (a->epoch != b->epoch || a->is_incoming)
		return false;
	/* Between two steps of a merge, the second slice has no length and lies at the end of the first. */
	if (b->start_ns == b->end_ns && a->end_ns == b->end_ns)
		return true;
	return fit_into(a, b, DAY_NS, options->day_after_ns, now_ns) ||
	       fit_into(a, b, HOUR_NS, options->hour_after_ns, now_ns);
}

static int
compare_slices(const void *left, const void *right)
{
	const struct slice_entry *a = left, *b = right;
	const int order = (a->epoch > b->epoch) - (a->epoch < b->epoch);

	return order ? order : (a->id > b->id) - (a->id < b->id);
}

/*
 * The first two neighbours in one epoch that are to be merged: true with their ids. Slices of other epochs (of an
 * import, or of dcpix) may lie between them, so the list is sorted by epoch. The newest slice is still being written.
 */
static bool
choose_pair(struct slice_list *list, const struct retention_options *options, uint64_t now_ns, uint32_t *first,
            uint32_t *second)
{
	const size_t count = list->count > 0 ? list->count - 1 : 0;

	if (count > 1)
		qsort(list->slices, count, sizeof(*list->slices), compare_slices);
	for (size_t i = 1; i < count; i++) {
		const struct slice_entry *a = &list->slices[i - 1], *b = &list->slices[i];

		if (!should_merge(a, b, options, now_ns))
			continue;
		*first = a->id;
		*second = b->id;
		return true;
	}
	return false;
}

static int
merge_pair(struct profile *profile, MDB_txn *txn, uint32_t first, uint32_t second, size_t max)
{
	const struct store *store = &profile->store;
	uint64_t taken[EVENTS_MAX];
	struct slice a, b;
	int64_t count;
	bool last;
	int err;

	err = slice_read(store, txn, first, &a);
	if (err)
		return err;
	err = slice_read(store, txn, second, &b);
	if (err) {
		slice_fini(&a);
		return err;
	}
	count = slice_take_blocks(profile, txn, second, first, max, taken);
	last = count >= 0 && (size_t)count < max;
	if (count < 0) {
		err = (int)count;
		goto out;
	}
	for (size_t i = 0; i < a.event_count; i++)
		a.events[i].samples = add_saturating(a.events[i].samples, taken[i]);
	slice_subtract(&b, taken);
	err = last ? slice_add(&a, &b) : 0;
	if (err)
		goto out;
	a.end_ns = b.start_ns = b.end_ns;
	err = slice_write(store, txn, &a);
	if (!err)
		err = last ? store_remove(store, txn, TABLE_SLICES, second) : slice_write(store, txn, &b);
out:
	slice_fini(&a);
	slice_fini(&b);
	return err;
}

int
profile_merge_slices(struct profile *profile, const struct retention_options *options, uint64_t now_ns)
{
	const size_t max = options->blocks_max ? options->blocks_max : RETENTION_BLOCKS;
	uint32_t first, second;
	struct slice_list list;
	bool merged;
	MDB_txn *txn;
	int err;

	if (!profile->store.write)
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = slice_list_read(&profile->store, txn, &list);
	if (!err)
		err = epoch_marks_read(&profile->store, txn, &list, NULL);
	merged = !err && choose_pair(&list, options, now_ns, &first, &second);
	slice_list_fini(&list);
	if (merged)
		err = merge_pair(profile, txn, first, second, max);
	err = store_end(&profile->store, txn, err);
	return err ? err : merged;
}

/* ---- garbage collection ---- */

void
gc_fini(struct gc *gc)
{
	free(gc->images.bits);
	free(gc->contexts.bits);
	free(gc->nodes.bits);
	memset(gc, 0, sizeof(*gc));
}

void
gc_mark(struct gc_marks *marks, uint32_t number)
{
	if (number < marks->end)
		marks->bits[number / 8] |= (uint8_t)(1u << number % 8);
}

bool
gc_is_marked(const struct gc_marks *marks, uint32_t number)
{
	return number >= marks->end || marks->bits[number / 8] & 1u << number % 8;
}

/* The next flush may count an image or context that the session has a number for. */
static void
mark_session(struct gc_marks *marks, const struct ids_map *map)
{
	for (uint32_t i = 0; i < map->count; i++)
		gc_mark(marks, map->numbers[i]);
}

void
gc_end_session(struct profile *profile)
{
	struct gc *gc = &profile->gc;

	if (gc->active) {
		mark_session(&gc->images, &profile->images);
		mark_session(&gc->contexts, &profile->contexts);
		mark_session(&gc->nodes, &profile->nodes);
	}
	gc->done = false;
}

static int
marks_init(struct gc_marks *marks, uint32_t end)
{
	marks->bits = calloc(end / 8 + 1, 1);
	if (!marks->bits)
		return -ENOMEM;
	marks->end = end;
	return 0;
}

static int
marks_init_table(struct gc_marks *marks, const struct store *store, MDB_txn *txn, enum store_table table)
{
	uint32_t next;
	int err = store_next_id(store, txn, table, &next);

	return err ? err : marks_init(marks, next - 1);
}

/* Nodes of stacks, and the image whose counts refer to them. */
static int
gc_begin_stacks(struct gc *gc, const struct store *store, MDB_txn *txn)
{
	uint32_t highest;
	int err = stacks_highest(store, txn, &highest);

	if (!err)
		err = marks_init(&gc->nodes, highest < UINT32_MAX ? highest + 1 : highest);
	return err ? err : stacks_image(store, txn, &gc->stacks_image);
}

static int
gc_begin(struct gc *gc, const struct store *store, MDB_txn *txn)
{
	int err;

	gc_fini(gc);
	err = marks_init_table(&gc->images, store, txn, TABLE_IMAGES);
	if (!err)
		err = marks_init_table(&gc->contexts, store, txn, TABLE_CONTEXTS);
	if (!err)
		err = gc_begin_stacks(gc, store, txn);
	if (!err)
		err = store_next_id(store, txn, TABLE_EPOCHS, &gc->epochs);
	if (err) {
		gc_fini(gc);
		return err;
	}
	gc->active = true;
	gc->done = true; /* until something is dropped */
	return 0;
}

/* All counts were seen: what their stacks refer to. */
static int
mark_stacks(struct gc *gc, const struct store *store, MDB_txn *txn)
{
	int err = stacks_mark(store, txn, &gc->nodes, &gc->images);

	if (err)
		return err;
	gc->phase = GC_STACKS;
	gc->next = 0;
	gc->next_stacks = (struct stacks_key){0};
	return 0;
}

static int
mark_block_of_stacks(struct gc *gc, const MDB_val *value)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	const int count = counts_decode(value->mv_data, value->mv_size, pairs);

	if (count < 0)
		return count;
	counts_mark_nodes(gc->at.block, pairs, (size_t)count, &gc->nodes);
	return 0;
}

/*
 * Mark from where the last step ended, at most `max` pairs of image and context, or blocks of stacks.
 */
static int
mark_some(struct gc *gc, const struct store *store, MDB_txn *txn, size_t max)
{
	uint8_t data[COUNTS_KEY_SIZE];
	MDB_cursor *cursor;
	MDB_val key, value;
	int err;

	err = store_error(mdb_cursor_open(txn, store->tables[TABLE_COUNTS], &cursor));
	if (err)
		return err;
	for (size_t i = 0; !err && i < max; i++) {
		counts_key_encode(&gc->at, data);
		key = (MDB_val){sizeof(data), data};
		err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
		if (!err)
			err = counts_key_decode(key.mv_data, key.mv_size, &gc->at);
		if (err)
			break;
		gc_mark(&gc->images, gc->at.image);
		gc_mark(&gc->contexts, gc->at.context);
		if (gc->at.image == gc->stacks_image) {
			err = mark_block_of_stacks(gc, &value);
			if (err || gc->at.block++ < UINT32_MAX)
				continue;
		}
		/* past all blocks of this image and context */
		gc->at.block = 0;
		if (++gc->at.context == 0 && ++gc->at.image == 0)
			err = -DCPI_EDAMAGED;
	}
	mdb_cursor_close(cursor);
	return err == -ENOENT ? mark_stacks(gc, store, txn) : err;
}

/* 1; 0 when it has to be postponed; or an error. */
static int
mark_step(struct profile *profile, size_t max)
{
	struct gc *gc = &profile->gc;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = merge_database_has_incoming(&profile->store, txn);
	if (err > 0) {
		/* an import has numbers that no count refers to yet (merge_database.h): begin again when it has ended
		 */
		gc_fini(gc);
		return store_leave(&profile->store, txn, 0);
	}
	if (!err && !gc->active)
		err = gc_begin(gc, &profile->store, txn);
	if (!err)
		err = mark_some(gc, &profile->store, txn, LOOKS_PER_BLOCK * max);
	err = store_leave(&profile->store, txn, err);
	return err ? err : 1;
}

/* Up to `max` numbers of the table that are not marked, from *next on; *next is 0 at the end. */
static int
find_unmarked(const struct store *store, MDB_txn *txn, enum store_table table, const struct gc_marks *marks, size_t max,
              uint32_t *numbers, size_t *count, uint32_t *next)
{
	uint8_t first[4];
	struct store_walk walk;
	uint32_t number;
	int result;

	put_be(first, *next, sizeof(first));
	*count = 0;
	*next = 0;
	store_walk_begin(store, txn, table, &walk);
	store_walk_seek(&walk, first, sizeof(first));
	for (size_t i = 0; (result = store_walk_next(&walk)) > 0; i++) {
		result = store_key_number(&walk.key, &number);
		if (result || number >= marks->end)
			break;
		if (i == LOOKS_PER_BLOCK * max || *count == max) {
			*next = number;
			break;
		}
		if (!gc_is_marked(marks, number))
			numbers[(*count)++] = number;
	}
	store_walk_end(&walk);
	return result;
}

/* 1 with the place to continue; 0 when no stacks are left; or an error. */
static int
remove_stacks(struct profile *profile, MDB_txn *txn, size_t max, struct stacks_key *next)
{
	struct gc_marks *marks = &profile->gc.nodes;

	mark_session(marks, &profile->nodes);
	return stacks_sweep(&profile->store, txn, marks, max, next);
}

static int
remove_some(struct profile *profile, MDB_txn *txn, size_t max, uint32_t *next)
{
	const bool images = profile->gc.phase == GC_IMAGES;
	const struct ids_kind *kind = images ? &ids_images : &ids_contexts;
	struct gc_marks *marks = images ? &profile->gc.images : &profile->gc.contexts;
	uint32_t *numbers = calloc(max, sizeof(*numbers));
	size_t count;
	int err;

	if (!numbers)
		return -ENOMEM;
	mark_session(marks, images ? &profile->images : &profile->contexts);
	err = find_unmarked(&profile->store, txn, kind->things, marks, max, numbers, &count, next);
	for (size_t i = 0; !err && i < count; i++) {
		err = ids_remove(kind, &profile->store, txn, numbers[i]);
		if (err == -ENOENT)
			err = 0;
		else if (!err && images)
			err = captured_remove(&profile->store, txn, numbers[i]);
	}
	free(numbers);
	return err;
}

static int
remove_step(struct profile *profile, size_t max)
{
	struct gc *gc = &profile->gc;
	uint32_t epochs, next = gc->next;
	struct stacks_key next_stacks = gc->next_stacks;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = merge_database_has_incoming(&profile->store, txn);
	if (err > 0) {
		mdb_txn_abort(txn);
		gc_fini(gc); /* an import has numbers that no count refers to yet: begin again when it has ended */
		return 0;
	}
	if (!err)
		err = store_next_id(&profile->store, txn, TABLE_EPOCHS, &epochs);
	if (err) {
		mdb_txn_abort(txn);
		return err;
	}
	if (epochs != gc->epochs) { /* counts of a new epoch refer to things that may not be marked */
		mdb_txn_abort(txn);
		gc_fini(gc); /* begin again */
		return 1;
	}
	if (gc->phase == GC_STACKS) {
		err = remove_stacks(profile, txn, max, &next_stacks);
		next = err == 0 ? 0 : next_stacks.image;
	} else {
		err = remove_some(profile, txn, max, &next);
	}
	err = store_end(&profile->store, txn, err < 0 ? err : 0);
	if (err)
		return err;
	gc->next = next;
	gc->next_stacks = next_stacks;
	if (!next && gc->phase == GC_STACKS) {
		gc->phase = GC_IMAGES;
	} else if (!next && gc->phase == GC_IMAGES) {
		gc->phase = GC_CONTEXTS;
	} else if (!next) {
		const bool done = gc->done;

		gc_fini(gc);
		gc->done = done;
	}
	return 1;
}

static int
remove_when_full(struct profile *profile, uint64_t ended_ns, size_t max)
{
	(void)ended_ns;
	return remove_step(profile, max);
}

int
profile_collect_garbage(struct profile *profile, const struct retention_options *options)
{
	const size_t max = options->blocks_max ? options->blocks_max : RETENTION_BLOCKS;
	const struct gc *gc = &profile->gc;
	int result;

	if (!profile->store.write)
		return -EINVAL;
	if (!gc->active && gc->done)
		return 0;
	if (!gc->active || gc->phase == GC_MARK)
		return mark_step(profile, max);
	result = remove_step(profile, max);
	return result == -DCPI_EFULL ? step_when_full(profile, 0, max, remove_when_full) : result;
}

/* ---- all of it ---- */

int
profile_retain(struct profile *profile, const struct retention_options *options, uint64_t now_ns)
{
	int dropped, swept, merged;

	dropped = profile_drop_old(profile, options, now_ns);
	if (dropped)
		return dropped;
	swept = profile_collect_garbage(profile, options);
	if (swept < 0)
		return swept;
	merged = profile_merge_slices(profile, options, now_ns);
	return merged < 0 ? merged : swept || merged;
}

int
profile_cut_reader_off(struct profile *profile, bool at_once)
{
	const struct slow_reader slow = profile->store.readers.slow;
	int count;

	if (!profile->store.write)
		return -EINVAL;
	count = readers_release(&profile->store, at_once ? 1 : READERS_LAG_MAX);
	if (count > 0 && slow.pid > 0)
		log_write(profile->store.log, LOG_LEVEL_WARNING,
		          "process %d was cut off: the version of the database that it reads is %" PRIu64
		          " writes old, and there is no room to keep it",
		          slow.pid, slow.lag);
	return count < 0 ? count : count > 0;
}
