/*
 * debug_file.h - the separate debug file of an image (private to this room)
 *
 * Looked for in the file system only; no server is asked.
 * Thread rule: stateless.
 */
#ifndef DCPI_IMAGE_DEBUG_FILE_H
#define DCPI_IMAGE_DEBUG_FILE_H

#include "image/elf_file.h"

/* Open ROOT/.build-id/xx/yyyy.debug when its build-id is the same. 0, -ENOENT, or what elf_file_open() says. */
int debug_file_by_build_id(struct elf_file *debug, const char *root, const uint8_t *build_id, size_t size);

/*
 * Open what the .gnu_debuglink of `main` (read from `path`) names: beside it, in .debug/ there, or below ROOT. The
 * file's CRC must be the one in the link, and its build-id that of `main` if both have one. 0, -ENOENT, -ENOMEM.
 */
int debug_file_by_link(struct elf_file *debug, const char *root, const char *path, const struct elf_file *main);

#endif
