#include "profile/label_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"

int
label_times_add(struct label_times *times, const struct profile_label_time *time)
{
	char *label = strdup(time->label);
	struct profile_label_time *added = label ? ARRAY_APPEND(times->list, times->count, times->capacity) : NULL;

	if (!added) {
		free(label);
		return -ENOMEM;
	}
	*added = *time;
	added->label = label;
	return 0;
}

void
label_times_fini(struct label_times *times)
{
	for (size_t i = 0; i < times->count; i++)
		free((char *)times->list[i].label);
	free(times->list);
	memset(times, 0, sizeof(*times));
}

size_t
label_times_key_encode(uint32_t slice, const char *label, uint8_t data[LABEL_TIMES_KEY_MAX])
{
	const size_t length = strnlen(label, RECORD_LABEL_SIZE - 1);

	put_be(data, slice, 4);
	memcpy(data + 4, label, length);
	return length ? 4 + length : 0;
}

int
label_times_key_decode(const void *data, size_t size, struct label_times_key *key)
{
	struct byte_reader reader;
	const uint8_t *label;
	size_t length;

	reader_init(&reader, data, size);
	key->slice = read_u32_be(&reader);
	length = reader_left(&reader);
	label = read_bytes(&reader, length);
	if (reader.failed || length == 0 || length >= sizeof(key->label) || memchr(label, '\0', length))
		return -DCPI_EDAMAGED;
	memcpy(key->label, label, length);
	key->label[length] = '\0';
	return 0;
}

void
label_time_encode(const struct profile_label_time *time, struct byte_writer *writer)
{
	write_u8(writer, FORMAT_1);
	write_varint(writer, time->begin_ns);
	write_varint(writer, time->end_ns - time->begin_ns);
	write_varint(writer, time->elapsed_ns);
}

int
label_time_decode(const void *data, size_t size, struct profile_label_time *time)
{
	struct byte_reader reader;
	uint64_t length_ns;

	reader_init(&reader, data, size);
	read_format(&reader);
	time->begin_ns = read_varint(&reader);
	length_ns = read_varint(&reader);
	time->elapsed_ns = read_varint(&reader);
	if (!reader_done(&reader) || time->elapsed_ns == 0 ||
	    __builtin_add_overflow(time->begin_ns, length_ns, &time->end_ns))
		return -DCPI_EDAMAGED;
	return 0;
}

void
label_time_merge(struct profile_label_time *time, const struct profile_label_time *more)
{
	if (more->begin_ns < time->begin_ns)
		time->begin_ns = more->begin_ns;
	if (more->end_ns > time->end_ns)
		time->end_ns = more->end_ns;
	time->elapsed_ns = add_saturating(time->elapsed_ns, more->elapsed_ns);
}

/* Store a time under `key`, added to the stored one. */
static int
put_time(const struct store *store, MDB_txn *txn, MDB_val key, const struct profile_label_time *time)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct profile_label_time sum = *time, stored;
	MDB_val value;
	int err;

	err = store_error(mdb_get(txn, store->tables[TABLE_LABEL_TIMES], &key, &value));
	if (!err)
		err = label_time_decode(value.mv_data, value.mv_size, &stored);
	if (!err)
		label_time_merge(&sum, &stored);
	else if (err != -ENOENT)
		return err;
	label_time_encode(&sum, &writer);
	value = (MDB_val){writer.size, writer.data};
	err = writer.failed ? -ENOMEM : store_error(mdb_put(txn, store->tables[TABLE_LABEL_TIMES], &key, &value, 0));
	writer_fini(&writer);
	return err;
}

int
label_times_put(const struct store *store, MDB_txn *txn, uint32_t slice, const struct profile_label_time *times,
                size_t count)
{
	uint8_t data[LABEL_TIMES_KEY_MAX];
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const MDB_val key = {label_times_key_encode(slice, times[i].label, data), data};

		if (times[i].end_ns < times[i].begin_ns)
			return -EINVAL;
		if (key.mv_size > 0 && times[i].elapsed_ns > 0)
			err = put_time(store, txn, key, &times[i]);
	}
	return err;
}

/* Put the time of a label that was removed into slice *to: -DCPI_EDAMAGED when it cannot be read. */
static int
move_time(const struct store *store, MDB_txn *txn, const MDB_val *key, const MDB_val *value, void *to)
{
	struct profile_label_time time = {0};
	struct label_times_key name;
	uint8_t data[LABEL_TIMES_KEY_MAX];
	int err;

	err = label_times_key_decode(key->mv_data, key->mv_size, &name);
	if (!err)
		err = label_time_decode(value->mv_data, value->mv_size, &time);
	if (err)
		return err;
	return put_time(store, txn, (MDB_val){label_times_key_encode(*(const uint32_t *)to, name.label, data), data},
	                &time);
}

int64_t
label_times_take(const struct store *store, MDB_txn *txn, uint32_t from, uint32_t to, size_t max)
{
	return store_take(store, txn, TABLE_LABEL_TIMES, from, max, to ? move_time : NULL, &to);
}
