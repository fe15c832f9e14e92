/*
 * data_types.h - what DWARF says of data: which variable is in a register, on the stack or at an address while an
 * instruction runs, of which type it is, and which members a type has
 *
 * Types are numbered from 0 in the order in which they are found. An array has the type of its element, because callers
 * sum up by element. Registers have the numbers that DWARF gives them on the architecture of the file. A variable is
 * found at an instruction where all of it is in one register or in memory, or where the compiler left only its first
 * bytes; not where it is in pieces, or where only a caller's registers would give its value. A variable that another
 * unit defines is found by its declaration.
 *
 * An index of variables and functions is made of each unit that is asked for, and of no other: time and memory do not
 * grow with the size of the rest. libdw may fault on a damaged file: the caller must guard against that (base/guard.h).
 * Thread rule: one thread per image_lines.
 */
#ifndef DCPI_IMAGE_DATA_TYPES_H
#define DCPI_IMAGE_DATA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"
#include "image/lines.h"

struct data_types;

/* A byte of an object of a type. An offset below 0, or behind the type's size, is in another element of an array. */
struct data_place {
	uint32_t type;
	int64_t offset; /* bytes */
};

/* `file` and its `lines` must outlive the types. 0 or -ENOMEM. */
int data_types_new(const struct image_file *file, struct image_lines *lines, struct data_types **types);
void data_types_free(struct data_types *types); /* NULL is allowed */

/*
 * Where a register points just before the instruction at ELF virtual address `pc`, known from the variables of the
 * function that are in this register there. Where several are, one that points to a structure is preferred. False: no
 * variable with a pointer is in the register.
 */
bool data_types_in_register(struct data_types *types, uint64_t pc, unsigned reg, struct data_place *target);

/* The variable in memory at the value of `reg` plus `offset`, just before the instruction at `pc`. False: none. */
bool data_types_on_stack(struct data_types *types, uint64_t pc, unsigned reg, int64_t offset, struct data_place *place);

/*
 * The variable at `address` among those that the function or the unit of the code at `pc` has. A declaration has no
 * address: it is found by `symbol`, the linked name of what begins at `start` and has `address`; NULL: not known.
 * False: there is no variable.
 */
bool data_types_at_address(struct data_types *types, uint64_t pc, uint64_t address, const char *symbol, uint64_t start,
                           struct data_place *place);

/* The static or global variable with this name, linked or of the source, of the function or the unit of `pc`. */
bool data_types_named(struct data_types *types, uint64_t pc, const char *name, struct data_place *place);

/* Where the result points of the function that begins at `address`. False: it is no pointer, or not known. */
bool data_types_result(struct data_types *types, uint64_t address, struct data_place *target);

enum returned_kind {
	RETURNED_UNKNOWN, /* nothing is known of the function */
	RETURNED_ANY,     /* a pointer to void */
	RETURNED_POINTER, /* to *target */
	RETURNED_OTHER,   /* something else, or nothing */
};

/*
 * What the function at `pc` returns. Of functions that are inlined there, from the innermost outwards, the first counts
 * that does not return a pointer to void: what malloc() is wrapped in says nothing of the object.
 */
enum returned_kind data_types_returned(struct data_types *types, uint64_t pc, struct data_place *target);

/* Where the pointer points that is stored at `place`. False: none is, or it points to void or to a function. */
bool data_types_pointed(struct data_types *types, const struct data_place *place, struct data_place *target);

/* place->offset within one element; not below the type's size only where that ends in a flexible array. */
uint64_t data_types_offset(struct data_types *types, const struct data_place *place);

uint64_t data_types_size(struct data_types *types, uint32_t type); /* bytes; 0: not known */
bool data_types_is_structure(struct data_types *types, uint32_t type);

/* ---- layouts ---- */

#define DATA_MEMBERS_MAX 1024 /* of a layout; further members are left out */

/*
 * A member that has no members itself, named by the path to it: "link.next", "slots[].value", "name[]". In arrays there
 * are `count` of it, `stride` bytes apart, of `size` bytes each.
 */
struct data_member {
	char *name;
	uint64_t offset, size, stride;
	uint64_t count; /* at least 1; UINT64_MAX: a flexible array, up to the end of the object */
};

struct data_layout {
	char *name;                  /* "struct node", "bank::account", "uint64_t"; "?": the type has none */
	uint64_t size;               /* bytes; 0: not known */
	struct data_member *members; /* in the order of the source; those of a union overlap; none: no structure */
	size_t count, capacity;
};

/* 0 or -ENOMEM; data_layout_fini() it in both cases. */
int data_types_layout(struct data_types *types, uint32_t type, struct data_layout *layout);
void data_layout_fini(struct data_layout *layout);

#endif
