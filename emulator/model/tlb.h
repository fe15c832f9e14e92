/*
 * tlb.h - a TLB's order, and its second level: which pages' translations it has
 *
 * With up to 32 ways in eight sets or more a TLB is in the order of LRU. Else, as where it is fully associative, the
 * translation that came first leaves first.
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_TLB_H
#define DCPI_EMULATOR_MODEL_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/cache.h"
#include "emulator/model/first_level.h"

struct tlb {
	struct cache cache;         /* in the order of LRU */
	struct first_level ordered; /* first in, first out */
	struct plain_hits *places;  /* of `ordered`, which cannot be without */
	bool is_ordered;
};

/* A TLB is a cache of pages: one of lines that have one byte. */
struct machine_cache tlb_as_cache(const struct machine_tlb *model);

/* 0 or -ENOMEM. `model` has entries. */
int tlb_init(struct tlb *tlb, const struct machine_tlb *model);
void tlb_fini(struct tlb *tlb);

/* Whether it has the page numbered `page`; afterwards it does. */
bool tlb_access(struct tlb *tlb, uint64_t page);

#endif
