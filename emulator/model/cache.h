/*
 * cache.h - one cache: which lines are in it, which leaves next, which were written
 *
 * Lines are known by their numbers, less than 2^32 - 1 times the sets (page_map.h makes them). A set is one piece of
 * memory, 64 bytes with up to eight ways: what was written, what was prefetched, a lock, 32 bits of each line's number,
 * and a byte for each way that says how many ways were used after it - which is the exact order of LRU, in place. First
 * in first out is the same order when a hit does not change it; a random victim comes from a generator of its set.
 *
 * Thread rule: of one thread, or with `locks`, which locks the set that is looked at, of any.
 */
#ifndef DCPI_EMULATOR_MODEL_CACHE_H
#define DCPI_EMULATOR_MODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/model/tags.h"
#include "machine/machine.h"

#define CACHE_NO_LINE    UINT64_MAX
#define CACHE_SMALL_WAYS 8
#define CACHE_SMALL_SET  6 /* log2 of its bytes */

struct cache_set {
	uint32_t written, prefetched; /* bit n: way n */
	uint32_t lock, random;
	uint32_t tags[]; /* of `slots` ways, then their ages: `age_words` of 64 bits */
};

struct cache {
	uint8_t *sets;      /* set_count times set_bytes */
	uint32_t set_count; /* a power of two, unless `reciprocal` */
	uint8_t set_shift;  /* of a power of two */
	bool is_simple;     /* small sets, as many as a power of two, LRU, nobody locks: that goes faster */
	uint8_t slots;      /* for tags: 8, or more than that the ways and up to three more */
	uint8_t age_words;
	uint64_t age_oldest, age_step; /* in each byte of a word: the last age; 1, but 0 where there is no way */
	uint32_t set_bytes;
	uint8_t ways;
	bool reorders;  /* on a hit: LRU */
	bool is_random; /* its victims */
	bool locks;
	uint64_t reciprocal; /* 2^64 / set_count, when that is no power of two; else 0 */
};

#define CACHE_HIT            1u
#define CACHE_WAS_PREFETCHED 2u /* it, and nobody had asked for it */
#define CACHE_WAS_WRITTEN    4u /* it, or with a miss the line that left */
#define CACHE_SLOT_SHIFT     8  /* above: where it is now, set * 8 + way; of a simple cache only */

/* What an access found; small, to be handed back in registers. */
struct cache_found {
	uint64_t left; /* with a miss: the line that made room; CACHE_NO_LINE */
	uint32_t what; /* CACHE_... */
};

/* 0 or -ENOMEM. */
int cache_init(struct cache *cache, const struct machine_cache *model, unsigned line_bytes, uint64_t seed);
void cache_fini(struct cache *cache);

/* From now on it is shared by threads. Nobody is in it. */
void cache_begin_to_lock(struct cache *cache);

/* The line will be asked for: its set is fetched into the host's cache meanwhile. */
void cache_fetch_set(const struct cache *cache, uint64_t line);

/* Whether it has the line; changes nothing. */
bool cache_has(struct cache *cache, uint64_t line);

/* Marks a line that it has as written; false: it does not have it. */
bool cache_mark_written(struct cache *cache, uint64_t line);

/* cache_access() and cache_prefetch() of whatever cache. */
struct cache_found cache_access_any(struct cache *cache, uint64_t line, bool writes);
struct cache_found cache_prefetch_any(struct cache *cache, uint64_t line);

/* A line that was written left. */
static inline bool
cache_found_writes_back(struct cache_found found)
{
	return !(found.what & CACHE_HIT) && (found.what & CACHE_WAS_WRITTEN);
}

static inline uint64_t *
cache_small_ages(struct cache_set *set)
{
	return (uint64_t *)(set->tags + CACHE_SMALL_WAYS);
}

static inline __attribute__((always_inline)) struct cache_found
cache_small_hit(struct cache_set *set, uint32_t index, uint32_t matches, bool writes)
{
	uint32_t bit = matches & -matches, way = (uint32_t)__builtin_ctz(matches), shift = way * 8;
	uint32_t what = CACHE_HIT | (set->written & bit ? CACHE_WAS_WRITTEN : 0);
	uint64_t *ages = cache_small_ages(set);

	what |= (index * CACHE_SMALL_WAYS + way) << CACHE_SLOT_SHIFT;
	*ages = ages_younger_renewed(*ages, *ages >> shift & 0xff) & ~(UINT64_C(0xff) << shift);
	if (writes)
		set->written |= bit;
	if (__builtin_expect(set->prefetched & bit, 0)) {
		set->prefetched &= ~bit;
		what |= CACHE_WAS_PREFETCHED;
	}
	return (struct cache_found){CACHE_NO_LINE, what};
}

/* The way that was used the longest ago, which is used now. */
static inline __attribute__((always_inline)) uint32_t
cache_small_oldest(const struct cache *cache, struct cache_set *set)
{
	uint64_t *ages = cache_small_ages(set);
	uint32_t way;

	way = ages_find(*ages, cache->age_oldest) % CACHE_SMALL_WAYS;
	*ages = (*ages + cache->age_step) & ~(UINT64_C(0xff) << way * 8);
	return way;
}

static inline __attribute__((always_inline)) struct cache_found
cache_small_miss(const struct cache *cache, struct cache_set *set, uint32_t index, uint32_t tag, bool writes)
{
	uint32_t way = cache_small_oldest(cache, set), bit = UINT32_C(1) << way;
	uint32_t left = set->tags[way], what = set->written & bit ? CACHE_WAS_WRITTEN : 0;

	set->tags[way] = tag;
	set->written = (set->written & ~bit) | (writes ? bit : 0);
	set->prefetched &= ~bit;
	what |= (index * CACHE_SMALL_WAYS + way) << CACHE_SLOT_SHIFT;
	return (struct cache_found){left == TAG_NONE ? CACHE_NO_LINE : (uint64_t)left << cache->set_shift | index,
	                            what};
}

/* Somebody asks for the line: afterwards it is there. */
static inline __attribute__((always_inline)) struct cache_found
cache_access(struct cache *cache, uint64_t line, bool writes)
{
	uint32_t index, tag, matches;
	struct cache_set *set;

	if (__builtin_expect(!cache->is_simple, 0))
		return cache_access_any(cache, line, writes);
	index = (uint32_t)line & (cache->set_count - 1);
	tag = (uint32_t)(line >> cache->set_shift);
	set = (struct cache_set *)(cache->sets + ((size_t)index << CACHE_SMALL_SET));
	matches = tags_match(set->tags, tag, CACHE_SMALL_WAYS);
	if (matches)
		return cache_small_hit(set, index, matches, writes);
	return cache_small_miss(cache, set, index, tag, writes);
}

/* The line without anybody having asked for it; with a hit nothing changes. */
static inline struct cache_found
cache_prefetch(struct cache *cache, uint64_t line)
{
	uint32_t index = (uint32_t)line & (cache->set_count - 1), tag = (uint32_t)(line >> cache->set_shift);
	struct cache_found found = {CACHE_NO_LINE, CACHE_HIT};
	struct cache_set *set;

	if (!cache->is_simple)
		return cache_prefetch_any(cache, line);
	set = (struct cache_set *)(cache->sets + ((size_t)index << CACHE_SMALL_SET));
	if (tags_match(set->tags, tag, CACHE_SMALL_WAYS))
		return found;
	found = cache_small_miss(cache, set, index, tag, false);
	set->prefetched |= UINT32_C(1) << (found.what >> CACHE_SLOT_SHIFT) % CACHE_SMALL_WAYS;
	return found;
}

#endif
