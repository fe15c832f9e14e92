#include "profile/memory_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/profile_internal.h"

/* ---- lists, before a flush ---- */

static int
keep_row(void *context, enum memory_part part, uint32_t number, const void *row, size_t size)
{
	struct memory_rows *rows = context;
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_memory_row *added = ARRAY_APPEND(rows->rows, rows->count, rows->room);
	int err;

	if (!added)
		return -ENOMEM;
	put_be(added->key, part, 1);
	put_be(added->key + 1, number, 4);
	write_u8(&writer, FORMAT_1);
	err = size > MEMORY_ROW_SIZE_MAX ? -EFBIG : compressed_write(&writer, row, size);
	added->value = writer.data;
	added->size = writer.size;
	return err;
}

int
memory_rows_make(const struct memory_profile *profile, struct memory_rows *rows)
{
	*rows = (struct memory_rows){NULL, 0, 0};
	return memory_profile_encode(profile, keep_row, rows);
}

void
memory_rows_fini(struct memory_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].value);
	free(rows->rows);
	*rows = (struct memory_rows){NULL, 0, 0};
}

/* ---- keys and values ---- */

void
memory_row_key_encode(const struct memory_row_key *key, uint8_t data[MEMORY_ROW_KEY_SIZE])
{
	put_be(data, key->slice, 4);
	put_be(data + 4, key->part, 1);
	put_be(data + 5, key->number, 4);
}

int
memory_row_key_decode(const void *data, size_t size, struct memory_row_key *key)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	key->slice = read_u32_be(&reader);
	key->part = read_u8(&reader);
	key->number = read_u32_be(&reader);
	return reader_done(&reader) && key->part < MEMORY_PARTS ? 0 : -DCPI_EDAMAGED;
}

int
memory_row_decode(const void *value, size_t size, void **row, size_t *row_size)
{
	struct byte_reader reader;
	int err;

	reader_init(&reader, value, size);
	read_format(&reader);
	*row_size = (size_t)read_varint_below(&reader, MEMORY_ROW_SIZE_MAX + 1);
	if (reader.failed)
		return -DCPI_EDAMAGED;
	*row = malloc(*row_size + 1);
	if (!*row)
		return -ENOMEM;
	err = compressed_read(&reader, *row, *row_size);
	if (err)
		free(*row);
	return err;
}

/* ---- reading ---- */

/* The newest slice with rows, of epoch *epoch or, with 0, of any that is not incoming. -ENOENT. */
static int
find_slice(const struct store *store, MDB_txn *txn, uint32_t *epoch, uint32_t *found)
{
	struct slice_list slices;
	int err = slice_list_read(store, txn, &slices);
	bool is_found = false;

	for (size_t i = slices.count; i-- > 0 && !err && !is_found;) {
		const struct slice_entry *slice = &slices.slices[i];
		uint8_t data[MEMORY_ROW_KEY_SIZE];
		MDB_val key = {sizeof(data), data}, value;

		if (*epoch ? slice->epoch != *epoch : slice->is_incoming)
			continue;
		memory_row_key_encode(&(struct memory_row_key){slice->id, MEMORY_PART_HEAD, 0}, data);
		err = store_error(mdb_get(txn, store->tables[TABLE_MEMORY], &key, &value));
		is_found = !err;
		err = err == -ENOENT ? 0 : err;
		if (is_found) {
			*found = slice->id;
			*epoch = slice->epoch;
		}
	}
	slice_list_fini(&slices);
	return err ? err : is_found ? 0 : -ENOENT;
}

static int
take_row(struct memory_profile *profile, const struct memory_row_key *key, const MDB_val *value)
{
	size_t size;
	void *row;
	int err = memory_row_decode(value->mv_data, value->mv_size, &row, &size);

	if (err)
		return err;
	err = memory_profile_decode(profile, key->part, row, size);
	free(row);
	return err;
}

static int
read_slice(const struct store *store, MDB_txn *txn, uint32_t slice, struct memory_profile *profile)
{
	struct memory_row_key key, next = {.slice = slice};
	uint8_t data[MEMORY_ROW_KEY_SIZE];
	struct store_walk walk;
	int result;

	memory_row_key_encode(&next, data);
	store_walk_begin(store, txn, TABLE_MEMORY, &walk);
	store_walk_seek(&walk, data, sizeof(data));
	while ((result = store_walk_next(&walk)) > 0) {
		result = memory_row_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (result || key.slice != slice)
			break;
		if (key.part != next.part)
			next = (struct memory_row_key){slice, key.part, 0};
		/* without a row, the elements behind it would have other numbers */
		result = key.number == next.number++ ? take_row(profile, &key, &walk.value) : -DCPI_EDAMAGED;
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result < 0 ? result : memory_profile_check(profile);
}

int
memory_rows_read(struct profile *from, uint32_t *epoch, struct memory_profile *profile)
{
	const struct store *store = &from->store;
	uint32_t slice = 0;
	MDB_txn *txn;
	int err = memory_profile_init(profile);

	if (err)
		return err;
	if (!store->has[TABLE_MEMORY])
		return -ENOENT;
	err = store_begin(&from->store, false, &txn);
	if (err)
		return err;
	err = find_slice(store, txn, epoch, &slice);
	if (!err)
		err = read_slice(store, txn, slice, profile);
	return store_leave(&from->store, txn, err);
}
