/*
 * object_type.h - the type of memory objects, and the member at each of their bytes
 *
 * The type of a block of the heap is not recorded anywhere. But the instruction of a sampled access may have a type
 * (struct memory_place), so accesses vote for types, each with its cost as its weight. A vote counts only if the object
 * is large enough, and if the access is where an object of that type has the member that the instruction accesses. The
 * elements of an object may follow 8 or 16 bytes that hold their number (new[] of C++).
 *
 * A variable has the type of its declaration. Where instructions access only numbers, by pointers to members, or have
 * no type, the object has the type to which a function that made it returns a pointer.
 *
 * An instruction may access a structure by a part of it: by a structure within it, or by a number. So structures are
 * preferred to numbers, and of structures the type is taken on which at least half of their votes agree; if there is
 * none, a type on which at least half of the votes agree that are for types as large or larger.
 *
 * Thread rule: one thread per type_votes; the profile must not change while it lives.
 */
#ifndef DCPI_MEMORY_OBJECT_TYPE_H
#define DCPI_MEMORY_OBJECT_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "memory/memory_profile.h"

/* Zeroed: not known. */
struct object_type {
	uint32_t type; /* of the profile; 0: not known */
	uint32_t lead; /* bytes in front of the first element */
};

struct type_votes;

struct type_votes *type_votes_new(const struct memory_profile *profile); /* NULL: no memory */
void type_votes_free(struct type_votes *votes);                          /* NULL is allowed */

/* Add an access of the profile. Those between two type_votes_take() are of objects of one site or name. */
void type_votes_add(struct type_votes *votes, const struct memory_access *access);

/* The type of the objects whose accesses were added since the last call; zeroed: not known. */
struct object_type type_votes_take(struct type_votes *votes);

/* The member at `offset` of an object of this type. NULL: none, or the type is no structure. */
const struct memory_field *object_type_field(const struct memory_profile *profile, const struct object_type *type,
                                             uint64_t offset);

/* "struct node", "double[]": brackets if `bytes`, of the object, are those of several. "": it is not known. */
void object_type_text(const struct memory_profile *profile, const struct object_type *type, uint64_t bytes, char *text,
                      size_t size);

/* The members with the most cycles, "hits, misses and 3 more"; cycles[i] are those of member i of the type. */
void object_type_list(const struct memory_profile *profile, const struct object_type *type, const uint64_t *cycles,
                      char *text, size_t size);

#endif
