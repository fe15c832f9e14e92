/*
 * contents.h - the code and the constants of an image, by ELF virtual address
 *
 * What is here are bytes as a running program has them: constants that the dynamic linker writes before it makes them
 * read-only (.data.rel.ro) have the values it would write, as far as these are addresses in the image itself.
 * Thread rule: plain data once it is made; any number of threads may read it.
 */
#ifndef DCPI_IMAGE_CONTENTS_H
#define DCPI_IMAGE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"

struct image_contents;

/* `file` must stay open as long as the contents are used. 0 with *contents set; -ENOENT when only a debug file was
 * found, which has none; -ENOMEM, -DCPI_EDAMAGED. */
int image_contents_new(const struct image_file *file, struct image_contents **contents);
void image_contents_free(struct image_contents *contents); /* NULL is allowed */

/* ELF's e_machine. */
uint16_t image_contents_machine(const struct image_contents *contents);

/* Is some of it not there? Then what ends where the code does may go on where nobody knows. */
bool image_contents_is_partial(const struct image_contents *contents);

/*
 * From `address` to the end of its section, *size bytes. NULL when that is no code; when it is data that may be written
 * (code counts as constant: tables may lie within).
 */
const uint8_t *image_contents_code(const struct image_contents *contents, uint64_t address, size_t *size);
const uint8_t *image_contents_constants(const struct image_contents *contents, uint64_t address, size_t *size);

#endif
