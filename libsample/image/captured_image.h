/*
 * captured_image.h - an image as it was captured in a database, where its file is not there any more
 *
 * The other way round: what there is to capture of an image that is open. See profile/captured.h.
 * Thread rule: as image_file.h, contents.h and symbols.h say.
 */
#ifndef DCPI_IMAGE_CAPTURED_IMAGE_H
#define DCPI_IMAGE_CAPTURED_IMAGE_H

#include "image/contents.h"
#include "image/image_file.h"
#include "image/symbols.h"
#include "profile/captured.h"

/* ---- from a database ---- */

/* An image_file that knows addresses and offsets, and has no symbols and no lines. 0, -ENOMEM, -DCPI_EDAMAGED. */
int image_file_from_captured(const struct captured_layout *layout, struct image_file **file);

/* The blocks that are there; what lies between them is not. `text` is not needed afterwards. 0, -ENOMEM,
 * -DCPI_EDAMAGED. */
int image_contents_from_captured(const struct captured_layout *layout, const struct captured_text *text,
                                 struct image_contents **contents);

/* Make a table of what profile_get_symbols() gave. 0 or -ENOMEM. */
int symbol_table_from_captured(const struct profile_symbol *symbols, size_t count, struct symbol_table **table);

/* ---- to a database ---- */

/* The layout of what is open, for free() as a whole; `contents` may be NULL: no sections. 0, -E2BIG, -ENOMEM. */
int captured_layout_make(const struct image_file *file, const struct image_contents *contents,
                         struct captured_layout **layout);

/* The symbols of the table, ascending by offset, for free(); names stay the table's. 0 or -ENOMEM. */
int captured_symbols_make(const struct symbol_table *table, struct profile_symbol **symbols, size_t *count);

/* Copy block `number` out of `contents`, zeros where it has nothing. False when it has nothing at all of it. */
bool captured_block_make(const struct image_file *file, const struct image_contents *contents, uint32_t number,
                         uint8_t bytes[CAPTURED_BLOCK_SIZE]);

#endif
