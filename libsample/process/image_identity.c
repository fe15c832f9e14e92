#include "process/image_identity.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct image_identity) == 8 * 2 + 4 * 4 + 2 * 2 + BUILD_ID_SIZE_MAX, "no padding");

enum image_kind
image_kind_checked(enum image_kind kind)
{
	return (unsigned)kind < IMAGE_KINDS ? kind : IMAGE_UNKNOWN;
}

bool
image_identity(const struct image *image, struct image_identity *identity)
{
	memset(identity, 0, sizeof(*identity));
	identity->kind = (uint16_t)image_kind_checked(image->kind);
	if (image->build_id_size > 0 && image->build_id_size <= BUILD_ID_SIZE_MAX) {
		identity->build_id_size = image->build_id_size;
		memcpy(identity->build_id, image->build_id, image->build_id_size);
		return true;
	}
	if (image->inode == 0)
		return false;
	identity->device_major = image->device_major;
	identity->device_minor = image->device_minor;
	identity->inode = image->inode;
	identity->inode_generation = image->inode_generation;
	identity->content = image->content;
	return true;
}
