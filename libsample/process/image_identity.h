/*
 * image_identity.h - what makes two images the same
 *
 * The kind, and: the build-id where there is one, else the file's device, inode and generation, and which of the
 * contents it had. What has neither is told apart by its name, which is not part of this key.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_IMAGE_IDENTITY_H
#define DCPI_PROCESS_IMAGE_IDENTITY_H

#include <stdbool.h>

#include "process/image_table.h"

/* No padding, so that it can be compared and hashed as bytes. */
struct image_identity {
	uint64_t inode, inode_generation;
	uint32_t device_major, device_minor;
	uint32_t content, zero;
	uint16_t kind, build_id_size;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
};

/* False when only the name says what `image` is. */
bool image_identity(const struct image *image, struct image_identity *identity);

/* A number out of range, which has no table of its own, counts as IMAGE_UNKNOWN. */
enum image_kind image_kind_checked(enum image_kind kind);

#endif
