/*
 * tlb.h - a TLB's order, and its second level: which pages' translations it has
 *
 * With up to 32 ways in eight sets or more a TLB is in the order of LRU. Else, as where it is fully associative, the
 * translation that came first leaves first.
 *
 * Callers need no way numbers, so an LRU set is a move-to-front list of page numbers.
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_TLB_H
#define DCPI_EMULATOR_MODEL_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/l1.h"

struct tlb {
	uint32_t *sets; /* in the order of LRU: of each, `ways` pages, or TAG_NONE; else NULL */
	uint32_t set_mask, ways;
	struct l1 ordered;         /* first in, first out */
	struct hit_filter *filter; /* of `ordered`, which cannot be without */
};

/* A TLB is a cache of pages: one of lines that have one byte. */
struct machine_cache tlb_as_cache(const struct machine_tlb *model);

/* 0 or -ENOMEM. `model` has entries, in as many sets as a power of two. */
int tlb_init(struct tlb *tlb, const struct machine_tlb *model);
void tlb_fini(struct tlb *tlb);

/* tlb_access() first in, first out. */
bool tlb_access_ordered(struct tlb *tlb, uint32_t page);

/* Whether the set has the page, which is its first one then. */
static inline __attribute__((always_inline)) bool
tlb_use(uint32_t *set, const uint32_t ways, uint32_t page)
{
	uint32_t moves = set[0];

	if (moves == page)
		return true;
	set[0] = page;
#pragma GCC unroll 8
	for (uint32_t i = 1; i < ways; i++) {
		const uint32_t there = set[i];

		set[i] = moves;
		if (there == page)
			return true;
		moves = there;
	}
	return false;
}

/* tlb_access() in the order of LRU; `ways`: tlb->ways, perhaps a constant. */
static inline __attribute__((always_inline)) bool
tlb_access_recent(struct tlb *tlb, uint32_t page, const uint32_t ways)
{
	return tlb_use(tlb->sets + (size_t)(page & tlb->set_mask) * ways, ways, page);
}

/* Whether it has the page with the number `page`; afterwards it does. */
static inline bool
tlb_access(struct tlb *tlb, uint32_t page)
{
	return tlb->sets ? tlb_access_recent(tlb, page, tlb->ways) : tlb_access_ordered(tlb, page);
}

#endif
