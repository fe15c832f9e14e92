/*
 * minidebug.h - the small symbol table that some distributions leave in stripped programs (private to this room)
 */
#ifndef DCPI_IMAGE_MINIDEBUG_H
#define DCPI_IMAGE_MINIDEBUG_H

#include "image/elf_file.h"

#define MINIDEBUG_SIZE_MAX ((size_t)128 << 20) /* bytes, decompressed; real ones are below 10 MiB */

/* Decompress and open .gnu_debugdata of `main`. 0, -ENOENT when there is none, -ENOMEM, -DCPI_EDAMAGED. */
int minidebug_open(struct elf_file *mini, const struct elf_file *main);

#endif
