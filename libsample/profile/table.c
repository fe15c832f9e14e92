#include "profile/store.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define NUMBER_KEY_SIZE 4

static void
number_key(uint32_t number, uint8_t data[NUMBER_KEY_SIZE])
{
	for (size_t i = 0; i < NUMBER_KEY_SIZE; i++)
		data[i] = (uint8_t)(number >> 8 * (NUMBER_KEY_SIZE - 1 - i));
}

int
store_key_number(const MDB_val *key, uint32_t *number)
{
	struct byte_reader reader;

	reader_init(&reader, key->mv_data, key->mv_size);
	*number = read_u32_be(&reader);
	return reader.failed || reader_left(&reader) > 0 ? -DCPI_EDAMAGED : 0;
}

int
store_get(const struct store *store, MDB_txn *txn, enum table table, uint32_t id, MDB_val *value)
{
	uint8_t data[NUMBER_KEY_SIZE];
	MDB_val key = {sizeof(data), data};

	number_key(id, data);
	return store_error(mdb_get(txn, store->tables[table], &key, value));
}

int
store_put(const struct store *store, MDB_txn *txn, enum table table, uint32_t id, const struct byte_writer *writer)
{
	uint8_t data[NUMBER_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value = {writer->size, writer->data};

	if (writer->failed)
		return -ENOMEM;
	number_key(id, data);
	return store_error(mdb_put(txn, store->tables[table], &key, &value, 0));
}

int
store_remove(const struct store *store, MDB_txn *txn, enum table table, uint32_t id)
{
	uint8_t data[NUMBER_KEY_SIZE];
	MDB_val key = {sizeof(data), data};

	number_key(id, data);
	return store_error(mdb_del(txn, store->tables[table], &key, NULL));
}

/* Take the entry that the cursor stands on. It is copied before: what LMDB points to is gone with the entry. */
static int
take_entry(const struct store *store, MDB_cursor *cursor, const MDB_val *key, const MDB_val *value, store_move *move,
           void *context, struct byte_writer *copy)
{
	MDB_val moved_key = *key, moved_value = *value;
	int err;

	if (!move)
		return store_error(mdb_cursor_del(cursor, 0));
	copy->size = 0;
	write_bytes(copy, key->mv_data, key->mv_size);
	write_bytes(copy, value->mv_data, value->mv_size);
	err = copy->failed ? -ENOMEM : store_error(mdb_cursor_del(cursor, 0));
	if (err)
		return err;
	moved_key.mv_data = copy->data;
	moved_value.mv_data = copy->data + moved_key.mv_size;
	return move(store, mdb_cursor_txn(cursor), &moved_key, &moved_value, context);
}

int64_t
store_take(const struct store *store, MDB_txn *txn, enum table table, uint32_t number, size_t max, store_move *move,
           void *context)
{
	struct byte_writer copy = BYTE_WRITER_INIT;
	uint8_t first[NUMBER_KEY_SIZE];
	MDB_cursor *cursor;
	int64_t count = 0;
	int err;

	number_key(number, first);
	err = store_error(mdb_cursor_open(txn, store->tables[table], &cursor));
	if (err)
		return err;
	/* Where the cursor stands after an entry was removed, at the end of a table, LMDB does not say: look anew. */
	while ((size_t)count < max) {
		MDB_val key = {sizeof(first), first}, value;

		err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
		if (err == -ENOENT ||
		    (!err && (key.mv_size < sizeof(first) || memcmp(key.mv_data, first, sizeof(first)) != 0))) {
			err = 0;
			break;
		}
		if (!err)
			err = take_entry(store, cursor, &key, &value, move, context, &copy);
		if (err)
			break;
		count++;
	}
	writer_fini(&copy);
	mdb_cursor_close(cursor);
	return err ? err : count;
}

int
store_next_id(const struct store *store, MDB_txn *txn, enum table table, uint32_t *id)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	uint32_t last = 0;
	int err;

	err = store_error(mdb_cursor_open(txn, store->tables[table], &cursor));
	if (err)
		return err;
	err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_LAST));
	if (!err)
		err = store_key_number(&key, &last);
	else if (err == -ENOENT)
		err = 0;
	mdb_cursor_close(cursor);
	if (!err && last == UINT32_MAX)
		err = -EOVERFLOW;
	*id = last + 1;
	return err;
}

int
store_entries(const struct store *store, MDB_txn *txn, enum table table, uint64_t *entries)
{
	MDB_stat stat;
	int err = store_error(mdb_stat(txn, store->tables[table], &stat));

	*entries = err ? 0 : stat.ms_entries;
	return err;
}

int
store_table_bytes(const struct store *store, MDB_txn *txn, enum table table, uint64_t *bytes)
{
	MDB_stat stat;
	int err = store_error(mdb_stat(txn, store->tables[table], &stat));

	*bytes = err ? 0
	             : (uint64_t)(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
	return err;
}

int
store_walk_begin(const struct store *store, MDB_txn *txn, enum table table, struct store_walk *walk)
{
	walk->next = MDB_FIRST;
	walk->ended = false;
	return store_error(mdb_cursor_open(txn, store->tables[table], &walk->cursor));
}

int
store_walk_seek(struct store_walk *walk, const void *key, size_t size)
{
	int err;

	walk->key = (MDB_val){size, (void *)key};
	err = store_error(mdb_cursor_get(walk->cursor, &walk->key, &walk->value, MDB_SET_RANGE));
	walk->next = MDB_GET_CURRENT;
	walk->ended = err == -ENOENT;
	return walk->ended ? 0 : err;
}

int
store_walk_next(struct store_walk *walk)
{
	int err;

	if (walk->ended)
		return 0;
	err = store_error(mdb_cursor_get(walk->cursor, &walk->key, &walk->value, walk->next));
	walk->next = MDB_NEXT;
	walk->ended = err == -ENOENT;
	if (walk->ended)
		return 0;
	return err ? err : 1;
}

void
store_walk_end(struct store_walk *walk)
{
	mdb_cursor_close(walk->cursor);
}
