/*
 * lines.h - the source line from which an instruction was compiled, by DWARF
 *
 * DWARF comes from the image or its separate debug file. libdw may fault on a damaged file: the caller must guard
 * against that (base/guard.h). Thread rule: one thread per image_lines.
 */
#ifndef DCPI_IMAGE_LINES_H
#define DCPI_IMAGE_LINES_H

#include <stdint.h>

#include "image/image_file.h"

struct image_lines;

/*
 * Call it after symbol_table_from_file(), which looks for the debug file; `file` must stay open as long as the lines
 * are used. 0; -ENOENT when there are none; -DCPI_EDAMAGED when they cannot be read, also because memory ends; -ENOMEM.
 */
int image_lines_new(struct image_file *file, struct image_lines **lines);
void image_lines_free(struct image_lines *lines); /* NULL is allowed */

struct source_place {
	const char *path; /* as given to the compiler, with its directory; valid as long as the lines */
	unsigned line;    /* from 1 on */
};

/* The line of the instruction at ELF virtual address `address`. 0, -ENOENT, or -DCPI_EDAMAGED. */
int image_lines_find(struct image_lines *lines, uint64_t address, struct source_place *place);

/*
 * The source file of the first compilation unit that names one, as given to the compiler, with its directory. 0 with a
 * new string in *source (free it); -ENOENT, -ENOMEM.
 */
int image_lines_source(struct image_lines *lines, char **source);

#endif
