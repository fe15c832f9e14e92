#include "emulator/model/tlb.h"

#define WAYS_OF_LRU 32
#define SETS_LEAST  8 /* for LRU */

struct machine_cache
tlb_as_cache(const struct machine_tlb *model)
{
	bool is_lru = model->ways <= WAYS_OF_LRU && model->entries / model->ways >= SETS_LEAST;

	return (struct machine_cache){.bytes = model->entries,
	                              .ways = model->ways,
	                              .replacement = is_lru ? REPLACEMENT_LRU : REPLACEMENT_FIFO};
}

int
tlb_init(struct tlb *tlb, const struct machine_tlb *model)
{
	const struct machine_cache cache = tlb_as_cache(model);

	*tlb = (struct tlb){.is_ordered = cache.replacement == REPLACEMENT_FIFO};
	return tlb->is_ordered ? first_level_init(&tlb->ordered, &cache, 1, 0) : cache_init(&tlb->cache, &cache, 1, 0);
}

void
tlb_fini(struct tlb *tlb)
{
	cache_fini(&tlb->cache);
	first_level_fini(&tlb->ordered);
}

bool
tlb_access(struct tlb *tlb, uint64_t page)
{
	if (tlb->is_ordered)
		return first_level_use_any(&tlb->ordered, page, 0).hit;
	return cache_access(&tlb->cache, page, false).what & CACHE_HIT;
}
