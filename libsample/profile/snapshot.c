#include "profile/snapshot.h"

#include "profile/handle.h"

int
profile_snapshot(struct profile *profile, int fd)
{
	struct store *store = &profile->store;
	MDB_txn *txn;
	int err;

	/* LMDB's copy begins a transaction of its own, of this version or a later one: whoever spares this spares both.
	 */
	err = store_begin(store, false, &txn);
	if (err)
		return err;
	return store_leave(store, txn, store_error(mdb_env_copyfd2(store->env, fd, MDB_CP_COMPACT)));
}
