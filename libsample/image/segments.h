/*
 * segments.h - which part of a file is loaded at which ELF virtual address (private to this room)
 *
 * Thread rule: stateless; a table is plain data.
 */
#ifndef DCPI_IMAGE_SEGMENTS_H
#define DCPI_IMAGE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"

#define SEGMENTS_MAX 128 /* real programs have two to ten */

struct segment {
	uint64_t offset;  /* in the file */
	uint64_t address; /* as linked */
	uint64_t size;    /* bytes in the file */
	bool executable;
};

struct segment_table {
	struct segment segments[SEGMENTS_MAX];
	size_t count;
};

/* The loaded segments of a program or library. 0, or -DCPI_EDAMAGED: none, too many, or outside of the file. */
int segment_table_read(struct segment_table *table, const struct elf_file *file);

/*
 * The segments of the file that the debug file `file` was split from. `eu-strip -f` keeps the program headers as they
 * were; `objcopy --only-keep-debug` does not, so that the offsets are worked out the way linkers assign them: the
 * lowest offset behind the previous segment that is equal to the address modulo the alignment.
 */
int segment_table_read_debug(struct segment_table *table, const struct elf_file *file);

/* The segment that holds file offset `offset`, or ELF virtual address `address`; NULL when none does. */
const struct segment *segment_at_offset(const struct segment_table *table, uint64_t offset);
const struct segment *segment_at_address(const struct segment_table *table, uint64_t address);

#endif
