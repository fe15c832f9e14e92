/*
 * capture.h - which parts of an image are copied while its file exists, for readers that will not have the file
 *
 * Copied are all names and the layout of the image; the blocks of its text that have samples, and all other blocks of
 * these procedures and of their cold parts; and the tables of their indirect jumps. dcpicalc needs them to explain the
 * samples. A small image is copied whole.
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_CAPTURE_H
#define DCPI_CODE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"
#include "profile/captured.h"

#define CAPTURE_GRANULE    64u                   /* bytes of a block that one bit stands for */
#define CAPTURE_BLOCKS_MAX 1024                  /* of text that one call copies: 4 MiB */
#define CAPTURE_WHOLE_MAX  ((uint64_t)128 << 10) /* bytes of code and constants of an image that is copied whole */

/* A block that has samples, and the granules of it that have them. */
struct capture_place {
	uint32_t block;
	uint64_t granules; /* bit N: bytes from N * CAPTURE_GRANULE on */
};

struct capture_wish {
	const struct capture_place *places; /* ascending by block */
	size_t place_count;
	const uint32_t *known; /* blocks that are not wanted because they are stored already, ascending */
	size_t known_count;
	bool names; /* and the layout */
};

enum capture_part {
	CAPTURE_SYMBOLS = 1,
	CAPTURE_LAYOUT,
	CAPTURE_PARCEL,
};

/*
 * Called for each value (profile/captured.h); `block` is the first block of a parcel. A return value that is not 0 ends
 * capture_take(), which returns it.
 */
typedef int capture_put(void *context, enum capture_part part, uint32_t block, const void *data, size_t size);

/* 0; -ENOMEM; -DCPI_EDAMAGED; -EFBIG for more names than a database takes; or what `put` returned. */
int capture_take(struct image_file *file, const struct capture_wish *wish, capture_put *put, void *context);

#endif
