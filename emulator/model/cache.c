#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/model/cache.h"

#define SPINS_MAX 200 /* before the processor is given to who has the lock, perhaps */
#define HOST_LINE 64

static uint64_t *
ages_of(const struct cache *cache, struct cache_set *set)
{
	return (uint64_t *)(set->tags + cache->slots);
}

static void
empty_set(const struct cache *cache, struct cache_set *set, uint32_t random)
{
	uint8_t *ages = (uint8_t *)ages_of(cache, set);

	*set = (struct cache_set){.random = random};
	for (unsigned i = 0; i < cache->slots; i++)
		set->tags[i] = TAG_NONE;
	memset(ages, AGE_NEVER, cache->age_words * sizeof(uint64_t));
	for (uint8_t i = 0; i < cache->ways; i++)
		ages[i] = (uint8_t)(cache->ways - 1 - i);
}

static void
set_shape(struct cache *cache, const struct machine_cache *model, unsigned line_bytes)
{
	size_t bytes;

	cache->ways = (uint8_t)model->ways;
	cache->slots = (uint8_t)((model->ways + 3) & ~3u);
	cache->age_words = (uint8_t)(model->ways <= 8 ? 1 : model->ways <= 16 ? 2 : 4);
	cache->reorders = model->replacement == REPLACEMENT_LRU;
	cache->is_random = model->replacement == REPLACEMENT_RANDOM;
	cache->set_count = (uint32_t)(model->bytes / line_bytes / model->ways);
	if (cache->set_count & (cache->set_count - 1))
		cache->reciprocal = UINT64_MAX / cache->set_count + 1;
	else
		cache->set_shift = (uint8_t)__builtin_ctz(cache->set_count);
	/* Slots of 4 leave the words of ages aligned: the head has 16 bytes. */
	bytes = sizeof(struct cache_set) + cache->slots * sizeof(uint32_t) + cache->age_words * sizeof(uint64_t);
	cache->set_bytes = (uint32_t)(bytes <= HOST_LINE ? HOST_LINE : (bytes + 31) & ~(size_t)31);
}

int
cache_init(struct cache *cache, const struct machine_cache *model, unsigned line_bytes, uint64_t seed)
{
	*cache = (struct cache){.sets = NULL};
	set_shape(cache, model, line_bytes);
	cache->sets = aligned_alloc(HOST_LINE, ((size_t)cache->set_count * cache->set_bytes + HOST_LINE - 1) &
	                                               ~(size_t)(HOST_LINE - 1));
	if (!cache->sets)
		return -ENOMEM;
	for (uint32_t i = 0; i < cache->set_count; i++)
		empty_set(cache, (struct cache_set *)(cache->sets + (size_t)i * cache->set_bytes),
		          (uint32_t)((seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32));
	return 0;
}

void
cache_fini(struct cache *cache)
{
	free(cache->sets);
	*cache = (struct cache){.sets = NULL};
}

void
cache_set_lock(struct cache_set *set)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&set->lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
}

/* The way that has the line, its set locked; -1: none. */
static int
find(struct cache *cache, uint64_t line, struct cache_set **set)
{
	uint32_t tag, index, matches;

	*set = cache_place(cache, line, &tag, &index);
	if (cache->locks)
		cache_set_lock(*set);
	matches = tags_match((*set)->tags, tag, cache->slots);
	return matches ? __builtin_ctz(matches) : -1;
}

static void
leave(const struct cache *cache, struct cache_set *set)
{
	if (cache->locks)
		cache_set_unlock(set);
}

bool
cache_has(struct cache *cache, uint64_t line)
{
	struct cache_set *set;
	int way = find(cache, line, &set);

	leave(cache, set);
	return way >= 0;
}

bool
cache_mark_written(struct cache *cache, uint64_t line)
{
	struct cache_set *set;
	int way = find(cache, line, &set);

	if (way >= 0)
		set->written |= UINT32_C(1) << way;
	leave(cache, set);
	return way >= 0;
}

void
cache_prefetch(struct cache *cache, uint64_t line, struct cache_found *found)
{
	uint32_t tag, index, way, bit;
	struct cache_set *set = cache_place(cache, line, &tag, &index);

	*found = (struct cache_found){.left = CACHE_NO_LINE};
	if (cache->locks)
		cache_set_lock(set);
	found->hit = tags_match(set->tags, tag, cache->slots) != 0;
	if (!found->hit) {
		way = cache_victim(cache, set, ages_of(cache, set), cache->age_words);
		bit = UINT32_C(1) << way;
		found->was_written = set->written & bit;
		found->left = cache_line_of(cache, set->tags[way], index);
		set->tags[way] = tag;
		set->written &= ~bit;
		set->prefetched |= bit;
		ages_renew(ages_of(cache, set), cache->age_words, way);
	}
	leave(cache, set);
}
