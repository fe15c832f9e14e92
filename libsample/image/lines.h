/*
 * lines.h - what DWARF says of an instruction: the source line, and the subroutines that the compiler inlined there
 *
 * DWARF comes from the image or its separate debug file. libdw may fault on a damaged file: the caller must guard
 * against that (base/guard.h). Thread rule: one thread per image_lines.
 */
#ifndef DCPI_IMAGE_LINES_H
#define DCPI_IMAGE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"

struct image_lines;

/*
 * Call it after symbol_table_from_file() or image_file_find_debug(), which look for the debug file; `file` must stay
 * open as long as the lines are used. 0; -ENOENT when there are none; -DCPI_EDAMAGED when they cannot be read, also
 * because memory ends; -ENOMEM.
 */
int image_lines_new(struct image_file *file, struct image_lines **lines);
void image_lines_free(struct image_lines *lines); /* NULL is allowed */

struct source_place {
	const char *path; /* as given to the compiler, with its directory; valid as long as the lines */
	unsigned line;    /* from 1 on */
};

/* The line of the instruction at ELF virtual address `address`. 0, -ENOENT, or -DCPI_EDAMAGED. */
int image_lines_find(struct image_lines *lines, uint64_t address, struct source_place *place);

#define INLINED_MAX 64 /* subroutines inlined into one another; real programs have up to thirty */

/* A subroutine that was inlined into another one, or into the function. */
struct inlined_call {
	const char *name;         /* as linked, or of the source; valid as long as the lines */
	struct source_place call; /* where it was called; path NULL: not known */
};

/*
 * The inlined subroutines that the instruction at `address` belongs to, the innermost first; *count is their number, at
 * most INLINED_MAX, and 0 where there are none. One without a name is left out. 0, or -ENOMEM.
 */
int image_lines_inlined(struct image_lines *lines, uint64_t address, struct inlined_call calls[INLINED_MAX],
                        size_t *count);

/*
 * The source file of the first compilation unit that names one, as given to the compiler, with its directory. 0 with a
 * new string in *source (free it); -ENOENT, -ENOMEM.
 */
int image_lines_source(struct image_lines *lines, char **source);

/* For this room: the DWARF that it reads; the lines own it. */
struct debug_info;
struct debug_info *image_lines_info(struct image_lines *lines);

#endif
