#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulator/model/cache.h"

#define SPINS_MAX 200 /* before the processor is given to who has the lock, perhaps */
#define HOST_LINE 64
#define HUGE_PAGE ((size_t)2 << 20)

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
	cache->slots = (uint8_t)(model->ways <= CACHE_SMALL_WAYS ? CACHE_SMALL_WAYS : (model->ways + 3) & ~3u);
	cache->age_words = (uint8_t)(model->ways <= 8 ? 1 : model->ways <= 16 ? 2 : 4);
	cache->age_oldest = (model->ways - 1) * AGE_BYTES;
	cache->age_step = model->ways >= 8 ? AGE_BYTES : AGE_BYTES >> (8 - model->ways) * 8;
	cache->reorders = model->replacement == REPLACEMENT_LRU;
	cache->is_random = model->replacement == REPLACEMENT_RANDOM;
	cache->set_count = (uint32_t)(model->bytes / line_bytes / model->ways);
	if (cache->set_count & (cache->set_count - 1))
		cache->reciprocal = UINT64_MAX / cache->set_count + 1;
	else
		cache->set_shift = (uint8_t)__builtin_ctz(cache->set_count);
	/* Slots are in fours, and the head has 16 bytes: words of ages are aligned. */
	bytes = sizeof(struct cache_set) + cache->slots * sizeof(uint32_t) + cache->age_words * sizeof(uint64_t);
	cache->set_bytes = (uint32_t)(bytes <= HOST_LINE ? HOST_LINE : (bytes + 31) & ~(size_t)31);
	cache->is_simple = cache->slots == CACHE_SMALL_WAYS && cache->reorders && !cache->reciprocal;
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
cache_begin_to_lock(struct cache *cache)
{
	cache->locks = true;
	cache->is_simple = false;
}

static void
lock_set(struct cache_set *set)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&set->lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
}

static struct cache_set *
find_set(const struct cache *cache, uint64_t line, uint32_t *tag, uint32_t *index)
{
	uint64_t quotient;

	if (!cache->reciprocal) {
		*index = (uint32_t)line & (cache->set_count - 1);
		*tag = (uint32_t)(line >> cache->set_shift);
	} else {
		quotient = (uint64_t)(((unsigned __int128)line * cache->reciprocal) >> 64);
		*index = (uint32_t)(line - quotient * cache->set_count);
		*tag = (uint32_t)quotient;
	}
	return (struct cache_set *)(cache->sets + (size_t)*index * cache->set_bytes);
}

void
cache_fetch_set(const struct cache *cache, uint64_t line)
{
	uint32_t tag, index;
	const char *set = (const char *)find_set(cache, line, &tag, &index);

	for (uint32_t i = 0; i < cache->set_bytes; i += HOST_LINE)
		__builtin_prefetch(set + i, 1);
}

/* The line's set, locked when it must be. */
static struct cache_set *
enter(struct cache *cache, uint64_t line, uint32_t *tag, uint32_t *index)
{
	struct cache_set *set = find_set(cache, line, tag, index);

	if (cache->locks)
		lock_set(set);
	return set;
}

static void
leave(const struct cache *cache, struct cache_set *set)
{
	if (cache->locks)
		__atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE);
}

/* The way that has the line, its set locked; -1: none. */
static int
find(struct cache *cache, uint64_t line, struct cache_set **set)
{
	uint32_t tag, index, matches;

	*set = enter(cache, line, &tag, &index);
	matches = tags_match((*set)->tags, tag, cache->slots);
	return matches ? __builtin_ctz(matches) : -1;
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

static uint32_t
victim(const struct cache *cache, struct cache_set *set)
{
	const uint64_t *ages = ages_of(cache, set);
	uint32_t way = 0;

	for (unsigned i = 0; i < cache->age_words; i++) {
		uint32_t at = ages_find(ages[i], cache->age_oldest);

		if (at < 8)
			way = i * 8 + at;
	}
	if (!cache->is_random || set->tags[way] == TAG_NONE)
		return way;
	set->random = set->random * UINT32_C(1664525) + UINT32_C(1013904223);
	return (uint32_t)(((uint64_t)(set->random >> 8) * cache->ways) >> 24);
}

/* Puts the tag where another leaves; its bit. */
static uint32_t
replace(const struct cache *cache, struct cache_set *set, uint32_t tag, uint32_t index, struct cache_found *found)
{
	uint32_t way = victim(cache, set), bit = UINT32_C(1) << way, left = set->tags[way];

	if (left != TAG_NONE)
		found->left = (uint64_t)left * cache->set_count + index;
	found->what = set->written & bit ? CACHE_WAS_WRITTEN : 0;
	set->tags[way] = tag;
	set->written &= ~bit;
	set->prefetched &= ~bit;
	ages_renew(ages_of(cache, set), cache->age_words, way);
	return bit;
}

struct cache_found
cache_access_any(struct cache *cache, uint64_t line, bool writes)
{
	struct cache_found found = {.left = CACHE_NO_LINE};
	uint32_t tag, index, matches, bit;
	struct cache_set *set = enter(cache, line, &tag, &index);

	matches = tags_match(set->tags, tag, cache->slots);
	if (matches) {
		bit = matches & -matches;
		found.what = CACHE_HIT | (set->written & bit ? CACHE_WAS_WRITTEN : 0) |
		             (set->prefetched & bit ? CACHE_WAS_PREFETCHED : 0);
		set->prefetched &= ~bit;
		if (cache->reorders)
			ages_renew(ages_of(cache, set), cache->age_words, (uint32_t)__builtin_ctz(matches));
	} else {
		bit = replace(cache, set, tag, index, &found);
	}
	if (writes)
		set->written |= bit;
	leave(cache, set);
	return found;
}

struct cache_found
cache_prefetch_any(struct cache *cache, uint64_t line)
{
	struct cache_found found = {CACHE_NO_LINE, CACHE_HIT};
	uint32_t tag, index;
	struct cache_set *set = enter(cache, line, &tag, &index);

	if (!tags_match(set->tags, tag, cache->slots))
		set->prefetched |= replace(cache, set, tag, index, &found);
	leave(cache, set);
	return found;
}
