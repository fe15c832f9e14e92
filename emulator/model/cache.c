#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulator/model/cache_set.h"

#define HOST_LINE 64
#define HUGE_PAGE ((size_t)2 << 20)

static void
empty_first_set(const struct cache *cache, const struct set_kind kind, uint8_t *set)
{
	memset(set, 0, cache->set_bytes);
	memset(set, 0xff, cache->slots * sizeof(uint32_t));
	if (set_is_small(kind)) {
		*set_order(kind, set) = order_first(cache->ways);
	} else {
		memset(set + kind.order_at, ORDER_NEVER, kind.order_bytes);
		for (uint8_t i = 0; i < cache->ways; i++)
			set[kind.order_at + i] = (uint8_t)(cache->ways - 1 - i);
	}
}

/* A large cache has 10^5 of them, and many a program is short. */
static void
empty_sets(struct cache *cache, uint64_t seed)
{
	const struct set_kind kind = set_kind_any(cache);

	empty_first_set(cache, kind, cache->sets);
	for (uint32_t i = 0; i < cache->set_count; i++) {
		uint8_t *set = cache->sets + (size_t)i * cache->set_bytes;

		if (i)
			memcpy(set, cache->sets, cache->set_bytes);
		if (cache->is_random)
			*set_order(kind, set) = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	}
}

static void
set_shape(struct cache *cache, const struct machine_cache *model, unsigned line_bytes)
{
	cache->ways = (uint8_t)model->ways;
	cache->slots = (uint8_t)(cache->ways <= CACHE_SMALL_WAYS ? CACHE_SMALL_WAYS : (cache->ways + 3) & ~3u);
	cache->set_bytes = set_kind_any(cache).bytes;
	cache->present = order_present(cache->ways <= CACHE_SMALL_WAYS ? cache->ways : 0);
	cache->is_lru = model->replacement == REPLACEMENT_LRU;
	cache->is_random = model->replacement == REPLACEMENT_RANDOM;
	cache->set_count = (uint32_t)(model->bytes / line_bytes / model->ways);
	if (cache->set_count & (cache->set_count - 1))
		cache->reciprocal = UINT64_MAX / cache->set_count + 1;
	else
		cache->set_shift = (uint8_t)__builtin_ctz(cache->set_count);
	cache->is_usual = cache->slots == SET_USUAL_SLOTS && cache->is_lru;
	cache->is_simple = cache->slots == CACHE_SMALL_WAYS && cache->is_lru && !cache->reciprocal;
}

int
cache_init(struct cache *cache, const struct machine_cache *model, unsigned line_bytes, uint64_t seed)
{
	size_t bytes, alignment;

	*cache = (struct cache){.sets = NULL};
	set_shape(cache, model, line_bytes);
	bytes = (size_t)cache->set_count * cache->set_bytes;
	alignment = bytes < HUGE_PAGE ? HOST_LINE : HUGE_PAGE;
	bytes = (bytes + alignment - 1) & ~(alignment - 1);
	cache->sets = aligned_alloc(alignment, bytes);
	if (!cache->sets)
		return -ENOMEM;
	if (alignment == HUGE_PAGE)
		madvise(cache->sets, bytes, MADV_HUGEPAGE); /* or not: it is only faster */
	empty_sets(cache, seed);
	return 0;
}

void
cache_fini(struct cache *cache)
{
	free(cache->sets);
	*cache = (struct cache){.sets = NULL};
}

void
cache_begin_to_lock(struct cache *cache)
{
	cache->locks = true;
	cache->is_simple = false;
	cache->is_usual = false;
}
