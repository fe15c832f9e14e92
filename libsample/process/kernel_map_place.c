/* kernel_map_place(), kernel_map_name(): see kernel_map.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "process/kernel_map_state.h"

#define KERNEL_PREFIX "[kernel.kallsyms]"

static void
take_build_id(const struct record_mmap *mmap, struct image *image)
{
	if (mmap->build_id_size > BUILD_ID_SIZE_MAX)
		return;
	memcpy(image->build_id, mmap->build_id, mmap->build_id_size);
	image->build_id_size = mmap->build_id_size;
}

/*
 * perf names the symbol whose address it tells: _text or _stext, which is where dcpid counts from. On x86 both are one;
 * on arm64 the head lies between them, 64 KiB of an image that is loaded at a multiple of 2 MiB.
 */
#define ARM64_HEAD_SIZE  UINT64_C(0x10000)
#define ARM64_TEXT_ALIGN UINT64_C(0x200000)
#define ARM64_FIRST      UINT64_C(0xffff000000000000)
#define X86_FIRST        UINT64_C(0xffffffff80000000)

static uint64_t
text_start(const struct record_mmap *mmap)
{
	const uint64_t end = mmap->start + mmap->length;
	const bool is_within = mmap->file_offset >= mmap->start && mmap->file_offset < end;
	const uint64_t start = is_within ? mmap->file_offset : mmap->start;
	const bool is_arm64 = start >= ARM64_FIRST && start < X86_FIRST && start % ARM64_TEXT_ALIGN == 0;

	if (is_arm64 && strcmp(mmap->path, KERNEL_PREFIX "_text") == 0 && end - start > ARM64_HEAD_SIZE)
		return start + ARM64_HEAD_SIZE;
	return start;
}

/* "/lib/modules/6.1/kernel/fs/some-thing.ko.xz" and "[some_thing]" are "[some_thing]". False: it is no module. */
static bool
module_name(const char *path, char name[KERNEL_MAP_NAME_SIZE])
{
	const char *start = strrchr(path, '/'), *end;
	size_t size;

	start = start ? start + 1 : path;
	if (path[0] == '[') {
		end = strchr(++start, ']');
	} else {
		end = strstr(start, ".ko");
		if (path[0] != '/')
			end = NULL;
	}
	if (!end || end == start || (size_t)(end - start) >= MODULE_NAME_SIZE)
		return false;
	size = (size_t)(end - start);
	name[0] = '[';
	memcpy(name + 1, start, size);
	for (size_t i = 0; i < size; i++)
		if (name[1 + i] == '-')
			name[1 + i] = '_';
	memcpy(name + 1 + size, "]", 2);
	return true;
}

enum image_kind
kernel_map_name(const char *path, char name[KERNEL_MAP_NAME_SIZE])
{
	if (strncmp(path, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0) {
		snprintf(name, KERNEL_MAP_NAME_SIZE, "[kernel]");
		return IMAGE_KERNEL;
	}
	return module_name(path, name) ? IMAGE_MODULE : IMAGE_UNKNOWN;
}

int
kernel_map_place(struct kernel_map *map, const struct record_mmap *mmap)
{
	char name[KERNEL_MAP_NAME_SIZE];
	struct image image = {.path = name};
	struct mapped_image *mapped;
	int err;

	if (mmap->length == 0 || mmap->length > UINT64_MAX - mmap->start || !mmap->path)
		return 0;
	image.kind = kernel_map_name(mmap->path, name);
	if (image.kind == IMAGE_UNKNOWN)
		return 0;
	take_build_id(mmap, &image);
	mapped = mapped_image_get(map->images, &image);
	if (!mapped) {
		map->incomplete = true;
		return -ENOMEM;
	}
	if (image.kind == IMAGE_KERNEL) {
		mapped_image_release(map->text.image);
		map->text = (struct mapping){
			.start = text_start(mmap),
			.end = mmap->start + mmap->length,
			.image = mapped,
		};
		return 0;
	}
	err = address_space_insert(&map->modules, &map->budget, mmap->start, mmap->start + mmap->length, 0, mapped);
	mapped_image_release(mapped);
	map->incomplete |= err != 0;
	return err;
}
