#include "profile/captured.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/captured_table.h"
#include "profile/handle.h"
#include "profile/identity.h"
#include "profile/records.h"

static int
count_bytes(const struct store *store, MDB_txn *txn, uint64_t *bytes)
{
	uint64_t text = 0;
	int err = store_table_bytes(store, txn, TABLE_SYMBOLS, bytes);

	if (!err && store->has[TABLE_TEXT])
		err = store_table_bytes(store, txn, TABLE_TEXT, &text);
	*bytes += text;
	return err;
}

static int
put_symbols(const struct store *store, MDB_txn *txn, uint32_t image, const struct captured_value *symbols)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	write_bytes(&writer, symbols->data, symbols->size);
	err = store_put(store, txn, TABLE_SYMBOLS, image, &writer);
	writer_fini(&writer);
	return err;
}

/*
 * Several files may have one build-id, and anybody can make one that names functions wrongly. So what was captured from
 * root's file removes what is there of another user's, and is never replaced by it: -EEXIST. Without an owner
 * (CAPTURED_ANYBODYS) nothing is removed or refused.
 */
static int
settle_owner(const struct store *store, MDB_txn *txn, uint32_t image, enum captured_owner owner)
{
	struct image_record *record;
	bool is_roots = false;
	MDB_val value;
	int err;

	if (owner == CAPTURED_ANYBODYS)
		return 0;
	record = malloc(sizeof(*record));
	if (!record)
		return -ENOMEM;
	err = store_get(store, txn, TABLE_IMAGES, image, &value);
	if (!err)
		err = image_decode(value.mv_data, value.mv_size, record);
	if (!err)
		is_roots = record->has_roots_names;
	free(record);
	if (err || is_roots)
		return err || owner == CAPTURED_ROOTS ? err : -EEXIST;
	if (owner == CAPTURED_OTHERS)
		return 0;
	err = captured_table_remove(store, txn, image);
	if (!err)
		err = store_remove(store, txn, TABLE_SYMBOLS, image);
	return err && err != -ENOENT ? err : identity_set_roots_names(store, txn, image);
}

static bool
is_too_large(const struct captured *captured)
{
	bool large = captured->symbols.size > CAPTURED_VALUE_MAX || captured->layout.size > CAPTURED_VALUE_MAX;

	for (size_t i = 0; i < captured->parcel_count; i++)
		large |= captured->parcels[i].size > CAPTURED_VALUE_MAX ||
		         captured->parcels[i].block == CAPTURED_BLOCK_NONE;
	return large;
}

static int
put_all(const struct store *store, MDB_txn *txn, uint32_t image, const struct captured *captured, uint64_t limit)
{
	uint64_t bytes = 0;
	MDB_val there;
	int err = store_get(store, txn, TABLE_IMAGES, image, &there);

	if (!err)
		err = settle_owner(store, txn, image, captured->owner);
	if (!err && captured->symbols.data)
		err = put_symbols(store, txn, image, &captured->symbols);
	if (!err && captured->layout.data)
		err = captured_table_put(store, txn, image, CAPTURED_BLOCK_NONE, captured->layout.data,
		                         captured->layout.size, 0);
	for (size_t i = 0; i < captured->parcel_count && !err; i++)
		err = captured_table_put(store, txn, image, captured->parcels[i].block, captured->parcels[i].data,
		                         captured->parcels[i].size, 0);
	if (!err)
		err = count_bytes(store, txn, &bytes);
	return !err && limit && bytes > limit ? -EDQUOT : err;
}

int
profile_put_captured(struct profile *profile, uint32_t image, const struct captured *captured, uint64_t limit)
{
	MDB_txn *txn;
	int err;

	if (!profile->store.write || is_too_large(captured))
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	return store_end(&profile->store, txn, put_all(&profile->store, txn, image, captured, limit));
}

int
profile_find_image(struct profile *profile, const struct image *image, uint32_t *number)
{
	MDB_txn *txn;
	int err = store_begin(&profile->store, false, &txn);

	if (err)
		return err;
	return store_leave(&profile->store, txn, identity_find_image(&profile->store, txn, image, number));
}

int
profile_identify_image(struct profile *profile, uint32_t session, const struct image *image)
{
	uint32_t number;
	MDB_txn *txn;
	int err;

	if (!profile->store.write || session >= profile->images.count)
		return -EINVAL;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		return err;
	err = store_end(&profile->store, txn, identity_intern_image(&profile->store, txn, image, &number));
	if (!err)
		profile->images.numbers[session] = number;
	return err;
}

int
profile_get_layout(struct profile *profile, uint32_t image, struct captured_layout **layout)
{
	uint8_t name[CAPTURED_KEY_SIZE];
	MDB_val key = {sizeof(name), name}, value;
	MDB_txn *txn;
	int err, gone;

	if (!profile->store.has[TABLE_TEXT])
		return -ENOENT;
	captured_key_encode(image, CAPTURED_BLOCK_NONE, name);
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_error(mdb_get(txn, profile->store.tables[TABLE_TEXT], &key, &value));
	if (!err)
		err = captured_layout_decode(value.mv_data, value.mv_size, layout);
	gone = store_leave(&profile->store, txn, 0);
	if (gone && !err)
		free(*layout);
	return gone ? gone : err;
}

int
profile_captured_bytes(struct profile *profile, uint64_t *bytes)
{
	MDB_txn *txn;
	int err = store_begin(&profile->store, false, &txn);

	if (err)
		return err;
	return store_leave(&profile->store, txn, count_bytes(&profile->store, txn, bytes));
}
