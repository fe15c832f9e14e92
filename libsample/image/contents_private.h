/*
 * contents_private.h - what image_contents are made of (private to this room)
 *
 * Thread rule: as contents.h.
 */
#ifndef DCPI_IMAGE_CONTENTS_PRIVATE_H
#define DCPI_IMAGE_CONTENTS_PRIVATE_H

#include <stdbool.h>

#include "image/contents.h"

/* A section; of captured contents, a stretch of one that is there. */
struct section {
	uint64_t address, size;
	const uint8_t *bytes;
	uint8_t *copy; /* owned; NULL when `bytes` are the file's own */
	bool is_code;
};

struct image_contents {
	struct section *sections; /* ascending, disjoint */
	size_t count;
	uint16_t machine;
	bool is_partial;
};

#endif
