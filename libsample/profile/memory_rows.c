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

int
memory_rows_add(void *to, enum memory_part part, uint32_t number, const void *row, size_t size)
{
	struct memory_rows *rows = to;
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
	return memory_profile_encode(profile, memory_rows_add, rows);
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
	return reader_done(&reader) && (key->part < MEMORY_PARTS || key->part == MEMORY_PART_LOOPS) ? 0
	                                                                                            : -DCPI_EDAMAGED;
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

/* Whether a slice has rows of a part: 1 or 0, or an error. */
static int
has_part(const struct store *store, MDB_txn *txn, uint32_t slice, enum memory_part part)
{
	uint8_t data[MEMORY_ROW_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	int err;

	memory_row_key_encode(&(struct memory_row_key){slice, part, 0}, data);
	err = store_error(mdb_get(txn, store->tables[TABLE_MEMORY], &key, &value));
	return err == -ENOENT ? 0 : err ? err : 1;
}

/* The newest slice with rows of a part, of epoch *epoch or, with 0, of any that is not incoming. -ENOENT. */
static int
find_slice(const struct store *store, MDB_txn *txn, enum memory_part part, uint32_t *epoch, uint32_t *found)
{
	struct slice_list slices;
	int result = slice_list_read(store, txn, &slices);
	bool is_found = false;

	for (size_t i = slices.count; i-- > 0 && result >= 0 && !is_found;) {
		const struct slice_entry *slice = &slices.slices[i];

		if (*epoch ? slice->epoch != *epoch : slice->is_incoming)
			continue;
		result = has_part(store, txn, slice->id, part);
		is_found = result > 0;
		if (is_found) {
			*found = slice->id;
			*epoch = slice->epoch;
		}
	}
	slice_list_fini(&slices);
	return result < 0 ? result : is_found ? 0 : -ENOENT;
}

static int
visit_row(const struct memory_row_key *key, const MDB_val *value, memory_row_visit *visit, void *context)
{
	size_t size;
	void *row;
	int err = memory_row_decode(value->mv_data, value->mv_size, &row, &size);

	if (err)
		return err;
	err = visit(context, key->part, key->number, row, size);
	free(row);
	return err;
}

static int
visit_rows(const struct store *store, MDB_txn *txn, const struct memory_row_key *first, enum memory_part last,
           memory_row_visit *visit, void *context)
{
	struct memory_row_key key, next = *first;
	uint8_t data[MEMORY_ROW_KEY_SIZE];
	struct store_walk walk;
	int result;

	memory_row_key_encode(&next, data);
	store_walk_begin(store, txn, TABLE_MEMORY, &walk);
	store_walk_seek(&walk, data, sizeof(data));
	while ((result = store_walk_next(&walk)) > 0) {
		result = memory_row_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (result || key.slice != first->slice || key.part > last)
			break;
		if (key.part != next.part)
			next = (struct memory_row_key){first->slice, key.part, 0};
		/* without a row, the elements behind it would have other numbers */
		result = key.number == next.number++ ? visit_row(&key, &walk.value, visit, context) : -DCPI_EDAMAGED;
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result < 0 ? result : 0;
}

static int
take_row(void *context, enum memory_part part, uint32_t number, const void *row, size_t size)
{
	(void)number;
	return memory_profile_decode(context, part, row, size);
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
	err = find_slice(store, txn, MEMORY_PART_HEAD, epoch, &slice);
	if (!err)
		err = visit_rows(store, txn, &(struct memory_row_key){.slice = slice}, MEMORY_PARTS - 1, take_row,
		                 profile);
	if (!err)
		err = memory_profile_check(profile);
	return store_leave(&from->store, txn, err);
}

int
memory_rows_each(struct profile *from, enum memory_part part, uint32_t epoch, memory_row_visit *visit, void *context)
{
	struct store *store = &from->store;
	uint32_t slice = 0;
	MDB_txn *txn;
	int err;

	if (!store->has[TABLE_MEMORY])
		return -ENOENT;
	err = store_begin(store, false, &txn);
	if (err)
		return err;
	err = find_slice(store, txn, part, &epoch, &slice);
	if (!err)
		err = visit_rows(store, txn, &(struct memory_row_key){slice, part, 0}, part, visit, context);
	return store_leave(store, txn, err);
}

/* The epochs of slices, ascending by their ids. */
static int
add_epochs(const struct store *store, MDB_txn *txn, enum memory_part part, uint32_t **epochs, size_t *count)
{
	struct slice_list slices;
	size_t room = 0;
	int result = slice_list_read(store, txn, &slices);

	for (size_t i = 0; i < slices.count && result >= 0; i++) {
		const struct slice_entry *slice = &slices.slices[i];
		uint32_t *added;

		result = slice->is_incoming ? 0 : has_part(store, txn, slice->id, part);
		if (result <= 0 || (*count && (*epochs)[*count - 1] == slice->epoch))
			continue;
		added = ARRAY_APPEND(*epochs, *count, room);
		result = added ? 0 : -ENOMEM;
		if (added)
			*added = slice->epoch;
	}
	slice_list_fini(&slices);
	if (result >= 0 && *count > 1)
		qsort(*epochs, *count, sizeof(**epochs), array_compare_u32);
	return result < 0 ? result : 0;
}

int
memory_rows_epochs(struct profile *from, enum memory_part part, uint32_t **epochs, size_t *count)
{
	struct store *store = &from->store;
	MDB_txn *txn;
	int err;

	*epochs = NULL;
	*count = 0;
	if (!store->has[TABLE_MEMORY])
		return 0;
	err = store_begin(store, false, &txn);
	if (err)
		return err;
	err = store_leave(store, txn, add_epochs(store, txn, part, epochs, count));
	if (err) {
		free(*epochs);
		*epochs = NULL;
		*count = 0;
	}
	return err;
}
