#include "profile/profile.h"

#include <string.h>

#include "base/error.h"
#include "profile/directory.h"
#include "profile/handle.h"
#include "profile/readers.h"
#include "profile/slice_list.h"

/*
 * Pages that LMDB may use again: database 0 lists them by the transaction that freed them, each value a page count and
 * then the pages. Those of `pinned_from` and later it may not, for somebody sees them.
 */
static int
count_free_pages(MDB_txn *txn, uint64_t pinned_from, uint64_t *pages, uint64_t *pinned)
{
	size_t transaction;
	MDB_val key, value;
	MDB_cursor *cursor;
	size_t count;
	int rc;

	*pages = 0;
	*pinned = 0;
	rc = mdb_cursor_open(txn, 0, &cursor);
	if (rc)
		return store_error(rc);
	while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		if (value.mv_size < sizeof(count))
			break;
		memcpy(&count, value.mv_data, sizeof(count));
		*pages += count;
		if (key.mv_size != sizeof(transaction))
			break;
		memcpy(&transaction, key.mv_data, sizeof(transaction));
		if (transaction >= pinned_from)
			*pinned += count;
	}
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return 0;
	return rc ? store_error(rc) : -DCPI_EDAMAGED;
}

static int
count_entries(const struct store *store, MDB_txn *txn, struct profile_stats *stats)
{
	const struct {
		enum table table;
		uint64_t *entries;
	} counted[] = {
		{TABLE_EPOCHS, &stats->epochs},     {TABLE_SLICES, &stats->slices}, {TABLE_IMAGES, &stats->images},
		{TABLE_CONTEXTS, &stats->contexts}, {TABLE_COUNTS, &stats->blocks},
	};
	struct epoch_marks marks;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(counted) / sizeof(counted[0]); i++)
		err = store_entries(store, txn, counted[i].table, counted[i].entries);
	if (!err)
		err = slice_list_mark(store, txn, NULL, &marks);
	if (err)
		return err;
	stats->kept = marks.kept;
	stats->incoming = marks.incoming;
	stats->epochs -= marks.incoming;
	return 0;
}

static int
measure(const struct store *store, MDB_txn *txn, struct profile_stats *stats)
{
	const struct slow_reader *slow = readers_slow(store);
	uint64_t free_pages, pinned, pages;
	MDB_envinfo info;
	MDB_stat stat;
	int err;

	err = store_error(mdb_env_info(store->env, &info));
	if (!err)
		err = store_error(mdb_env_stat(store->env, &stat));
	if (!err)
		err = count_free_pages(txn, slow ? slow->transaction : UINT64_MAX, &free_pages, &pinned);
	if (err)
		return err;
	pages = (uint64_t)info.me_last_pgno + 1;
	stats->used_bytes = pages > free_pages ? (pages - free_pages) * stat.ms_psize : 0;
	stats->size_limit = info.me_mapsize;
	if (slow) {
		stats->reader = slow->pid;
		stats->reader_since_ns = slow->since_ns;
		stats->reader_bytes = pinned * stat.ms_psize;
	}
	return count_entries(store, txn, stats);
}

int
profile_stats(struct profile *profile, struct profile_stats *stats)
{
	off_t size = directory_file_size(profile->directory, DIRECTORY_DATA);
	MDB_txn *txn;
	int err;

	memset(stats, 0, sizeof(*stats));
	if (size < 0)
		return (int)size;
	stats->file_bytes = (uint64_t)size;
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	return store_leave(&profile->store, txn, measure(&profile->store, txn, stats));
}
