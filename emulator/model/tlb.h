/*
 * tlb.h - one level of a TLB: which pages' translations it has
 *
 * With up to 32 ways in eight sets or more it is a cache (cache.h), in the order of LRU. Else, as where it is fully
 * associative, the translation that came first leaves first: a hit then changes nothing, and who asks for a page
 * that was there a moment ago need not look (hierarchy.h).
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_TLB_H
#define DCPI_EMULATOR_MODEL_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/cache.h"

struct tlb {
	struct cache cache; /* in the order of LRU */
	uint32_t *tags;     /* first in, first out: set_count times `slots`; else NULL */
	uint16_t *next;     /* way of each set that leaves next */
	uint32_t ways, slots, set_count;
	uint16_t slot; /* where the page is that was asked for last, with stamps (cache.h) */
	uint8_t set_shift;
};

/* 0 or -ENOMEM. `model` has entries. */
int tlb_init(struct tlb *tlb, const struct machine_tlb *model);
void tlb_fini(struct tlb *tlb);

/* Whether it is in the order of LRU. */
static inline bool
tlb_reorders(const struct tlb *tlb)
{
	return !tlb->tags;
}

/* Sets: a page's is its number modulo this. */
uint32_t tlb_set_count(const struct tlb *tlb);

/* Whether it has the page numbered `page`; afterwards it does. `*left`: the page that made room; CACHE_NO_LINE. */
bool tlb_access(struct tlb *tlb, uint64_t page, uint64_t *left);

#endif
