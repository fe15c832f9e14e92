/*
 * object_type.h - which type memory objects have, and which member is at which of their bytes
 *
 * Nobody says what a program keeps in a block of the heap. But of each sampled access it may be known of which type
 * its instruction takes the data to be (struct memory_place), so the accesses vote, each with what it cost. A type is
 * taken only if the object is large enough, and if the accesses are where that type has the members that they are
 * of: an object may begin with 8 or 16 bytes that count its elements (new[] of C++), then elements follow each other.
 *
 * A variable has the type of its declaration. Where only numbers are accessed, by pointers to members, or where nothing
 * is known of the code, the type counts that a function which made the object returns a pointer to.
 *
 * Where structures of several types are accessed, the smaller may be part of the larger; and a number may be one of a
 * structure's. So structures are preferred to numbers, and what more than half of the accesses to structures agree on
 * is taken; if there is no such type, one that does so among those that are at least as large.
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

void type_votes_add(struct type_votes *votes, const struct memory_access *access);

/* The type of all that were added, which are forgotten. */
struct object_type type_votes_take(struct type_votes *votes);

/* The member at `offset` of an object of this type. NULL: none, or the type is no structure. */
const struct memory_field *object_type_field(const struct memory_profile *profile, const struct object_type *type,
                                             uint64_t offset);

/* "struct node", "double[]": brackets if `bytes`, of the object, are those of several. "": it is not known. */
void object_type_text(const struct memory_profile *profile, const struct object_type *type, uint64_t bytes, char *text,
                      size_t size);

/* The names of those members for which there are most cycles, "hits, misses and 3 more"; cycles[i]: of field i. */
void object_type_list(const struct memory_profile *profile, const struct object_type *type, const uint64_t *cycles,
                      char *text, size_t size);

#endif
