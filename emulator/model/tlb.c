#include "emulator/model/tlb.h"

#include <errno.h>
#include <stdlib.h>

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

static int
init_ordered(struct tlb *tlb, const struct machine_cache *cache)
{
	struct first_level no_lines;
	int err = first_level_init(&tlb->ordered, cache, 1, 0);

	if (err)
		return err;
	first_level_init_plain(&no_lines);
	tlb->places = first_level_join(&no_lines, 0, &tlb->ordered, 0);
	if (tlb->places)
		return 0;
	tlb_fini(tlb);
	return -ENOMEM;
}

int
tlb_init(struct tlb *tlb, const struct machine_tlb *model)
{
	const struct machine_cache cache = tlb_as_cache(model);

	*tlb = (struct tlb){.is_ordered = cache.replacement == REPLACEMENT_FIFO};
	return tlb->is_ordered ? init_ordered(tlb, &cache) : cache_init(&tlb->cache, &cache, 1, 0);
}

void
tlb_fini(struct tlb *tlb)
{
	cache_fini(&tlb->cache);
	first_level_fini(&tlb->ordered);
	free(tlb->places);
	*tlb = (struct tlb){.places = NULL};
}

bool
tlb_access(struct tlb *tlb, uint64_t page)
{
	if (tlb->is_ordered)
		return first_level_use_any(&tlb->ordered, page, 0).hit;
	return cache_access(&tlb->cache, page, false).what & CACHE_HIT;
}
