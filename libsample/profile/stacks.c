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

/* No image has the number 0: under the one key that has it is the highest number that was ever given. */
#define HIGHEST_IMAGE 0
static const struct stacks_key highest_key = {.image = HIGHEST_IMAGE};

#define NUMBER_END UINT32_MAX /* of the numbers that are given */

void
stacks_key_encode(const struct stacks_key *key, uint8_t data[STACKS_KEY_SIZE])
{
	put_be(data, key->image, 4);
	put_be(data + 4, key->offset, 8);
	put_be(data + 12, key->caller, 4);
	put_be(data + 16, key->number, 4);
}

int
stacks_key_decode(const void *data, size_t size, struct stacks_key *key)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	key->image = read_u32_be(&reader);
	key->offset = read_u64_be(&reader);
	key->caller = read_u32_be(&reader);
	key->number = read_u32_be(&reader);
	if (!reader_done(&reader))
		return -DCPI_EDAMAGED;
	if (key->image == HIGHEST_IMAGE)
		return key->offset || key->caller || key->number ? -DCPI_EDAMAGED : 0;
	return key->caller < key->number && key->number < NUMBER_END ? 0 : -DCPI_EDAMAGED;
}

int
stacks_highest_decode(const void *data, size_t size, uint32_t *highest)
{
	struct byte_reader reader;

	reader_init(&reader, data, size);
	read_format(&reader);
	*highest = read_varint_u32(&reader);
	return reader_done(&reader) && *highest < NUMBER_END ? 0 : -DCPI_EDAMAGED;
}

/* ---- a run of nodes ---- */

/* The node behind *at. 0 or -DCPI_EDAMAGED. */
static int
read_next(struct byte_reader *reader, struct stacks_key *at)
{
	const uint64_t further = read_small(reader);
	const uint64_t caller = read_small(reader);
	const uint64_t above_caller = read_small(reader);
	const struct stacks_key before = *at;

	if (reader->failed || further > UINT64_MAX - at->offset || caller >= NUMBER_END || above_caller >= NUMBER_END)
		return -DCPI_EDAMAGED;
	if (further == 0 && caller >= NUMBER_END - at->caller)
		return -DCPI_EDAMAGED;
	at->offset += further;
	at->caller = (uint32_t)caller + (further ? 0 : before.caller);
	if (above_caller == 0 || above_caller >= NUMBER_END - at->caller)
		return -DCPI_EDAMAGED;
	at->number = at->caller + (uint32_t)above_caller;
	return further == 0 && caller == 0 && at->number <= before.number ? -DCPI_EDAMAGED : 0;
}

int
stacks_decode(const struct stacks_key *key, const void *data, size_t size, stacks_visit *visit, void *context)
{
	struct stacks_key at = *key;
	struct byte_reader reader;
	int result = 0;

	reader_init(&reader, data, size);
	read_format(&reader);
	if (reader.failed)
		return -DCPI_EDAMAGED;
	for (size_t count = 1; !result; count++) {
		result = visit(context, at.number, &(struct stack_node){at.offset, at.image, at.caller});
		if (result || reader.at == reader.end)
			return result;
		result = count < STACKS_RUN_MAX ? read_next(&reader, &at) : -DCPI_EDAMAGED;
	}
	return result;
}

struct numbered_node {
	struct stack_node node;
	uint32_t number;
};

/* A value while it is searched and written. */
struct node_run {
	struct numbered_node nodes[STACKS_RUN_MAX + 1];
	size_t count;
	const struct gc_marks *marks;
	size_t removed;
	struct numbered_node last; /* removed or not */
};

static int
take_node(void *context, uint32_t number, const struct stack_node *node)
{
	struct node_run *run = context;

	run->nodes[run->count++] = (struct numbered_node){*node, number};
	return 0;
}

static int
take_marked(void *context, uint32_t number, const struct stack_node *node)
{
	struct node_run *run = context;

	run->last = (struct numbered_node){*node, number};
	if (gc_is_marked(run->marks, number))
		return take_node(context, number, node);
	run->removed++;
	return 0;
}

static int
compare_frames(const struct stack_node *a, const struct stack_node *b)
{
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->caller > b->caller) - (a->caller < b->caller);
}

/* The order of keys, and of the nodes of a run. */
static int
compare_nodes(const struct numbered_node *a, const struct numbered_node *b)
{
	const int order = compare_frames(&a->node, &b->node);

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

static void
write_run(struct byte_writer *writer, const struct numbered_node *nodes, size_t count)
{
	write_u8(writer, FORMAT_1);
	for (size_t i = 1; i < count; i++) {
		const struct stack_node *node = &nodes[i].node, *before = &nodes[i - 1].node;
		const uint64_t further = node->offset - before->offset;

		write_varint(writer, further);
		write_varint(writer, further ? node->caller : node->caller - before->caller);
		write_varint(writer, nodes[i].number - node->caller);
	}
}

/* ---- in the store ---- */

static struct stacks_key
key_of(const struct numbered_node *node)
{
	return (struct stacks_key){
		.offset = node->node.offset,
		.image = node->node.image,
		.caller = node->node.caller,
		.number = node->number,
	};
}

static int
put_value(const struct store *store, MDB_txn *txn, uint8_t data[STACKS_KEY_SIZE], const struct byte_writer *writer)
{
	MDB_val key = {STACKS_KEY_SIZE, data}, value = {writer->size, writer->data};

	return writer->failed ? -ENOMEM : store_error(mdb_put(txn, store->tables[TABLE_STACKS], &key, &value, 0));
}

static int
put_run(const struct store *store, MDB_txn *txn, const struct numbered_node *nodes, size_t count)
{
	const struct stacks_key key = key_of(&nodes[0]);
	uint8_t data[STACKS_KEY_SIZE];
	struct byte_writer writer = {0};
	int err;

	stacks_key_encode(&key, data);
	write_run(&writer, nodes, count);
	err = put_value(store, txn, data, &writer);
	writer_fini(&writer);
	return err;
}

int
stacks_highest(const struct store *store, MDB_txn *txn, uint32_t *highest)
{
	uint8_t data[STACKS_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	int err = -ENOENT;

	stacks_key_encode(&highest_key, data);
	if (store->has[TABLE_STACKS])
		err = store_error(mdb_get(txn, store->tables[TABLE_STACKS], &key, &value));
	*highest = 0;
	if (err)
		return err == -ENOENT ? 0 : err;
	return stacks_highest_decode(value.mv_data, value.mv_size, highest);
}

int
stacks_set_highest(const struct store *store, MDB_txn *txn, uint32_t highest)
{
	uint8_t data[STACKS_KEY_SIZE];
	struct byte_writer writer = {0};
	int err;

	stacks_key_encode(&highest_key, data);
	write_u8(&writer, FORMAT_1);
	write_varint(&writer, highest);
	err = put_value(store, txn, data, &writer);
	writer_fini(&writer);
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

/* The last key that is not above that of `node`, if it is of the node's image. -ENOENT: there is none. */
static int
seek_run(MDB_cursor *cursor, const struct numbered_node *node, struct stacks_key *at, MDB_val *value)
{
	const struct stacks_key wanted = key_of(node);
	uint8_t data[STACKS_KEY_SIZE];
	MDB_val key = {sizeof(data), data};
	int err;

	stacks_key_encode(&wanted, data);
	err = store_error(mdb_cursor_get(cursor, &key, value, MDB_SET_RANGE));
	if (!err && (key.mv_size != sizeof(data) || memcmp(key.mv_data, data, sizeof(data)) != 0))
		err = store_error(mdb_cursor_get(cursor, &key, value, MDB_PREV));
	else if (err == -ENOENT)
		err = store_error(mdb_cursor_get(cursor, &key, value, MDB_LAST));
	if (!err)
		err = stacks_key_decode(key.mv_data, key.mv_size, at);
	return !err && at->image != node->node.image ? -ENOENT : err;
}

/*
 * The run that has `node`, or is to have it, and its place: that of the first node there that is not below it. There is
 * no such run when its count is 0.
 */
static int
find_node(MDB_cursor *cursor, const struct numbered_node *node, struct node_run *run, size_t *place)
{
	struct stacks_key at;
	MDB_val value;
	int err = seek_run(cursor, node, &at, &value);

	run->count = 0;
	if (!err)
		err = stacks_decode(&at, value.mv_data, value.mv_size, take_node, run);
	for (*place = 0; *place < run->count && compare_nodes(&run->nodes[*place], node) < 0;)
		++*place;
	return err == -ENOENT ? 0 : err;
}

/*
 * Put a new node at its place, which is not the first of a run that is there. A run that is full is halved; but behind
 * the last node of it a new one begins, as the nodes of a recursion come in ascending order.
 */
static int
insert_node(const struct store *store, MDB_txn *txn, struct node_run *run, size_t place,
            const struct numbered_node *node)
{
	size_t first = run->count + 1;
	int err;

	memmove(&run->nodes[place + 1], &run->nodes[place], (run->count - place) * sizeof(*run->nodes));
	run->nodes[place] = *node;
	if (++run->count > STACKS_RUN_MAX)
		first = place == STACKS_RUN_MAX ? STACKS_RUN_MAX : STACKS_RUN_MAX / 2;
	err = put_run(store, txn, run->nodes, first);
	if (!err && first < run->count)
		err = put_run(store, txn, &run->nodes[first], run->count - first);
	return err;
}

static int
open_cursor(const struct store *store, MDB_txn *txn, MDB_cursor **cursor)
{
	return store_error(mdb_cursor_open(txn, store->tables[TABLE_STACKS], cursor));
}

/* The number of a node; when it is new, the one above *highest. */
static int
intern(const struct store *store, MDB_cursor *cursor, const struct stack_node *node, uint32_t *highest,
       uint32_t *number)
{
	const struct numbered_node last = {*node, NUMBER_END}; /* behind the node itself, and before what is above it */
	struct node_run run;
	size_t place;
	int err;

	if (node->image == HIGHEST_IMAGE || node->caller > *highest)
		return -EINVAL;
	err = find_node(cursor, &last, &run, &place);
	if (err)
		return err;
	if (place > 0 && compare_frames(&run.nodes[place - 1].node, node) == 0) {
		*number = run.nodes[place - 1].number;
		return 0;
	}
	if (*highest == NUMBER_END - 1)
		return -EOVERFLOW;
	err = insert_node(store, mdb_cursor_txn(cursor), &run, place, &(struct numbered_node){*node, *highest + 1});
	if (!err)
		*number = ++*highest;
	return err;
}

int
stacks_append(const struct store *store, MDB_txn *txn, uint32_t number, const struct stack_node *node)
{
	const struct numbered_node added = {*node, number};
	MDB_cursor *cursor;
	struct node_run run;
	size_t place;
	int err = open_cursor(store, txn, &cursor);

	if (err)
		return err;
	err = find_node(cursor, &added, &run, &place);
	mdb_cursor_close(cursor);
	if (!err && (number <= node->caller || number >= NUMBER_END ||
	             (place < run.count && compare_nodes(&run.nodes[place], &added) == 0)))
		err = -DCPI_EDAMAGED;
	return err ? err : insert_node(store, txn, &run, place, &added);
}

int
stacks_intern(const struct store *store, MDB_txn *txn, const struct stack_node *node, uint32_t *number)
{
	uint32_t highest, before;
	MDB_cursor *cursor;
	int err = stacks_highest(store, txn, &highest);

	if (!err)
		err = open_cursor(store, txn, &cursor);
	if (err)
		return err;
	before = highest;
	err = intern(store, cursor, node, &highest, number);
	mdb_cursor_close(cursor);
	return err || highest == before ? err : stacks_set_highest(store, txn, highest);
}

/* The session's node `node`, the next of those that are stored, in the database's numbers. */
static struct stack_node
to_database(const struct profile *profile, struct stack_node node, uint32_t done)
{
	const struct ids_map *map = &profile->nodes;

	/* callers come first: those of this batch have their numbers already */
	if (node.caller)
		node.caller = node.caller <= map->count + done ? map->numbers[node.caller - 1] : UINT32_MAX;
	if (node.image != STACK_NO_IMAGE)
		node.image = ids_map_get(&profile->images, node.image);
	return node;
}

int
stacks_add(struct profile *profile, MDB_txn *txn, const struct stack_node *nodes, uint32_t count)
{
	const struct store *store = &profile->store;
	struct ids_map *map = &profile->nodes;
	uint32_t highest, before;
	MDB_cursor *cursor;
	int err;

	if (count == 0)
		return 0;
	err = ids_map_reserve(map, count);
	if (!err)
		err = stacks_highest(store, txn, &highest);
	if (!err)
		err = open_cursor(store, txn, &cursor);
	if (err)
		return err;
	before = highest;
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct stack_node node = to_database(profile, nodes[i], i);

		err = intern(store, cursor, &node, &highest, &map->numbers[map->count + i]);
	}
	mdb_cursor_close(cursor);
	if (err)
		return err;
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
};

static int
add_node(void *context, uint32_t number, const struct stack_node *node)
{
	struct node_reader *reader = context;
	struct read_node *added = ARRAY_APPEND(reader->nodes, reader->count, reader->capacity);

	if (!added)
		return -ENOMEM;
	*added = (struct read_node){number, node->caller, node->image, node->offset};
	return 0;
}

static int
visit_all(const struct store *store, MDB_txn *txn, stacks_visit *visit, void *context)
{
	struct store_walk walk;
	struct stacks_key key;
	int result;

	store_walk_begin(store, txn, TABLE_STACKS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		result = stacks_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (!result && key.image != HIGHEST_IMAGE)
			result = stacks_decode(&key, walk.value.mv_data, walk.value.mv_size, visit, context);
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
		err = visit_all(store, txn, add_node, &reader);
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
};

static int
note_caller(void *context, uint32_t number, const struct stack_node *node)
{
	struct node_marker *marker = context;

	if (number < marker->nodes->end)
		marker->callers[number] = node->caller;
	else
		gc_mark(marker->nodes, node->caller);
	return 0;
}

static int
mark_image(void *context, uint32_t number, const struct stack_node *node)
{
	struct node_marker *marker = context;

	if (gc_is_marked(marker->nodes, number))
		gc_mark(marker->images, node->image);
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
	err = visit_all(store, txn, note_caller, &marker);
	for (uint32_t number = nodes->end; !err && number-- > 1;)
		if (gc_is_marked(nodes, number))
			gc_mark(nodes, marker.callers[number]);
	free(marker.callers);
	return err ? err : visit_all(store, txn, mark_image, &marker);
}

static int
remove_run(const struct store *store, MDB_txn *txn, const struct stacks_key *at)
{
	uint8_t data[STACKS_KEY_SIZE];
	MDB_val key = {sizeof(data), data};

	stacks_key_encode(at, data);
	return store_error(mdb_del(txn, store->tables[TABLE_STACKS], &key, NULL));
}

/*
 * Write what is left of the run that was at `at`; it joins the run before, *last, when both fit in one and nodes were
 * removed from either: runs of a node or two would take more for their keys than for the nodes. *last is the one that
 * the next may join.
 */
static int
put_swept(const struct store *store, MDB_txn *txn, const struct stacks_key *at, const struct node_run *run,
          struct node_run *last)
{
	const bool joins = last->count > 0 && run->count > 0 && run->removed + last->removed > 0 &&
	                   last->nodes[0].node.image == at->image && last->count + run->count <= STACKS_RUN_MAX;
	int err = 0;

	if (run->removed > 0 || joins)
		err = remove_run(store, txn, at);
	if (joins) {
		memcpy(&last->nodes[last->count], run->nodes, run->count * sizeof(*run->nodes));
		last->count += run->count;
		last->removed += run->removed;
	} else if (run->count > 0) {
		*last = *run;
	}
	if (!err && run->count > 0 && (run->removed > 0 || joins))
		err = put_run(store, txn, last->nodes, last->count);
	return err;
}

/* The marked nodes of the first run whose key is not below *from; -ENOENT: there is none. */
static int
read_marked(const struct store *store, MDB_txn *txn, const struct stacks_key *from, struct stacks_key *at,
            struct node_run *run)
{
	uint8_t data[STACKS_KEY_SIZE];
	MDB_val key = {sizeof(data), data}, value;
	MDB_cursor *cursor;
	int err = open_cursor(store, txn, &cursor);

	if (err)
		return err;
	stacks_key_encode(from, data);
	err = store_error(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE));
	if (!err)
		err = stacks_key_decode(key.mv_data, key.mv_size, at);
	if (!err)
		err = stacks_decode(at, value.mv_data, value.mv_size, take_marked, run);
	mdb_cursor_close(cursor);
	return err;
}

int
stacks_sweep(const struct store *store, MDB_txn *txn, const struct gc_marks *marks, size_t max, struct stacks_key *next)
{
	struct node_run run = {.marks = marks}, last = {0};
	int err = 0;

	if (next->image == HIGHEST_IMAGE)
		*next = (struct stacks_key){.image = HIGHEST_IMAGE + 1};
	for (size_t i = 0; !err && i < max; i++) {
		struct stacks_key at;

		run.count = run.removed = 0;
		err = read_marked(store, txn, next, &at, &run);
		if (err)
			break;
		err = put_swept(store, txn, &at, &run, &last);
		*next = key_of(&run.last); /* what is left of the run has a key up to here */
		next->number++;
	}
	return err == -ENOENT ? 0 : err ? err : 1;
}
