/* profile_check(): each table is walked in turn; later tables refer to numbers that earlier ones had. */
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "profile/captured.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/edges.h"
#include "profile/ids.h"
#include "profile/label_times.h"
#include "profile/memory_rows.h"
#include "profile/profile_internal.h"
#include "profile/stacks.h"

#define CHECK_TEXT_SIZE 256

/* The numbers of a table, ascending. */
struct check_numbers {
	uint32_t *numbers;
	size_t count, capacity;
};

struct check_epoch {
	uint32_t id; /* first, for array_compare_u32() */
	size_t event_count;
	bool is_incoming;
};

struct check_slice {
	uint32_t id; /* first, for array_compare_u32() */
	size_t event_count;
	bool is_incoming;             /* some of its blocks may be missing */
	uint64_t samples[EVENTS_MAX]; /* by the slice's record */
	uint64_t unknown[EVENTS_MAX]; /* by the slice's record, all causes */
	uint64_t counted[EVENTS_MAX]; /* the sum of its blocks */
};

struct check {
	const struct store *store;
	MDB_txn *txn;
	enum store_table table; /* that is walked */
	int gone;               /* an error: what is read cannot be trusted any more */
	profile_complaint *complain;
	void *context;
	int64_t complaints;
	struct check_epoch *epochs; /* ascending by id, as the next */
	size_t epoch_count, epoch_capacity;
	struct check_slice *slices;
	size_t slice_count, slice_capacity;
	struct check_numbers images;
	struct check_numbers contexts;
	struct stack_nodes nodes;
	uint32_t highest_node;
	uint8_t last_node[STACKS_KEY_SIZE]; /* of the runs so far; 0: none */
	uint32_t stacks_image;              /* of kind IMAGE_STACKS; 0: there is none */
};

static __attribute__((format(printf, 2, 3))) void
check_complain(struct check *check, const char *format, ...)
{
	char text[CHECK_TEXT_SIZE];
	va_list arguments;

	/* Pages of this version may have been reused by now: then the complaint may be wrong. */
	if (!check->gone)
		check->gone = readers_check(check->store);
	if (check->gone)
		return;
	check->complaints++;
	if (!check->complain)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	check->complain(check->context, text);
}

/* Call `visit` for each entry of a table; what LMDB itself finds wrong is a complaint. 0 or -ENOMEM. */
static int
check_table(struct check *check, enum store_table table,
            int (*visit)(struct check *check, const MDB_val *key, const MDB_val *value))
{
	struct store_walk walk;
	int result = 0, err = 0;

	check->table = table;
	store_walk_begin(check->store, check->txn, table, &walk);
	while (!err && (result = store_walk_next(&walk)) > 0)
		err = visit(check, &walk.key, &walk.value);
	store_walk_end(&walk);
	if (!err && result < 0)
		check_complain(check, "%s: cannot be read: %s", store_table_name(table), error_text(result));
	return err;
}

static const struct check_epoch *
check_find_epoch(const struct check *check, uint32_t id)
{
	return check->epoch_count
	               ? bsearch(&id, check->epochs, check->epoch_count, sizeof(*check->epochs), array_compare_u32)
	               : NULL;
}

static struct check_slice *
check_find_slice(const struct check *check, uint32_t id)
{
	return check->slice_count
	               ? bsearch(&id, check->slices, check->slice_count, sizeof(*check->slices), array_compare_u32)
	               : NULL;
}

static int
visit_epoch(struct check *check, const MDB_val *key, const MDB_val *value)
{
	struct check_epoch *added;
	struct epoch epoch;
	uint32_t id;

	if (store_key_number(key, &id)) {
		check_complain(check, "epochs: a key of %zu bytes", key->mv_size);
		return 0;
	}
	if (epoch_decode(id, value->mv_data, value->mv_size, &epoch)) {
		check_complain(check, "epochs: epoch %u cannot be read", id);
		return 0;
	}
	added = ARRAY_APPEND(check->epochs, check->epoch_count, check->epoch_capacity);
	if (!added)
		return -ENOMEM;
	*added = (struct check_epoch){id, epoch.event_count, epoch.is_incoming};
	return 0;
}

static int
visit_slice(struct check *check, const MDB_val *key, const MDB_val *value)
{
	const struct check_epoch *epoch;
	struct check_slice *added;
	struct slice slice;
	uint32_t id;
	int err;

	if (store_key_number(key, &id)) {
		check_complain(check, "slices: a key of %zu bytes", key->mv_size);
		return 0;
	}
	err = slice_decode(id, value->mv_data, value->mv_size, &slice);
	if (err == -ENOMEM)
		return err;
	if (err) {
		check_complain(check, "slices: slice %u cannot be read", id);
		return 0;
	}
	epoch = check_find_epoch(check, slice.epoch);
	if (!epoch)
		check_complain(check, "slices: slice %u is of epoch %u, which is not in epochs", id, slice.epoch);
	else if (epoch->event_count != slice.event_count)
		check_complain(check, "slices: slice %u has %zu events, its epoch %u has %zu", id, slice.event_count,
		               slice.epoch, epoch->event_count);
	added = ARRAY_APPEND(check->slices, check->slice_count, check->slice_capacity);
	if (!added) {
		slice_fini(&slice);
		return -ENOMEM;
	}
	*added = (struct check_slice){
		.id = id, .event_count = slice.event_count, .is_incoming = epoch && epoch->is_incoming};
	for (size_t i = 0; i < slice.event_count; i++) {
		added->samples[i] = slice.events[i].samples;
		added->unknown[i] = slice_event_unknown(&slice.events[i]);
	}
	slice_fini(&slice);
	return 0;
}

static int
visit_label_time(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	struct profile_label_time time;
	struct label_times_key key;

	if (label_times_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "label_times: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	if (!check_find_slice(check, key.slice))
		check_complain(check, "label_times: slice %u is not in slices", key.slice);
	if (label_time_decode(value->mv_data, value->mv_size, &time))
		check_complain(check, "label_times: a time of slice %u cannot be read", key.slice);
	return 0;
}

static bool
check_numbers_have(const struct check_numbers *numbers, uint32_t number)
{
	return numbers->count > 0 &&
	       bsearch(&number, numbers->numbers, numbers->count, sizeof(*numbers->numbers), array_compare_u32);
}

static int
remember(struct check_numbers *numbers, uint32_t number)
{
	uint32_t *added = ARRAY_APPEND(numbers->numbers, numbers->count, numbers->capacity);

	if (!added)
		return -ENOMEM;
	*added = number;
	return 0;
}

/* Of an image or context: does the value under `key` decode, and does the table of ids have its identity? */
static int
visit_thing(struct check *check, const MDB_val *key, const MDB_val *value)
{
	const struct ids_kind *kind = check->table == TABLE_IMAGES ? &ids_images : &ids_contexts;
	const char *things = store_table_name(kind->things), *ids = store_table_name(kind->ids);
	uint32_t number;
	int err;

	if (store_key_number(key, &number)) {
		check_complain(check, "%s: a key of %zu bytes", things, key->mv_size);
		return 0;
	}
	err = ids_check(kind, check->store, check->txn, number, value);
	if (err == -ENOMEM)
		return err;
	if (err == -DCPI_EDAMAGED)
		check_complain(check, "%s: %u cannot be read", things, number);
	else if (err)
		check_complain(check, "%s: %u cannot be found in %s: %s", things, number, ids, error_text(err));
	return remember(check->table == TABLE_IMAGES ? &check->images : &check->contexts, number);
}

static int
visit_id(struct check *check, const MDB_val *key, const MDB_val *value)
{
	const bool is_image = check->table == TABLE_IMAGE_IDS;
	const struct ids_kind *kind = is_image ? &ids_images : &ids_contexts;
	const char *ids = store_table_name(kind->ids);
	uint64_t hash;
	uint32_t number;
	int err;

	if (ids_key_decode(key, value, &hash, &number)) {
		check_complain(check, "%s: an entry cannot be read", ids);
		return 0;
	}
	if (!check_numbers_have(is_image ? &check->images : &check->contexts, number)) {
		check_complain(check, "%s: %u is not in %s", ids, number, store_table_name(kind->things));
		return 0;
	}
	err = ids_check_hash(kind, check->store, check->txn, number, hash);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "%s: %u stands under another identity", ids, number);
	return 0;
}

static int
visit_symbols(struct check *check, const MDB_val *key, const MDB_val *value)
{
	struct profile_symbol *symbols;
	uint32_t number;
	size_t count;
	int err;

	if (store_key_number(key, &number)) {
		check_complain(check, "symbols: a key of %zu bytes", key->mv_size);
		return 0;
	}
	if (!check_numbers_have(&check->images, number))
		check_complain(check, "symbols: image %u is not in images", number);
	err = captured_symbols_decode(value->mv_data, value->mv_size, &symbols, &count);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "symbols: those of image %u cannot be read", number);
	else
		free(symbols);
	return 0;
}

static int
visit_text(struct check *check, const MDB_val *key, const MDB_val *value)
{
	uint32_t number, block;
	int err;

	if (captured_key_decode(key->mv_data, key->mv_size, &number, &block)) {
		check_complain(check, "text: a key of %zu bytes", key->mv_size);
		return 0;
	}
	if (!check_numbers_have(&check->images, number))
		check_complain(check, "text: image %u is not in images", number);
	err = captured_value_check(block, value->mv_data, value->mv_size);
	if (err == -ENOMEM)
		return err;
	if (err && block == CAPTURED_BLOCK_NONE)
		check_complain(check, "text: the layout of image %u cannot be read", number);
	else if (err && block == CAPTURED_BLOCK_UNWIND)
		check_complain(check, "text: the unwind table of image %u cannot be read", number);
	else if (err)
		check_complain(check, "text: block %u of image %u cannot be read", block, number);
	return 0;
}

static int
visit_node(void *context, uint32_t number, const struct stack_node *node)
{
	const struct stacks_key key = {
		.offset = node->offset, .image = node->image, .caller = node->caller, .number = number};
	struct check *check = context;

	if (number > check->highest_node)
		return -DCPI_EDAMAGED;
	stacks_key_encode(&key, check->last_node);
	return 0;
}

static int
visit_stacks(struct check *check, const MDB_val *key, const MDB_val *value)
{
	struct stacks_key at;

	if (stacks_key_decode(key->mv_data, key->mv_size, &at)) {
		check_complain(check, "stacks: a key of %zu bytes cannot be read", key->mv_size);
		return 0;
	}
	if (at.image == 0) /* check_stacks() has read it */
		return 0;
	if (memcmp(key->mv_data, check->last_node, sizeof(check->last_node)) <= 0)
		check_complain(check, "stacks: the nodes before image %u, offset %#" PRIx64 " reach beyond it",
		               at.image, at.offset);
	if (stacks_decode(&at, value->mv_data, value->mv_size, visit_node, check))
		check_complain(check, "stacks: the nodes of image %u, offset %#" PRIx64 " cannot be read", at.image,
		               at.offset);
	if (at.image != STACK_NO_IMAGE && !check_numbers_have(&check->images, at.image))
		check_complain(check, "stacks: image %u is not in images", at.image);
	return 0;
}

/* All nodes together: is the caller of each a node? What cannot be read alone, visit_stacks() has complained about. */
static int
check_stacks(struct check *check)
{
	int err;

	if (!check->store->has[TABLE_STACKS])
		return 0;
	err = stacks_highest(check->store, check->txn, &check->highest_node);
	if (!err)
		err = stacks_read_all(check->store, check->txn, &check->nodes);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "stacks: cannot be read: %s", error_text(err));
	err = stacks_image(check->store, check->txn, &check->stacks_image);
	return err == -ENOMEM ? err : 0;
}

/* `count` pairs of a block of stacks. */
static void
check_nodes(struct check *check, const struct counts_key *key, const struct counts_pair *pairs, int count)
{
	for (int i = 0; i < count; i++) {
		const uint64_t node = (uint64_t)key->block << COUNTS_BLOCK_SHIFT | pairs[i].offset;

		if (!stack_nodes_find(&check->nodes, node))
			check_complain(check, "counts: slice %u, event %u: node %" PRIu64 " is not in stacks",
			               key->slice, key->event, node);
	}
}

static int
visit_block(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct check_slice *slice;
	struct counts_key key;
	int count;

	if (counts_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "counts: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	slice = check_find_slice(check, key.slice);
	if (!slice)
		check_complain(check, "counts: slice %u is not in slices", key.slice);
	else if (key.event >= slice->event_count)
		check_complain(check, "counts: slice %u has no event %u", key.slice, key.event);
	if (!check_numbers_have(&check->images, key.image))
		check_complain(check, "counts: image %u is not in images", key.image);
	if (!check_numbers_have(&check->contexts, key.context))
		check_complain(check, "counts: context %u is not in contexts", key.context);
	count = counts_decode(value->mv_data, value->mv_size, pairs);
	if (count < 0)
		check_complain(check, "counts: slice %u, event %u, image %u, context %u, block %u cannot be read",
		               key.slice, key.event, key.image, key.context, key.block);
	if (check->stacks_image && key.image == check->stacks_image)
		check_nodes(check, &key, pairs, count);
	if (!slice || key.event >= slice->event_count)
		return 0;
	for (int i = 0; i < count; i++)
		slice->counted[key.event] = add_saturating(slice->counted[key.event], pairs[i].count);
	return 0;
}

static void
check_totals(struct check *check, const struct check_slice *slice)
{
	for (size_t i = 0; i < slice->event_count; i++) {
		if (slice->samples[i] == add_saturating(slice->counted[i], slice->unknown[i]))
			continue;
		check_complain(check,
		               "slices: slice %u, event %zu has %" PRIu64 " samples, but %" PRIu64
		               " are counted and %" PRIu64 " unknown",
		               slice->id, i, slice->samples[i], slice->counted[i], slice->unknown[i]);
	}
}

static int
visit_edges(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	const struct check_slice *slice;
	struct edge_list list = {0};
	struct edges_key key;
	int err;

	if (edges_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "edges: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	slice = check_find_slice(check, key.slice);
	if (!slice)
		check_complain(check, "edges: slice %u is not in slices", key.slice);
	else if (key.event >= slice->event_count)
		check_complain(check, "edges: slice %u has no event %u", key.slice, key.event);
	if (!check_numbers_have(&check->images, key.image))
		check_complain(check, "edges: image %u is not in images", key.image);
	err = edges_decode(value->mv_data, value->mv_size, &key, &list);
	edge_list_fini(&list);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "edges: slice %u, event %u, image %u, block %u cannot be read", key.slice,
		               key.event, key.image, key.block);
	return 0;
}

static int
visit_memory_row(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	struct memory_row_key key;
	size_t size;
	void *row;
	int err;

	if (memory_row_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "memory: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	if (!check_find_slice(check, key.slice))
		check_complain(check, "memory: slice %u is not in slices", key.slice);
	err = memory_row_decode(value->mv_data, value->mv_size, &row, &size);
	if (err == -ENOMEM)
		return err;
	if (err)
		check_complain(check, "memory: slice %u, part %u, row %u cannot be read", key.slice, key.part,
		               key.number);
	else
		free(row);
	return 0;
}

static int
visit_meta(struct check *check, const MDB_val *key, const MDB_val *value)
{
	char name[32], shown[sizeof(name) * 4];

	if (store_meta_decode(key->mv_data, key->mv_size, value->mv_data, value->mv_size) == 0)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(key->mv_size < sizeof(name) ? key->mv_size : sizeof(name) - 1),
	         (const char *)key->mv_data);
	check_complain(check, "meta: %s means nothing", escape_text(name, shown, sizeof(shown)));
	return 0;
}

static int
check_all(struct check *check)
{
	static const struct {
		enum store_table table;
		int (*visit)(struct check *check, const MDB_val *key, const MDB_val *value);
	} tables[] = {
		{TABLE_META, visit_meta},
		{TABLE_EPOCHS, visit_epoch},
		{TABLE_SLICES, visit_slice},
		{TABLE_IMAGES, visit_thing},
		{TABLE_IMAGE_IDS, visit_id},
		{TABLE_CONTEXTS, visit_thing},
		{TABLE_CONTEXT_IDS, visit_id},
		{TABLE_STACKS, visit_stacks},
		{TABLE_COUNTS, visit_block},
		{TABLE_EDGES, visit_edges},
		{TABLE_SYMBOLS, visit_symbols},
		{TABLE_TEXT, visit_text},
		{TABLE_LABEL_TIMES, visit_label_time},
		{TABLE_MEMORY, visit_memory_row},
	};
	int err = check_stacks(check);

	if (err)
		return err;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!check->store->has[tables[i].table] && tables[i].table >= TABLE_EDGES)
			continue; /* the database is older than the table */
		err = check_table(check, tables[i].table, tables[i].visit);
		if (err)
			return err;
		if (tables[i].table != TABLE_COUNTS)
			continue;
		for (size_t j = 0; j < check->slice_count; j++)
			if (!check->slices[j].is_incoming)
				check_totals(check, &check->slices[j]);
	}
	return 0;
}

int64_t
profile_check(struct profile *profile, profile_complaint *complain, void *context)
{
	struct check check = {.store = &profile->store, .complain = complain, .context = context};
	int err;

	err = store_begin(&profile->store, false, &check.txn);
	if (err)
		return err;
	err = store_leave(&profile->store, check.txn, check_all(&check));
	free(check.epochs);
	free(check.slices);
	free(check.images.numbers);
	free(check.contexts.numbers);
	stack_nodes_fini(&check.nodes);
	if (!err)
		err = check.gone;
	return err ? err : check.complaints;
}
