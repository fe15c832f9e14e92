#include "profile/edges.h"

#include <errno.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/handle.h"

#define EDGE_BYTES_MIN 3 /* of an encoded edge */

void
edges_key_encode(const struct edges_key *key, uint8_t data[EDGES_KEY_SIZE])
{
	const uint64_t parts[] = {(uint64_t)key->slice << 16 | key->event, key->image, key->block};

	for (size_t i = 0; i < 6; i++)
		data[i] = (uint8_t)(parts[0] >> 8 * (5 - i));
	for (size_t i = 0; i < 4; i++) {
		data[6 + i] = (uint8_t)(parts[1] >> 8 * (3 - i));
		data[10 + i] = (uint8_t)(parts[2] >> 8 * (3 - i));
	}
}

int
edges_key_decode(const void *data, size_t size, struct edges_key *key)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	key->slice = read_u32_be(&reader);
	key->event = read_u16_be(&reader);
	key->image = read_u32_be(&reader);
	key->block = read_u32_be(&reader);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* A small number for a small distance, whatever its sign. */
static uint64_t
fold(uint64_t distance)
{
	return distance << 1 ^ (distance >> 63 ? UINT64_MAX : 0);
}

static uint64_t
unfold(uint64_t folded)
{
	return folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0);
}

void
edges_encode(const struct edge_list *list, const struct edges_key *key, struct byte_writer *writer)
{
	uint64_t last = (uint64_t)key->block << EDGES_BLOCK_SHIFT;

	write_u8(writer, FORMAT_1);
	for (size_t i = 0; i < list->count; i++) {
		const struct profile_edge *edge = &list->edges[i];

		write_varint(writer, edge->from - last);
		write_varint(writer, fold(edge->to - edge->from));
		write_varint(writer, edge->count);
		last = edge->from;
	}
}

int
edges_decode(const void *data, size_t size, const struct edges_key *key, struct edge_list *list)
{
	const size_t before = list->count;
	struct byte_reader reader;
	uint64_t last = (uint64_t)key->block << EDGES_BLOCK_SHIFT;

	reader_init(&reader, data, size);
	read_format(&reader);
	while (!reader.failed && reader_left(&reader) >= EDGE_BYTES_MIN) {
		struct profile_edge edge = {.image = key->image, .event = key->event};

		edge.from = last + read_varint_below(&reader, COUNTS_BLOCK_SIZE);
		edge.to = edge.from + unfold(read_varint(&reader));
		edge.count = read_varint(&reader);
		last = edge.from;
		if (edge.count == 0 || edge.to > COUNTS_OFFSET_MAX || edge.from >> EDGES_BLOCK_SHIFT != key->block ||
		    (list->count > before && edge_compare(&list->edges[list->count - 1], &edge) >= 0))
			return -DCPI_EDAMAGED;
		if (edge_list_add(list, &edge) < 0)
			return -ENOMEM;
	}
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* Store the list under `key`, with what is there already. */
static int
put_list(const struct store *store, MDB_txn *txn, const struct edges_key *key, struct edge_list *list)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	uint8_t data[EDGES_KEY_SIZE];
	MDB_val name = {sizeof(data), data}, value;
	int err;

	edges_key_encode(key, data);
	err = store_error(mdb_get(txn, store->tables[TABLE_EDGES], &name, &value));
	if (!err)
		err = edges_decode(value.mv_data, value.mv_size, key, list);
	else if (err == -ENOENT)
		err = 0;
	if (err)
		return err;
	edge_list_merge(list);
	edges_encode(list, key, &writer);
	value = (MDB_val){writer.size, writer.data};
	err = writer.failed ? -ENOMEM : store_error(mdb_put(txn, store->tables[TABLE_EDGES], &name, &value, 0));
	writer_fini(&writer);
	return err;
}

static bool
is_same_block(const struct profile_edge *a, const struct profile_edge *b)
{
	return a->event == b->event && a->image == b->image &&
	       a->from >> EDGES_BLOCK_SHIFT == b->from >> EDGES_BLOCK_SHIFT;
}

int
edges_put(const struct profile *profile, MDB_txn *txn, uint32_t slice, const struct profile_edge *edges, size_t count)
{
	struct edge_list list = {0};
	int err = 0;

	for (size_t at = 0, end; !err && at < count; at = end) {
		struct edges_key key = {
			.slice = slice,
			.event = edges[at].event,
			.image = numbers_get(&profile->images, edges[at].image),
			.block = (uint32_t)(edges[at].from >> EDGES_BLOCK_SHIFT),
		};

		edge_list_clear(&list);
		for (end = at; !err && end < count && is_same_block(&edges[at], &edges[end]); end++) {
			struct profile_edge edge = edges[end];

			edge.image = key.image; /* as of those that are there already */
			if (edge.count > 0 && edge.from <= COUNTS_OFFSET_MAX && edge.to <= COUNTS_OFFSET_MAX)
				err = edge_list_add(&list, &edge);
		}
		if (!err && key.image == 0)
			err = -EINVAL;
		if (!err && list.count > 0)
			err = put_list(&profile->store, txn, &key, &list);
	}
	edge_list_fini(&list);
	return err;
}

/* Put a block of edges that was removed into slice *to: -DCPI_EDAMAGED when it cannot be read. */
static int
move_block(const struct store *store, MDB_txn *txn, const MDB_val *name, const MDB_val *value, void *to)
{
	struct edge_list list = {0};
	struct edges_key key;
	int err;

	err = edges_key_decode(name->mv_data, name->mv_size, &key);
	if (!err)
		err = edges_decode(value->mv_data, value->mv_size, &key, &list);
	key.slice = *(const uint32_t *)to;
	if (!err)
		err = put_list(store, txn, &key, &list);
	edge_list_fini(&list);
	return err;
}

int64_t
edges_take(const struct store *store, MDB_txn *txn, uint32_t from, uint32_t to, size_t max)
{
	return store_take(store, txn, TABLE_EDGES, from, max, to ? move_block : NULL, &to);
}
