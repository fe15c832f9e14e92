/*
 * hold_reader.c - reads the LMDB database in DIR, stops itself in the middle of its transaction, reads on when
 * continued
 *
 * Prints "stopping" and, when it was continued, "same" if it then read the same as before, else "different".
 */
#include <lmdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

static int
add_table(MDB_txn *txn, MDB_val *name, uint64_t *sum)
{
	char text[64];
	MDB_cursor *cursor;
	MDB_val key, value;
	MDB_dbi table;

	snprintf(text, sizeof(text), "%.*s", (int)name->mv_size, (const char *)name->mv_data);
	if (mdb_dbi_open(txn, text, 0, &table) || mdb_cursor_open(txn, table, &cursor))
		return -1;
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
		for (size_t i = 0; i < value.mv_size; i++)
			*sum = *sum * 31 + ((const uint8_t *)value.mv_data)[i];
	mdb_cursor_close(cursor);
	return 0;
}

/* Over every byte of every table. */
static int
add_all(MDB_txn *txn, uint64_t *sum)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	MDB_dbi top;

	*sum = 1;
	if (mdb_dbi_open(txn, NULL, 0, &top) || mdb_cursor_open(txn, top, &cursor))
		return -1;
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
		if (add_table(txn, &key, sum))
			return -1;
	mdb_cursor_close(cursor);
	return 0;
}

int
main(int argc, char **argv)
{
	uint64_t before, after;
	MDB_env *env;
	MDB_txn *txn;

	if (argc != 2 || mdb_env_create(&env) || mdb_env_set_maxdbs(env, 32) ||
	    mdb_env_open(env, argv[1], MDB_RDONLY | MDB_NOTLS, 0) || mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) ||
	    add_all(txn, &before))
		return 1;
	puts("stopping");
	fflush(stdout);
	raise(SIGSTOP);
	if (add_all(txn, &after))
		return 1;
	puts(before == after ? "same" : "different");
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return 0;
}
