#include "emulator/model/tlb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAYS_OF_LRU 32
#define SETS_LEAST  8 /* for LRU */
#define HOST_LINE   64

struct machine_cache
tlb_as_cache(const struct machine_tlb *model)
{
	bool is_lru = model->ways <= WAYS_OF_LRU && model->entries / model->ways >= SETS_LEAST;

	return (struct machine_cache){.bytes = model->entries,
	                              .ways = model->ways,
	                              .replacement = is_lru ? REPLACEMENT_LRU : REPLACEMENT_FIFO};
}

static int
init_recent(struct tlb *tlb, const struct machine_tlb *model)
{
	const size_t bytes = model->entries * sizeof(*tlb->sets);

	tlb->sets = aligned_alloc(HOST_LINE, (bytes + HOST_LINE - 1) & ~(size_t)(HOST_LINE - 1));
	if (!tlb->sets)
		return -ENOMEM;
	memset(tlb->sets, 0xff, bytes);
	tlb->ways = model->ways;
	tlb->set_mask = model->entries / model->ways - 1;
	return 0;
}

static int
init_ordered(struct tlb *tlb, const struct machine_cache *cache)
{
	struct l1 no_lines;
	int err = l1_init(&tlb->ordered, cache, 1, 0);

	if (err)
		return err;
	l1_init_absent(&no_lines);
	tlb->filter = l1_join(&no_lines, 0, &tlb->ordered, 0, FILTER_NO_ROOM);
	if (tlb->filter)
		return 0;
	tlb_fini(tlb);
	return -ENOMEM;
}

int
tlb_init(struct tlb *tlb, const struct machine_tlb *model)
{
	const struct machine_cache cache = tlb_as_cache(model);

	*tlb = (struct tlb){.sets = NULL};
	return cache.replacement == REPLACEMENT_FIFO ? init_ordered(tlb, &cache) : init_recent(tlb, model);
}

void
tlb_fini(struct tlb *tlb)
{
	free(tlb->sets);
	l1_fini(&tlb->ordered);
	free(tlb->filter);
	*tlb = (struct tlb){.sets = NULL};
}

bool
tlb_access_ordered(struct tlb *tlb, uint32_t page)
{
	return l1_use_any(&tlb->ordered, page, 0).hit;
}
