/*
 * access_type.h - of which type the data is that an instruction accesses, and where in it
 *
 * An access has a base register and a displacement. What the register points to is known by the variable whose value it
 * has there (image/data_types.h), or by the instructions that gave it its value, which are followed backwards: copies,
 * sums, addresses of variables, and loads of pointers out of variables and members. This is data-type profiling, as
 * perf does it (perf annotate --data-type), over reaching definitions instead of within a block.
 *
 * What a search does is bounded: definitions that it follows, instructions that it passes, and steps for all searches
 * of a procedure. Ask for accesses in ascending order: what is needed of a procedure is made once, and kept for the
 * last one only.
 *
 * Thread rule: one thread per access_types, and per the lines that it uses.
 */
#ifndef DCPI_CODE_ACCESS_TYPE_H
#define DCPI_CODE_ACCESS_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "image/data_types.h"
#include "image/symbols.h"

struct access_types;

struct access_type {
	uint32_t type;   /* of access_types_data() */
	uint64_t offset; /* in it */
	uint8_t size;    /* bytes that are accessed; 0: not known */
};

/*
 * `functions` and `variables` are the symbols of `file`; `variables` may be NULL. All must outlive the result. 0;
 * -ENOENT when there is no code; -ENOTSUP for another architecture; -ENOMEM, -DCPI_EDAMAGED.
 */
int access_types_new(const struct image_file *file, struct image_lines *lines, const struct symbol_table *functions,
                     const struct symbol_table *variables, struct access_types **types);
void access_types_free(struct access_types *types); /* NULL is allowed */

/* What the instruction at ELF virtual address `address` accesses. 0; -ENOENT when that is not known; -ENOMEM. */
int access_types_find(struct access_types *types, uint64_t address, struct access_type *access);

/* The types, with their members; owned by `types`. */
struct data_types *access_types_data(struct access_types *types);

#endif
