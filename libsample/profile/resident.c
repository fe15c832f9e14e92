/* profile_forget_pages(): see profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "profile/handle.h"

/* Some address in the file's mapping: where a value lies. LMDB does not tell where the mapping begins. */
static int
find_address(struct store *store, uintptr_t *address)
{
	struct store_walk walk;
	MDB_txn *txn;
	int found, err;

	err = store_begin(store, false, &txn);
	if (err)
		return err;
	err = store_walk_begin(store, txn, TABLE_META, &walk);
	if (!err) {
		found = store_walk_next(&walk);
		*address = found > 0 ? (uintptr_t)walk.value.mv_data : 0;
		err = found < 0 ? found : 0;
		store_walk_end(&walk);
	}
	err = store_leave(store, txn, err);
	return err || *address ? err : -ENOENT;
}

static int
forget_mapping_of(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t start, end;
	char *line = NULL;
	size_t size = 0;
	int err = -ENOENT;

	if (!maps)
		return -errno;
	while (err == -ENOENT && getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) != 2 || address < start || address >= end)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel tells where */
		err = madvise((void *)start, end - start, MADV_DONTNEED) ? -errno : 0;
	}
	free(line);
	fclose(maps);
	return err;
}

int
profile_forget_pages(struct profile *profile)
{
	uintptr_t address = 0;
	int err = find_address(&profile->store, &address);

	return err ? err : forget_mapping_of(address);
}
