#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/model/tlb.h"

#define WAYS_OF_CACHE 32
#define SETS_LEAST    8 /* for LRU */

int
tlb_init(struct tlb *tlb, const struct machine_tlb *model)
{
	/* A cache of pages is one of lines that have one byte. */
	const struct machine_cache cache = {.bytes = model->entries, .ways = model->ways};

	*tlb = (struct tlb){.ways = model->ways, .set_count = model->entries / model->ways};
	if (tlb->ways <= WAYS_OF_CACHE && tlb->set_count >= SETS_LEAST)
		return cache_init(&tlb->cache, &cache, 1, 0);
	tlb->set_shift = (uint8_t)__builtin_ctz(tlb->set_count);
	tlb->slots = (tlb->ways + 3) & ~3u;
	tlb->tags = malloc((size_t)tlb->set_count * tlb->slots * sizeof(*tlb->tags));
	tlb->next = calloc(tlb->set_count, sizeof(*tlb->next));
	if (!tlb->tags || !tlb->next) {
		tlb_fini(tlb);
		return -ENOMEM;
	}
	memset(tlb->tags, 0xff, (size_t)tlb->set_count * tlb->slots * sizeof(*tlb->tags));
	return 0;
}

void
tlb_fini(struct tlb *tlb)
{
	cache_fini(&tlb->cache);
	free(tlb->tags);
	free(tlb->next);
	tlb->tags = NULL;
	tlb->next = NULL;
}

uint32_t
tlb_set_count(const struct tlb *tlb)
{
	return tlb->set_count;
}

static bool
access_first_in(struct tlb *tlb, uint64_t page, uint64_t *left)
{
	uint32_t set = (uint32_t)page & (tlb->set_count - 1), tag = (uint32_t)(page >> tlb->set_shift);
	uint32_t *tags = tlb->tags + (size_t)set * tlb->slots;
	uint16_t *next = &tlb->next[set];

	for (uint32_t i = 0; i < tlb->slots; i += 4) {
		if (tags_match(tags + i, tag, 4))
			return true;
	}
	if (tags[*next] != TAG_NONE)
		*left = (uint64_t)tags[*next] << tlb->set_shift | set;
	tags[*next] = tag;
	*next = (uint16_t)(*next + 1u < tlb->ways ? *next + 1u : 0);
	return false;
}

bool
tlb_access(struct tlb *tlb, uint64_t page, uint64_t *left)
{
	struct cache_found found;

	*left = CACHE_NO_LINE;
	if (tlb->tags)
		return access_first_in(tlb, page, left);
	found = cache_access(&tlb->cache, page, false);
	*left = found.left;
	tlb->slot = (uint16_t)(found.what >> CACHE_SLOT_SHIFT);
	return found.what & CACHE_HIT;
}
