/*
 * access_type.h - the type of the data that an instruction accesses, and the offset in it
 *
 * An access has a base register and a displacement. What the register points to is known from a variable that is in the
 * register at this instruction (image/data_types.h), or from the instructions that wrote the register: copies, sums,
 * addresses of variables, and loads of pointers from variables and members are followed backwards. perf annotate
 * --data-type does data-type profiling in this way, too, within a block; here it follows reaching definitions.
 *
 * Each search is bounded by the definitions that it follows and the instructions that it passes, and all searches in a
 * procedure by a number of steps. Ask for accesses in ascending order: the definitions of a procedure are found when
 * its first access is asked for, and forgotten when another procedure's is.
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
	uint64_t offset; /* of the access in the type, as data_types_offset() */
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

/* The types that struct access_type has numbers of, with their members; owned by `types`. */
struct data_types *access_types_data(struct access_types *types);

#endif
