#include "profile/captured_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

void
captured_key_encode(uint32_t image, uint32_t block, uint8_t data[CAPTURED_KEY_SIZE])
{
	const uint64_t key = (uint64_t)image << 32 | block;

	for (size_t i = 0; i < CAPTURED_KEY_SIZE; i++)
		data[i] = (uint8_t)(key >> 8 * (CAPTURED_KEY_SIZE - 1 - i));
}

int
captured_key_decode(const void *data, size_t size, uint32_t *image, uint32_t *block)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	*image = read_u32_be(&reader);
	*block = read_u32_be(&reader);
	return reader.failed || reader_left(&reader) > 0 ? -DCPI_EDAMAGED : 0;
}

static int
check_parcel(uint32_t block, const void *data, size_t size)
{
	uint8_t *bytes = malloc(CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE);
	uint32_t blocks[CAPTURED_PARCEL_MAX];
	int count;

	if (!bytes)
		return -ENOMEM;
	count = captured_parcel_decode(data, size, blocks, bytes);
	free(bytes);
	if (count < 0)
		return count;
	return blocks[0] == block ? 0 : -DCPI_EDAMAGED;
}

int
captured_value_check(uint32_t block, const void *data, size_t size)
{
	struct captured_layout *layout;
	int err;

	if (block != CAPTURED_BLOCK_NONE)
		return check_parcel(block, data, size);
	err = captured_layout_decode(data, size, &layout);
	if (!err)
		free(layout);
	return err;
}

int
captured_walk_begin(const struct store *store, MDB_txn *txn, uint32_t image, struct store_walk *walk)
{
	uint8_t key[CAPTURED_KEY_SIZE];
	int err = store_walk_begin(store, txn, TABLE_TEXT, walk);

	if (err)
		return err;
	captured_key_encode(image, 0, key);
	err = store_walk_seek(walk, key, sizeof(key));
	if (err)
		store_walk_end(walk);
	return err;
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
captured_table_remove(const struct store *store, MDB_txn *txn, uint32_t image)
{
	const int64_t removed = store_take(store, txn, TABLE_TEXT, image, SIZE_MAX, NULL, NULL);

	return removed < 0 ? (int)removed : 0;
}
