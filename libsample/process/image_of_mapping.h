/*
 * image_of_mapping.h - what image a mapping shows, by the name the kernel gave it
 *
 * Names that begin with anything but a slash, and a few that do, are the kernel's own words for memory that has no
 * file; numbers and details in them are dropped, so that there is one image per kind of memory.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_IMAGE_OF_MAPPING_H
#define DCPI_PROCESS_IMAGE_OF_MAPPING_H

#include <limits.h>

#include "process/image_table.h"
#include "stream/record.h"

/* The build-id of the 64-bit vdso: one for all processes of a kernel. */
struct vdso_identity {
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: not known */
};

/* Read it from this process's own vdso. */
void vdso_identity_read(struct vdso_identity *vdso);

/* Fill *image; its path points to `buffer`, to the record's path or to a constant. */
void image_of_mapping(const struct record_mmap *mmap, const struct vdso_identity *vdso, struct image *image,
                      char buffer[PATH_MAX]);

/*
 * Memory that has a name may hold a program (memfd_create(2), fexecve(3)): where its build-id can be asked for, it is a
 * file until it turns out to have none. *image is what image_of_mapping() said; its path lies in that one's buffer.
 */
void image_of_memory_file(const struct record_mmap *mmap, struct image *image);

/* What an image of image_of_memory_file() is that has no build-id: memory. */
bool image_is_memory_file(const struct image *image);
void image_make_memory(struct image *image);

#endif
