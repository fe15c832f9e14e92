#include "profile/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/records.h"

static int
identify_image(const MDB_val *value, struct byte_writer *identity)
{
	struct image_record record;
	int err = image_decode(value->mv_data, value->mv_size, &record);

	if (!err)
		image_identity_encode(&record.image, identity);
	return err;
}

static int
identify_context(const MDB_val *value, struct byte_writer *identity)
{
	struct context_record record;
	int err = context_decode(value->mv_data, value->mv_size, &record);

	write_bytes(identity, value->mv_data, value->mv_size);
	return err;
}

const struct identity_kind identity_images = {TABLE_IMAGES, TABLE_IMAGE_IDS, identify_image};
const struct identity_kind identity_contexts = {TABLE_CONTEXTS, TABLE_CONTEXT_IDS, identify_context};

/* 1 when thing `number` has `identity`, 0 when not, or an error. */
static int
has_identity(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
             const struct byte_writer *identity)
{
	struct byte_writer other = BYTE_WRITER_INIT;
	MDB_val value;
	int result;

	result = store_get(store, txn, kind->things, number, &value);
	if (result)
		return result == -ENOENT ? -DCPI_EDAMAGED : result;
	result = kind->identify(&value, &other);
	if (!result && other.failed)
		result = -ENOMEM;
	if (!result)
		result = other.size == identity->size && memcmp(other.data, identity->data, other.size) == 0;
	writer_fini(&other);
	return result;
}

static int
find(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, const struct byte_writer *identity,
     uint64_t hash, uint32_t *number)
{
	uint8_t first[RECORD_ID_SIZE];
	struct store_walk walk;
	uint64_t at;
	int result;

	record_id_encode(hash, 0, first);
	result = store_walk_begin(store, txn, kind->ids, &walk);
	if (result)
		return result;
	result = store_walk_seek(&walk, first, sizeof(first));
	if (!result)
		result = store_walk_next(&walk);
	while (result > 0) {
		result = record_id_decode(walk.key.mv_data, walk.key.mv_size, &at, number);
		if (result || at != hash)
			break;
		result = has_identity(kind, store, txn, *number, identity);
		if (result)
			break;
		result = store_walk_next(&walk);
	}
	store_walk_end(&walk);
	if (result < 0)
		return result;
	return result > 0 ? 0 : -ENOENT;
}

static int
add(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint64_t hash,
    const struct byte_writer *value, uint32_t *number)
{
	uint8_t key_data[RECORD_ID_SIZE], format = FORMAT_1;
	MDB_val key = {sizeof(key_data), key_data}, nothing = {sizeof(format), &format};
	int err;

	err = store_next_id(store, txn, kind->things, number);
	if (!err)
		err = store_put(store, txn, kind->things, *number, value);
	if (err)
		return err;
	record_id_encode(hash, *number, key_data);
	return store_error(mdb_put(txn, store->tables[kind->ids], &key, &nothing, 0));
}

static int
intern(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, const struct byte_writer *value,
       uint32_t *number)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	MDB_val encoded = {value->size, value->data};
	uint64_t hash;
	int err;

	err = value->failed ? -ENOMEM : kind->identify(&encoded, &identity);
	if (!err && identity.failed)
		err = -ENOMEM;
	if (!err) {
		hash = identity_hash(identity.data, identity.size);
		err = find(kind, store, txn, &identity, hash, number);
		if (err == -ENOENT)
			err = add(kind, store, txn, hash, value, number);
	}
	writer_fini(&identity);
	return err;
}

int
identity_find_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	int err;

	image_identity_encode(image, &identity);
	err = identity.failed ? -ENOMEM
	                      : find(&identity_images, store, txn, &identity,
	                             identity_hash(identity.data, identity.size), number);
	writer_fini(&identity);
	return err;
}

/*
 * The path that was seen last is where the file most likely still is: a program that moved, or was first seen while it
 * was being replaced.
 */
static int
update_path(const struct store *store, MDB_txn *txn, uint32_t number, const struct byte_writer *value)
{
	MDB_val stored;
	int err = store_get(store, txn, TABLE_IMAGES, number, &stored);

	if (err || (stored.mv_size == value->size && memcmp(stored.mv_data, value->data, value->size) == 0))
		return err;
	return store_put(store, txn, TABLE_IMAGES, number, value);
}

int
identity_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	image_encode(image, &value);
	err = intern(&identity_images, store, txn, &value, number);
	if (!err && !image->deleted)
		err = update_path(store, txn, *number, &value);
	writer_fini(&value);
	return err;
}

int
identity_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	context_encode(context, &value);
	err = intern(&identity_contexts, store, txn, &value, number);
	writer_fini(&value);
	return err;
}

static int
hash_of(const struct identity_kind *kind, const MDB_val *value, uint64_t *hash)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	int err = kind->identify(value, &identity);

	if (!err && identity.failed)
		err = -ENOMEM;
	if (!err)
		*hash = identity_hash(identity.data, identity.size);
	writer_fini(&identity);
	return err;
}

int
identity_check(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
               const MDB_val *value)
{
	uint8_t data[RECORD_ID_SIZE];
	MDB_val key = {sizeof(data), data}, nothing;
	uint64_t hash;
	int err;

	err = hash_of(kind, value, &hash);
	if (err)
		return err;
	record_id_encode(hash, number, data);
	return store_error(mdb_get(txn, store->tables[kind->ids], &key, &nothing));
}

int
identity_check_hash(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
                    uint64_t hash)
{
	uint64_t actual = 0;
	MDB_val value;
	int err;

	err = store_get(store, txn, kind->things, number, &value);
	if (!err)
		err = hash_of(kind, &value, &actual);
	if (!err && actual != hash)
		err = -ENOENT;
	return err;
}

int
identity_remove(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number)
{
	uint8_t data[RECORD_ID_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	uint64_t hash;
	int err;

	err = store_get(store, txn, kind->things, number, &value);
	if (!err)
		err = hash_of(kind, &value, &hash);
	if (err)
		return err;
	record_id_encode(hash, number, data);
	err = store_error(mdb_del(txn, store->tables[kind->ids], &key, NULL));
	if (err && err != -ENOENT)
		return err;
	return store_remove(store, txn, kind->things, number);
}

int
identity_key_decode(const MDB_val *key, const MDB_val *value, uint64_t *hash, uint32_t *number)
{
	struct byte_reader reader;

	reader_init(&reader, value->mv_data, value->mv_size);
	read_format(&reader);
	if (!reader_done(&reader))
		return -DCPI_EDAMAGED;
	return record_id_decode(key->mv_data, key->mv_size, hash, number);
}
