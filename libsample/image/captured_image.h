/*
 * captured_image.h - what a database captures of an open image (profile/captured.h), so that it outlives the file
 *
 * The way back from a database: image_file_from_captured(), image_contents_from_captured() and
 * symbol_table_from_captured() in the headers that are included here.
 * Thread rule: as image_file.h, contents.h and symbols.h say.
 */
#ifndef DCPI_IMAGE_CAPTURED_IMAGE_H
#define DCPI_IMAGE_CAPTURED_IMAGE_H

#include "image/contents.h"
#include "image/image_file.h"
#include "image/symbols.h"
#include "profile/captured.h"

/* The layout of an open image, for free() as a whole; `contents` may be NULL: no sections. 0, -E2BIG, -ENOMEM. */
int captured_layout_make(const struct image_file *file, const struct image_contents *contents,
                         struct captured_layout **layout);

/* The symbols of the table, ascending by offset, for free(); names stay the table's. 0 or -ENOMEM. */
int captured_symbols_make(const struct symbol_table *table, struct profile_symbol **symbols, size_t *count);

/* Order by offset, for qsort(). */
int captured_symbols_compare(const void *left, const void *right);

/* Copy block `number` out of `contents`, zeros where it has nothing. False when it has nothing at all of it. */
bool captured_block_make(const struct image_file *file, const struct image_contents *contents, uint32_t number,
                         uint8_t bytes[CAPTURED_BLOCK_SIZE]);

#endif
