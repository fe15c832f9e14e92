/*
 * place_types.h - finds the types of the data that instructions of a file access, and adds them to a memory profile
 *
 * A type that two units or two files describe has one number in the profile, if its name, its size and its members are
 * equal in both. Thread rule: one thread per profile and file.
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

/* An instruction of the file, and the place of the profile that it is. */
struct typed_instruction {
	uint64_t address; /* ELF virtual address; first, for array_compare_u64() */
	uint32_t place;   /* index into memory_profile.places */
};

struct typed_places {
	struct typed_instruction *list;
	size_t count, room;
};

/* What the function of a place in call chains returns. */
struct returned_type {
	enum returned_kind kind;
	uint32_t type; /* number in the profile of what RETURNED_POINTER points to; 0: not known */
};

/*
 * Set the types of the `accessed` places, and those of the static objects that they access, by the objects' names; a
 * type that is not known stays 0. `callers` are return addresses: what their functions return is stored in `returned`,
 * which has an element for each place of the profile. Sorts accessed->list. 0 or -ENOMEM.
 */
int place_types_add(struct memory_profile *profile, const struct typed_file *file, struct typed_places *accessed,
                    struct typed_places *callers, struct returned_type *returned);

/*
 * Set the types of sites. Of the functions in a call chain, from the innermost outwards, the first counts that returns
 * something else than a pointer to void, if it returns a pointer.
 */
void place_types_add_sites(struct memory_profile *profile, const struct returned_type *returned);

#endif
