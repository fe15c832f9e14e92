/* Blocks of counts and edges, and times of labels, of another database: see adopt_parts.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "profile/adopt_parts.h"
#include "profile/counts.h"
#include "profile/edges.h"
#include "profile/label_times.h"

#define LOOK_EVERY 1024 /* blocks */

static int
proceed(struct adopting *adopting)
{
	const struct adoption_options *options = adopting->options;

	if (adopting->done++ % LOOK_EVERY != 0 || !options->proceed)
		return 0;
	return options->proceed(options->context, adopting->done, adopting->all);
}

/* Two images there are never one here, so a block that is there already means that theirs are not what they should be.
 */
static int
put(struct adopting *adopting, enum table table, uint8_t *key_data, size_t key_size, MDB_val value)
{
	MDB_val key = {key_size, key_data};
	int rc = mdb_put(adopting->to_txn, adopting->to_store->tables[table], &key, &value, MDB_NOOVERWRITE);

	if (rc == MDB_KEYEXIST)
		return -DCPI_EDAMAGED;
	adopt_note(adopting, key_size + value.mv_size);
	adopting->adoption->blocks += rc == 0;
	return store_error(rc);
}

static int
adopt_counts_block(struct adopting *adopting, const struct store_walk *walk, struct counts_pair *pairs)
{
	uint8_t data[COUNTS_KEY_SIZE];
	struct counts_key key;
	int result;

	result = counts_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (result)
		return result;
	key.slice = number_map_find(&adopting->slices, key.slice);
	if (key.slice == 0)
		return 0;
	result = counts_decode(walk->value.mv_data, walk->value.mv_size, pairs);
	if (result < 0)
		return result;
	result = adopt_image(adopting, key.image, &key.image);
	if (!result)
		result = adopt_context(adopting, key.context, &key.context);
	if (result)
		return result;
	counts_key_encode(&key, data);
	return put(adopting, TABLE_COUNTS, data, sizeof(data), walk->value);
}

static int
adopt_edges_block(struct adopting *adopting, const struct store_walk *walk)
{
	uint8_t data[EDGES_KEY_SIZE];
	struct edge_list list = {0};
	struct edges_key key;
	int err;

	err = edges_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	key.slice = number_map_find(&adopting->slices, key.slice);
	if (key.slice == 0)
		return 0;
	err = edges_decode(walk->value.mv_data, walk->value.mv_size, &key, &list);
	edge_list_fini(&list);
	if (!err)
		err = adopt_image(adopting, key.image, &key.image);
	if (err)
		return err;
	edges_key_encode(&key, data);
	return put(adopting, TABLE_EDGES, data, sizeof(data), walk->value);
}

int
adopt_counts(struct adopting *adopting)
{
	struct counts_pair *pairs = calloc(COUNTS_BLOCK_SIZE, sizeof(*pairs));
	struct store_walk walk;
	int result;

	if (!pairs)
		return -ENOMEM;
	result = store_walk_begin(adopting->from_store, adopting->from_txn, TABLE_COUNTS, &walk);
	if (result) {
		free(pairs);
		return result;
	}
	while ((result = store_walk_next(&walk)) > 0) {
		result = proceed(adopting);
		if (!result)
			result = adopt_step(adopting);
		if (!result)
			result = adopt_counts_block(adopting, &walk, pairs);
		if (result)
			break;
	}
	store_walk_end(&walk);
	free(pairs);
	return result;
}

int
adopt_edges(struct adopting *adopting)
{
	struct store_walk walk;
	int result;

	result = store_walk_begin(adopting->from_store, adopting->from_txn, TABLE_EDGES, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		result = proceed(adopting);
		if (!result)
			result = adopt_step(adopting);
		if (!result)
			result = adopt_edges_block(adopting, &walk);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}

static int
adopt_label_time(struct adopting *adopting, const struct store_walk *walk)
{
	struct profile_label_time time;
	struct label_times_key key;
	int err;

	err = label_times_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	key.slice = number_map_find(&adopting->slices, key.slice);
	if (key.slice == 0)
		return 0;
	err = label_time_decode(walk->value.mv_data, walk->value.mv_size, &time);
	time.label = key.label;
	adopt_note(adopting, walk->key.mv_size + walk->value.mv_size);
	return err ? err : label_times_put(adopting->to_store, adopting->to_txn, key.slice, &time, 1);
}

int
adopt_label_times(struct adopting *adopting)
{
	struct store_walk walk;
	int result;

	result = store_walk_begin(adopting->from_store, adopting->from_txn, TABLE_LABEL_TIMES, &walk);
	if (result)
		return result;
	while ((result = store_walk_next(&walk)) > 0) {
		result = adopt_step(adopting);
		if (!result)
			result = adopt_label_time(adopting, &walk);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result;
}
