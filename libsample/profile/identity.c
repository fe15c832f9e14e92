#include "profile/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/records.h"

/* One of the two kinds of things that are kept by identity. */
struct identity_kind {
	enum table things; /* number -> value */
	enum table ids;    /* hash of identity, number -> nothing */
	/* Append the identity of an encoded value to `identity`: 0 or -DCPI_EDAMAGED. */
	int (*identify)(const MDB_val *value, struct byte_writer *identity);
};

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
	write_bytes(identity, value->mv_data, value->mv_size);
	return 0;
}

static const struct identity_kind image_kind = {TABLE_IMAGES, TABLE_IMAGE_IDS, identify_image};
static const struct identity_kind context_kind = {TABLE_CONTEXTS, TABLE_CONTEXT_IDS, identify_context};

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
identity_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	image_encode(image, &value);
	err = intern(&image_kind, store, txn, &value, number);
	writer_fini(&value);
	return err;
}

int
identity_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	context_encode(context, &value);
	err = intern(&context_kind, store, txn, &value, number);
	writer_fini(&value);
	return err;
}
