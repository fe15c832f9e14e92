/*
 * data_types.h - what DWARF says of data: which variable is in a register, on the stack or at an address while an
 * instruction runs, of which type it is, and which members a type has
 *
 * Types are numbered as they are found. An array counts as its element: what matters is what repeats in it. Registers
 * have DWARF's numbers of the architecture. Only variables are found that are whole, in one register or in memory, at
 * that instruction: no pieces, and no values that a caller would know. A variable that another unit defines is found by
 * its declaration.
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

/* A place within something of a type; `offset` may be outside of it: then it is in another element of an array. */
struct data_place {
	uint32_t type;
	int64_t offset; /* bytes */
};

/* `file` and its `lines` must outlive the types. 0 or -ENOMEM. */
int data_types_new(const struct image_file *file, struct image_lines *lines, struct data_types **types);
void data_types_free(struct data_types *types); /* NULL is allowed */

/*
 * Where a register points just before the instruction at ELF virtual address `pc`, by the variables of the function
 * whose value it has. Of several, one that points to a structure. False: none has a pointer there.
 */
bool data_types_in_register(struct data_types *types, uint64_t pc, unsigned reg, struct data_place *target);

/* The variable on the stack that is `offset` bytes behind where `reg` points, just before the instruction at `pc`. */
bool data_types_on_stack(struct data_types *types, uint64_t pc, unsigned reg, int64_t offset, struct data_place *place);

/*
 * The variable at `address`, as the function or the unit of `pc` knows it. `symbol`, if not NULL, is what begins at
 * `start` there, as linked: a declaration has no address.
 */
bool data_types_at_address(struct data_types *types, uint64_t pc, uint64_t address, const char *symbol, uint64_t start,
                           struct data_place *place);

/* The variable `name`, as linked or as in the source, of the function or the unit of `pc`. */
bool data_types_named(struct data_types *types, uint64_t pc, const char *name, struct data_place *place);

/* Where the result of the function at `address` points. */
bool data_types_result(struct data_types *types, uint64_t address, struct data_place *target);

enum returned_kind {
	RETURNED_UNKNOWN, /* nothing is known of the function */
	RETURNED_ANY,     /* a pointer to void */
	RETURNED_POINTER, /* to *target */
	RETURNED_OTHER,   /* something else, or nothing */
};

/* What the innermost function at `pc`, inlined or not, returns that does not return a pointer to void. */
enum returned_kind data_types_returned(struct data_types *types, uint64_t pc, struct data_place *target);

/* Where the pointer at `place` points. False: there is none, or one to void or to a function. */
bool data_types_pointed(struct data_types *types, const struct data_place *place, struct data_place *target);

/* The offset within one element of an array; behind the end of a structure only where that ends in a flexible array. */
uint64_t data_types_offset(struct data_types *types, const struct data_place *place);

uint64_t data_types_size(struct data_types *types, uint32_t type); /* bytes; 0: not known */
bool data_types_is_structure(struct data_types *types, uint32_t type);

/* ---- layouts ---- */

#define DATA_MEMBERS_MAX 1024 /* of a layout; what comes behind has no name */

/*
 * A member that has no members itself, with the path to it: "link.next", "slots[].value", "name[]". It is there `count`
 * times, `stride` bytes apart, each time `size` bytes.
 */
struct data_member {
	char *name;
	uint64_t offset, size, stride;
	uint64_t count; /* at least 1; UINT64_MAX: a flexible array, up to the end of the object */
};

struct data_layout {
	char *name;                  /* "struct node", "bank::account", "uint64_t"; "?": it has none */
	uint64_t size;               /* bytes; 0: not known */
	struct data_member *members; /* as in the source, so of a union all at one place; none: it is no structure */
	size_t count, capacity;
};

/* 0 or -ENOMEM; data_layout_fini() it in both cases. */
int data_types_layout(struct data_types *types, uint32_t type, struct data_layout *layout);
void data_layout_fini(struct data_layout *layout);

#endif
