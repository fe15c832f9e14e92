#include "profile/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/ids.h"
#include "profile/profile_internal.h"
#include "profile/retention.h"
#include "profile/store.h"
#include "tally/tally.h"

/* No image has the number 0: the one node of this frame has the highest number that was ever given. */
#define HIGHEST_IMAGE 0
static const struct stacks_key highest_key = {.image = HIGHEST_IMAGE};

void
stacks_key_encode(const struct stacks_key *key, uint8_t data[STACKS_KEY_SIZE])
{
	put_be(data, key->image, 4);
	put_be(data + 4, key->offset, 8);
	put_be(data + 12, key->block, 4);
}

int
stacks_key_decode(const void *data, size_t size, struct stacks_key *key)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	key->image = read_u32_be(&reader);
	key->offset = read_u64_be(&reader);
	key->block = read_u32_be(&reader);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* ---- the nodes at one key ---- */

int
stacks_decode(const struct stacks_key *key, const void *data, size_t size, stacks_visit *visit, void *context)
{
	struct byte_reader reader;
	uint64_t number = 0;

	reader_init(&reader, data, size);
	read_format(&reader);
	if (!reader.failed && reader.at == reader.end)
		return -DCPI_EDAMAGED; /* a key without a node is removed */
	while (!reader.failed && reader.at < reader.end) {
		const uint64_t distance = read_varint_u32(&reader);
		const uint64_t above_caller = read_varint_u32(&reader);
		int result;

		number += distance;
		if (reader.failed || distance == 0 || number > UINT32_MAX || above_caller == 0 ||
		    above_caller > number || (number - above_caller) >> STACKS_BLOCK_SHIFT != key->block)
			return -DCPI_EDAMAGED;
		result = visit(context, (uint32_t)number, (uint32_t)(number - above_caller));
		if (result)
			return result;
	}
	return reader.failed ? -DCPI_EDAMAGED : 0;
}

/* A value while it is read, searched and written. */
struct node_list {
	struct byte_writer value;
	uint32_t last; /* number */
	uint32_t wanted_caller, found;
	const struct gc_marks *marks;
	size_t removed;
};

static void
append(struct node_list *list, uint32_t number, uint32_t caller)
{
	if (list->value.size == 0)
		write_u8(&list->value, FORMAT_1);
	write_varint(&list->value, number - list->last);
	write_varint(&list->value, number - caller);
	list->last = number;
}

static int
find_caller(void *context, uint32_t number, uint32_t caller)
{
	struct node_list *list = context;

	list->last = number;
	if (caller == list->wanted_caller)
		list->found = number;
	return 0;
}

static int
keep_marked(void *context, uint32_t number, uint32_t caller)
{
	struct node_list *list = context;

	if (gc_is_marked(list->marks, number))
		append(list, number, caller);
	else
		list->removed++;
	return 0;
}

/* ---- in the store ---- */

static struct stacks_key
node_key(const struct stack_node *node)
{
	return (struct stacks_key){
		.offset = node->offset, .image = node->image, .block = node->caller >> STACKS_BLOCK_SHIFT};
}

static int
get_nodes(const struct store *store, MDB_txn *txn, const struct stacks_key *at, MDB_val *value)
{
	uint8_t data[STACKS_KEY_SIZE];
	MDB_val key = {sizeof(data), data};

	stacks_key_encode(at, data);
	return store_error(mdb_get(txn, store->tables[TABLE_STACKS], &key, value));
}

static int
put_nodes(const struct store *store, MDB_txn *txn, const struct stacks_key *at, const struct byte_writer *writer)
{
	uint8_t data[STACKS_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value = {writer->size, writer->data};

	if (writer->failed)
		return -ENOMEM;
	stacks_key_encode(at, data);
	return store_error(mdb_put(txn, store->tables[TABLE_STACKS], &key, &value, 0));
}

static int
take_highest(void *context, uint32_t number, uint32_t caller)
{
	(void)caller;
	*(uint32_t *)context = number;
	return 0;
}

int
stacks_highest(const struct store *store, MDB_txn *txn, uint32_t *highest)
{
	MDB_val value;
	int err = store->has[TABLE_STACKS] ? get_nodes(store, txn, &highest_key, &value) : -ENOENT;

	*highest = 0;
	if (err)
		return err == -ENOENT ? 0 : err;
	return stacks_decode(&highest_key, value.mv_data, value.mv_size, take_highest, highest);
}

int
stacks_set_highest(const struct store *store, MDB_txn *txn, uint32_t highest)
{
	struct node_list list = {0};
	int err;

	append(&list, highest, 0);
	err = put_nodes(store, txn, &highest_key, &list.value);
	writer_fini(&list.value);
	return err;
}

int
stacks_image(const struct store *store, MDB_txn *txn, uint32_t *number)
{
	const struct image stacks = {.kind = IMAGE_STACKS, .path = STACKS_PATH};
	int err = ids_find_image(store, txn, &stacks, number);

	if (err)
		*number = 0;
	return err == -ENOENT ? 0 : err;
}

/* The nodes at the key of `node`: `list` has what is to be known of them. -ENOENT when there are none. */
static int
read_nodes(const struct store *store, MDB_txn *txn, const struct stack_node *node, struct node_list *list,
           MDB_val *value)
{
	const struct stacks_key key = node_key(node);
	int err = get_nodes(store, txn, &key, value);

	return err ? err : stacks_decode(&key, value->mv_data, value->mv_size, find_caller, list);
}

/* Put the nodes at `value` (of size 0: none) with one more at their end. */
static int
put_nodes_with(const struct store *store, MDB_txn *txn, const MDB_val *value, uint32_t number,
               const struct stack_node *node, struct node_list *list)
{
	const struct stacks_key key = node_key(node);
	int err;

	if (number <= list->last || number <= node->caller)
		return -DCPI_EDAMAGED;
	if (value->mv_size > 0)
		write_bytes(&list->value, value->mv_data, value->mv_size);
	append(list, number, node->caller);
	err = put_nodes(store, txn, &key, &list->value);
	writer_fini(&list->value);
	return err;
}

int
stacks_append(const struct store *store, MDB_txn *txn, uint32_t number, const struct stack_node *node)
{
	struct node_list list = {0};
	MDB_val value = {0};
	int err = read_nodes(store, txn, node, &list, &value);

	return err && err != -ENOENT ? err : put_nodes_with(store, txn, &value, number, node, &list);
}

/* stacks_intern(), which takes new numbers above *highest. */
static int
intern(const struct store *store, MDB_txn *txn, const struct stack_node *node, uint32_t *highest, uint32_t *number)
{
	struct node_list list = {.wanted_caller = node->caller};
	MDB_val value = {0};
	int err;

	if (node->image == HIGHEST_IMAGE || node->caller > *highest)
		return -EINVAL;
	err = read_nodes(store, txn, node, &list, &value);
	if (err && err != -ENOENT)
		return err;
	*number = list.found;
	if (list.found)
		return 0;
	if (*highest == UINT32_MAX)
		return -EOVERFLOW;
	err = put_nodes_with(store, txn, &value, *highest + 1, node, &list);
	if (!err)
		*number = ++*highest;
	return err;
}

int
stacks_intern(const struct store *store, MDB_txn *txn, const struct stack_node *node, uint32_t *number)
{
	uint32_t highest, before;
	int err = stacks_highest(store, txn, &highest);

	if (err)
		return err;
	before = highest;
	err = intern(store, txn, node, &highest, number);
	return err || highest == before ? err : stacks_set_highest(store, txn, highest);
}

int
stacks_add(struct profile *profile, MDB_txn *txn, const struct stack_node *nodes, uint32_t count)
{
	const struct store *store = &profile->store;
	struct ids_map *map = &profile->nodes;
	uint32_t highest, before;
	int err;

	if (count == 0)
		return 0;
	err = ids_map_reserve(map, count);
	if (!err)
		err = stacks_highest(store, txn, &highest);
	if (err)
		return err;
	before = highest;
	for (uint32_t i = 0; i < count; i++) {
		struct stack_node node = nodes[i];

		/* callers come first: those of this batch have their numbers already */
		if (node.caller)
			node.caller = node.caller <= map->count + i ? map->numbers[node.caller - 1] : UINT32_MAX;
		if (node.image != STACK_NO_IMAGE)
			node.image = ids_map_get(&profile->images, node.image);
		err = intern(store, txn, &node, &highest, &map->numbers[map->count + i]);
		if (err)
			return err;
	}
	map->pending = count;
	return highest == before ? 0 : stacks_set_highest(store, txn, highest);
}

static int
compare_offsets(const void *left, const void *right)
{
	const struct tally_entry *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

size_t
stacks_sort(struct tally_entry *entries, size_t count)
{
	size_t kept = 0;

	if (count > 0)
		qsort(entries, count, sizeof(*entries), compare_offsets);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && entries[kept - 1].offset == entries[i].offset)
			entries[kept - 1].count = add_saturating(entries[kept - 1].count, entries[i].count);
		else
			entries[kept++] = entries[i];
	}
	return kept;
}

int64_t
stacks_translate(const struct profile *profile, struct tally_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t session = entries[i].offset;

		entries[i].offset = session > 0 && session <= UINT32_MAX
		                            ? ids_map_get(&profile->nodes, (uint32_t)(session - 1))
		                            : 0;
		if (entries[i].offset == 0)
			return -EINVAL;
	}
	return (int64_t)stacks_sort(entries, count);
}

/* ---- reading all ---- */

struct read_node {
	uint32_t number; /* first, for array_compare_u32() */
	uint32_t caller;
	uint32_t image;
	uint64_t offset;
};

struct node_reader {
	struct read_node *nodes;
	size_t count, capacity;
	struct stacks_key key; /* of what is read */
};

static int
add_node(void *context, uint32_t number, uint32_t caller)
{
	struct node_reader *reader = context;
	struct read_node *added = ARRAY_APPEND(reader->nodes, reader->count, reader->capacity);

	if (!added)
		return -ENOMEM;
	*added = (struct read_node){number, caller, reader->key.image, reader->key.offset};
	return 0;
}

/* Visit all nodes, key by key: *key is that of the node. */
static int
visit_all(const struct store *store, MDB_txn *txn, struct stacks_key *key, stacks_visit *visit, void *context)
{
	struct store_walk walk;
	int result;

	store_walk_begin(store, txn, TABLE_STACKS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		result = stacks_key_decode(walk.key.mv_data, walk.key.mv_size, key);
		if (!result && key->image != HIGHEST_IMAGE)
			result = stacks_decode(key, walk.value.mv_data, walk.value.mv_size, visit, context);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

uint32_t
stack_nodes_find(const struct stack_nodes *nodes, uint64_t number)
{
	size_t first = 1, end = nodes->count;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (nodes->numbers[middle] < number)
			first = middle + 1;
		else
			end = middle;
	}
	return first < nodes->count && nodes->numbers[first] == number ? (uint32_t)first : 0;
}

/* -DCPI_EDAMAGED for a number that occurs twice, for a caller that is no node, and for a stack that is too deep. */
static int
order_nodes(struct node_reader *reader, struct stack_nodes *nodes)
{
	uint16_t *depths = calloc(reader->count + 1, sizeof(*depths)); /* by index; 0 at index 0 */
	int err = 0;

	qsort(reader->nodes, reader->count, sizeof(*reader->nodes), array_compare_u32);
	nodes->nodes = calloc(reader->count + 1, sizeof(*nodes->nodes));
	nodes->numbers = calloc(reader->count + 1, sizeof(*nodes->numbers));
	if (!nodes->nodes || !nodes->numbers || !depths)
		err = -ENOMEM;
	nodes->count = 1;
	for (size_t i = 0; !err && i < reader->count; i++) {
		const struct read_node *node = &reader->nodes[i];
		const uint32_t caller = node->caller ? stack_nodes_find(nodes, node->caller) : 0;

		if ((node->caller && !caller) || (i > 0 && node->number == node[-1].number) ||
		    depths[caller] == STACK_DEPTH_MAX) {
			err = -DCPI_EDAMAGED;
			break;
		}
		depths[nodes->count] = (uint16_t)(depths[caller] + 1);
		nodes->nodes[nodes->count] = (struct stack_node){node->offset, node->image, caller};
		nodes->numbers[nodes->count++] = node->number;
	}
	free(depths);
	return err;
}

int
stacks_read_all(const struct store *store, MDB_txn *txn, struct stack_nodes *nodes)
{
	struct node_reader reader = {0};
	int err = 0;

	*nodes = (struct stack_nodes){0};
	if (store->has[TABLE_STACKS])
		err = visit_all(store, txn, &reader.key, add_node, &reader);
	if (!err && reader.count > 0)
		err = order_nodes(&reader, nodes);
	free(reader.nodes);
	if (err)
		stack_nodes_fini(nodes);
	return err;
}

int
stacks_read(struct profile *profile, struct stack_nodes *nodes)
{
	MDB_txn *txn;
	int err = store_begin(&profile->store, false, &txn);

	*nodes = (struct stack_nodes){0};
	if (err)
		return err;
	err = store_leave(&profile->store, txn, stacks_read_all(&profile->store, txn, nodes));
	if (err)
		stack_nodes_fini(nodes);
	return err;
}

void
stack_nodes_fini(struct stack_nodes *nodes)
{
	free(nodes->nodes);
	free(nodes->numbers);
	nodes->nodes = NULL;
	nodes->numbers = NULL;
	nodes->count = 0;
}

/* ---- garbage collection ---- */

struct node_marker {
	struct gc_marks *nodes, *images;
	uint32_t *callers; /* by number, below nodes->end */
	struct stacks_key key;
};

static int
note_caller(void *context, uint32_t number, uint32_t caller)
{
	struct node_marker *marker = context;

	if (number < marker->nodes->end)
		marker->callers[number] = caller;
	else
		gc_mark(marker->nodes, caller);
	return 0;
}

static int
mark_image(void *context, uint32_t number, uint32_t caller)
{
	struct node_marker *marker = context;

	(void)caller;
	if (gc_is_marked(marker->nodes, number))
		gc_mark(marker->images, marker->key.image);
	return 0;
}

int
stacks_mark(const struct store *store, MDB_txn *txn, struct gc_marks *nodes, struct gc_marks *images)
{
	struct node_marker marker = {.nodes = nodes, .images = images};
	int err;

	marker.callers = calloc((size_t)nodes->end + 1, sizeof(*marker.callers));
	if (!marker.callers)
		return -ENOMEM;
	err = visit_all(store, txn, &marker.key, note_caller, &marker);
	for (uint32_t number = nodes->end; !err && number-- > 1;)
		if (gc_is_marked(nodes, number))
			gc_mark(nodes, marker.callers[number]);
	free(marker.callers);
	return err ? err : visit_all(store, txn, &marker.key, mark_image, &marker);
}

int
stacks_sweep(const struct store *store, MDB_txn *txn, const struct gc_marks *marks, size_t max, struct stacks_key *next)
{
	struct node_list list = {.marks = marks};
	uint8_t data[STACKS_KEY_SIZE];
	MDB_cursor *cursor;
	MDB_val key = {sizeof(data), data}, value;
	int err;

	err = store_error(mdb_cursor_open(txn, store->tables[TABLE_STACKS], &cursor));
	if (err)
		return err;
	if (next->image == HIGHEST_IMAGE)
		*next = (struct stacks_key){.image = HIGHEST_IMAGE + 1};
	stacks_key_encode(next, data);
	err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
	if (!err)
		err = stacks_key_decode(key.mv_data, key.mv_size, next);
	for (size_t i = 0; !err && i < max; i++) {
		writer_reset(&list.value);
		list.last = 0;
		list.removed = 0;
		err = stacks_decode(next, value.mv_data, value.mv_size, keep_marked, &list);
		if (!err && list.removed > 0 && list.value.size == 0) {
			err = store_error(mdb_cursor_del(cursor, 0));
		} else if (!err && list.removed > 0) {
			value = (MDB_val){list.value.size, list.value.data};
			err = list.value.failed ? -ENOMEM
			                        : store_error(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT));
		}
		if (!err)
			err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_NEXT));
		if (!err)
			err = stacks_key_decode(key.mv_data, key.mv_size, next);
	}
	mdb_cursor_close(cursor);
	writer_fini(&list.value);
	return err == -ENOENT ? 0 : err ? err : 1;
}
