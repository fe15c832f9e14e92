/*
 * type_entry.h - a type by its entry (DIE) in DWARF: its size, its members, its name (private to this room)
 *
 * DWARF is not trusted: entries may refer to each other in circles, so what follows them ends after a number of steps.
 * Only what is constant is known; types whose layout the program computes have no members.
 */
#ifndef DCPI_IMAGE_TYPE_ENTRY_H
#define DCPI_IMAGE_TYPE_ENTRY_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of a variable, a member, a typedef, ..., or what a function returns. False: it has none, as void. */
bool type_entry_of(Dwarf_Die *die, Dwarf_Die *type);

/* Without qualifiers, and without typedefs if `all`. False: it is void, or refers to itself. */
bool type_entry_peel(const Dwarf_Die *from, bool all, Dwarf_Die *type);

bool type_entry_is_structure(int tag); /* structure, class or union */
bool type_entry_is_pointer(int tag);   /* pointer or reference */

uint64_t type_entry_size(Dwarf_Die *type); /* bytes; 0: not known */

/* The elements of all dimensions of an array; 0: too many. *is_flexible: one dimension has no end, and counts as 1. */
uint64_t type_entry_count(Dwarf_Die *array, bool *is_flexible);

/* The element of an array, or of an array of arrays; of anything else, the type itself. False: it has no type. */
bool type_entry_element(const Dwarf_Die *from, Dwarf_Die *element);

/*
 * Where in a structure a member or a base class is, in bytes. False: that is not constant, or it is not part of every
 * object, as a static member of a class.
 */
bool type_entry_member(Dwarf_Die *member, uint64_t *offset, uint64_t *size);

/* Whether the last member of a structure is an array without an end. */
bool type_entry_is_flexible(Dwarf_Die *type);

/* What the pointer points to that is `offset` bytes behind the start of a type. False: none is, or to void or code. */
bool type_entry_pointed(Dwarf_Die *type, uint64_t offset, Dwarf_Die *target);

/* A text that is put together; what does not fit is left out. Zeroed: empty. */
struct type_name {
	char text[512];
	size_t length;
};

__attribute__((format(printf, 2, 3))) void type_name_append(struct type_name *name, const char *format, ...);

/*
 * A type's name: a structure's own, whatever typedefs it has; a number's or a pointer's typedef; "?": it has none. A
 * language in which the source writes `struct` has that in the name.
 */
void type_entry_name(const Dwarf_Die *type, struct type_name *name);

#endif
