/*
 * address_space.h - which image lies where, for one process or several with equal mappings
 *
 * A sorted array of mappings that do not overlap. A fork shares its parent's array; the first change by either makes a
 * copy. NULL is the empty address space. There is no record of munmap, so mappings that are gone accumulate in a
 * process that maps new addresses all the time: beyond ADDRESS_SPACE_MAPPINGS_MAX the oldest are forgotten, memory
 * without a file first. Thread rule: one thread for all address spaces of a budget.
 */
#ifndef DCPI_PROCESS_ADDRESS_SPACE_H
#define DCPI_PROCESS_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/mapped_image.h"

#define ADDRESS_SPACE_MAPPINGS_MAX 16384

struct mapping {
	uint64_t start, end;  /* first address, and first one behind */
	uint64_t file_offset; /* of `start` */
	struct mapped_image *image;
	uint64_t born; /* counts the insertions into this address space */
};

/* Mappings of all address spaces together, shared ones once. */
struct mapping_budget {
	size_t used, limit;
};

struct address_space;

struct address_space *address_space_share(struct address_space *space); /* one reference more */
void address_space_release(struct address_space *space);                /* one less */

/*
 * Put [start, end) into *space, which is created, or copied when it is shared; mappings below it are cut, split or
 * removed. Takes a reference to `image` of its own. 0; -ENOSPC when the budget is spent, -ENOMEM: then *space is as it
 * was.
 */
int address_space_insert(struct address_space **space, struct mapping_budget *budget, uint64_t start, uint64_t end,
                         uint64_t file_offset, struct mapped_image *image);

/* Insert all mappings of `over` into *space. 0, -ENOSPC or -ENOMEM: then only a part of them. */
int address_space_lay_over(struct address_space **space, struct mapping_budget *budget,
                           const struct address_space *over);

/* Remove everything in [start, end). 0, -ENOSPC (it splits a mapping) or -ENOMEM. */
int address_space_remove(struct address_space **space, struct mapping_budget *budget, uint64_t start, uint64_t end);

/* The mapping that holds `address`, or NULL; valid until the next change. */
const struct mapping *address_space_find(struct address_space *space, uint64_t address);

/* The first mapping that ends behind `address`: the one that holds it, or the next. NULL: there is none. */
const struct mapping *address_space_behind(const struct address_space *space, uint64_t address);

/* Does one IMAGE_USER cover all of [start, end), in one mapping or in mappings that continue each other? */
bool address_space_is_file(const struct address_space *space, uint64_t start, uint64_t end);

size_t address_space_size(const struct address_space *space);

#endif
