#include "profile/adopt.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "profile/adopt_parts.h"
#include "profile/epoch.h"
#include "profile/slice_list.h"

int
number_map_add(struct number_map *map, uint32_t from, uint32_t to)
{
	struct number_pair *pairs = array_grow(map->pairs, &map->capacity, map->count + 1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	map->pairs = pairs;
	pairs[map->count++] = (struct number_pair){from, to};
	return 0;
}

static int
compare_pair(const void *key, const void *element)
{
	const uint32_t from = *(const uint32_t *)key;
	const struct number_pair *pair = element;

	return (from > pair->from) - (from < pair->from);
}

uint32_t
number_map_find(struct number_map *map, uint32_t from)
{
	const struct number_pair *pair;

	if (map->last < map->count && map->pairs[map->last].from == from)
		return map->pairs[map->last].to;
	pair = map->count ? bsearch(&from, map->pairs, map->count, sizeof(*pair), compare_pair) : NULL;
	if (!pair)
		return 0;
	map->last = (size_t)(pair - map->pairs);
	return pair->to;
}

void
number_map_fini(struct number_map *map)
{
	free(map->pairs);
	memset(map, 0, sizeof(*map));
}

static bool
is_same_epoch(const struct epoch *a, const struct epoch *b)
{
	if (a->start_ns != b->start_ns || a->event_count != b->event_count || strcmp(a->host, b->host) != 0 ||
	    strcmp(a->kernel, b->kernel) != 0 || strcmp(a->label, b->label) != 0)
		return false;
	for (size_t i = 0; i < a->event_count; i++)
		if (strcmp(a->events[i].name, b->events[i].name) != 0 || a->events[i].period != b->events[i].period)
			return false;
	return true;
}

/* The epoch here that `epoch` is, in *here: 1, 0 when there is none, or an error. */
static int
find_epoch(struct adopting *adopting, const struct epoch *epoch, struct epoch *here)
{
	struct store_walk walk;
	uint32_t id;
	int result;

	result = store_walk_begin(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		result = store_key_number(&walk.key, &id);
		if (!result)
			result = epoch_decode(id, walk.value.mv_data, walk.value.mv_size, here);
		if (result)
			break;
		if (is_same_epoch(epoch, here)) {
			result = 1;
			break;
		}
	}
	store_walk_end(&walk);
	return result;
}

/* Counts, edges, times of labels and slices of an epoch here. */
static int
empty_epoch(struct adopting *adopting, uint32_t id)
{
	uint64_t taken[EVENTS_MAX] = {0};
	struct slice_list list;
	int64_t count = 0;
	int err;

	err = slice_list_read(adopting->to_store, adopting->to_txn, &list);
	for (size_t i = 0; !err && i < list.count; i++) {
		if (list.slices[i].epoch != id)
			continue;
		count = slice_take_blocks(adopting->to, adopting->to_txn, list.slices[i].id, 0, SIZE_MAX, taken);
		err = count < 0 ? (int)count : slice_remove(adopting->to_store, adopting->to_txn, list.slices[i].id);
	}
	slice_list_fini(&list);
	return err;
}

static int
put_epoch(struct adopting *adopting, uint32_t from, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	epoch_encode(epoch, &writer);
	err = store_put(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
	if (adopting->adoption->first == 0)
		adopting->adoption->first = epoch->id;
	adopting->adoption->last = epoch->id;
	return err ? err : number_map_add(&adopting->epochs, from, epoch->id);
}

static int
adopt_epoch(struct adopting *adopting, uint32_t from, struct epoch *epoch, struct epoch *here)
{
	struct adoption *adoption = adopting->adoption;
	int result;

	if (adopting->options->host && *adopting->options->host)
		snprintf(epoch->host, sizeof(epoch->host), "%s", adopting->options->host);
	result = find_epoch(adopting, epoch, here);
	if (result < 0)
		return result;
	epoch->is_imported = true;
	epoch->continues = false; /* others may come to lie between */
	if (result > 0 && here->end_ns >= epoch->end_ns) {
		adoption->known++;
		adoption->known_epoch = here->id;
		return 0;
	}
	if (result > 0) {
		adoption->updated++;
		epoch->id = here->id;
		epoch->is_kept = here->is_kept;
		result = empty_epoch(adopting, epoch->id);
	} else {
		adoption->epochs++;
		epoch->is_kept = true;
		result = store_next_id(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, &epoch->id);
	}
	return result ? result : put_epoch(adopting, from, epoch);
}

static int
adopt_epochs(struct adopting *adopting)
{
	struct epoch *epoch = calloc(2, sizeof(*epoch));
	struct store_walk walk;
	uint32_t id;
	int result;

	if (!epoch)
		return -ENOMEM;
	result = store_walk_begin(adopting->from_store, adopting->from_txn, TABLE_EPOCHS, &walk);
	if (result) {
		free(epoch);
		return result;
	}
	while ((result = store_walk_next(&walk)) > 0) {
		result = store_key_number(&walk.key, &id);
		if (!result)
			result = epoch_decode(id, walk.value.mv_data, walk.value.mv_size, &epoch[0]);
		if (!result)
			result = adopt_epoch(adopting, id, &epoch[0], &epoch[1]);
		if (result)
			break;
	}
	store_walk_end(&walk);
	free(epoch);
	return result;
}

static int
adopt_slice(struct adopting *adopting, uint32_t from, struct slice *slice)
{
	const uint32_t epoch = number_map_find(&adopting->epochs, slice->epoch);
	int err;

	if (epoch == 0)
		return 0;
	slice->epoch = epoch;
	err = store_next_id(adopting->to_store, adopting->to_txn, TABLE_SLICES, &slice->id);
	if (!err)
		err = slice_write(adopting->to_store, adopting->to_txn, slice);
	if (err)
		return err;
	adopting->adoption->slices++;
	return number_map_add(&adopting->slices, from, slice->id);
}

static int
adopt_slices(struct adopting *adopting)
{
	struct slice *slice = calloc(1, sizeof(*slice));
	struct store_walk walk;
	uint32_t id;
	int result;

	if (!slice)
		return -ENOMEM;
	result = store_walk_begin(adopting->from_store, adopting->from_txn, TABLE_SLICES, &walk);
	if (result) {
		free(slice);
		return result;
	}
	while ((result = store_walk_next(&walk)) > 0) {
		result = store_key_number(&walk.key, &id);
		if (!result)
			result = slice_decode(id, walk.value.mv_data, walk.value.mv_size, slice);
		if (result)
			break;
		result = adopt_slice(adopting, id, slice);
		slice_fini(slice);
		if (result)
			break;
	}
	store_walk_end(&walk);
	free(slice);
	return result;
}

static int
adopt_all(struct adopting *adopting)
{
	uint64_t edges = 0;
	int err;

	err = store_entries(adopting->from_store, adopting->from_txn, TABLE_COUNTS, &adopting->all);
	if (!err && adopting->from_store->has[TABLE_EDGES])
		err = store_entries(adopting->from_store, adopting->from_txn, TABLE_EDGES, &edges);
	adopting->all += edges;
	if (!err)
		err = adopt_epochs(adopting);
	if (!err)
		err = adopt_slices(adopting);
	if (!err)
		err = adopt_counts(adopting);
	if (!err && adopting->from_store->has[TABLE_EDGES])
		err = adopt_edges(adopting);
	if (!err && adopting->from_store->has[TABLE_LABEL_TIMES])
		err = adopt_label_times(adopting);
	if (!err)
		err = adopt_captured(adopting);
	return err;
}

int
profile_adopt(struct profile *to, struct profile *from, const struct adoption_options *options,
              struct adoption *adoption)
{
	struct adopting adopting = {
		.options = options,
		.adoption = adoption,
		.to = to,
		.from_store = &from->store,
		.to_store = &to->store,
	};
	int err, gone;

	memset(adoption, 0, sizeof(*adoption));
	if (!to->store.write)
		return -EINVAL;
	err = store_begin(&from->store, false, &adopting.from_txn);
	if (err)
		return err;
	err = store_begin(&to->store, true, &adopting.to_txn);
	if (!err) {
		err = adopt_all(&adopting);
		gone = readers_check(&from->store);
		err = store_end(&to->store, adopting.to_txn, gone ? gone : err);
	}
	store_leave(&from->store, adopting.from_txn, 0);
	number_map_fini(&adopting.epochs);
	number_map_fini(&adopting.slices);
	number_map_fini(&adopting.images);
	number_map_fini(&adopting.contexts);
	if (!err)
		to->sweep.done = false;
	return err;
}
