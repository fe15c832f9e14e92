#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulator/model/cache.h"
#include "emulator/model/spin_lock.h"

#define HOST_LINE 64
#define HUGE_PAGE ((size_t)2 << 20)

#define SET_CONSTANT_SLOTS 20 /* of the last level of a server */

#define SET_INLINE static inline __attribute__((always_inline))

/* How a cache's sets are, and where they have what: constants where the first three are. */
struct cache_set_kind {
	uint32_t slots;
	bool is_lru, locks;
	uint32_t order_bytes, order_at, flags_at, lock_at, bytes;
};

SET_INLINE struct cache_set_kind
set_kind_of(uint32_t slots, bool is_lru, bool locks)
{
	struct cache_set_kind kind = {.slots = slots, .is_lru = is_lru, .locks = locks};

	kind.order_bytes = slots == CACHE_SMALL_WAYS ? LRU_WAYS : (slots + 7) & ~7u;
	kind.order_at = slots * (uint32_t)sizeof(uint32_t);
	kind.flags_at = kind.order_at + kind.order_bytes;
	kind.lock_at = kind.flags_at + slots;
	kind.bytes = (kind.lock_at + (uint32_t)sizeof(uint32_t) + 31) & ~31u; /* of 20 ways, 128 */
	return kind;
}

SET_INLINE struct cache_set_kind
set_kind_any(const struct cache *cache)
{
	return set_kind_of(cache->slots, cache->is_lru, cache->locks);
}

SET_INLINE uint32_t *
set_tags(uint8_t *set)
{
	return (uint32_t *)(void *)set;
}

/* Where a small set keeps its order or, with random victims, the state of its generator. */
SET_INLINE uint64_t *
set_order(const struct cache_set_kind kind, uint8_t *set)
{
	return (uint64_t *)(void *)(set + kind.order_at);
}

SET_INLINE uint32_t *
set_lock(const struct cache_set_kind kind, uint8_t *set)
{
	return (uint32_t *)(void *)(set + kind.lock_at);
}

SET_INLINE bool
set_is_small(const struct cache_set_kind kind)
{
	return kind.slots == CACHE_SMALL_WAYS;
}

/* A line's set, and what it is known by there. */
struct set_place {
	uint8_t *set;
	uint32_t tag, index;
};

SET_INLINE struct set_place
set_place(const struct cache *cache, uint64_t line, uint32_t set_bytes)
{
	uint64_t tag;
	uint32_t index;

	if (!cache->reciprocal)
		return (struct set_place){cache->sets, (uint32_t)line, 0};
	/* a line is less than 2^32 times the sets: of that the quotient is exact */
	tag = (uint64_t)(((unsigned __int128)line * cache->reciprocal) >> 64);
	index = (uint32_t)(line - tag * cache->set_count);
	return (struct set_place){cache->sets + (size_t)index * set_bytes, (uint32_t)tag, index};
}

/* As long as there is room, the first that is free. */
static inline uint32_t
set_random_victim(const struct cache *cache, uint8_t *set, const struct cache_set_kind kind)
{
	const uint32_t room = tags_match(set_tags(set), TAG_NONE, kind.slots);
	uint64_t *state = set_order(kind, set);

	if (room && (uint32_t)__builtin_ctz(room) < cache->ways)
		return (uint32_t)__builtin_ctz(room);
	*state = (uint32_t)*state * UINT32_C(1664525) + UINT32_C(1013904223);
	return (uint32_t)(((*state >> 8) * cache->ways) >> 24);
}

SET_INLINE uint32_t
set_victim(const struct cache *cache, uint8_t *set, const struct cache_set_kind kind)
{
	if (!kind.is_lru && cache->is_random)
		return set_random_victim(cache, set, kind);
	if (set_is_small(kind))
		return lru_oldest(*set_order(kind, set), cache->present);
	return lru_bytes_oldest(set + kind.order_at, kind.order_bytes, cache->ways);
}

/* Make a way the most recently used of its set. */
SET_INLINE void
set_renew(uint8_t *set, uint32_t way, const struct cache_set_kind kind)
{
	if (set_is_small(kind))
		*set_order(kind, set) = lru_used(*set_order(kind, set), way);
	else
		lru_bytes_use(set + kind.order_at, kind.order_bytes, way);
}

/* Put the line in the place of the victim. */
SET_INLINE struct cache_found
set_replace(const struct cache *cache, const struct set_place place, uint8_t flags, const struct cache_set_kind kind)
{
	const uint32_t way = set_victim(cache, place.set, kind), tag = set_tags(place.set)[way];
	uint8_t *there = place.set + kind.flags_at + way;
	struct cache_found found = {.victim = CACHE_NO_LINE, .flags = *there & CACHE_WAS_WRITTEN};

	if (tag != TAG_NONE)
		found.victim = (uint64_t)tag * cache->set_count + place.index;
	set_tags(place.set)[way] = place.tag;
	*there = flags;
	if (kind.is_lru || !cache->is_random)
		set_renew(place.set, way, kind);
	return found;
}

SET_INLINE struct cache_found
set_use(uint8_t *set, uint32_t way, bool writes, const struct cache_set_kind kind)
{
	uint8_t *flags = set + kind.flags_at + way;
	const struct cache_found found = {.victim = CACHE_NO_LINE, .flags = CACHE_HIT | *flags};

	*flags = (uint8_t)((*flags & CACHE_WAS_WRITTEN) | (writes ? CACHE_WAS_WRITTEN : 0));
	if (kind.is_lru)
		set_renew(set, way, kind);
	return found;
}

/* A large cache has 10^5 of them, and many a program is short. */
static void
empty_sets(struct cache *cache, uint64_t seed)
{
	const struct cache_set_kind kind = set_kind_any(cache);
	uint8_t *ages = cache->sets + kind.order_at;

	memset(cache->sets, 0, cache->set_bytes);
	memset(cache->sets, 0xff, cache->slots * sizeof(uint32_t));
	if (set_is_small(kind)) {
		*set_order(kind, cache->sets) = lru_first(cache->ways);
	} else {
		memset(ages, LRU_NEVER, kind.order_bytes);
		for (uint8_t i = 0; i < cache->ways; i++)
			ages[i] = (uint8_t)(cache->ways - 1 - i);
	}
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
	bool is_power;

	cache->ways = (uint8_t)model->ways;
	cache->slots = (uint8_t)(cache->ways <= CACHE_SMALL_WAYS ? CACHE_SMALL_WAYS : (cache->ways + 3) & ~3u);
	cache->present = lru_present(cache->ways <= CACHE_SMALL_WAYS ? cache->ways : 0);
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
	cache->set_bytes = set_kind_any(cache).bytes;
	cache->is_simple = cache->slots == CACHE_SMALL_WAYS && cache->is_lru && is_power;
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
	if (cache->locks) /* and others are in it */
		return;
	cache->locks = true;
	cache->is_simple = false;
}

void
cache_fetch_set(const struct cache *cache, uint64_t line)
{
	const uint8_t *set = set_place(cache, line, cache->set_bytes).set;

	__builtin_prefetch(set, 1);
	__builtin_prefetch(set + cache->set_bytes - 1, 1); /* of 20 ways that is all of it */
}

/* The line's set, locked when it must be. */
SET_INLINE struct set_place
enter(struct cache *cache, uint64_t line, const struct cache_set_kind kind)
{
	const struct set_place place = set_place(cache, line, kind.bytes);

	if (kind.locks)
		spin_lock(set_lock(kind, place.set));
	return place;
}

SET_INLINE void
leave(uint8_t *set, const struct cache_set_kind kind)
{
	if (kind.locks)
		spin_unlock(set_lock(kind, set));
}

bool
cache_has(struct cache *cache, uint64_t line)
{
	const struct cache_set_kind kind = set_kind_any(cache);
	const struct set_place place = enter(cache, line, kind);
	const uint32_t matches = tags_match(set_tags(place.set), place.tag, kind.slots);

	leave(place.set, kind);
	return matches != 0;
}

SET_INLINE struct cache_found
access_kind(struct cache *cache, uint64_t line, bool writes, const struct cache_set_kind kind)
{
	const struct set_place place = enter(cache, line, kind);
	const uint32_t matches = tags_match(set_tags(place.set), place.tag, kind.slots);
	struct cache_found found;

	if (matches)
		found = set_use(place.set, (uint32_t)__builtin_ctz(matches), writes, kind);
	else
		found = set_replace(cache, place, writes ? CACHE_WAS_WRITTEN : 0, kind);
	leave(place.set, kind);
	return found;
}

struct cache_found
cache_access_any(struct cache *cache, uint64_t line, bool writes)
{
	if (cache->slots != SET_CONSTANT_SLOTS || !cache->is_lru)
		return access_kind(cache, line, writes, set_kind_any(cache));
	if (cache->locks)
		return access_kind(cache, line, writes, set_kind_of(SET_CONSTANT_SLOTS, true, true));
	return access_kind(cache, line, writes, set_kind_of(SET_CONSTANT_SLOTS, true, false));
}

struct cache_found
cache_prefetch(struct cache *cache, uint64_t line)
{
	const struct cache_set_kind kind = set_kind_any(cache);
	const struct set_place place = enter(cache, line, kind);
	struct cache_found found = {.victim = CACHE_NO_LINE, .flags = CACHE_HIT};

	if (!tags_match(set_tags(place.set), place.tag, kind.slots))
		found = set_replace(cache, place, CACHE_WAS_PREFETCHED, kind);
	leave(place.set, kind);
	return found;
}

/* Make a way the least recently used of its set. */
static void
set_age(const struct cache *cache, uint8_t *set, uint32_t way, const struct cache_set_kind kind)
{
	if (set_is_small(kind))
		*set_order(kind, set) = lru_unused(*set_order(kind, set), way);
	else
		lru_bytes_age(set + kind.order_at, cache->ways, way);
}

uint32_t
cache_give_up(struct cache *cache, uint64_t line, bool removes)
{
	const struct cache_set_kind kind = set_kind_any(cache);
	const struct set_place place = enter(cache, line, kind);
	const uint32_t matches = tags_match(set_tags(place.set), place.tag, kind.slots);
	uint32_t was = 0;

	if (matches) {
		const uint32_t way = (uint32_t)__builtin_ctz(matches);
		uint8_t *flags = &place.set[kind.flags_at + way];

		was = CACHE_HIT | (*flags & CACHE_WAS_WRITTEN);
		*flags &= (uint8_t)~CACHE_WAS_WRITTEN;
		if (removes) {
			set_tags(place.set)[way] = TAG_NONE;
			*flags = 0;
			if (!cache->is_random)
				set_age(cache, place.set, way, kind);
		}
	}
	leave(place.set, kind);
	return was;
}

void
cache_each(struct cache *cache, void (*function)(void *context, uint64_t line), void *context)
{
	for (uint32_t i = 0; i < cache->set_count; i++) {
		const uint32_t *tags = set_tags(cache->sets + (size_t)i * cache->set_bytes);

		for (uint32_t way = 0; way < cache->ways; way++) {
			if (tags[way] != TAG_NONE)
				function(context, (uint64_t)tags[way] * cache->set_count + i);
		}
	}
}

SET_INLINE bool
mark_written_kind(struct cache *cache, uint64_t line, const struct cache_set_kind kind)
{
	const struct set_place place = enter(cache, line, kind);
	const uint32_t matches = tags_match(set_tags(place.set), place.tag, kind.slots);

	if (matches)
		place.set[kind.flags_at + (uint32_t)__builtin_ctz(matches)] |= CACHE_WAS_WRITTEN;
	leave(place.set, kind);
	return matches != 0;
}

bool
cache_mark_written_any(struct cache *cache, uint64_t line)
{
	if (cache->slots != SET_CONSTANT_SLOTS || !cache->is_lru)
		return mark_written_kind(cache, line, set_kind_any(cache));
	if (cache->locks)
		return mark_written_kind(cache, line, set_kind_of(SET_CONSTANT_SLOTS, true, true));
	return mark_written_kind(cache, line, set_kind_of(SET_CONSTANT_SLOTS, true, false));
}
