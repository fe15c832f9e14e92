#include "dcpi-tools/x/process_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define EXEC_TRIES    20
#define EXEC_PAUSE_US 5000
#define AGE_MAX_NS    SECOND_NS /* a mapping may have been replaced by another */

struct code_mapping {
	uint64_t start, end, offset;
	uint32_t image; /* of the session; UINT32_MAX: no file's */
};

static int
add_mapping(void *context, const struct record_mmap *mmap)
{
	struct process_code *map = context;
	struct code_mapping *grown;
	struct record_mmap complete = *mmap;
	struct image image;
	char buffer[PATH_MAX];
	uint32_t number = UINT32_MAX;
	int err = 0;

	grown = array_grow(map->mappings, &map->capacity, map->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	map->mappings = grown;
	if (complete.inode != 0)
		mapped_file_complete(map->maps.procfs, (uint32_t)map->pid, &complete);
	image_of_mapping(&complete, &map->vdso, &image, buffer);
	if (image.kind == IMAGE_USER || image.kind == IMAGE_VDSO)
		err = image_table_intern(map->counted->images, &image, &number);
	if (err)
		return err;
	grown[map->count++] = (struct code_mapping){
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.offset = image.kind == IMAGE_USER ? mmap->file_offset : 0,
		.image = number,
	};
	return 0;
}

static int
read_mappings(struct process_code *map)
{
	map->count = 0;
	map->read_ns = monotonic_ns();
	return proc_maps_read(&map->maps, (uint32_t)map->pid, add_mapping, map);
}

int
process_code_init(struct process_code *map, pid_t pid, uint32_t context, struct counted *counted)
{
	int err;

	memset(map, 0, sizeof(*map));
	map->pid = pid;
	map->context = context;
	map->counted = counted;
	vdso_identity_read(&map->vdso);
	map->maps.procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (map->maps.procfs < 0)
		return -errno;
	map->maps.files = file_generations_new();
	map->maps.lines = malloc(sizeof(*map->maps.lines));
	if (!map->maps.files || !map->maps.lines)
		return -ENOMEM;
	err = read_mappings(map);
	for (int i = 0; i < EXEC_TRIES && !err && map->count == 0; i++) { /* in the middle of an execve(2) */
		usleep(EXEC_PAUSE_US);
		err = read_mappings(map);
	}
	return err || map->count > 0 ? err : -EPERM;
}

void
process_code_fini(struct process_code *map)
{
	if (map->maps.procfs >= 0)
		close(map->maps.procfs);
	file_generations_free(map->maps.files);
	free(map->maps.lines);
	free(map->mappings);
}

bool
process_code_has(const struct process_code *map, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->mappings[i].start < end && map->mappings[i].end > start)
			return true;
	return false;
}

static const struct code_mapping *
find_mapping(const struct process_code *map, uint64_t address)
{
	for (size_t i = 0; i < map->count; i++)
		if (address >= map->mappings[i].start && address < map->mappings[i].end)
			return &map->mappings[i];
	return NULL;
}

static int
count_step(struct process_code *map, uint64_t from_address, uint64_t to_address)
{
	const struct code_mapping *from = find_mapping(map, from_address), *to = find_mapping(map, to_address);
	struct sample_key key = {.context = map->context};
	struct profile_edge edge = {.count = 1};
	int err;

	if (!from || from->image == UINT32_MAX) {
		counted_add_anonymous(map->counted, 0, 1);
		return 0;
	}
	key.image = edge.image = from->image;
	key.offset = edge.from = from_address - from->start + from->offset;
	err = counted_add(map->counted, &key, 1);
	if (err || !to || to->image != from->image)
		return err;
	edge.to = to_address - to->start + to->offset;
	return edge_list_gather(&map->counted->edges, &edge);
}

int
process_code_count(struct process_code *map, const uint64_t *places, size_t count)
{
	bool is_known = monotonic_ns() - map->read_ns < AGE_MAX_NS;
	int err = 0;

	for (size_t i = 0; i < count && is_known; i++)
		is_known = find_mapping(map, places[i]);
	if (!is_known && count > 0)
		err = read_mappings(map);
	if (err == -ENOENT || err == -ESRCH || err == -EACCES)
		err = 0; /* the process has ended: the mappings that were read before are used */
	for (size_t i = 0; !err && i < count; i++)
		err = count_step(map, places[i], places[i + 1]);
	return err;
}
