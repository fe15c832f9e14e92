#include "profile/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/profile_internal.h"

#define MERGE_FIRST    ((size_t)1 << 18) /* edges: 10 MiB */
#define EDGE_BYTES_MIN 3                 /* of an encoded edge */

static int
edge_compare(const void *left, const void *right)
{
	const struct profile_edge *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

int
edge_list_add(struct edge_list *list, const struct profile_edge *edge)
{
	struct profile_edge *added = ARRAY_APPEND(list->edges, list->count, list->capacity);

	if (!added)
		return -ENOMEM;
	*added = *edge;
	return 0;
}

void
edge_list_merge(struct edge_list *list)
{
	size_t count = 0;

	if (list->count == 0)
		return;
	qsort(list->edges, list->count, sizeof(*list->edges), edge_compare);
	for (size_t i = 0; i < list->count; i++) {
		struct profile_edge *last = count > 0 ? &list->edges[count - 1] : NULL;

		if (last && edge_compare(last, &list->edges[i]) == 0)
			last->count = add_saturating(last->count, list->edges[i].count);
		else
			list->edges[count++] = list->edges[i];
	}
	list->count = list->merged = count;
}

int
edge_list_gather(struct edge_list *list, const struct profile_edge *edge)
{
	/* Processes of one program share most of their edges, so merging now keeps the list short. */
	if (list->count >= MERGE_FIRST && list->count >= 2 * list->merged)
		edge_list_merge(list);
	return edge_list_add(list, edge);
}

void
edge_list_clear(struct edge_list *list)
{
	list->count = list->merged = 0;
}

void
edge_list_fini(struct edge_list *list)
{
	free(list->edges);
	*list = (struct edge_list){0};
}

void
edges_key_encode(const struct edges_key *key, uint8_t data[EDGES_KEY_SIZE])
{
	put_be(data, key->slice, 4);
	put_be(data + 4, key->event, 2);
	put_be(data + 6, key->image, 4);
	put_be(data + 10, key->block, 4);
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

void
edges_encode(const struct edge_list *list, const struct edges_key *key, struct byte_writer *writer)
{
	uint64_t last = (uint64_t)key->block << EDGES_BLOCK_SHIFT;

	write_u8(writer, FORMAT_1);
	for (size_t i = 0; i < list->count; i++) {
		const struct profile_edge *edge = &list->edges[i];

		write_varint(writer, edge->from - last);
		write_varint(writer, zigzag(edge->to - edge->from));
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
		edge.to = edge.from + unzigzag(read_varint(&reader));
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

/* Store the list under `key`, added to the edges that are stored there. */
static int
put_block(const struct store *store, MDB_txn *txn, const struct edges_key *key, struct edge_list *list)
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
			.image = ids_map_get(&profile->images, edges[at].image),
			.block = (uint32_t)(edges[at].from >> EDGES_BLOCK_SHIFT),
		};

		edge_list_clear(&list);
		for (end = at; !err && end < count && is_same_block(&edges[at], &edges[end]); end++) {
			struct profile_edge edge = edges[end];

			edge.image = key.image; /* as edges_decode() sets it */
			if (edge.count > 0 && edge.from <= COUNTS_OFFSET_MAX && edge.to <= COUNTS_OFFSET_MAX)
				err = edge_list_add(&list, &edge);
		}
		if (!err && key.image == 0)
			err = -EINVAL;
		if (!err && list.count > 0)
			err = put_block(&profile->store, txn, &key, &list);
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
		err = put_block(store, txn, &key, &list);
	edge_list_fini(&list);
	return err;
}

int64_t
edges_take(const struct store *store, MDB_txn *txn, uint32_t from, uint32_t to, size_t max)
{
	return store_take(store, txn, TABLE_EDGES, from, max, to ? move_block : NULL, &to);
}

struct epoch_with_event {
	uint32_t id;
	uint16_t event;
};

struct edge_search {
	const struct store *store;
	MDB_txn *txn;
	uint32_t image;
	uint32_t epoch;                  /* 0: any */
	struct epoch_with_event *epochs; /* ascending by id */
	size_t count, capacity;
	struct slice_list slices;
	struct edge_list edges;
};

static int
find_epochs(struct edge_search *search, const char *event)
{
	struct epoch_with_event *added;
	struct store_walk walk;
	struct epoch epoch;
	int result;

	store_walk_begin(search->store, search->txn, TABLE_EPOCHS, &walk);
	while ((result = epoch_walk_next(&walk, &epoch)) > 0) {
		size_t i = 0;

		while (i < epoch.event_count && strcmp(epoch.events[i].name, event) != 0)
			i++;
		if (i == epoch.event_count || (search->epoch && epoch.id != search->epoch))
			continue;
		added = ARRAY_APPEND(search->epochs, search->count, search->capacity);
		if (!added) {
			result = -ENOMEM;
			break;
		}
		*added = (struct epoch_with_event){epoch.id, (uint16_t)i};
	}
	store_walk_end(&walk);
	return result;
}

static int
read_slice(struct edge_search *search, uint32_t slice, uint16_t event)
{
	const struct edges_key first = {.slice = slice, .event = event, .image = search->image};
	uint8_t data[EDGES_KEY_SIZE];
	struct store_walk walk;
	struct edges_key key;
	int result;

	edges_key_encode(&first, data);
	store_walk_begin(search->store, search->txn, TABLE_EDGES, &walk);
	store_walk_seek(&walk, data, sizeof(data));
	while ((result = store_walk_next(&walk)) > 0) {
		result = edges_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (result || key.slice != slice || key.event != event || key.image != search->image)
			break;
		result = edges_decode(walk.value.mv_data, walk.value.mv_size, &key, &search->edges);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

/* The edges of the newest epoch that has any; set->epoch is its id. */
static int
read_newest_epoch(struct edge_search *search, const char *event, struct edge_set *set)
{
	int err = find_epochs(search, event);

	if (!err)
		err = slice_list_read(search->store, search->txn, &search->slices);
	for (size_t i = search->count; !err && i > 0 && search->edges.count == 0; i--) {
		const struct epoch_with_event *epoch = &search->epochs[i - 1];

		set->epoch = epoch->id;
		for (size_t j = 0; !err && j < search->slices.count; j++)
			if (search->slices.slices[j].epoch == epoch->id)
				err = read_slice(search, search->slices.slices[j].id, epoch->event);
	}
	return err || search->edges.count > 0 ? err : -ENOENT;
}

int
edges_read_of(struct profile *profile, uint32_t image, const char *event, uint32_t epoch, struct edge_set *set)
{
	struct edge_search search = {.store = &profile->store, .image = image, .epoch = epoch};
	int err;

	*set = (struct edge_set){0};
	if (!profile->store.has[TABLE_EDGES])
		return -ENOENT;
	err = store_begin(&profile->store, false, &search.txn);
	if (err)
		return err;
	err = store_leave(&profile->store, search.txn, read_newest_epoch(&search, event, set));
	if (err) {
		edge_list_fini(&search.edges);
	} else {
		edge_list_merge(&search.edges);
		set->edges = search.edges.edges;
		set->count = search.edges.count;
	}
	free(search.epochs);
	slice_list_fini(&search.slices);
	return err;
}

int
edges_read(struct profile *profile, uint32_t image, const char *event, struct edge_set *set)
{
	return edges_read_of(profile, image, event, 0, set);
}

void
edge_set_fini(struct edge_set *set)
{
	free(set->edges);
	*set = (struct edge_set){0};
}
