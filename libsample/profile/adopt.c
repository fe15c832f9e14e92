#include "profile/adopt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "profile/adopt_parts.h"
#include "profile/epoch.h"
#include "profile/incoming.h"
#include "profile/slice_list.h"

#define PIECE_BYTES (4u << 20)
#define PIECE_NS    50000000u /* and its sync, and what was captured of one image */
#define PAUSE_NS    5000000
#define NODE_BYTES  10 /* that LMDB takes for each entry of a page */
#define FEW         64 /* blocks to remove where there is hardly room */

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
		if (!here->is_incoming && is_same_epoch(epoch, here)) {
			result = 1;
			break;
		}
	}
	store_walk_end(&walk);
	return result;
}

static int
put_epoch(struct adopting *adopting, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	epoch_encode(epoch, &writer);
	adopt_note(adopting, writer.size);
	err = store_put(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
	return err;
}

static int
adopt_epoch(struct adopting *adopting, uint32_t from, struct epoch *epoch, struct epoch *here)
{
	struct adoption *adoption = adopting->adoption;
	int result, err;

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
	adoption->updated += result > 0;
	adoption->epochs += result == 0;
	epoch->is_kept = true;
	epoch->is_incoming = true;
	err = store_next_id(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, &epoch->id);
	if (!err)
		err = put_epoch(adopting, epoch);
	if (!err && result > 0)
		err = number_map_add(&adopting->replaced, epoch->id, here->id);
	if (err)
		return err;
	if (adoption->first == 0)
		adoption->first = epoch->id;
	adoption->last = epoch->id;
	return number_map_add(&adopting->epochs, from, epoch->id);
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
		if (!result && epoch[0].is_incoming)
			continue;
		if (!result)
			result = adopt_step(adopting);
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
adopt_slice(struct adopting *adopting, uint32_t from, struct slice *slice, size_t size)
{
	const uint32_t epoch = number_map_find(&adopting->epochs, slice->epoch);
	int err;

	if (epoch == 0)
		return 0;
	slice->epoch = epoch;
	err = adopt_step(adopting);
	if (err)
		return err;
	err = store_next_id(adopting->to_store, adopting->to_txn, TABLE_SLICES, &slice->id);
	if (!err)
		err = slice_write(adopting->to_store, adopting->to_txn, slice);
	if (err)
		return err;
	adopt_note(adopting, size);
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
		result = adopt_slice(adopting, id, slice, walk.value.mv_size);
		slice_fini(slice);
		if (result)
			break;
	}
	store_walk_end(&walk);
	free(slice);
	return result;
}

/* What blocks of slices that are adopted take, at least. */
static int
add_sizes(struct adopting *adopting, enum table table, uint64_t *bytes)
{
	struct byte_reader reader;
	struct store_walk walk;
	int result;

	result = store_walk_begin(adopting->from_store, adopting->from_txn, table, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		result = adopt_step(adopting);
		if (result)
			break;
		reader_init(&reader, walk.key.mv_data, walk.key.mv_size);
		if (number_map_find(&adopting->slices, read_u32_be(&reader)) != 0) /* both tables' keys begin so */
			*bytes += walk.key.mv_size + walk.value.mv_size + NODE_BYTES;
	}
	store_walk_end(&walk);
	return result;
}

/*
 * What cannot fit is not begun: it would fill the database up to where a flush drops the oldest counts for want of
 * room.
 */
static int
check_room(struct adopting *adopting)
{
	struct profile_stats stats;
	uint64_t bytes = 0;
	int err;

	err = profile_stats(adopting->to, &stats);
	if (!err)
		err = add_sizes(adopting, TABLE_COUNTS, &bytes);
	if (!err && adopting->from_store->has[TABLE_EDGES])
		err = add_sizes(adopting, TABLE_EDGES, &bytes);
	if (err)
		return err;
	return stats.used_bytes > stats.size_limit || bytes > stats.size_limit - stats.used_bytes ? -DCPI_EFULL : 0;
}

/* Keep the new one or not as the old one was, which is removed from here on. */
static int
replace(struct adopting *adopting, uint32_t id, struct epoch *old, bool *is_kept)
{
	MDB_val value;
	int err = store_get(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, id, &value);

	if (err == -ENOENT)
		return 0;
	if (!err)
		err = epoch_decode(id, value.mv_data, value.mv_size, old);
	if (err)
		return err;
	*is_kept = old->is_kept;
	old->is_incoming = true;
	return put_epoch(adopting, old);
}

static int
show(struct adopting *adopting, uint32_t id, struct epoch epoch[2])
{
	const uint32_t old = number_map_find(&adopting->replaced, id);
	MDB_val value;
	int err;

	err = store_get(adopting->to_store, adopting->to_txn, TABLE_EPOCHS, id, &value);
	if (!err)
		err = epoch_decode(id, value.mv_data, value.mv_size, &epoch[0]);
	if (!err && old)
		err = replace(adopting, old, &epoch[1], &epoch[0].is_kept);
	if (err)
		return err;
	epoch[0].is_incoming = false;
	return put_epoch(adopting, &epoch[0]);
}

/* In one piece, whatever there is: from here on readers see all of it, and nothing of what it replaces. */
static int
show_all(struct adopting *adopting)
{
	struct epoch *epoch = calloc(2, sizeof(*epoch));
	int err = epoch ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < adopting->epochs.count; i++)
		err = show(adopting, adopting->epochs.pairs[i].to, epoch);
	free(epoch);
	return err;
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
	if (err || adopting->epochs.count == 0)
		return err;
	err = adopt_slices(adopting);
	if (!err)
		err = check_room(adopting);
	if (!err)
		err = adopt_counts(adopting);
	if (!err && adopting->from_store->has[TABLE_EDGES])
		err = adopt_edges(adopting);
	if (!err && adopting->from_store->has[TABLE_LABEL_TIMES])
		err = adopt_label_times(adopting);
	if (!err)
		err = adopt_captured(adopting);
	return err ? err : show_all(adopting);
}

/* ---- pieces ---- */

static int
proceed(void *context)
{
	const struct adopting *adopting = context;
	const struct adoption_options *options = adopting->options;

	return options->proceed ? options->proceed(options->context, adopting->done, adopting->all) : 0;
}

static int
begin_piece(struct adopting *adopting)
{
	int err = store_begin(&adopting->to->store, true, &adopting->to_txn);

	if (err)
		return err;
	adopting->records = adopting->bytes = 0;
	adopting->begun_ns = monotonic_ns();
	return 0;
}

static int
end_piece(struct adopting *adopting, int err)
{
	if (!err)
		err = readers_check(
			adopting->from_store); /* what was read may be nothing that was ever written there */
	if (!err && !incoming_is_locked(adopting->to, adopting->lock))
		err = -ESTALE; /* somebody may have taken ours for what was left */
	err = store_end(adopting->to_store, adopting->to_txn, err);
	adopting->to_txn = NULL;
	adopting->adoption->pieces += err == 0;
	return err;
}

/* Who waits to write is woken when a piece ends, and has to come before us. */
static void
let_others_write(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

int
adopt_step(struct adopting *adopting)
{
	const size_t max = adopting->options->piece ? adopting->options->piece : ADOPTION_PIECE;
	int err;

	if (adopting->records < max && adopting->bytes < PIECE_BYTES && monotonic_ns() - adopting->begun_ns < PIECE_NS)
		return 0;
	err = end_piece(adopting, proceed(adopting));
	if (err)
		return err;
	let_others_write();
	return begin_piece(adopting);
}

void
adopt_note(struct adopting *adopting, size_t size)
{
	adopting->records++;
	adopting->bytes += size;
}

/* What an import left that was killed, or we: in pieces. */
static int
remove_left(struct adopting *adopting)
{
	size_t max = ADOPTION_PIECE;
	int result = 1;

	while (result > 0 || (result == -DCPI_EFULL && max > FEW)) {
		max = result < 0 ? FEW : max; /* LMDB writes before it removes */
		result = incoming_remove_some(adopting->to, true, max);
		if (result > 0)
			let_others_write();
	}
	return result;
}

static int
adopt_in_pieces(struct adopting *adopting, struct store *from)
{
	int err, gone;

	err = store_begin(from, false, &adopting->from_txn);
	if (err)
		return err;
	err = begin_piece(adopting);
	if (!err)
		err = adopt_all(adopting);
	if (adopting->to_txn)
		err = end_piece(adopting, err);
	gone = readers_check(from);
	store_leave(from, adopting->from_txn, 0);
	return err && err != -ESTALE && gone ? gone : err;
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
		.all = 1,
	};
	int err;

	memset(adoption, 0, sizeof(*adoption));
	if (!to->store.write)
		return -EINVAL;
	adopting.lock = incoming_lock(to, proceed, &adopting);
	if (adopting.lock < 0)
		return adopting.lock;
	err = remove_left(&adopting);
	if (!err)
		err = adopt_in_pieces(&adopting, &from->store);
	/*
	 * Remove the slices of an import that failed, or the epochs that this one has replaced. When there is no room
	 * even for that, dcpid's retention or the next import removes them. After -ESTALE the lock is not ours: what is
	 * there may be of an import that runs.
	 */
	if (err ? err != -ESTALE : adopting.replaced.count > 0)
		(void)remove_left(&adopting);
	close(adopting.lock);
	number_map_fini(&adopting.epochs);
	number_map_fini(&adopting.slices);
	number_map_fini(&adopting.images);
	number_map_fini(&adopting.contexts);
	number_map_fini(&adopting.replaced);
	to->sweep.done = false;
	return err;
}
