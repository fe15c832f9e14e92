#include "dcpi-tools/mem/process_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "process/proc.h"

struct process_map {
	uint32_t pid;
	struct process_mapping *mappings; /* ascending */
	size_t count, room;
};

struct process_map *
process_map_new(uint32_t pid)
{
	struct process_map *map = calloc(1, sizeof(*map));

	if (map)
		map->pid = pid;
	return map;
}

static void
free_mappings(struct process_mapping *mappings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(mappings[i].path);
	free(mappings);
}

static void
replace_mappings(struct process_map *map, struct process_mapping *mappings, size_t count, size_t room)
{
	free_mappings(map->mappings, map->count);
	map->mappings = mappings;
	map->count = count;
	map->room = room;
}

void
process_map_free(struct process_map *map)
{
	if (!map)
		return;
	free_mappings(map->mappings, map->count);
	free(map);
}

struct map_reading {
	struct process_mapping *mappings;
	size_t count, room;
	uint64_t base;
};

/* `base`: as process_map_refresh(). 0 or -ENOMEM. */
static int
make_mapping(const struct record_mmap *mmap, uint64_t base, struct process_mapping *mapping)
{
	*mapping = (struct process_mapping){
		.start = mmap->start - base,
		.end = mmap->start - base + mmap->length,
		.file_offset = mmap->file_offset,
		.device_major = mmap->device_major,
		.device_minor = mmap->device_minor,
		.inode = mmap->inode,
		.build_id_size = mmap->build_id_size,
		.is_code = mmap->protection & PROT_EXEC,
		.is_writable = mmap->protection & PROT_WRITE,
		.path = strdup(mmap->path && mmap->path[0] == '/' && mmap->path[1] != '/' ? mmap->path : ""),
	};
	memcpy(mapping->build_id, mmap->build_id, sizeof(mapping->build_id));
	return mapping->path ? 0 : -ENOMEM;
}

static int
take_line(void *context, char *line)
{
	struct map_reading *reading = context;
	struct process_mapping *mapping;
	struct record_mmap mmap;

	if (!proc_maps_parse(line, &mmap) || mmap.start < reading->base)
		return 0;
	mapping = ARRAY_APPEND(reading->mappings, reading->count, reading->room);
	if (!mapping)
		return -ENOMEM;
	if (!make_mapping(&mmap, reading->base, mapping))
		return 0;
	reading->count--;
	return -ENOMEM;
}

int
process_map_refresh(struct process_map *map, uint64_t base)
{
	struct map_reading reading = {.base = base};
	char directory[64];
	int err;

	snprintf(directory, sizeof(directory), "/proc/%" PRIu32, map->pid);
	err = proc_text_read(directory, "maps", take_line, &reading);
	if (err || !reading.count) {
		free_mappings(reading.mappings, reading.count);
		return err;
	}
	replace_mappings(map, reading.mappings, reading.count, reading.room);
	return 0;
}

/* Split the mapping that `address` is inside of. 0 or -ENOMEM. */
static int
split_at(struct process_map *map, uint64_t address)
{
	const size_t at = ARRAY_LOWER_BOUND(map->mappings, map->count, end, address + 1);
	struct process_mapping *mapping, behind;

	if (at == map->count || map->mappings[at].start >= address)
		return 0;
	behind = map->mappings[at];
	behind.path = strdup(behind.path);
	mapping = behind.path ? ARRAY_APPEND(map->mappings, map->count, map->room) : NULL;
	if (!mapping) {
		free(behind.path);
		return -ENOMEM;
	}
	memmove(map->mappings + at + 1, map->mappings + at, (map->count - 1 - at) * sizeof(*mapping));
	behind.file_offset += address - behind.start;
	behind.start = address;
	map->mappings[at].end = address;
	map->mappings[at + 1] = behind;
	return 0;
}

int
process_map_add(struct process_map *map, const struct record_mmap *mmap)
{
	const uint64_t end = mmap->start + mmap->length;
	struct process_mapping made;
	size_t first, last;
	int err;

	if (end <= mmap->start || end == UINT64_MAX)
		return 0;
	err = split_at(map, mmap->start);
	if (!err)
		err = split_at(map, end);
	if (!err)
		err = make_mapping(mmap, 0, &made);
	if (err)
		return err;
	/* those inside of it go */
	first = ARRAY_LOWER_BOUND(map->mappings, map->count, end, mmap->start + 1);
	last = first;
	while (last < map->count && map->mappings[last].start < end)
		free(map->mappings[last++].path);
	if (first == last && !ARRAY_APPEND(map->mappings, map->count, map->room)) {
		free(made.path);
		return -ENOMEM;
	}
	if (first == last) {
		memmove(map->mappings + first + 1, map->mappings + first,
		        (map->count - 1 - first) * sizeof(*map->mappings));
	} else {
		memmove(map->mappings + first + 1, map->mappings + last, (map->count - last) * sizeof(*map->mappings));
		map->count -= last - first - 1;
	}
	map->mappings[first] = made;
	return 0;
}

int
process_map_copy(struct process_map *map, const struct process_map *from)
{
	struct process_mapping *mappings = NULL;
	size_t count = 0, room = 0;
	int err = 0;

	for (size_t i = 0; i < from->count && !err; i++) {
		struct process_mapping *copy = ARRAY_APPEND(mappings, count, room);

		if (copy) {
			*copy = from->mappings[i];
			copy->path = strdup(copy->path);
			count -= !copy->path;
		}
		err = copy && copy->path ? 0 : -ENOMEM;
	}
	if (err) {
		free_mappings(mappings, count);
		return err;
	}
	replace_mappings(map, mappings, count, room);
	return 0;
}

size_t
process_map_count(const struct process_map *map)
{
	return map->count;
}

const struct process_mapping *
process_map_find(const struct process_map *map, uint64_t address)
{
	size_t at = address < UINT64_MAX ? ARRAY_LOWER_BOUND(map->mappings, map->count, end, address + 1) : map->count;

	return at < map->count && map->mappings[at].start <= address ? &map->mappings[at] : NULL;
}

bool
process_map_has(const struct process_map *map, uint64_t address)
{
	return process_map_find(map, address) != NULL;
}

struct image
process_map_image(const struct process_mapping *mapping)
{
	struct image image = {
		.kind = IMAGE_USER,
		.build_id_size = mapping->build_id_size,
		.device_major = mapping->device_major,
		.device_minor = mapping->device_minor,
		.inode = mapping->inode,
		.path = mapping->path,
	};

	memcpy(image.build_id, mapping->build_id, sizeof(image.build_id));
	return image;
}

bool
process_map_file(const struct process_map *map, uint64_t address, struct image *image, uint64_t *offset)
{
	const struct process_mapping *mapping = process_map_find(map, address);

	if (!mapping || !mapping->path[0])
		return false;
	*image = process_map_image(mapping);
	*offset = address - mapping->start + mapping->file_offset;
	return true;
}

/*
 * Whether a file is a program or a library: its code is mapped, too; where a program is emulated, its code is data for
 * the machine, but what it may write is mapped apart from what it may not.
 */
static bool
is_program(const struct process_map *map, const char *path)
{
	bool is_written = false, is_constant = false;

	for (size_t i = 0; i < map->count; i++) {
		const struct process_mapping *mapping = &map->mappings[i];

		if (strcmp(mapping->path, path) != 0)
			continue;
		if (mapping->is_code)
			return true;
		is_written |= mapping->is_writable;
		is_constant |= !mapping->is_writable;
	}
	return is_written && is_constant;
}

const struct process_mapping *
process_map_program(const struct process_map *map, const struct process_mapping *mapping)
{
	const struct process_mapping *before = mapping;

	while (!before->path[0]) {
		if (before == map->mappings || (before - 1)->end != before->start || !before->is_writable)
			return NULL;
		before--;
	}
	return is_program(map, before->path) ? before : NULL;
}

const struct process_mapping *
process_map_first(const struct process_map *map, const struct process_mapping *mapping)
{
	const struct process_mapping *first = mapping;

	for (size_t i = (size_t)(mapping - map->mappings); i-- > 0 && first->file_offset;) {
		if (strcmp(map->mappings[i].path, mapping->path) == 0)
			first = &map->mappings[i];
	}
	return first;
}
