#include "dcpi-tools/import/build_ids.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/hash.h"
#include "process/kernel_map.h"

#define KEY_SIZE (PATH_MAX + 16)

struct build_ids_entry {
	UT_hash_handle hh;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size;
	char path[]; /* as in struct image */
};

struct build_ids {
	struct build_ids_entry *by_path;
	size_t taken; /* of the list */
};

struct build_ids *
build_ids_new(void)
{
	return calloc(1, sizeof(struct build_ids));
}

void
build_ids_free(struct build_ids *ids)
{
	struct build_ids_entry *entry, *next;

	if (!ids)
		return;
	entry = ids->by_path;
	HASH_CLEAR(hh, ids->by_path);
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry);
	}
	free(ids);
}

static int
add(struct build_ids *ids, const char *path, const struct perf_data_build_id *named)
{
	const size_t size = strlen(path) + 1;
	struct build_ids_entry *entry;

	HASH_FIND_STR(ids->by_path, path, entry);
	if (entry)
		return 0;
	entry = calloc(1, sizeof(*entry) + size);
	if (!entry)
		return -ENOMEM;
	memcpy(entry->path, path, size);
	memcpy(entry->build_id, named->build_id, sizeof(entry->build_id));
	entry->build_id_size = named->build_id_size;
	HASH_ADD_STR(ids->by_path, path, entry);
	if (hash_added(entry))
		return 0;
	free(entry);
	return -ENOMEM;
}

/* Old versions of perf recorded 20 bytes without a size, and all zeros where there was none. */
static bool
is_build_id(const struct perf_data_build_id *named)
{
	for (size_t i = 0; i < named->build_id_size; i++)
		if (named->build_id[i])
			return true;
	return false;
}

int
build_ids_update(struct build_ids *ids, const struct perf_data_build_id *list, size_t count)
{
	for (; ids->taken < count; ids->taken++) {
		const struct perf_data_build_id *named = &list[ids->taken];
		char name[KERNEL_MAP_NAME_SIZE];
		int err;

		if (!is_build_id(named) || (named->mode != CPU_MODE_KERNEL && named->mode != CPU_MODE_USER))
			continue;
		if (named->mode == CPU_MODE_KERNEL && kernel_map_name(named->path, name) != IMAGE_UNKNOWN)
			err = add(ids, name, named);
		else
			err = add(ids, named->path, named);
		if (err)
			return err;
	}
	return 0;
}

void
build_ids_complete(const struct build_ids *ids, struct image *image)
{
	const struct build_ids_entry *entry;
	char path[KEY_SIZE];

	if (image->build_id_size > 0 || image->kind == IMAGE_ANON || image->kind == IMAGE_JIT)
		return;
	snprintf(path, sizeof(path), "%s%s", image->path, image->deleted ? " (deleted)" : "");
	HASH_FIND_STR(ids->by_path, path, entry);
	if (!entry)
		return;
	memcpy(image->build_id, entry->build_id, sizeof(image->build_id));
	image->build_id_size = entry->build_id_size;
}
