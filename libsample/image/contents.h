/*
 * contents.h - the code and the constants of an image, by ELF virtual address
 *
 * The bytes are those of a running program: constants that the dynamic linker writes before it makes them read-only
 * (.data.rel.ro) have the values that it would write, as far as these are addresses in the image itself.
 * Thread rule: never changed once it is made; any number of threads may read it.
 */
#ifndef DCPI_IMAGE_CONTENTS_H
#define DCPI_IMAGE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"
#include "image/symbols.h"
#include "profile/captured.h"

struct image_contents;

/*
 * `file` must stay open as long as the contents are used. 0 with *contents set; -ENOENT when only a debug file was
 * found, because that has no contents; -ENOMEM, -DCPI_EDAMAGED.
 */
int image_contents_new(const struct image_file *file, struct image_contents **contents);

/*
 * Make the contents from what a database has captured (profile/captured.h): they have the blocks of `text`, and nothing
 * between them. `text` is not needed afterwards. 0, -ENOMEM, -DCPI_EDAMAGED.
 */
int image_contents_from_captured(const struct captured_layout *layout, const struct captured_text *text,
                                 struct image_contents **contents);
void image_contents_free(struct image_contents *contents); /* NULL is allowed */

/* ELF's e_machine. */
uint16_t image_contents_machine(const struct image_contents *contents);

/*
 * True when parts of the image may be missing: code at the end of a section may continue in a part that is not known.
 */
bool image_contents_is_partial(const struct image_contents *contents);

/* A section; of captured contents, a stretch of one. */
struct image_section {
	uint64_t address, size; /* `address` first, for array_compare_u64() */
	const uint8_t *bytes;
	uint8_t *copy; /* owned by the contents; NULL when `bytes` are the file's own */
	bool is_code;
};

/* The sections, ascending and disjoint; their number in *count. */
const struct image_section *image_contents_sections(const struct image_contents *contents, size_t *count);

/*
 * From `address` to the end of its section, *size bytes. image_contents_code() returns NULL if `address` is not in
 * code, image_contents_constants() if it is in writable data (code counts as constant: it may contain tables).
 */
const uint8_t *image_contents_code(const struct image_contents *contents, uint64_t address, size_t *size);
const uint8_t *image_contents_constants(const struct image_contents *contents, uint64_t address, size_t *size);

/* ---- what a database captures of an open image, so that it is still there when the file is not ---- */

/* The layout of an open image, in one block for free(); `contents` may be NULL: no sections. 0, -E2BIG, -ENOMEM. */
int image_contents_capture_layout(const struct image_file *file, const struct image_contents *contents,
                                  struct captured_layout **layout);

/* The symbols of the table, ascending by offset; the caller frees the array, the table owns the names. 0 or -ENOMEM. */
int image_contents_capture_symbols(const struct symbol_table *table, struct profile_symbol **symbols, size_t *count);

/*
 * Copy block `number` out of `contents`, with zeros where these have no bytes. False when they have no byte of the
 * block.
 */
bool image_contents_capture_block(const struct image_file *file, const struct image_contents *contents, uint32_t number,
                                  uint8_t bytes[CAPTURED_BLOCK_SIZE]);

#endif
