#include "profile/captured_table.h"
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

static int
identify_file(const MDB_val *value, struct byte_writer *identity)
{
	struct image_record record;
	int err = image_decode(value->mv_data, value->mv_size, &record);

	if (!err)
		image_file_encode(&record.image, identity);
	return err;
}

const struct identity_kind identity_images = {TABLE_IMAGES, TABLE_IMAGE_IDS, identify_image, identify_file};
const struct identity_kind identity_contexts = {TABLE_CONTEXTS, TABLE_CONTEXT_IDS, identify_context, NULL};

/* 1 when `value` has `identity` by this way, 0 when not, or an error. */
static int
is_identified(int (*identify)(const MDB_val *value, struct byte_writer *identity), const MDB_val *value,
              const struct byte_writer *identity)
{
	struct byte_writer other = BYTE_WRITER_INIT;
	int result = identify(value, &other);

	if (!result && other.failed)
		result = -ENOMEM;
	if (!result)
		result = other.size == identity->size && memcmp(other.data, identity->data, other.size) == 0;
	writer_fini(&other);
	return result;
}

/* 1 when thing `number` has `identity`, 0 when not, or an error. */
static int
has_identity(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
             const struct byte_writer *identity)
{
	MDB_val value;
	int result;

	result = store_get(store, txn, kind->things, number, &value);
	if (result)
		return result == -ENOENT ? -DCPI_EDAMAGED : result;
	result = is_identified(kind->identify, &value, identity);
	return result == 0 && kind->identify_also ? is_identified(kind->identify_also, &value, identity) : result;
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

/* The hash of an identity: 0, -ENOENT when there is none, or an error. */
static int
hash_of(int (*identify)(const MDB_val *value, struct byte_writer *identity), const MDB_val *value, uint64_t *hash)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	int err = identify(value, &identity);

	if (!err && identity.failed)
		err = -ENOMEM;
	if (!err && identity.size == 0)
		err = -ENOENT;
	if (!err)
		*hash = identity_hash(identity.data, identity.size);
	writer_fini(&identity);
	return err;
}

/* A way to thing `number`: nothing when `identify` has none for `value`. */
static int
put_way(const struct identity_kind *kind, const struct store *store, MDB_txn *txn,
        int (*identify)(const MDB_val *value, struct byte_writer *identity), const MDB_val *value, uint32_t number)
{
	uint8_t key_data[RECORD_ID_SIZE], format = FORMAT_1;
	MDB_val key = {sizeof(key_data), key_data}, nothing = {sizeof(format), &format};
	uint64_t hash;
	int err;

	err = identify ? hash_of(identify, value, &hash) : -ENOENT;
	if (err)
		return err == -ENOENT ? 0 : err;
	record_id_encode(hash, number, key_data);
	return store_error(mdb_put(txn, store->tables[kind->ids], &key, &nothing, 0));
}

static int
remove_way(const struct identity_kind *kind, const struct store *store, MDB_txn *txn,
           int (*identify)(const MDB_val *value, struct byte_writer *identity), const MDB_val *value, uint32_t number)
{
	uint8_t key_data[RECORD_ID_SIZE];
	MDB_val key = {sizeof(key_data), key_data};
	uint64_t hash;
	int err;

	err = identify ? hash_of(identify, value, &hash) : -ENOENT;
	if (!err) {
		record_id_encode(hash, number, key_data);
		err = store_error(mdb_del(txn, store->tables[kind->ids], &key, NULL));
	}
	return err == -ENOENT ? 0 : err;
}

/* Store thing `number` with all ways to it; those of the value that it had before are removed. */
static int
put(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
    const struct byte_writer *value)
{
	const MDB_val encoded = {value->size, value->data};
	MDB_val before;
	int err;

	if (value->failed)
		return -ENOMEM;
	err = store_get(store, txn, kind->things, number, &before);
	if (!err && before.mv_size == value->size && memcmp(before.mv_data, value->data, value->size) == 0)
		return 0;
	if (!err)
		err = remove_way(kind, store, txn, kind->identify, &before, number);
	if (!err)
		err = store_get(store, txn, kind->things, number, &before); /* what was written may have moved it */
	if (!err)
		err = remove_way(kind, store, txn, kind->identify_also, &before, number);
	if (err && err != -ENOENT)
		return err;
	err = put_way(kind, store, txn, kind->identify, &encoded, number);
	if (!err)
		err = put_way(kind, store, txn, kind->identify_also, &encoded, number);
	return err ? err : store_put(store, txn, kind->things, number, value);
}

/* The thing with `identity`, in either way: 0, -ENOENT, or an error. */
static int
find_identity(const struct identity_kind *kind, const struct store *store, MDB_txn *txn,
              const struct byte_writer *identity, uint32_t *number)
{
	if (identity->failed)
		return -ENOMEM;
	return find(kind, store, txn, identity, identity_hash(identity->data, identity->size), number);
}

static int
add(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, const struct byte_writer *value,
    uint32_t *number)
{
	int err = store_next_id(store, txn, kind->things, number);

	return err ? err : put(kind, store, txn, *number, value);
}

int
identity_find_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	int err;

	image_identity_encode(image, &identity);
	err = find_identity(&identity_images, store, txn, &identity, number);
	writer_fini(&identity);
	return err;
}

static int
put_image(const struct store *store, MDB_txn *txn, uint32_t number, const struct image *image, bool has_roots_names)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	image_encode(image, has_roots_names, &value);
	err = put(&identity_images, store, txn, number, &value);
	writer_fini(&value);
	return err;
}

/*
 * `holder` turns out to be of the build-id of `number`. When root's file named that one, what was captured of another's
 * file before its build-id was known goes: it would name both.
 */
static int
drop_others_names(const struct store *store, MDB_txn *txn, uint32_t number, uint32_t holder)
{
	struct image_record *record = malloc(sizeof(*record));
	MDB_val value;
	int err;

	if (!record)
		return -ENOMEM;
	err = store_get(store, txn, TABLE_IMAGES, number, &value);
	if (!err)
		err = image_decode(value.mv_data, value.mv_size, record);
	if (!err && record->has_roots_names) {
		err = captured_table_remove(store, txn, holder);
		if (!err || err == -ENOENT)
			err = store_remove(store, txn, TABLE_SYMBOLS, holder);
		err = err == -ENOENT ? 0 : err;
	}
	free(record);
	return err;
}

/*
 * An image that has a build-id and a file: whoever stood for that file until now. One without a build-id gets this
 * one, and is *number when there is none yet (0); one with another was overwritten by it, and has the file no more.
 */
static int
take_file(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer file = BYTE_WRITER_INIT;
	struct image_record *record;
	uint32_t holder;
	MDB_val value;
	int err;

	image_file_encode(image, &file);
	err = file.size == 0 && !file.failed ? -ENOENT : find_identity(&identity_images, store, txn, &file, &holder);
	writer_fini(&file);
	if (err || holder == *number)
		return err == -ENOENT ? 0 : err;
	record = malloc(sizeof(*record));
	if (!record)
		return -ENOMEM;
	err = store_get(store, txn, TABLE_IMAGES, holder, &value);
	if (!err)
		err = image_decode(value.mv_data, value.mv_size, record);
	if (!err && record->image.build_id_size == 0) {
		record->image.build_id_size = image->build_id_size;
		memcpy(record->image.build_id, image->build_id, sizeof(image->build_id));
		if (*number)
			err = drop_others_names(store, txn, *number, holder);
		else
			*number = holder;
	} else if (!err) {
		record->image.device_major = record->image.device_minor = 0;
		record->image.inode = record->image.inode_generation = 0;
	}
	if (!err)
		err = put_image(store, txn, holder, &record->image, record->has_roots_names);
	free(record);
	return err;
}

/*
 * The path that was seen last is where the file most likely still is: a program that moved, or was first seen while it
 * was being replaced. But root's file keeps its path from whoever else made one with its build-id. What was found by
 * its file alone tells nothing new, and may not take a build-id away.
 */
static int
update_image(const struct store *store, MDB_txn *txn, uint32_t number, const struct image *image)
{
	struct image_record *record;
	MDB_val stored;
	int err;

	if (image->deleted)
		return 0;
	record = malloc(sizeof(*record));
	if (!record)
		return -ENOMEM;
	err = store_get(store, txn, TABLE_IMAGES, number, &stored);
	if (!err)
		err = image_decode(stored.mv_data, stored.mv_size, record);
	if (!err && record->image.build_id_size == image->build_id_size && (image->is_roots || !record->image.is_roots))
		err = put_image(store, txn, number, image, record->has_roots_names);
	free(record);
	return err;
}

int
identity_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	uint32_t found;
	int err;

	err = identity_find_image(store, txn, image, &found);
	if (err == -ENOENT)
		found = 0;
	if (!err || err == -ENOENT)
		err = take_file(store, txn, image, &found);
	if (err)
		return err;
	if (found) {
		*number = found;
		return update_image(store, txn, found, image);
	}
	image_encode(image, false, &value);
	err = add(&identity_images, store, txn, &value, number);
	writer_fini(&value);
	return err;
}

int
identity_set_roots_names(const struct store *store, MDB_txn *txn, uint32_t number)
{
	struct image_record *record = malloc(sizeof(*record));
	MDB_val stored;
	int err;

	if (!record)
		return -ENOMEM;
	err = store_get(store, txn, TABLE_IMAGES, number, &stored);
	if (!err)
		err = image_decode(stored.mv_data, stored.mv_size, record);
	if (!err && !record->has_roots_names)
		err = put_image(store, txn, number, &record->image, true);
	free(record);
	return err;
}

int
identity_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	context_encode(context, &value);
	err = find_identity(&identity_contexts, store, txn, &value, number); /* it is its own identity */
	if (err == -ENOENT)
		err = add(&identity_contexts, store, txn, &value, number);
	writer_fini(&value);
	return err;
}

/* Is there this way to thing `number`? 0, also when it needs none; -ENOENT; an error. */
static int
check_way(const struct identity_kind *kind, const struct store *store, MDB_txn *txn,
          int (*identify)(const MDB_val *value, struct byte_writer *identity), const MDB_val *value, uint32_t number)
{
	uint8_t data[RECORD_ID_SIZE];
	MDB_val key = {sizeof(data), data}, nothing;
	uint64_t hash;
	int err;

	err = identify ? hash_of(identify, value, &hash) : -ENOENT;
	if (err)
		return err == -ENOENT ? 0 : err;
	record_id_encode(hash, number, data);
	return store_error(mdb_get(txn, store->tables[kind->ids], &key, &nothing));
}

int
identity_check(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
               const MDB_val *value)
{
	int err = check_way(kind, store, txn, kind->identify, value, number);

	return err ? err : check_way(kind, store, txn, kind->identify_also, value, number);
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
		err = hash_of(kind->identify, &value, &actual);
	if (!err && actual != hash)
		err = kind->identify_also ? hash_of(kind->identify_also, &value, &actual) : -ENOENT;
	if (!err && actual != hash)
		err = -ENOENT;
	return err;
}

int
identity_remove(const struct identity_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number)
{
	MDB_val value;
	int err;

	err = store_get(store, txn, kind->things, number, &value);
	if (!err)
		err = remove_way(kind, store, txn, kind->identify, &value, number);
	if (!err)
		err = store_get(store, txn, kind->things, number, &value); /* as in put() */
	if (!err)
		err = remove_way(kind, store, txn, kind->identify_also, &value, number);
	return err ? err : store_remove(store, txn, kind->things, number);
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
