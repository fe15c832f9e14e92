/* What was captured of images, in the store: see captured.h. */
#include "profile/captured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/ids.h"
#include "profile/profile_internal.h"
#include "unwind/table.h"

#define PARCEL_BYTES ((size_t)CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE)

static void
captured_key_encode(uint32_t image, uint32_t block, uint8_t data[CAPTURED_KEY_SIZE])
{
	put_be(data, image, 4);
	put_be(data + 4, block, 4);
}

int
captured_key_decode(const void *data, size_t size, uint32_t *image, uint32_t *block)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	*image = read_u32_be(&reader);
	*block = read_u32_be(&reader);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

int
captured_value_check(uint32_t block, const void *data, size_t size)
{
	uint32_t blocks[CAPTURED_PARCEL_MAX];
	struct captured_layout *layout;
	struct unwind_table *table;
	uint8_t *bytes;
	int result;

	if (block == CAPTURED_BLOCK_UNWIND) {
		result = captured_unwind_decode(data, size, &table);
		if (!result)
			unwind_table_free(table);
		return result;
	}
	if (block == CAPTURED_BLOCK_NONE) {
		result = captured_layout_decode(data, size, &layout);
		if (!result)
			free(layout);
		return result;
	}
	bytes = malloc(PARCEL_BYTES);
	if (!bytes)
		return -ENOMEM;
	result = captured_parcel_decode(data, size, blocks, bytes);
	free(bytes);
	return result < 0 ? result : blocks[0] == block ? 0 : -DCPI_EDAMAGED;
}

void
captured_walk_begin(const struct store *store, MDB_txn *txn, uint32_t image, struct store_walk *walk)
{
	uint8_t key[CAPTURED_KEY_SIZE];

	captured_key_encode(image, 0, key);
	store_walk_begin(store, txn, TABLE_TEXT, walk);
	store_walk_seek(walk, key, sizeof(key));
}

int
captured_walk_next(struct store_walk *walk, uint32_t image, uint32_t *block)
{
	uint32_t owner;
	int result = store_walk_next(walk), err;

	if (result <= 0)
		return result;
	err = captured_key_decode(walk->key.mv_data, walk->key.mv_size, &owner, block);
	return err ? err : owner == image;
}

int
captured_table_put(const struct store *store, MDB_txn *txn, uint32_t image, uint32_t block, const void *data,
                   size_t size, unsigned flags)
{
	uint8_t name[CAPTURED_KEY_SIZE];
	MDB_val key = {sizeof(name), name}, value = {size, (void *)data};

	captured_key_encode(image, block, name);
	return store_error(mdb_put(txn, store->tables[TABLE_TEXT], &key, &value, flags));
}

int
captured_remove(const struct store *store, MDB_txn *txn, uint32_t image)
{
	const int64_t removed = store_take(store, txn, TABLE_TEXT, image, SIZE_MAX, NULL, NULL);
	const int err = removed < 0 ? (int)removed : store_remove(store, txn, TABLE_SYMBOLS, image);

	return err == -ENOENT ? 0 : err;
}

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

/*
 * Several files may have one build-id, and any user can make one with wrong names of functions. So what is captured
 * from root's file removes what was captured from another user's, and is never replaced by it: -EEXIST. Without an
 * owner (CAPTURED_ANYBODYS) nothing is removed or refused. With a table alone, names and text are not replaced, and so
 * remain another user's.
 */
static int
check_owner(const struct store *store, MDB_txn *txn, uint32_t image, enum captured_owner owner, bool is_table)
{
	struct image_record record;
	int err;

	if (owner == CAPTURED_ANYBODYS)
		return 0;
	err = ids_read_image(store, txn, image, &record);
	if (err)
		return err;
	if (record.has_roots_names)
		return owner == CAPTURED_ROOTS ? 0 : -EEXIST;
	if (owner == CAPTURED_OTHERS || is_table)
		return 0;
	err = captured_remove(store, txn, image);
	return err ? err : ids_set_roots_names(store, txn, image);
}

static bool
is_too_large(const struct captured *captured)
{
	bool large = captured->symbols.size > CAPTURED_VALUE_MAX || captured->layout.size > CAPTURED_VALUE_MAX ||
	             captured->unwind.size > CAPTURED_VALUE_MAX;

	for (size_t i = 0; i < captured->parcel_count; i++)
		large |= captured->parcels[i].size > CAPTURED_VALUE_MAX ||
		         captured->parcels[i].block >= CAPTURED_BLOCK_UNWIND;
	return large;
}

static int
put_all(const struct store *store, MDB_txn *txn, uint32_t image, const struct captured *captured, uint64_t limit)
{
	const bool is_table = captured->unwind.data && !captured->symbols.data && !captured->layout.data &&
	                      captured->parcel_count == 0;
	uint64_t bytes = 0;
	MDB_val there;
	int err = store_get(store, txn, TABLE_IMAGES, image, &there);

	if (err)
		return err;
	err = check_owner(store, txn, image, captured->owner, is_table);
	if (!err && captured->symbols.data)
		err = store_put(store, txn, TABLE_SYMBOLS, image,
		                &(struct byte_writer){.data = (uint8_t *)captured->symbols.data,
		                                      .size = captured->symbols.size});
	if (!err && captured->layout.data)
		err = captured_table_put(store, txn, image, CAPTURED_BLOCK_NONE, captured->layout.data,
		                         captured->layout.size, 0);
	if (!err && captured->unwind.data)
		err = captured_table_put(store, txn, image, CAPTURED_BLOCK_UNWIND, captured->unwind.data,
		                         captured->unwind.size, 0);
	for (size_t i = 0; i < captured->parcel_count && !err; i++)
		err = captured_table_put(store, txn, image, captured->parcels[i].block, captured->parcels[i].data,
		                         captured->parcels[i].size, 0);
	if (err)
		return err;
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
	return store_leave(&profile->store, txn, ids_find_image(&profile->store, txn, image, number));
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
	err = store_end(&profile->store, txn, ids_intern_image(&profile->store, txn, image, &number));
	if (!err)
		profile->images.numbers[session] = number;
	return err;
}

/* Begin a transaction, and find the image's value under `block` in it. 0, -ENOENT or an error: it has ended then. */
static int
begin_value(struct profile *profile, uint32_t image, uint32_t block, MDB_txn **txn, MDB_val *value)
{
	uint8_t name[CAPTURED_KEY_SIZE];
	MDB_val key = {sizeof(name), name};
	int err, gone;

	if (!profile->store.has[TABLE_TEXT])
		return -ENOENT;
	captured_key_encode(image, block, name);
	err = store_begin(&profile->store, false, txn);
	if (err)
		return err;
	err = store_error(mdb_get(*txn, profile->store.tables[TABLE_TEXT], &key, value));
	if (!err)
		return 0;
	gone = store_leave(&profile->store, *txn, 0);
	return gone ? gone : err;
}

int
profile_get_layout(struct profile *profile, uint32_t image, struct captured_layout **layout)
{
	MDB_val value;
	MDB_txn *txn;
	int err = begin_value(profile, image, CAPTURED_BLOCK_NONE, &txn, &value), gone;

	if (err)
		return err;
	err = captured_layout_decode(value.mv_data, value.mv_size, layout);
	gone = store_leave(&profile->store, txn, 0);
	if (gone && !err)
		free(*layout);
	return gone ? gone : err;
}

int
profile_get_unwind(struct profile *profile, uint32_t image, struct unwind_table **table)
{
	MDB_val value;
	MDB_txn *txn;
	int err = begin_value(profile, image, CAPTURED_BLOCK_UNWIND, &txn, &value), gone;

	if (err)
		return err;
	err = captured_unwind_decode(value.mv_data, value.mv_size, table);
	gone = store_leave(&profile->store, txn, 0);
	if (gone && !err)
		unwind_table_free(*table);
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

int
profile_put_symbols(struct profile *profile, uint32_t session_image, const struct profile_symbol *symbols, size_t count)
{
	uint32_t image = ids_map_get(&profile->images, session_image);
	struct byte_writer encoded = BYTE_WRITER_INIT;
	MDB_val value;
	MDB_txn *txn;
	int err;

	if (!profile->store.write || image == 0)
		return -EINVAL;
	/* Before the transaction begins: compressing takes longer than writing. */
	err = captured_symbols_encode(symbols, count, &encoded);
	if (err)
		goto out;
	err = store_begin(&profile->store, true, &txn);
	if (err)
		goto out;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	if (!err)
		err = -EEXIST;
	else if (err == -ENOENT)
		err = store_put(&profile->store, txn, TABLE_SYMBOLS, image, &encoded);
	err = store_end(&profile->store, txn, err);
out:
	writer_fini(&encoded);
	return err;
}

bool
profile_has_symbols(struct profile *profile, uint32_t session_image)
{
	uint32_t image = ids_map_get(&profile->images, session_image);
	MDB_val value;
	MDB_txn *txn;
	int err;

	if (image == 0 || store_begin(&profile->store, false, &txn))
		return false;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	return !store_leave(&profile->store, txn, err);
}

int
profile_get_symbols(struct profile *profile, uint32_t image, struct profile_symbol **symbols, size_t *count)
{
	MDB_val value;
	MDB_txn *txn;
	int err, gone;

	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	if (!err)
		err = captured_symbols_decode(value.mv_data, value.mv_size, symbols, count);
	gone = store_leave(&profile->store, txn, 0);
	if (gone && !err)
		profile_free_symbols(*symbols);
	return gone ? gone : err;
}

void
profile_free_symbols(struct profile_symbol *symbols)
{
	free(symbols);
}

/* Call `take` for each value of an image's text, its unwind table and its layout last. 0, or the first error. */
static int
each_value(const struct store *store, MDB_txn *txn, uint32_t image,
           int (*take)(void *context, uint32_t block, const MDB_val *value), void *context)
{
	struct store_walk walk;
	uint32_t block;
	int result;

	captured_walk_begin(store, txn, image, &walk);
	while ((result = captured_walk_next(&walk, image, &block)) > 0) {
		result = take(context, block, &walk.value);
		if (result < 0)
			break;
	}
	store_walk_end(&walk);
	return result;
}

struct text_reader {
	struct captured_text *text;
	size_t block_capacity, byte_capacity;
};

static int
append_parcel(void *context, uint32_t block, const MDB_val *value)
{
	struct text_reader *reader = context;
	struct captured_text *text = reader->text;
	const size_t used = text->count * CAPTURED_BLOCK_SIZE;
	uint32_t numbers[CAPTURED_PARCEL_MAX];
	struct captured_block *blocks;
	uint8_t *bytes;
	int count;

	if (block >= CAPTURED_BLOCK_UNWIND)
		return 0;
	bytes = array_grow(text->bytes, &reader->byte_capacity, used + PARCEL_BYTES, 1);
	if (!bytes)
		return -ENOMEM;
	text->bytes = bytes;
	blocks = array_grow(text->blocks, &reader->block_capacity, text->count + CAPTURED_PARCEL_MAX, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	text->blocks = blocks;
	count = captured_parcel_decode(value->mv_data, value->mv_size, numbers, bytes + used);
	for (int i = 0; i < count; i++) /* `bytes` is set when the array does not move any more */
		blocks[text->count++] = (struct captured_block){.number = numbers[i]};
	return count < 0 ? count : 0;
}

/* Sort by number; of a block that is there twice, which should not be, one is kept. */
static void
sort_blocks(struct captured_text *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < text->count; i++)
		text->blocks[i].bytes = text->bytes + i * CAPTURED_BLOCK_SIZE;
	if (text->count)
		qsort(text->blocks, text->count, sizeof(*text->blocks), array_compare_u32);
	for (size_t i = 0; i < text->count; i++)
		if (kept == 0 || text->blocks[kept - 1].number != text->blocks[i].number)
			text->blocks[kept++] = text->blocks[i];
	text->count = kept;
}

int
profile_get_text(struct profile *profile, uint32_t image, struct captured_text *text)
{
	struct text_reader reader = {.text = text};
	MDB_txn *txn;
	int err;

	memset(text, 0, sizeof(*text));
	if (!profile->store.has[TABLE_TEXT])
		return 0;
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_leave(&profile->store, txn, each_value(&profile->store, txn, image, append_parcel, &reader));
	if (err == -DCPI_EVERSION)
		text->count = 0;
	sort_blocks(text);
	return err;
}

void
captured_text_fini(struct captured_text *text)
{
	free(text->blocks);
	free(text->bytes);
	memset(text, 0, sizeof(*text));
}

struct extent_reader {
	struct captured_extent *extent;
	size_t capacity;
};

/* A value that cannot be decoded counts as one without blocks. */
static int
append_blocks(void *context, uint32_t block, const MDB_val *value)
{
	struct extent_reader *reader = context;
	struct captured_extent *extent = reader->extent;
	uint32_t numbers[CAPTURED_PARCEL_MAX], *blocks;
	int count;

	extent->has_layout |= block == CAPTURED_BLOCK_NONE;
	if (block >= CAPTURED_BLOCK_UNWIND)
		return 0;
	count = captured_parcel_blocks(value->mv_data, value->mv_size, numbers);
	blocks = array_grow(extent->blocks, &reader->capacity, extent->count + CAPTURED_PARCEL_MAX, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	extent->blocks = blocks;
	for (int i = 0; i < count; i++)
		blocks[extent->count++] = numbers[i];
	return 0;
}

int
profile_get_extent(struct profile *profile, uint32_t image, struct captured_extent *extent)
{
	struct extent_reader reader = {.extent = extent};
	struct image_record record;
	MDB_val value;
	MDB_txn *txn;
	int err;

	memset(extent, 0, sizeof(*extent));
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = store_get(&profile->store, txn, TABLE_SYMBOLS, image, &value);
	extent->has_symbols = err == 0;
	if (!err || err == -ENOENT)
		err = store_get(&profile->store, txn, TABLE_IMAGES, image, &value);
	extent->is_roots =
		!err && !image_record_decode(value.mv_data, value.mv_size, &record) && record.has_roots_names;
	if (err == -ENOENT)
		err = 0;
	if (!err && profile->store.has[TABLE_TEXT])
		err = each_value(&profile->store, txn, image, append_blocks, &reader);
	err = store_leave(&profile->store, txn, err);
	if (err && err != -ENOENT) {
		free(extent->blocks);
		memset(extent, 0, sizeof(*extent));
		return err;
	}
	if (extent->count)
		qsort(extent->blocks, extent->count, sizeof(*extent->blocks), array_compare_u32);
	return 0;
}
