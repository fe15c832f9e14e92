#include "profile/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/captured_table.h"
#include "profile/handle.h"
#include "profile/identity.h"
#include "profile/incoming.h"
#include "profile/retention.h"

#define LOOKS_PER_BLOCK 16 /* to look at an entry costs less than to move one */

void
sweep_fini(struct sweep *sweep)
{
	free(sweep->images.bits);
	free(sweep->contexts.bits);
	memset(sweep, 0, sizeof(*sweep));
}

void
sweep_mark(struct sweep_marks *marks, uint32_t number)
{
	if (number < marks->end)
		marks->bits[number / 8] |= (uint8_t)(1u << number % 8);
}

static bool
is_marked(const struct sweep_marks *marks, uint32_t number)
{
	return number >= marks->end || marks->bits[number / 8] & 1u << number % 8;
}

/* What a session has a number for may come with its next flush. */
static void
mark_session(struct sweep_marks *marks, const struct numbers *numbers)
{
	for (uint32_t i = 0; i < numbers->count; i++)
		sweep_mark(marks, numbers->numbers[i]);
}

void
sweep_end_session(struct sweep *sweep, const struct numbers *images, const struct numbers *contexts)
{
	if (sweep->active) {
		mark_session(&sweep->images, images);
		mark_session(&sweep->contexts, contexts);
	}
	sweep->done = false;
}

static int
marks_init(struct sweep_marks *marks, const struct store *store, MDB_txn *txn, enum table table)
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
begin(struct sweep *sweep, const struct store *store, MDB_txn *txn)
{
	int err;

	sweep_fini(sweep);
	err = marks_init(&sweep->images, store, txn, TABLE_IMAGES);
	if (!err)
		err = marks_init(&sweep->contexts, store, txn, TABLE_CONTEXTS);
	if (!err)
		err = store_next_id(store, txn, TABLE_EPOCHS, &sweep->epochs);
	if (err) {
		sweep_fini(sweep);
		return err;
	}
	sweep->active = true;
	sweep->done = true; /* until something is dropped */
	return 0;
}

/* Past all blocks of one image and context. */
static int
skip(struct counts_key *key)
{
	key->block = 0;
	if (++key->context != 0)
		return 0;
	return ++key->image != 0 ? 0 : -DCPI_EDAMAGED;
}

/* Mark from where the last step ended; at most `max` pairs of image and context. */
static int
mark_some(struct sweep *sweep, const struct store *store, MDB_txn *txn, size_t max)
{
	uint8_t data[COUNTS_KEY_SIZE];
	MDB_cursor *cursor;
	MDB_val key, value;
	int err;

	err = store_error(mdb_cursor_open(txn, store->tables[TABLE_COUNTS], &cursor));
	if (err)
		return err;
	for (size_t i = 0; !err && i < max; i++) {
		counts_key_encode(&sweep->at, data);
		key = (MDB_val){sizeof(data), data};
		err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
		if (!err)
			err = counts_key_decode(key.mv_data, key.mv_size, &sweep->at);
		if (err)
			break;
		sweep_mark(&sweep->images, sweep->at.image);
		sweep_mark(&sweep->contexts, sweep->at.context);
		err = skip(&sweep->at);
	}
	mdb_cursor_close(cursor);
	if (err != -ENOENT)
		return err;
	sweep->phase = SWEEP_IMAGES;
	sweep->next = 0;
	return 0;
}

/* An import may have numbers of what no count refers to yet (incoming.h): go through all again when it has ended. */
static int
put_off(struct sweep *sweep)
{
	sweep_fini(sweep);
	return 0;
}

/* 1, 0 when it has to be put off, or an error; as remove_step(). */
static int
mark_step(struct profile *profile, size_t max)
{
	struct sweep *sweep = &profile->sweep;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = incoming_exist(&profile->store, txn);
	if (err > 0)
		return store_leave(&profile->store, txn, put_off(sweep));
	if (!err && !sweep->active)
		err = begin(sweep, &profile->store, txn);
	if (!err)
		err = mark_some(sweep, &profile->store, txn, LOOKS_PER_BLOCK * max);
	err = store_leave(&profile->store, txn, err);
	return err ? err : 1;
}

/* Up to `max` numbers of the table that are not marked, from *next on; *next is 0 at the end. */
static int
find_unmarked(const struct store *store, MDB_txn *txn, enum table table, const struct sweep_marks *marks, size_t max,
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
remove_thing(const struct store *store, MDB_txn *txn, const struct identity_kind *kind, uint32_t number)
{
	int err = identity_remove(kind, store, txn, number);

	if (!err && kind == &identity_images)
		err = captured_table_remove(store, txn, number);
	if (!err && kind == &identity_images)
		err = store_remove(store, txn, TABLE_SYMBOLS, number);
	return err == -ENOENT ? 0 : err;
}

static int
remove_some(struct profile *profile, MDB_txn *txn, size_t max, uint32_t *next)
{
	const bool images = profile->sweep.phase == SWEEP_IMAGES;
	const struct identity_kind *kind = images ? &identity_images : &identity_contexts;
	struct sweep_marks *marks = images ? &profile->sweep.images : &profile->sweep.contexts;
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
go_on(struct sweep *sweep, uint32_t next)
{
	const bool done = sweep->done;

	sweep->next = next;
	if (next)
		return;
	if (sweep->phase == SWEEP_IMAGES) {
		sweep->phase = SWEEP_CONTEXTS;
		return;
	}
	sweep_fini(sweep);
	sweep->done = done;
}

/* Did an epoch begin since marking did? What it counted refers to things that may not be marked. */
static int
is_outdated(const struct profile *profile, MDB_txn *txn)
{
	uint32_t epochs;
	int err = store_next_id(&profile->store, txn, TABLE_EPOCHS, &epochs);

	return err ? err : epochs != profile->sweep.epochs;
}

static int
remove_step(struct profile *profile, size_t max)
{
	uint32_t next = profile->sweep.next;
	MDB_txn *txn;
	int err;

	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = incoming_exist(&profile->store, txn);
	if (err > 0) {
		mdb_txn_abort(txn);
		return put_off(&profile->sweep);
	}
	if (!err)
		err = is_outdated(profile, txn);
	if (err) {
		mdb_txn_abort(txn);
		if (err > 0)
			sweep_fini(&profile->sweep); /* from the beginning */
		return err < 0 ? err : 1;
	}
	err = store_end(&profile->store, txn, remove_some(profile, txn, max, &next));
	if (!err)
		go_on(&profile->sweep, next);
	return err ? err : 1;
}

int
profile_sweep(struct profile *profile, const struct retention_options *options)
{
	const size_t max = options->blocks_max ? options->blocks_max : RETENTION_BLOCKS;
	const struct sweep *sweep = &profile->sweep;

	if (!profile->store.write)
		return -EINVAL;
	if (!sweep->active && sweep->done)
		return 0;
	return !sweep->active || sweep->phase == SWEEP_MARK ? mark_step(profile, max) : remove_step(profile, max);
}
