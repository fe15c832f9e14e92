#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulator/model/cache_narrow.h"

#define HOST_LINE 64
#define HUGE_PAGE ((size_t)2 << 20)

static void
set_ages(const struct cache *cache, uint8_t *ages, unsigned bytes)
{
	memset(ages, ORDER_NEVER, bytes);
	for (uint8_t i = 0; i < cache->ways; i++)
		ages[i] = (uint8_t)(cache->ways - 1 - i);
}

static void
empty_narrow_set(const struct cache *cache, struct narrow_set *set)
{
	memset(set->tags, 0xff, sizeof(set->tags));
	set_ages(cache, set->ages, sizeof(set->ages));
	set->written = 0;
}

static void
empty_wide_set(const struct cache *cache, const struct cache_set_kind kind, uint8_t *set)
{
	memset(set, 0, cache->set_bytes);
	memset(set, 0xff, cache->slots * sizeof(uint32_t));
	if (set_is_small(kind))
		*set_order(kind, set) = order_first(cache->ways);
	else
		set_ages(cache, set + kind.order_at, kind.order_bytes);
}

/* A large cache has 10^5 of them, and many a program is short. */
static void
empty_sets(struct cache *cache, uint64_t seed)
{
	const struct cache_set_kind kind = set_kind_any(cache);

	empty_wide_set(cache, kind, cache->sets);
	for (uint32_t i = 0; i < cache->set_count; i++) {
		uint8_t *set = cache->sets + (size_t)i * cache->set_bytes;

		if (i)
			memcpy(set, cache->sets, cache->set_bytes);
		if (cache->is_random)
			*set_order(kind, set) = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	}
}

static void
empty_narrow_sets(const struct cache *cache)
{
	empty_narrow_set(cache, cache->narrow);
	for (uint32_t i = 1; i < cache->set_count; i++)
		cache->narrow[i] = cache->narrow[0];
}

static void
set_shape(struct cache *cache, const struct machine_cache *model, unsigned line_bytes)
{
	bool is_power;

	cache->ways = (uint8_t)model->ways;
	cache->slots = (uint8_t)(cache->ways <= CACHE_SMALL_WAYS ? CACHE_SMALL_WAYS : (cache->ways + 3) & ~3u);
	cache->present = order_present(cache->ways <= CACHE_SMALL_WAYS ? cache->ways : 0);
	cache->is_lru = model->replacement == REPLACEMENT_LRU;
	cache->is_random = model->replacement == REPLACEMENT_RANDOM;
	cache->set_count = (uint32_t)(model->bytes / line_bytes / model->ways);
	is_power = !(cache->set_count & (cache->set_count - 1));
	if (is_power) {
		cache->set_mask = cache->set_count - 1;
		cache->set_shift = (uint8_t)__builtin_ctz(cache->set_count);
	}
	if (cache->set_count > 1)
		cache->reciprocal = UINT64_MAX / cache->set_count + 1;
	cache->is_narrow = cache->slots == SET_USUAL_SLOTS && cache->is_lru && cache->reciprocal;
	cache->set_bytes = set_kind_any(cache).bytes;
	cache->is_simple = cache->slots == CACHE_SMALL_WAYS && cache->is_lru && is_power;
}

/* Room for sets, which begins with narrow ones, if it has any; until it is wide no other is touched. */
static uint8_t *
new_sets(const struct cache *cache, size_t narrow_bytes)
{
	size_t bytes = narrow_bytes + (size_t)cache->set_count * cache->set_bytes;
	const size_t alignment = bytes < HUGE_PAGE ? HOST_LINE : HUGE_PAGE;
	uint8_t *sets;

	bytes = (bytes + alignment - 1) & ~(alignment - 1);
	sets = aligned_alloc(alignment, bytes);
	if (sets && alignment == HUGE_PAGE)
		madvise(sets, bytes, MADV_HUGEPAGE); /* or not: it is only faster */
	return sets;
}

int
cache_init(struct cache *cache, const struct machine_cache *model, unsigned line_bytes, uint64_t seed)
{
	size_t narrow_bytes;
	uint8_t *sets;

	*cache = (struct cache){.sets = NULL};
	set_shape(cache, model, line_bytes);
	narrow_bytes = cache->is_narrow ? cache->set_count * sizeof(struct narrow_set) : 0;
	sets = new_sets(cache, narrow_bytes);
	if (!sets)
		return -ENOMEM;
	cache->sets = sets + narrow_bytes;
	if (cache->is_narrow) {
		cache->narrow = (struct narrow_set *)(void *)sets;
		empty_narrow_sets(cache);
	} else {
		empty_sets(cache, seed);
	}
	return 0;
}

void
cache_fini(struct cache *cache)
{
	if (cache->narrow)
		free(cache->narrow);
	else
		free(cache->sets);
	*cache = (struct cache){.sets = NULL};
}

static void
make_wide_set(const struct cache *cache, size_t index, uint32_t written)
{
	const struct cache_set_kind kind = set_kind_any(cache);
	const struct narrow_set *narrow = &cache->narrow[index];
	uint8_t *set = cache->sets + index * kind.bytes;

	empty_wide_set(cache, kind, set);
	for (uint32_t i = 0; i < cache->ways; i++) {
		if (narrow->tags[i] != NARROW_NONE)
			set_tags(set)[i] = narrow->tags[i];
		set[kind.order_at + i] = narrow->ages[i];
		set[kind.flags_at + i] = written >> i & 1 ? CACHE_WAS_WRITTEN : 0;
	}
}

void
cache_widen(struct cache *cache)
{
	for (size_t i = 0; i < cache->set_count; i++)
		make_wide_set(cache, i, cache->narrow[i].written);
	cache->is_narrow = false;
}

void
cache_widen_shared(struct cache *cache)
{
	uint32_t written;

	for (size_t i = 0; i < cache->set_count; i++) {
		if (!narrow_lock(cache, &cache->narrow[i], &written)) /* the first: another thread did so */
			return;
		make_wide_set(cache, i, written);
	}
	__atomic_store_n(&cache->shares_narrow, false, __ATOMIC_RELEASE);
}

void
cache_begin_to_lock(struct cache *cache)
{
	if (cache->locks) /* and others are in it */
		return;
	cache->shares_narrow = cache->is_narrow;
	cache->is_narrow = false;
	cache->locks = true;
	cache->is_simple = false;
}
