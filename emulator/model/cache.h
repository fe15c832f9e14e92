/*
 * cache.h - one cache: the lines that it holds, the next victim, and the dirty lines
 *
 * A line is identified by its number, which is less than 2^32 - 1 times the number of sets (page_map.h makes numbers).
 * A set is one piece of memory, 64 bytes with up to eight ways: 32 bits of each line's number, the exact LRU order
 * (lru.h), whether each line was written or prefetched, and a lock. FIFO is the LRU order that a hit does not change; a
 * random victim comes from a generator of its set.
 *
 * Thread rule: one thread until cache_begin_to_lock(); afterwards any thread, and each call locks its set.
 */
#ifndef DCPI_EMULATOR_MODEL_CACHE_H
#define DCPI_EMULATOR_MODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/model/lru.h"
#include "machine/machine.h"

#define CACHE_NO_LINE    UINT64_MAX
#define CACHE_SMALL_WAYS 8

#define CACHE_HIT            1u
#define CACHE_WAS_PREFETCHED 2u /* prefetched, and not used before this access */
#define CACHE_WAS_WRITTEN    4u /* dirty: the line itself, or with a miss the evicted line */

/* A set of up to eight ways. Larger sets have these fields in this order, for `slots` ways. */
struct cache_small {
	uint32_t tags[CACHE_SMALL_WAYS];
	uint64_t order;                  /* or the state of a generator */
	uint8_t flags[CACHE_SMALL_WAYS]; /* CACHE_WAS_... */
	uint32_t lock, unused[3];
};

struct cache {
	uint8_t *sets; /* set_count times set_bytes */
	uint32_t set_count;
	uint32_t set_mask; /* if set_count is a power of two */
	uint8_t set_shift; /* if set_count is a power of two, log2 of it */
	bool is_simple;    /* up to 8 ways, LRU, a power of two of sets, no locks: the inline functions apply */
	bool is_lru;       /* a hit changes the order of victims */
	bool is_random;    /* victims are random */
	bool locks;
	uint8_t ways, slots; /* slots: 8; with more ways, the ways and up to three more */
	uint32_t set_bytes;
	uint64_t present;    /* lru_present() of a small set */
	uint64_t reciprocal; /* 2^64 / set_count, or the next number; 0: only one set */
};

/* What an access found; small, to be returned in registers. */
struct cache_found {
	uint64_t victim; /* on a miss the line that was evicted; CACHE_NO_LINE if the way was empty */
	uint32_t flags;  /* CACHE_... */
};

/* 0 or -ENOMEM. */
int cache_init(struct cache *cache, const struct machine_cache *model, unsigned line_bytes, uint64_t seed);
void cache_fini(struct cache *cache);

/* From now on calls lock their set. No thread may be in a call; a second call does nothing. */
void cache_begin_to_lock(struct cache *cache);

/* An access to the line follows soon: prefetch its set into the host's cache. */
void cache_fetch_set(const struct cache *cache, uint64_t line);

/* Whether the cache has the line; changes nothing. */
bool cache_has(struct cache *cache, uint64_t line);

/* Fill the line by a prefetch. If the cache has it already, returns CACHE_HIT and changes nothing. */
struct cache_found cache_prefetch(struct cache *cache, uint64_t line);

/*
 * Make the line clean or, with `removes`, remove it: then its way is the next to be filled. Returns what it was:
 * CACHE_HIT if the cache had it, with CACHE_WAS_WRITTEN if it was dirty.
 */
uint32_t cache_give_up(struct cache *cache, uint64_t line, bool removes);

/* Call `function` for each line that the cache has. No other thread may be in a call. */
void cache_each(struct cache *cache, void (*function)(void *context, uint64_t line), void *context);

/* cache_access() and cache_mark_written() for every shape of cache. */
struct cache_found cache_access_any(struct cache *cache, uint64_t line, bool writes);
bool cache_mark_written_any(struct cache *cache, uint64_t line);

/* Whether the access evicted a dirty line. */
static inline bool
cache_found_evicts_dirty(struct cache_found found)
{
	return !(found.flags & CACHE_HIT) && (found.flags & CACHE_WAS_WRITTEN);
}

static inline uint32_t
cache_small_index(const struct cache *cache, uint64_t line)
{
	return (uint32_t)line & cache->set_mask;
}

static inline struct cache_small *
cache_small_set(const struct cache *cache, uint64_t line)
{
	return (struct cache_small *)(void *)cache->sets + cache_small_index(cache, line);
}

/* Match mask: its lowest set bit is the way, higher bits are meaningless; 0: no match. */
static inline __attribute__((always_inline)) uint32_t
cache_small_find(const struct cache *cache, const struct cache_small *set, uint64_t line)
{
	return tags_find_of_eight(set->tags, (uint32_t)(line >> cache->set_shift));
}

/* cache_has() of a simple cache. */
static inline __attribute__((always_inline)) bool
cache_small_has(const struct cache *cache, uint64_t line)
{
	return tags_has(cache_small_set(cache, line)->tags, (uint32_t)(line >> cache->set_shift), CACHE_SMALL_WAYS);
}

/* Use the line in a way. Returns the flags that it had before. */
static inline __attribute__((always_inline)) uint32_t
cache_small_use(struct cache_small *set, uint32_t way, bool writes)
{
	const uint32_t flags = set->flags[way];

	set->order = lru_used(set->order, way);
	if (writes || __builtin_expect(flags & CACHE_WAS_PREFETCHED, 0))
		set->flags[way] = (uint8_t)((flags & CACHE_WAS_WRITTEN) | (writes ? CACHE_WAS_WRITTEN : 0));
	return flags;
}

/* Replace the least recently used line by `line`. */
static inline __attribute__((always_inline)) struct cache_found
cache_small_replace(const struct cache *cache, struct cache_small *set, uint64_t line, uint8_t flags)
{
	const uint32_t way = lru_oldest(set->order, cache->present), tag = set->tags[way];
	struct cache_found found = {.victim = CACHE_NO_LINE, .flags = set->flags[way] & CACHE_WAS_WRITTEN};

	if (tag != TAG_NONE)
		found.victim = (uint64_t)tag << cache->set_shift | cache_small_index(cache, line);
	set->tags[way] = (uint32_t)(line >> cache->set_shift);
	set->flags[way] = flags;
	set->order = lru_used(set->order, way);
	return found;
}

/* Look the line up, and fill it on a miss. */
static inline __attribute__((always_inline)) struct cache_found
cache_access(struct cache *cache, uint64_t line, bool writes)
{
	struct cache_small *set;
	uint32_t matches, way;

	if (__builtin_expect(!cache->is_simple, 0))
		return cache_access_any(cache, line, writes);
	set = cache_small_set(cache, line);
	matches = cache_small_find(cache, set, line);
	if (!matches)
		return cache_small_replace(cache, set, line, writes ? CACHE_WAS_WRITTEN : 0);
	way = (uint32_t)__builtin_ctz(matches);
	return (struct cache_found){CACHE_NO_LINE, CACHE_HIT | cache_small_use(set, way, writes)};
}

/* cache_mark_written() of a simple cache. */
static inline __attribute__((always_inline)) bool
cache_small_mark_written(struct cache *cache, uint64_t line)
{
	struct cache_small *set = cache_small_set(cache, line);
	const uint32_t matches = cache_small_find(cache, set, line);

	if (matches)
		set->flags[__builtin_ctz(matches)] |= CACHE_WAS_WRITTEN;
	return matches != 0;
}

/* Mark a line as written; false: the cache does not have it. */
static inline __attribute__((always_inline)) bool
cache_mark_written(struct cache *cache, uint64_t line)
{
	if (__builtin_expect(!cache->is_simple, 0))
		return cache_mark_written_any(cache, line);
	return cache_small_mark_written(cache, line);
}

#endif
