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

#endif
