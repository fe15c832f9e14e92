/*
 * place_types.h - the types of what instructions of a file access, into a memory profile
 *
 * One type of two units, or of two files, has one number: it is compared by its name, its size and its members. Thread
 * rule: one thread per profile and file.
 */
#ifndef DCPI_TOOLS_MEM_PLACE_TYPES_H
#define DCPI_TOOLS_MEM_PLACE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "image/data_types.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "memory/memory_profile.h"

/* A file with debug information, and its symbols. */
struct typed_file {
	struct image_file *file;
	struct image_lines *lines;
	const struct symbol_table *functions, *variables; /* variables may be NULL */
};

struct typed_instruction {
	uint64_t address; /* ELF virtual address; first, for array_compare_u64() */
	uint32_t place;   /* the profile's */
};

struct typed_places {
	struct typed_instruction *list;
	size_t count, room;
};

/* What a function returns that is in call chains. */
struct returned_type {
	enum returned_kind kind;
	uint32_t type; /* the profile's, of RETURNED_POINTER */
};

/*
 * Set the types of the places that access something, and of variables that they access by name; what is not known stays
 * 0. `callers` are return addresses: what their functions return goes into `returned`, by place. The lists are sorted
 * here. 0 or -ENOMEM.
 */
int place_types_add(struct memory_profile *profile, const struct typed_file *file, struct typed_places *accessed,
                    struct typed_places *callers, struct returned_type *returned);

/* Set the types of sites: of the innermost function of each that returns a pointer, but not one to void. */
void place_types_add_sites(struct memory_profile *profile, const struct returned_type *returned);

#endif
