#include "profile/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/captured.h"
#include "profile/codec.h"

static void
write_cut_string(struct byte_writer *writer, const char *text, size_t capacity)
{
	size_t size = strnlen(text, capacity - 1);

	write_varint(writer, size);
	write_bytes(writer, text, size);
}

enum image_flag {
	IMAGE_FLAG_ROOTS = 1,
	IMAGE_FLAG_ROOTS_NAMES = 2,
	IMAGE_FLAGS_END = 4,
};

/* FORMAT_2, since schema 7, has flags; where none is set, it is FORMAT_1. */
void
image_record_encode(const struct image *image, bool has_roots_names, struct byte_writer *writer)
{
	const unsigned flags =
		(image->is_roots ? IMAGE_FLAG_ROOTS : 0) | (has_roots_names ? IMAGE_FLAG_ROOTS_NAMES : 0);

	write_u8(writer, flags ? FORMAT_2 : FORMAT_1);
	if (flags)
		write_varint(writer, flags);
	write_varint(writer, image->kind);
	write_varint(writer, image->build_id_size);
	write_bytes(writer, image->build_id, image->build_id_size);
	write_varint(writer, image->device_major);
	write_varint(writer, image->device_minor);
	write_varint(writer, image->inode);
	write_varint(writer, image->inode_generation);
	write_varint(writer, image->deleted);
	write_cut_string(writer, image->path, RECORD_PATH_SIZE);
}

int
image_record_decode(const void *data, size_t size, struct image_record *record)
{
	struct image *image = &record->image;
	struct byte_reader reader;
	const uint8_t *build_id;
	unsigned flags = 0;

	memset(image, 0, sizeof(*image));
	reader_init(&reader, data, size);
	if (read_format_until(&reader, FORMAT_2) == FORMAT_2)
		flags = (unsigned)read_varint_below(&reader, IMAGE_FLAGS_END);
	image->is_roots = flags & IMAGE_FLAG_ROOTS;
	record->has_roots_names = flags & IMAGE_FLAG_ROOTS_NAMES;
	image->kind = (enum image_kind)read_varint_below(&reader, IMAGE_KINDS);
	image->build_id_size = (uint8_t)read_varint_below(&reader, BUILD_ID_SIZE_MAX + 1);
	build_id = read_bytes(&reader, image->build_id_size);
	if (build_id)
		memcpy(image->build_id, build_id, image->build_id_size);
	image->device_major = read_varint_u32(&reader);
	image->device_minor = read_varint_u32(&reader);
	image->inode = read_varint(&reader);
	image->inode_generation = read_varint(&reader);
	image->deleted = read_varint_below(&reader, 2);
	read_string(&reader, record->path, sizeof(record->path));
	image->path = record->path;
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* The identity of an image that has no build-id. */
static void
write_file(const struct image *image, struct byte_writer *writer)
{
	write_varint(writer, image->kind);
	write_varint(writer, 0); /* the size of its build-id */
	write_varint(writer, image->device_major);
	write_varint(writer, image->device_minor);
	write_varint(writer, image->inode);
	write_varint(writer, image->inode_generation);
	write_cut_string(writer, image->path, RECORD_PATH_SIZE);
}

void
image_record_identity(const struct image *image, struct byte_writer *writer)
{
	if (image->build_id_size == 0) {
		write_file(image, writer);
		return;
	}
	write_varint(writer, image->kind);
	write_varint(writer, image->build_id_size);
	write_bytes(writer, image->build_id, image->build_id_size);
}

/* The second identity of an image with a build-id: that of its file, as if it had none. Nothing is written when it has
 * no second identity. */
static void
image_record_file_identity(const struct image *image, struct byte_writer *writer)
{
	if (image->build_id_size > 0 && image->inode > 0)
		write_file(image, writer);
}

void
context_record_encode(const struct context *context, struct byte_writer *writer)
{
	write_u8(writer, FORMAT_1);
	write_cut_string(writer, context->comm, COMM_SIZE);
	write_cut_string(writer, context->cgroup, RECORD_PATH_SIZE);
	write_cut_string(writer, context->label, RECORD_LABEL_SIZE);
}

int
context_record_decode(const void *data, size_t size, struct context_record *record)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	read_format(&reader);
	read_string(&reader, record->comm, sizeof(record->comm));
	read_string(&reader, record->cgroup, sizeof(record->cgroup));
	read_string(&reader, record->label, sizeof(record->label));
	record->context.comm = record->comm;
	record->context.cgroup = record->cgroup;
	record->context.label = record->label;
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* FNV-1a: enough where equal hashes cost a comparison and nothing else. */
uint64_t
record_identity_hash(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

void
record_id_encode(uint64_t hash, uint32_t number, uint8_t key[RECORD_ID_SIZE])
{
	put_be(key, hash, 8);
	put_be(key + 8, number, 4);
}

int
record_id_decode(const void *data, size_t size, uint64_t *hash, uint32_t *number)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	*hash = read_u64_be(&reader);
	*number = read_u32_be(&reader);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* ---- each once in the database ---- */

static int
identify_image(const MDB_val *value, struct byte_writer *identity)
{
	struct image_record record;
	int err = image_record_decode(value->mv_data, value->mv_size, &record);

	if (!err)
		image_record_identity(&record.image, identity);
	return err;
}

static int
identify_context(const MDB_val *value, struct byte_writer *identity)
{
	struct context_record record;
	int err = context_record_decode(value->mv_data, value->mv_size, &record);

	write_bytes(identity, value->mv_data, value->mv_size);
	return err;
}

static int
identify_file(const MDB_val *value, struct byte_writer *identity)
{
	struct image_record record;
	int err = image_record_decode(value->mv_data, value->mv_size, &record);

	if (!err)
		image_record_file_identity(&record.image, identity);
	return err;
}

const struct ids_kind ids_images = {TABLE_IMAGES, TABLE_IMAGE_IDS, identify_image, identify_file};
const struct ids_kind ids_contexts = {TABLE_CONTEXTS, TABLE_CONTEXT_IDS, identify_context, NULL};

/* 1 when `identify` gives `identity` for `value`, 0 when not, or an error. */
static int
is_identified(ids_identify *identify, const MDB_val *value, const struct byte_writer *identity)
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
has_identity(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
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

/* The number of the thing that has this identity: 0, -ENOENT, or an error. */
static int
find_identity(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, const struct byte_writer *identity,
              uint32_t *number)
{
	uint8_t first[RECORD_ID_SIZE];
	struct store_walk walk;
	uint64_t hash, at;
	int result;

	if (identity->failed)
		return -ENOMEM;
	hash = record_identity_hash(identity->data, identity->size);
	record_id_encode(hash, 0, first);
	store_walk_begin(store, txn, kind->ids, &walk);
	store_walk_seek(&walk, first, sizeof(first));
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
	return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

/* The hash of an identity: 0, -ENOENT when there is none, or `identify` is NULL; or an error. */
static int
hash_of(ids_identify *identify, const MDB_val *value, uint64_t *hash)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	int err = identify ? identify(value, &identity) : 0;

	if (!err)
		err = identity.failed ? -ENOMEM : identity.size == 0 ? -ENOENT : 0;
	if (!err)
		*hash = record_identity_hash(identity.data, identity.size);
	writer_fini(&identity);
	return err;
}

/* The key of thing `number` by one identity: 0, -ENOENT when `identify` gives none for `value`; or an error. */
static int
make_key(ids_identify *identify, const MDB_val *value, uint32_t number, uint8_t key[RECORD_ID_SIZE])
{
	uint64_t hash = 0;
	int err = hash_of(identify, value, &hash);

	record_id_encode(hash, number, key);
	return err;
}

static int
put_key(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, ids_identify *identify,
        const MDB_val *value, uint32_t number)
{
	uint8_t data[RECORD_ID_SIZE], format = FORMAT_1;
	MDB_val key = {sizeof(data), data}, nothing = {sizeof(format), &format};
	int err = make_key(identify, value, number, data);

	if (err)
		return err == -ENOENT ? 0 : err;
	return store_error(mdb_put(txn, store->tables[kind->ids], &key, &nothing, 0));
}

static int
remove_key(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, ids_identify *identify,
           const MDB_val *value, uint32_t number)
{
	uint8_t data[RECORD_ID_SIZE];
	MDB_val key = {sizeof(data), data};
	int err = make_key(identify, value, number, data);

	if (!err)
		err = store_error(mdb_del(txn, store->tables[kind->ids], &key, NULL));
	return err == -ENOENT ? 0 : err;
}

/* Remove the keys of thing `number`. 0; -ENOENT when there is no such thing; an error. */
static int
remove_keys(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number)
{
	MDB_val value;
	int err;

	err = store_get(store, txn, kind->things, number, &value);
	if (err)
		return err;
	err = remove_key(kind, store, txn, kind->identify, &value, number);
	if (err)
		return err;
	err = store_get(store, txn, kind->things, number, &value); /* the deletion may have moved the value */
	return err ? err : remove_key(kind, store, txn, kind->identify_also, &value, number);
}

/* Store thing `number` with its keys in the table of ids; those of the value that it had before are removed. */
static int
put_value(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number,
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
		err = remove_keys(kind, store, txn, number);
	if (err && err != -ENOENT)
		return err;
	err = put_key(kind, store, txn, kind->identify, &encoded, number);
	if (err)
		return err;
	err = put_key(kind, store, txn, kind->identify_also, &encoded, number);
	return err ? err : store_put(store, txn, kind->things, number, value);
}

int
ids_find_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer identity = BYTE_WRITER_INIT;
	int err;

	image_record_identity(image, &identity);
	err = find_identity(&ids_images, store, txn, &identity, number);
	writer_fini(&identity);
	return err;
}

int
ids_read_image(const struct store *store, MDB_txn *txn, uint32_t number, struct image_record *record)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_IMAGES, number, &value);

	return err ? err : image_record_decode(value.mv_data, value.mv_size, record);
}

static int
put_image(const struct store *store, MDB_txn *txn, uint32_t number, const struct image *image, bool has_roots_names)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	image_record_encode(image, has_roots_names, &value);
	err = put_value(&ids_images, store, txn, number, &value);
	writer_fini(&value);
	return err;
}

/*
 * `image` has a build-id and a file. An image that was stored for this file without a build-id gets this one, and
 * becomes *number when that is 0. An image with another build-id has been overwritten by `image`: its file is removed
 * from it.
 */
static int
take_file(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer file = BYTE_WRITER_INIT;
	struct image_record record, found;
	uint32_t holder;
	int err;

	image_record_file_identity(image, &file);
	err = file.size == 0 && !file.failed ? -ENOENT : find_identity(&ids_images, store, txn, &file, &holder);
	writer_fini(&file);
	if (err || holder == *number)
		return err == -ENOENT ? 0 : err;
	err = ids_read_image(store, txn, holder, &record);
	if (err)
		return err;
	if (record.image.build_id_size == 0) {
		record.image.build_id_size = image->build_id_size;
		memcpy(record.image.build_id, image->build_id, sizeof(image->build_id));
		if (*number == 0) {
			*number = holder;
		} else {
			/*
			 * When the names of *number come from root's file, those of `holder`, captured before its
			 * build-id was known, are removed: they would name both images.
			 */
			err = ids_read_image(store, txn, *number, &found);
			if (!err && found.has_roots_names)
				err = captured_remove(store, txn, holder);
		}
	} else {
		record.image.device_major = record.image.device_minor = 0;
		record.image.inode = record.image.inode_generation = 0;
	}
	return err ? err : put_image(store, txn, holder, &record.image, record.has_roots_names);
}

/*
 * Store the path that was seen last: the program may have moved, or was first seen while it was being replaced. An
 * image of root's file keeps its path, because any user can make a file with its build-id. An image that was found by
 * its file alone has no build-id to tell, and must not remove the stored one.
 */
static int
update_image(const struct store *store, MDB_txn *txn, uint32_t number, const struct image *image)
{
	struct image_record record;
	int err;

	if (image->deleted)
		return 0;
	err = ids_read_image(store, txn, number, &record);
	if (err || record.image.build_id_size != image->build_id_size || (record.image.is_roots && !image->is_roots))
		return err;
	return put_image(store, txn, number, image, record.has_roots_names);
}

int
ids_intern_image(const struct store *store, MDB_txn *txn, const struct image *image, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	uint32_t found;
	int err;

	err = ids_find_image(store, txn, image, &found);
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
	image_record_encode(image, false, &value);
	err = store_next_id(store, txn, TABLE_IMAGES, number);
	if (!err)
		err = put_value(&ids_images, store, txn, *number, &value);
	writer_fini(&value);
	return err;
}

int
ids_set_roots_names(const struct store *store, MDB_txn *txn, uint32_t number)
{
	struct image_record record;
	int err = ids_read_image(store, txn, number, &record);

	return err || record.has_roots_names ? err : put_image(store, txn, number, &record.image, true);
}

int
ids_intern_context(const struct store *store, MDB_txn *txn, const struct context *context, uint32_t *number)
{
	struct byte_writer value = BYTE_WRITER_INIT;
	int err;

	context_record_encode(context, &value);
	err = find_identity(&ids_contexts, store, txn, &value, number); /* the value is the identity */
	if (err == -ENOENT) {
		err = store_next_id(store, txn, TABLE_CONTEXTS, number);
		if (!err)
			err = put_value(&ids_contexts, store, txn, *number, &value);
	}
	writer_fini(&value);
	return err;
}

/* Is there a key of thing `number` by this identity? 0, also when it needs none; -ENOENT; an error. */
static int
check_key(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, ids_identify *identify,
          const MDB_val *value, uint32_t number)
{
	uint8_t data[RECORD_ID_SIZE];
	MDB_val key = {sizeof(data), data}, nothing;
	int err = make_key(identify, value, number, data);

	if (err)
		return err == -ENOENT ? 0 : err;
	return store_error(mdb_get(txn, store->tables[kind->ids], &key, &nothing));
}

int
ids_check(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number, const MDB_val *value)
{
	int err = check_key(kind, store, txn, kind->identify, value, number);

	return err ? err : check_key(kind, store, txn, kind->identify_also, value, number);
}

int
ids_check_hash(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number, uint64_t hash)
{
	uint64_t actual = 0;
	MDB_val value;
	int err;

	err = store_get(store, txn, kind->things, number, &value);
	if (err)
		return err;
	err = hash_of(kind->identify, &value, &actual);
	if (err || actual == hash)
		return err;
	err = hash_of(kind->identify_also, &value, &actual);
	return err ? err : actual == hash ? 0 : -ENOENT;
}

int
ids_remove(const struct ids_kind *kind, const struct store *store, MDB_txn *txn, uint32_t number)
{
	const int err = remove_keys(kind, store, txn, number);

	return err ? err : store_remove(store, txn, kind->things, number);
}

int
ids_key_decode(const MDB_val *key, const MDB_val *value, uint64_t *hash, uint32_t *number)
{
	struct byte_reader reader;

	reader_init(&reader, value->mv_data, value->mv_size);
	read_format(&reader);
	if (!reader_done(&reader))
		return -DCPI_EDAMAGED;
	return record_id_decode(key->mv_data, key->mv_size, hash, number);
}

/* ---- from the numbers of a session ---- */

void
ids_map_fini(struct ids_map *map)
{
	free(map->numbers);
	memset(map, 0, sizeof(*map));
}

void
ids_map_commit(struct ids_map *map)
{
	map->count += map->pending;
	map->pending = 0;
}

void
ids_map_abort(struct ids_map *map)
{
	map->pending = 0;
}

uint32_t
ids_map_get(const struct ids_map *map, uint32_t session)
{
	return session < map->count + map->pending ? map->numbers[session] : 0;
}

void
ids_map_clear(struct ids_map *map)
{
	map->count = 0;
	map->pending = 0;
}

int
ids_map_reserve(struct ids_map *map, uint32_t more)
{
	const uint64_t needed = (uint64_t)map->count + more;
	uint32_t *grown;

	if (needed > UINT32_MAX)
		return -EOVERFLOW;
	if (needed <= map->capacity)
		return 0;
	grown = array_grow(map->numbers, &map->capacity, needed, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	map->numbers = grown;
	return 0;
}

int
ids_map_add_images(struct ids_map *map, const struct store *store, MDB_txn *txn, const struct image *const *images,
                   uint32_t count)
{
	int err = ids_map_reserve(map, count);

	for (uint32_t i = 0; !err && i < count; i++)
		err = ids_intern_image(store, txn, images[i], &map->numbers[map->count + i]);
	map->pending = err ? 0 : count;
	return err;
}

int
ids_map_add_contexts(struct ids_map *map, const struct store *store, MDB_txn *txn,
                     const struct context *const *contexts, uint32_t count)
{
	int err = ids_map_reserve(map, count);

	for (uint32_t i = 0; !err && i < count; i++)
		err = ids_intern_context(store, txn, contexts[i], &map->numbers[map->count + i]);
	map->pending = err ? 0 : count;
	return err;
}
