/* How long runs under labels lasted, into the new database: see salvage_parts.h. */
#include "profile/salvage_parts.h"

#include <errno.h>

#include "base/error.h"

int
salvage_judge_label_time(const struct pages_entry *entry, struct label_times_key *key, struct profile_label_time *time)
{
	int err = entry->is_tree ? -DCPI_EDAMAGED : label_times_key_decode(entry->key, entry->key_size, key);

	return err ? err : label_time_decode(entry->value, entry->size, time);
}

/* The time that is there already is replaced by one that is longer: they grow. */
int
salvage_take_label_time(struct salvage *salvage, const struct pages_entry *entry)
{
	const MDB_dbi table = salvage->profile->store.tables[TABLE_LABEL_TIMES];
	const MDB_val longer = {entry->size, (void *)entry->value};
	MDB_val name = {entry->key_size, (void *)entry->key}, value;
	struct profile_label_time time, before = {0};
	struct label_times_key key;
	int err;

	err = salvage_judge_label_time(entry, &key, &time);
	if (!err && !salvage_find_slice(salvage, key.slice))
		err = -DCPI_EDAMAGED;
	if (!err)
		err = salvage_step(salvage);
	if (err)
		return err;
	err = store_error(mdb_get(salvage->txn, table, &name, &value));
	if (!err)
		err = label_time_decode(value.mv_data, value.mv_size, &before);
	else if (err == -ENOENT)
		err = 0;
	if (err || time.elapsed_ns <= before.elapsed_ns)
		return err;
	value = longer;
	err = store_error(mdb_put(salvage->txn, table, &name, &value, 0));
	salvage->result->label_times.kept += !err && !before.elapsed_ns;
	return err;
}
