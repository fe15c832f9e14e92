#include "profile/gc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/captured_store.h"
#include "profile/ids.h"
#include "profile/incoming.h"
#include "profile/profile_internal.h"
#include "profile/retention.h"

#define LOOKS_PER_BLOCK 16 /* to look at an entry costs less than to move one */

void
gc_fini(struct gc *gc)
{
	free(gc->images.bits);
	free(gc->contexts.bits);
	memset(gc, 0, sizeof(*gc));
}

void
gc_mark(struct gc_marks *marks, uint32_t number)
{
	if (number < marks->end)
		marks->bits[number / 8] |= (uint8_t)(1u << number % 8);
}

static bool
is_marked(const struct gc_marks *marks, uint32_t number)
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
gc_end_session(struct gc *gc, const struct ids_map *images, const struct ids_map *contexts)
{
	if (gc->active) {
		mark_session(&gc->images, images);
		mark_session(&gc->contexts, contexts);
	}
	gc->done = false;
}

static int
marks_init(struct gc_marks *marks, const struct store *store, MDB_txn *txn, enum store_table table)
{
	uint32_t next;
	int err = store_next_id(store, txn, table, &next);

	if (err)
		return err;
	marks->bits = calloc(next / 8 + 1, 1);
	if (!marks->bits)
		return -ENOMEM;
	marks->end = next - 1;
	return 0;
}

static int
gc_begin(struct gc *gc, const struct store *store, MDB_txn *txn)
{
	int err;

	gc_fini(gc);
	err = marks_init(&gc->images, store, txn, TABLE_IMAGES);
	if (!err)
		err = marks_init(&gc->contexts, store, txn, TABLE_CONTEXTS);
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

/* Advance the key past all blocks of its image and context. */
static int
skip_context(struct counts_key *key)
{
	key->block = 0;
	if (++key->context != 0)
		return 0;
	return ++key->image != 0 ? 0 : -DCPI_EDAMAGED;
}

/* Mark from where the last step ended, at most `max` pairs of image and context. */
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
		err = skip_context(&gc->at);
	}
	mdb_cursor_close(cursor);
	if (err != -ENOENT)
		return err;
	gc->phase = GC_IMAGES;
	gc->next = 0;
	return 0;
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
	err = incoming_exist(&profile->store, txn);
	if (err > 0) {
		/* an import has numbers that no count refers to yet (incoming.h): begin again when it has ended */
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
	const uint8_t first[4] = {(uint8_t)(*next >> 24), (uint8_t)(*next >> 16), (uint8_t)(*next >> 8),
	                          (uint8_t)*next};
	struct store_walk walk;
	uint32_t number;
	int result;

	*count = 0;
	*next = 0;
	result = store_walk_begin(store, txn, table, &walk);
	if (result)
		return result;
	result = store_walk_seek(&walk, first, sizeof(first));
	for (size_t i = 0; !result && (result = store_walk_next(&walk)) > 0; i++) {
		result = store_key_number(&walk.key, &number);
		if (result || number >= marks->end)
			break;
		if (i == LOOKS_PER_BLOCK * max || *count == max) {
			*next = number;
			break;
		}
		if (!is_marked(marks, number))
			numbers[(*count)++] = number;
	}
	store_walk_end(&walk);
	return result;
}

static int
remove_thing(const struct store *store, MDB_txn *txn, const struct ids_kind *kind, uint32_t number)
{
	const int err = ids_remove(kind, store, txn, number);

	if (err)
		return err == -ENOENT ? 0 : err;
	return kind == &ids_images ? captured_remove(store, txn, number) : 0;
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
	for (size_t i = 0; !err && i < count; i++)
		err = remove_thing(&profile->store, txn, kind, numbers[i]);
	free(numbers);
	return err;
}

static void
gc_advance(struct gc *gc, uint32_t next)
{
	const bool done = gc->done;

	gc->next = next;
	if (next)
		return;
	if (gc->phase == GC_IMAGES) {
		gc->phase = GC_CONTEXTS;
		return;
	}
	gc_fini(gc);
	gc->done = done;
}

/* Has an epoch begun since marking began? Its counts refer to things that may not be marked. */
static int
is_outdated(const struct profile *profile, MDB_txn *txn)
{
	uint32_t epochs;
	int err = store_next_id(&profile->store, txn, TABLE_EPOCHS, &epochs);

	return err ? err : epochs != profile->gc.epochs;
}

static int
remove_step(struct profile *profile, size_t max)
{
	uint32_t next = profile->gc.next;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = incoming_exist(&profile->store, txn);
	if (err > 0) {
		mdb_txn_abort(txn);
		gc_fini(&profile->gc); /* as in mark_step() */
		return 0;
	}
	if (!err)
		err = is_outdated(profile, txn);
	if (err) {
		mdb_txn_abort(txn);
		if (err > 0)
			gc_fini(&profile->gc); /* begin again */
		return err < 0 ? err : 1;
	}
	err = store_end(&profile->store, txn, remove_some(profile, txn, max, &next));
	if (!err)
		gc_advance(&profile->gc, next);
	return err ? err : 1;
}

int
profile_collect_garbage(struct profile *profile, const struct retention_options *options)
{
	const size_t max = options->blocks_max ? options->blocks_max : RETENTION_BLOCKS;
	const struct gc *gc = &profile->gc;

	if (!profile->store.write)
		return -EINVAL;
	if (!gc->active && gc->done)
		return 0;
	return !gc->active || gc->phase == GC_MARK ? mark_step(profile, max) : remove_step(profile, max);
}
