/*
 * cache.h - one cache: which lines are in it, which leaves next, which were written
 *
 * Lines are known by their numbers, at most 2^32 - 2 times the sets (page_map.h makes them). A set is one piece of
 * memory, 64 bytes with eight ways: what was written, what was prefetched, a lock, 32 bits of each line's number, and a
 * byte for each way that says how many ways were used after it - which is the exact order of LRU, in place. First in
 * first out is the same order when a hit does not change it; a random victim comes from a generator of its set.
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

#define CACHE_NO_LINE UINT64_MAX

struct cache_set {
	uint32_t written, prefetched; /* bit n: way n */
	uint32_t lock, random;
	uint32_t tags[]; /* of `slots` ways, then their ages: `age_words` of 64 bits */
};

struct cache {
	uint8_t *sets; /* set_count times set_bytes */
	uint32_t set_bytes, set_count;
	uint64_t reciprocal; /* 2^64 / set_count, when that is no power of two; else 0 */
	uint8_t set_shift;   /* of a power of two */
	uint8_t ways;
	uint8_t slots; /* for tags: ways, or up to three more */
	uint8_t age_words;
	bool reorders;  /* on a hit: LRU */
	bool is_random; /* its victims */
	bool locks;
};

/* What an access found. */
struct cache_found {
	bool hit;
	bool was_prefetched; /* and nobody had asked for it */
	bool was_written;    /* it, or with a miss the line that left */
	uint64_t left;       /* the line that made room; CACHE_NO_LINE */
};

/* 0 or -ENOMEM. `shared`: by cores of several threads. */
int cache_init(struct cache *cache, const struct machine_cache *model, unsigned line_bytes, uint64_t seed);
void cache_fini(struct cache *cache);

/* Whether it has the line; changes nothing. */
bool cache_has(struct cache *cache, uint64_t line);

/* Marks a line that it has as written; false: it does not have it. */
bool cache_mark_written(struct cache *cache, uint64_t line);

/* The line without anybody having asked for it; with a hit nothing changes. */
void cache_prefetch(struct cache *cache, uint64_t line, struct cache_found *found);

void cache_set_lock(struct cache_set *set);

static inline void
cache_set_unlock(struct cache_set *set)
{
	__atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE);
}

static inline struct cache_set *
cache_place(const struct cache *cache, uint64_t line, uint32_t *tag, uint32_t *index)
{
	uint64_t quotient;

	if (__builtin_expect(!cache->reciprocal, 1)) {
		*index = (uint32_t)line & (cache->set_count - 1);
		*tag = (uint32_t)(line >> cache->set_shift);
	} else {
		quotient = (uint64_t)(((unsigned __int128)line * cache->reciprocal) >> 64);
		*index = (uint32_t)(line - quotient * cache->set_count);
		*tag = (uint32_t)quotient;
	}
	return (struct cache_set *)(cache->sets + (size_t)*index * cache->set_bytes);
}

static inline uint64_t
cache_line_of(const struct cache *cache, uint32_t tag, uint32_t index)
{
	if (tag == TAG_NONE)
		return CACHE_NO_LINE;
	return (uint64_t)tag * cache->set_count + index;
}

static inline uint32_t
cache_victim(const struct cache *cache, struct cache_set *set, const uint64_t *ages, unsigned age_words)
{
	uint32_t way = ages_oldest(ages, age_words, cache->ways);

	if (__builtin_expect(!cache->is_random, 1) || set->tags[way] == TAG_NONE)
		return way;
	set->random = set->random * UINT32_C(1664525) + UINT32_C(1013904223);
	return (uint32_t)(((uint64_t)(set->random >> 8) * cache->ways) >> 24);
}

static inline __attribute__((always_inline)) void
cache_access_sized(struct cache *cache, uint64_t line, bool writes, struct cache_found *found, unsigned slots,
                   unsigned age_words)
{
	uint32_t tag, index, way, bit;
	struct cache_set *set = cache_place(cache, line, &tag, &index);
	uint64_t *ages = (uint64_t *)(set->tags + slots);
	uint32_t matches;

	if (cache->locks)
		cache_set_lock(set);
	matches = tags_match(set->tags, tag, slots);
	found->hit = matches != 0;
	found->left = CACHE_NO_LINE;
	if (matches) {
		way = (uint32_t)__builtin_ctz(matches);
		bit = UINT32_C(1) << way;
		found->was_prefetched = set->prefetched & bit;
		found->was_written = set->written & bit;
		set->written |= writes ? bit : 0;
		if (cache->reorders)
			ages_renew(ages, age_words, way);
	} else {
		way = cache_victim(cache, set, ages, age_words);
		bit = UINT32_C(1) << way;
		found->was_prefetched = false;
		found->was_written = set->written & bit;
		found->left = cache_line_of(cache, set->tags[way], index);
		set->tags[way] = tag;
		set->written = (set->written & ~bit) | (writes ? bit : 0);
		ages_renew(ages, age_words, way);
	}
	set->prefetched &= ~bit;
	if (cache->locks)
		cache_set_unlock(set);
}

/* Somebody asks for the line: afterwards it is there. */
static inline void
cache_access(struct cache *cache, uint64_t line, bool writes, struct cache_found *found)
{
	if (cache->slots == 8)
		cache_access_sized(cache, line, writes, found, 8, 1);
	else if (cache->slots == 16)
		cache_access_sized(cache, line, writes, found, 16, 2);
	else
		cache_access_sized(cache, line, writes, found, cache->slots, cache->age_words);
}

#endif
