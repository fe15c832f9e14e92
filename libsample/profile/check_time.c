#include "profile/check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "profile/codec.h"
#include "profile/label_times.h"

/* Both tables are walked in key order, so the arrays ascend by id. */

static const struct check_epoch *
check_find_epoch(const struct check *check, uint32_t id)
{
	size_t low = 0, high = check->epoch_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (check->epochs[middle].id == id)
			return &check->epochs[middle];
		if (check->epochs[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct check_slice *
check_find_slice(const struct check *check, uint32_t id)
{
	size_t low = 0, high = check->slice_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (check->slices[middle].id == id)
			return &check->slices[middle];
		if (check->slices[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int
visit_epoch(struct check *check, const MDB_val *key, const MDB_val *value)
{
	struct check_epoch *epochs;
	struct epoch epoch;
	uint32_t id;

	if (store_key_number(key, &id)) {
		check_complain(check, "epochs: a key of %zu bytes", key->mv_size);
		return 0;
	}
	if (epoch_decode(id, value->mv_data, value->mv_size, &epoch)) {
		check_complain(check, "epochs: epoch %u cannot be read", id);
		return 0;
	}
	epochs = array_grow(check->epochs, &check->epoch_capacity, check->epoch_count + 1, sizeof(*epochs));
	if (!epochs)
		return -ENOMEM;
	check->epochs = epochs;
	epochs[check->epoch_count++] = (struct check_epoch){id, epoch.event_count, epoch.is_incoming};
	return 0;
}

int
check_epochs(struct check *check)
{
	return check_table(check, TABLE_EPOCHS, visit_epoch);
}

static uint64_t
sum_unknown(const struct slice_event *event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < UNKNOWN_CAUSE_COUNT; i++)
		sum = add_saturating(sum, event->unknown[i]);
	return sum;
}

static int
remember_slice(struct check *check, const struct slice *slice, bool is_incoming)
{
	struct check_slice *slices, *remembered;

	slices = array_grow(check->slices, &check->slice_capacity, check->slice_count + 1, sizeof(*slices));
	if (!slices)
		return -ENOMEM;
	check->slices = slices;
	remembered = &slices[check->slice_count++];
	*remembered =
		(struct check_slice){.id = slice->id, .event_count = slice->event_count, .is_incoming = is_incoming};
	for (size_t i = 0; i < slice->event_count; i++) {
		remembered->samples[i] = slice->events[i].samples;
		remembered->unknown[i] = sum_unknown(&slice->events[i]);
	}
	return 0;
}

static int
visit_slice(struct check *check, const MDB_val *key, const MDB_val *value)
{
	const struct check_epoch *epoch;
	struct slice slice;
	uint32_t id;
	int err;

	if (store_key_number(key, &id)) {
		check_complain(check, "slices: a key of %zu bytes", key->mv_size);
		return 0;
	}
	err = slice_decode(id, value->mv_data, value->mv_size, &slice);
	if (err == -ENOMEM)
		return err;
	if (err) {
		check_complain(check, "slices: slice %u cannot be read", id);
		return 0;
	}
	epoch = check_find_epoch(check, slice.epoch);
	if (!epoch)
		check_complain(check, "slices: slice %u is of epoch %u, which is not in epochs", id, slice.epoch);
	else if (epoch->event_count != slice.event_count)
		check_complain(check, "slices: slice %u has %zu events, its epoch %u has %zu", id, slice.event_count,
		               slice.epoch, epoch->event_count);
	err = remember_slice(check, &slice, epoch && epoch->is_incoming);
	slice_fini(&slice);
	return err;
}

int
check_slices(struct check *check)
{
	return check_table(check, TABLE_SLICES, visit_slice);
}

static int
visit_label_time(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	struct profile_label_time time;
	struct label_times_key key;

	if (label_times_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "label_times: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	if (!check_find_slice(check, key.slice))
		check_complain(check, "label_times: slice %u is not in slices", key.slice);
	if (label_time_decode(value->mv_data, value->mv_size, &time))
		check_complain(check, "label_times: a time of slice %u cannot be read", key.slice);
	return 0;
}

int
check_label_times(struct check *check)
{
	return check->store->has[TABLE_LABEL_TIMES] ? check_table(check, TABLE_LABEL_TIMES, visit_label_time) : 0;
}
