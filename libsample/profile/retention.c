#include "profile/retention.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "profile/codec.h"
#include "profile/slice_list.h"

#define HOUR_NS   (3600 * UINT64_C(1000000000))
#define DAY_NS    (24 * HOUR_NS)
#define GAP_SHARE 600 /* of the longer slice may be missing between two: time that nobody sampled must not count */

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

/* How much of the time from `from_ns` to `to_ns` slices cover. */
static uint64_t
covered_ns(const struct slice_list *list, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct slice_place *slice = &list->slices[i];
		const uint64_t start_ns = slice->start_ns > from_ns ? slice->start_ns : from_ns;
		const uint64_t end_ns = slice->end_ns < to_ns ? slice->end_ns : to_ns;

		if (end_ns > start_ns)
			sum = add_saturating(sum, end_ns - start_ns);
	}
	return sum;
}

int
profile_knows_time(struct profile *profile, uint64_t now_ns)
{
	const uint64_t from_ns = now_ns > 7 * DAY_NS ? now_ns - 7 * DAY_NS : 0;
	struct slice_list list;
	MDB_txn *txn;
	int result;

	result = store_begin(&profile->store, false, &txn);
	if (result)
		return result;
	result = slice_list_read(&profile->store, txn, &list);
	if (!result)
		result = covered_ns(&list, from_ns, now_ns) >= HOUR_NS;
	slice_list_fini(&list);
	return store_leave(&profile->store, txn, result);
}

static bool
is_over_for(uint64_t end_ns, uint64_t age_ns, uint64_t now_ns)
{
	return age_ns && add_saturating(end_ns, age_ns) <= now_ns;
}

/* Do both begin in the same hour (day) that was over long ago, one where the other ends? */
static bool
fit_into(const struct slice_place *a, const struct slice_place *b, uint64_t length_ns, uint64_t after_ns,
         uint64_t now_ns)
{
	const uint64_t hour = a->start_ns / length_ns;
	const uint64_t gap_ns = a->end_ns > b->start_ns ? a->end_ns - b->start_ns : b->start_ns - a->end_ns;

	return b->start_ns / length_ns == hour && b->end_ns >= a->end_ns && gap_ns <= length_ns / GAP_SHARE &&
	       is_over_for((hour + 1) * length_ns, after_ns, now_ns);
}

/* A slice of no length where the one before ends: what a merge leaves between two steps. */
static bool
is_half_merged(const struct slice_place *a, const struct slice_place *b)
{
	return b->start_ns == b->end_ns && a->end_ns == b->end_ns;
}

static bool
should_merge(const struct slice_place *a, const struct slice_place *b, const struct retention_options *options,
             uint64_t now_ns)
{
	if (a->epoch != b->epoch || a->is_incoming)
		return false;
	return is_half_merged(a, b) || fit_into(a, b, DAY_NS, options->day_after_ns, now_ns) ||
	       fit_into(a, b, HOUR_NS, options->hour_after_ns, now_ns);
}

static int
compare_places(const void *left, const void *right)
{
	const struct slice_place *a = left, *b = right;
	const int order = (a->epoch > b->epoch) - (a->epoch < b->epoch);

	return order ? order : (a->id > b->id) - (a->id < b->id);
}

/*
 * The first two neighbours in one epoch that are to be one: true with their ids. Slices of other epochs may lie between
 * them: those of an import, or of dcpix. The newest slice is still being written. The list is sorted by epoch.
 */
static bool
choose_pair(struct slice_list *list, const struct retention_options *options, uint64_t now_ns, uint32_t *first,
            uint32_t *second)
{
	const size_t count = list->count > 0 ? list->count - 1 : 0;

	if (count > 1)
		qsort(list->slices, count, sizeof(*list->slices), compare_places);
	for (size_t i = 1; i < count; i++) {
		const struct slice_place *a = &list->slices[i - 1], *b = &list->slices[i];

		if (!should_merge(a, b, options, now_ns))
			continue;
		*first = a->id;
		*second = b->id;
		return true;
	}
	return false;
}

/* What two slices say of themselves, after some blocks, or the last ones, went from the second to the first. */
static int
settle_pair(const struct store *store, MDB_txn *txn, struct slice *a, struct slice *b, const uint64_t taken[EVENTS_MAX],
            bool last)
{
	int err;

	for (size_t i = 0; i < a->event_count; i++)
		a->events[i].samples = add_saturating(a->events[i].samples, taken[i]);
	slice_subtract(b, taken);
	err = last ? slice_add(a, b) : 0;
	if (err)
		return err;
	a->end_ns = b->end_ns;
	b->start_ns = b->end_ns;
	err = slice_write(store, txn, a);
	if (!err)
		err = last ? slice_remove(store, txn, b->id) : slice_write(store, txn, b);
	return err;
}

static int
merge_pair(struct profile *profile, MDB_txn *txn, uint32_t first, uint32_t second, size_t max)
{
	uint64_t taken[EVENTS_MAX];
	struct slice a, b;
	int64_t count;
	int err;

	err = slice_read(&profile->store, txn, first, &a);
	if (err)
		return err;
	err = slice_read(&profile->store, txn, second, &b);
	if (err) {
		slice_fini(&a);
		return err;
	}
	count = slice_take_blocks(profile, txn, second, first, max, taken);
	if (count < 0)
		err = (int)count;
	else
		err = settle_pair(&profile->store, txn, &a, &b, taken, (size_t)count < max);
	slice_fini(&a);
	slice_fini(&b);
	return err;
}

static int
merge_step(struct profile *profile, MDB_txn *txn, const struct retention_options *options, uint64_t now_ns,
           bool *merged)
{
	struct epoch_marks marks;
	struct slice_list list;
	uint32_t first, second;
	int err;

	err = slice_list_read(&profile->store, txn, &list);
	if (!err)
		err = slice_list_mark(&profile->store, txn, &list, &marks);
	*merged = !err && choose_pair(&list, options, now_ns, &first, &second);
	slice_list_fini(&list);
	if (!*merged)
		return err;
	return merge_pair(profile, txn, first, second, options->blocks_max ? options->blocks_max : RETENTION_BLOCKS);
}

int
profile_merge_slices(struct profile *profile, const struct retention_options *options, uint64_t now_ns)
{
	MDB_txn *txn;
	bool merged;
	int err;

	if (!profile->store.write)
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = merge_step(profile, txn, options, now_ns, &merged);
	err = store_end(&profile->store, txn, err);
	return err ? err : merged;
}

int
profile_retain(struct profile *profile, const struct retention_options *options, uint64_t now_ns)
{
	int dropped, swept, merged;

	dropped = profile_drop_old(profile, options, now_ns);
	if (dropped)
		return dropped;
	swept = profile_sweep(profile, options);
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
	count = readers_give_up(&profile->store, at_once ? 1 : READERS_LAG_MAX);
	if (count > 0 && slow.pid > 0)
		log_write(profile->store.log, LOG_LEVEL_WARNING,
		          "process %d was cut off: the version of the database that it reads is %" PRIu64
		          " writes old, and there is no room to keep it",
		          slow.pid, slow.lag);
	return count < 0 ? count : count > 0;
}
