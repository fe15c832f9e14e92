/*
 * plain.h - accesses that are known to hit level 1 and its TLB, and how they are done
 *
 * Each way of level 1, and of its TLB, has a place: whose line or page is in it, by the guest's address, and when it
 * was used last. A table of several entries for each says where the place of a line may be; who replaces what is in a
 * place needs not look for who points there. A plain hit - what the place has is what was asked for, and for a store it
 * was written since it came - changes nothing but when it was used.
 *
 * Thread rule: of the thread that runs on the core.
 */
#ifndef DCPI_EMULATOR_MODEL_PLAIN_H
#define DCPI_EMULATOR_MODEL_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAIN_WRITTEN    1u               /* of a key */
#define PLAIN_NOTHING    (UINT64_MAX - 1) /* keys of no line: nobody knows what is there */
#define PLAIN_PREFETCHED (UINT64_MAX - 3) /* nobody asked for what is there */

/* Stamps are compared as floating point numbers, with the numbers of ways in their lower bits: tags.h. */
#define PLAIN_USE       32
#define PLAIN_FIRST_USE (UINT64_C(1) << 52)

struct plain_place {
	uint64_t key;   /* twice the number of the guest's line or page, and PLAIN_WRITTEN */
	uint64_t stamp; /* of its last use */
};

/* What is not modelled always is a plain hit: its table has one entry, and its shift is 63. */
struct plain_hits {
	uint16_t *lines, *pages; /* by the lower bits of a number: plain_place_at() */
	struct plain_place *line_places, *page_places;
	uint64_t *uses; /* the last stamp */
	uint32_t line_mask, page_mask;
	uint8_t line_shift, page_shift; /* of an address, for its number */
};

/* Where a place is, in words. Of one that is far up it is another's, and never what is looked for. */
static inline uint16_t
plain_place_to(const struct plain_place *places, const struct plain_place *place)
{
	return (uint16_t)((const uint64_t *)place - (const uint64_t *)places);
}

static inline __attribute__((always_inline)) struct plain_place *
plain_place_at(struct plain_place *places, uint16_t at)
{
	return (struct plain_place *)((uint64_t *)places + at);
}

/* Not 0: it is not what is in the place, or must have been written and was not. */
static inline __attribute__((always_inline)) uint64_t
plain_place_differs(const struct plain_place *place, uint64_t number, bool writes)
{
	return writes ? place->key ^ (number << 1 | PLAIN_WRITTEN) : place->key >> 1 ^ number;
}

/* From `first` to `last`, of one page and at most two lines: whether all is a plain hit, which is then used. */
static inline __attribute__((always_inline)) bool
plain_hits_use(const struct plain_hits *plain, bool writes, uint64_t first_line, uint64_t last_line, uint64_t page)
{
	struct plain_place *first = plain_place_at(plain->line_places, plain->lines[first_line & plain->line_mask]);
	struct plain_place *last = plain_place_at(plain->line_places, plain->lines[last_line & plain->line_mask]);
	struct plain_place *there = plain_place_at(plain->page_places, plain->pages[page & plain->page_mask]);
	uint64_t use;

	if (__builtin_expect((plain_place_differs(first, first_line, writes) |
	                      plain_place_differs(last, last_line, writes) | plain_place_differs(there, page, false)) !=
	                             0,
	                     0))
		return false;
	use = *plain->uses += 2 * PLAIN_USE;
	first->stamp = use - PLAIN_USE; /* before the last one, which may be of its set */
	last->stamp = use;
	there->stamp = use;
	return true;
}

/* The same of one line. */
static inline __attribute__((always_inline)) bool
plain_hits_use_one(const struct plain_hits *plain, bool writes, uint64_t line, uint64_t page)
{
	struct plain_place *place = plain_place_at(plain->line_places, plain->lines[line & plain->line_mask]);
	struct plain_place *there = plain_place_at(plain->page_places, plain->pages[page & plain->page_mask]);
	uint64_t use;

	if (__builtin_expect(
		    plain_place_differs(place, line, writes) != 0 || plain_place_differs(there, page, false) != 0, 0))
		return false;
	use = *plain->uses += PLAIN_USE;
	place->stamp = use;
	there->stamp = use;
	return true;
}

/* The same of the line with `address`. */
static inline bool
plain_hits_use_address(const struct plain_hits *plain, bool writes, uint64_t address)
{
	return plain_hits_use_one(plain, writes, address >> plain->line_shift, address >> plain->page_shift);
}

/* It is read or written. A line that was not written yet need not be looked for: that it was is all that changes. */
static inline __attribute__((always_inline)) bool
plain_hits_access_one(const struct plain_hits *plain, bool writes, uint64_t line, uint64_t page)
{
	if (!plain_hits_use_one(plain, false, line, page))
		return false;
	if (writes)
		plain_place_at(plain->line_places, plain->lines[line & plain->line_mask])->key =
			line << 1 | PLAIN_WRITTEN;
	return true;
}

#endif
