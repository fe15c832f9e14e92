/*
 * captured.h - what capture_take() gives, kept in memory and read as from a database
 */
#ifndef DCPI_TESTS_CAPTURED_H
#define DCPI_TESTS_CAPTURED_H

#include <stdlib.h>
#include <string.h>

#include "code/capture.h"
#include "image/contents.h"
#include "profile/captured.h"

#define KEPT_PARCELS_MAX 64

struct kept_capture {
	struct byte_writer symbols, layout, parcels[KEPT_PARCELS_MAX];
	size_t parcel_count;
};

static inline int
keep_value(void *context, enum capture_part part, uint32_t block, const void *data, size_t size)
{
	struct kept_capture *kept = context;

	(void)block;
	switch (part) {
	case CAPTURE_SYMBOLS:
		write_bytes(&kept->symbols, data, size);
		return 0;
	case CAPTURE_LAYOUT:
		write_bytes(&kept->layout, data, size);
		return 0;
	case CAPTURE_PARCEL:
		assert_in_range(kept->parcel_count, 0, KEPT_PARCELS_MAX - 1);
		write_bytes(&kept->parcels[kept->parcel_count++], data, size);
		return 0;
	}
	return -EINVAL;
}

static inline void
kept_fini(struct kept_capture *kept)
{
	writer_fini(&kept->symbols);
	writer_fini(&kept->layout);
	for (size_t i = 0; i < kept->parcel_count; i++)
		writer_fini(&kept->parcels[i]);
	memset(kept, 0, sizeof(*kept));
}

/* As profile_get_text(), which may meet parcels in any order. */
static inline struct captured_text
kept_text(const struct kept_capture *kept)
{
	struct captured_text text = {0};
	uint32_t numbers[CAPTURED_PARCEL_MAX];

	text.blocks = calloc(KEPT_PARCELS_MAX * CAPTURED_PARCEL_MAX, sizeof(*text.blocks));
	text.bytes = malloc((size_t)KEPT_PARCELS_MAX * CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE);
	assert_non_null(text.blocks);
	assert_non_null(text.bytes);
	for (size_t i = 0; i < kept->parcel_count; i++) {
		uint8_t *bytes = text.bytes + text.count * CAPTURED_BLOCK_SIZE;
		int count = captured_parcel_decode(kept->parcels[i].data, kept->parcels[i].size, numbers, bytes);

		assert_true(count > 0);
		for (int j = 0; j < count; j++)
			text.blocks[text.count++] =
				(struct captured_block){numbers[j], bytes + (size_t)j * CAPTURED_BLOCK_SIZE};
	}
	return text;
}

#endif
