/*
 * raw.h - the database as LMDB sees it, to look at it and to damage it
 *
 * Never while a profile of the same directory is open in this process: LMDB's locks do not allow that.
 */
#ifndef DCPI_TESTS_PROFILE_RAW_H
#define DCPI_TESTS_PROFILE_RAW_H

#include "tests/unit/profile/fixture.h"

#include <lmdb.h>

struct raw {
	MDB_env *env;
	MDB_txn *txn;
};

static UNUSED void
raw_open(struct raw *raw, const char *directory)
{
	assert_int_equal(mdb_env_create(&raw->env), 0);
	assert_int_equal(mdb_env_set_maxdbs(raw->env, 16), 0);
	assert_int_equal(mdb_env_open(raw->env, directory, MDB_NOSYNC, 0600), 0);
	assert_int_equal(mdb_txn_begin(raw->env, NULL, 0, &raw->txn), 0);
}

static UNUSED void
raw_close(struct raw *raw)
{
	assert_int_equal(mdb_txn_commit(raw->txn), 0);
	mdb_env_close(raw->env);
}

static UNUSED MDB_dbi
raw_table(struct raw *raw, const char *table)
{
	MDB_dbi dbi;

	assert_int_equal(mdb_dbi_open(raw->txn, table, MDB_CREATE, &dbi), 0);
	return dbi;
}

static UNUSED void
raw_put(struct raw *raw, const char *table, const void *key, size_t key_size, const void *value, size_t size)
{
	MDB_val key_value = {key_size, (void *)key}, data = {size, (void *)value};

	assert_int_equal(mdb_put(raw->txn, raw_table(raw, table), &key_value, &data, 0), 0);
}

static UNUSED void
raw_delete(struct raw *raw, const char *table, const void *key, size_t key_size)
{
	MDB_val key_value = {key_size, (void *)key};

	assert_int_equal(mdb_del(raw->txn, raw_table(raw, table), &key_value, NULL), 0);
}

#define NUMBER_KEY(n) ((const uint8_t[]){0, 0, 0, (n)})

/* One entry, in and out of a database of its own. */
static UNUSED void
raw_put_once(const char *directory, const char *table, const void *key, size_t key_size, const void *value, size_t size)
{
	struct raw raw;

	raw_open(&raw, directory);
	raw_put(&raw, table, key, key_size, value, size);
	raw_close(&raw);
}

static UNUSED void
raw_delete_once(const char *directory, const char *table, const void *key, size_t key_size)
{
	struct raw raw;

	raw_open(&raw, directory);
	raw_delete(&raw, table, key, key_size);
	raw_close(&raw);
}

/* Copies of key and value of entry `index` of a table; false when there are fewer. For free(). */
struct raw_entry {
	uint8_t *key, *value;
	size_t key_size, size;
};

static UNUSED bool
raw_entry_at(struct raw *raw, const char *table, size_t index, struct raw_entry *entry)
{
	MDB_val key, value;
	MDB_cursor *cursor;
	int rc;

	assert_int_equal(mdb_cursor_open(raw->txn, raw_table(raw, table), &cursor), 0);
	rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
	for (size_t i = 0; rc == 0 && i < index; i++)
		rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
	if (rc == 0) {
		entry->key_size = key.mv_size;
		entry->size = value.mv_size;
		entry->key = memcpy(malloc(key.mv_size), key.mv_data, key.mv_size);
		entry->value = memcpy(malloc(value.mv_size), value.mv_data, value.mv_size);
	}
	mdb_cursor_close(cursor);
	return rc == 0;
}

#endif
