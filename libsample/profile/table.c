#include "profile/store.h"

#include <errno.h>

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
