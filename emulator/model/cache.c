#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulator/model/cache.h"

#define SPINS_MAX 200 /* before the processor is given to who has the lock, perhaps */
#define HOST_LINE 64
#define HUGE_PAGE ((size_t)2 << 20)

static uint32_t *
tags_of(uint8_t *set)
{
	return (uint32_t *)(void *)set;
}

/* Of a small set, or of one with random victims: in the place of the order, which it has not. */
static uint64_t *
order_of(const struct cache *cache, uint8_t *set)
{
	return (uint64_t *)(void *)(set + cache->order_at);
}

static uint32_t *
lock_of(const struct cache *cache, uint8_t *set)
{
	return (uint32_t *)(void *)(set + cache->lock_at);
}

static bool
is_small(const struct cache *cache)
{
	return cache->slots == CACHE_SMALL_WAYS;
}

static void
empty_first_set(const struct cache *cache, uint8_t *set)
{
	memset(set, 0, cache->set_bytes);
	memset(set, 0xff, cache->slots * sizeof(uint32_t));
	if (is_small(cache)) {
		*order_of(cache, set) = order_first(cache->ways);
	} else {
		memset(set + cache->order_at, ORDER_NEVER, cache->order_bytes);
		for (uint8_t i = 0; i < cache->ways; i++)
			set[cache->order_at + i] = (uint8_t)(cache->ways - 1 - i);
	}
}

/* A large cache has 10^5 of them, and many a program is short. */
static void
empty_sets(struct cache *cache, uint64_t seed)
{
	empty_first_set(cache, cache->sets);
	for (uint32_t i = 0; i < cache->set_count; i++) {
		uint8_t *set = cache->sets + (size_t)i * cache->set_bytes;

		if (i)
			memcpy(set, cache->sets, cache->set_bytes);
		if (cache->is_random)
			*order_of(cache, set) = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	}
}

/* What a set of 20 ways consists of has 128 bytes. */
static void
set_layout(struct cache *cache)
{
	cache->slots = (uint8_t)(cache->ways <= CACHE_SMALL_WAYS ? CACHE_SMALL_WAYS : (cache->ways + 3) & ~3u);
	cache->order_bytes = (uint8_t)(is_small(cache) ? ORDER_WAYS : (cache->slots + 7) & ~7);
	cache->order_at = cache->slots * (uint32_t)sizeof(uint32_t);
	cache->flags_at = cache->order_at + cache->order_bytes;
	cache->lock_at = cache->flags_at + cache->slots;
	cache->set_bytes = (cache->lock_at + (uint32_t)sizeof(uint32_t) + 31) & ~31u;
	cache->present = order_present(cache->ways <= CACHE_SMALL_WAYS ? cache->ways : 0);
}

static void
set_shape(struct cache *cache, const struct machine_cache *model, unsigned line_bytes)
{
	cache->ways = (uint8_t)model->ways;
	set_layout(cache);
	cache->reorders = model->replacement == REPLACEMENT_LRU;
	cache->is_random = model->replacement == REPLACEMENT_RANDOM;
	cache->set_count = (uint32_t)(model->bytes / line_bytes / model->ways);
	if (cache->set_count & (cache->set_count - 1))
		cache->reciprocal = UINT64_MAX / cache->set_count + 1;
	else
		cache->set_shift = (uint8_t)__builtin_ctz(cache->set_count);
	cache->is_simple = is_small(cache) && cache->reorders && !cache->reciprocal;
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
}

static void
lock_set(uint32_t *lock)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
}

static uint8_t *
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
	return cache->sets + (size_t)*index * cache->set_bytes;
}

void
cache_fetch_set(const struct cache *cache, uint64_t line)
{
	uint32_t tag, index;
	const uint8_t *set = find_set(cache, line, &tag, &index);

	for (uint32_t i = 0; i < cache->set_bytes; i += HOST_LINE)
		__builtin_prefetch(set + i, 1);
}

/* The line's set, locked when it must be. */
static inline uint8_t *
enter(struct cache *cache, uint64_t line, uint32_t *tag, uint32_t *index)
{
	uint8_t *set = find_set(cache, line, tag, index);

	if (cache->locks)
		lock_set(lock_of(cache, set));
	return set;
}

static inline void
leave(const struct cache *cache, uint8_t *set)
{
	if (cache->locks)
		__atomic_store_n(lock_of(cache, set), 0, __ATOMIC_RELEASE);
}

/* The way that has the line, its set locked; -1: none. */
static int
find(struct cache *cache, uint64_t line, uint8_t **set)
{
	uint32_t tag, index, matches;

	*set = enter(cache, line, &tag, &index);
	matches = tags_match(tags_of(*set), tag, cache->slots);
	return matches ? __builtin_ctz(matches) : -1;
}

bool
cache_has(struct cache *cache, uint64_t line)
{
	uint8_t *set;
	int way = find(cache, line, &set);

	leave(cache, set);
	return way >= 0;
}

bool
cache_mark_written_any(struct cache *cache, uint64_t line)
{
	uint8_t *set;
	int way = find(cache, line, &set);

	if (way >= 0)
		set[cache->flags_at + (uint32_t)way] |= CACHE_WAS_WRITTEN;
	leave(cache, set);
	return way >= 0;
}

/* As long as there is room, the first that is free. */
static uint32_t
random_victim(const struct cache *cache, uint8_t *set)
{
	const uint32_t room = tags_match(tags_of(set), TAG_NONE, cache->slots);
	uint64_t *state = order_of(cache, set);

	if (room && (uint32_t)__builtin_ctz(room) < cache->ways)
		return (uint32_t)__builtin_ctz(room);
	*state = (uint32_t)*state * UINT32_C(1664525) + UINT32_C(1013904223);
	return (uint32_t)(((*state >> 8) * cache->ways) >> 24);
}

static inline uint32_t
victim(const struct cache *cache, uint8_t *set)
{
	if (cache->is_random)
		return random_victim(cache, set);
	if (is_small(cache))
		return order_oldest(*order_of(cache, set), cache->present);
	return order_bytes_oldest(set + cache->order_at, cache->order_bytes, cache->ways);
}

/* It is the youngest. */
static inline void
renew(const struct cache *cache, uint8_t *set, uint32_t way)
{
	if (is_small(cache))
		*order_of(cache, set) = order_used(*order_of(cache, set), way);
	else
		order_bytes_use(set + cache->order_at, cache->order_bytes, way);
}

/* Puts the tag where another leaves. */
static struct cache_found
replace(const struct cache *cache, uint8_t *set, uint32_t tag, uint32_t index, uint8_t flags)
{
	const uint32_t way = victim(cache, set), left = tags_of(set)[way];
	struct cache_found found = {.left = CACHE_NO_LINE, .what = set[cache->flags_at + way] & CACHE_WAS_WRITTEN};

	if (left != TAG_NONE)
		found.left = (uint64_t)left * cache->set_count + index;
	tags_of(set)[way] = tag;
	set[cache->flags_at + way] = flags;
	if (!cache->is_random)
		renew(cache, set, way);
	return found;
}

static struct cache_found
use(const struct cache *cache, uint8_t *set, uint32_t way, bool writes)
{
	uint8_t *flags = set + cache->flags_at + way;
	const struct cache_found found = {.left = CACHE_NO_LINE, .what = CACHE_HIT | *flags};

	*flags = (uint8_t)((*flags & CACHE_WAS_WRITTEN) | (writes ? CACHE_WAS_WRITTEN : 0));
	if (cache->reorders)
		renew(cache, set, way);
	return found;
}

struct cache_found
cache_access_any(struct cache *cache, uint64_t line, bool writes)
{
	struct cache_found found;
	uint32_t tag, index, matches;
	uint8_t *set = enter(cache, line, &tag, &index);

	matches = tags_match(tags_of(set), tag, cache->slots);
	found = matches ? use(cache, set, (uint32_t)__builtin_ctz(matches), writes)
	                : replace(cache, set, tag, index, writes ? CACHE_WAS_WRITTEN : 0);
	leave(cache, set);
	return found;
}

struct cache_found
cache_prefetch_any(struct cache *cache, uint64_t line)
{
	struct cache_found found = {.left = CACHE_NO_LINE, .what = CACHE_HIT};
	uint32_t tag, index;
	uint8_t *set = enter(cache, line, &tag, &index);

	if (!tags_match(tags_of(set), tag, cache->slots))
		found = replace(cache, set, tag, index, CACHE_WAS_PREFETCHED);
	leave(cache, set);
	return found;
}
