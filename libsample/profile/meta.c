#include "profile/meta.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/profile.h"

static int
put(const struct store *store, MDB_txn *txn, const char *name, const struct byte_writer *writer)
{
	MDB_val key = {strlen(name), (void *)name}, value = {writer->size, writer->data};

	if (writer->failed)
		return -ENOMEM;
	return store_error(mdb_put(txn, store->tables[TABLE_META], &key, &value, 0));
}

static int
put_number(const struct store *store, MDB_txn *txn, const char *name, uint64_t number)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	write_u8(&writer, FORMAT_1);
	write_varint(&writer, number);
	err = put(store, txn, name, &writer);
	writer_fini(&writer);
	return err;
}

static int
put_text(const struct store *store, MDB_txn *txn, const char *name, const char *text)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	write_u8(&writer, FORMAT_1);
	write_string(&writer, text);
	err = put(store, txn, name, &writer);
	writer_fini(&writer);
	return err;
}

int
meta_create(const struct store *store, MDB_txn *txn)
{
	struct utsname names;
	struct timespec now;
	int err;

	if (uname(&names) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -errno;
	err = put_number(store, txn, "schema", PROFILE_SCHEMA);
	if (!err)
		err = put_number(store, txn, "created",
		                 (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
	if (!err)
		err = put_text(store, txn, "host", names.nodename);
	return err;
}

static int
get_schema(const struct store *store, MDB_txn *txn, uint64_t *schema)
{
	MDB_val key = {strlen("schema"), "schema"}, value;
	struct byte_reader reader;
	int err;

	err = store_error(mdb_get(txn, store->tables[TABLE_META], &key, &value));
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	reader_init(&reader, value.mv_data, value.mv_size);
	read_format(&reader);
	*schema = read_varint(&reader);
	return reader_done(&reader) && *schema > 0 ? 0 : -DCPI_EDAMAGED;
}

int
meta_check(const struct store *store, MDB_txn *txn)
{
	uint64_t schema;
	int err;

	err = get_schema(store, txn, &schema);
	if (err || schema == PROFILE_SCHEMA)
		return err;
	if (schema > PROFILE_SCHEMA)
		return -DCPI_ENEWER;
	/* Every older format is still read: what is there stays, but what is written from here on is of this schema. */
	return store->write ? put_number(store, txn, "schema", PROFILE_SCHEMA) : 0;
}

static bool
is_name(const void *key, size_t size, const char *name)
{
	return size == strlen(name) && memcmp(key, name, size) == 0;
}

int
meta_decode(const void *key, size_t key_size, const void *data, size_t size)
{
	struct byte_reader reader;
	char host[EPOCH_TEXT_SIZE];

	reader_init(&reader, data, size);
	read_format(&reader);
	if (is_name(key, key_size, "schema") || is_name(key, key_size, "created"))
		read_varint(&reader);
	else if (is_name(key, key_size, "host"))
		read_string(&reader, host, sizeof(host));
	else
		return -DCPI_EDAMAGED;
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}
