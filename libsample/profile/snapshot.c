#include "profile/snapshot.h"

#include "profile/handle.h"

int
profile_snapshot(struct profile *profile, int fd)
{
	return store_error(mdb_env_copyfd2(profile->store.env, fd, MDB_CP_COMPACT));
}
