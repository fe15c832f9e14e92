/*
 * self.h - the running test program as an image: the places of its functions are known from their addresses
 */
#ifndef DCPI_TESTS_SELF_H
#define DCPI_TESTS_SELF_H

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/build_id.h"
#include "process/image_table.h"

struct self_place {
	uintptr_t address;
	uint64_t offset;
};

/* The file offset of an address of this program, by its own program headers. */
static inline int
self_find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	struct self_place *place = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD || place->address < start || place->address >= start + header->p_filesz)
			continue;
		place->offset = place->address - start + header->p_offset;
		return 1;
	}
	return 0;
}

static inline uint64_t
self_offset(int (*function)(int))
{
	struct self_place place = {.address = (uintptr_t)function};

	assert_int_equal(dl_iterate_phdr(self_find_offset, &place), 1);
	return place.offset;
}

/* `path` becomes the image's. 0, or -1. */
static inline int
self_find(struct image *image, char path[PATH_MAX])
{
	int fd, size;

	if (!realpath("/proc/self/exe", path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	*image = (struct image){.kind = IMAGE_USER, .path = path};
	size = build_id_from_file(fd, image->build_id);
	close(fd);
	if (size <= 0)
		return -1;
	image->build_id_size = (uint8_t)size;
	return 0;
}

#endif
