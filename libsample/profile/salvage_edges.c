/* Control transfers into the new database: see salvage_parts.h. */
#include "profile/salvage_parts.h"

#include <errno.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/edges.h"

static int
sum_of(const void *data, size_t size, const struct edges_key *key, uint64_t *sum)
{
	struct edge_list list = {0};
	int err = edges_decode(data, size, key, &list);

	*sum = 0;
	for (size_t i = 0; i < list.count && !err; i++)
		*sum = add_saturating(*sum, list.edges[i].count);
	edge_list_fini(&list);
	return err;
}

int
salvage_judge_edges(const struct pages_entry *entry, struct edges_key *key, uint64_t *sum)
{
	int err = edges_key_decode(entry->key, entry->key_size, key);

	if (!err && entry->is_tree)
		err = -DCPI_EDAMAGED;
	if (!err)
		err = sum_of(entry->value, entry->size, key, sum);
	return err ? err : *sum ? 0 : -DCPI_EDAMAGED;
}

/* The block that is there already is replaced by one that has more: blocks grow. */
static int
put_block(struct salvage *salvage, const struct edges_key *key, const struct pages_entry *entry, uint64_t sum)
{
	const MDB_dbi table = salvage->profile->store.tables[TABLE_EDGES];
	uint8_t data[EDGES_KEY_SIZE];
	MDB_val name = {sizeof(data), data}, value;
	uint64_t before = 0;
	int err;

	edges_key_encode(key, data);
	err = store_error(mdb_get(salvage->txn, table, &name, &value));
	if (!err)
		err = sum_of(value.mv_data, value.mv_size, key, &before);
	else if (err == -ENOENT)
		err = 0;
	if (err || sum <= before)
		return err;
	value = (MDB_val){entry->size, (void *)entry->value};
	err = store_error(mdb_put(salvage->txn, table, &name, &value, 0));
	salvage->result->edges.kept += !err && !before;
	return err;
}

int
salvage_take_edges(struct salvage *salvage, const struct pages_entry *entry)
{
	const struct salvage_slice *slice;
	struct edges_key key;
	uint64_t sum;
	int err;

	err = salvage_judge_edges(entry, &key, &sum);
	if (err)
		return err;
	slice = salvage_find_slice(salvage, key.slice);
	if (!slice || key.event >= slice->slice.event_count)
		return -DCPI_EDAMAGED;
	err = salvage_step(salvage);
	if (!err)
		err = salvage_image(salvage, key.image, &key.image);
	return err ? err : put_block(salvage, &key, entry, sum);
}
