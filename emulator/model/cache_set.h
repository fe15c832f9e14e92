/*
 * cache_set.h - a set of any cache: where it has what, and who makes room in it
 *
 * Inner header of emulator/model. What is done in a set is made for what its kind has that is constant.
 *
 * Thread rule: who has locked the set, where somebody else may.
 */
#ifndef DCPI_EMULATOR_MODEL_CACHE_SET_H
#define DCPI_EMULATOR_MODEL_CACHE_SET_H

#include "emulator/model/cache.h"

#define SET_USUAL_SLOTS 20 /* of the last level of a server */

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

	kind.order_bytes = slots == CACHE_SMALL_WAYS ? ORDER_WAYS : (slots + 7) & ~7u;
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

/* Of a small set, or of one with random victims: in the place of the order, which it has not. */
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

struct set_number {
	uint32_t tag, index;
};

/* Of a cache of several sets. A line is less than 2^32 times as many: of that the quotient is exact. */
SET_INLINE struct set_number
set_number_among(const struct cache *cache, uint64_t line)
{
	const uint64_t quotient = (uint64_t)(((unsigned __int128)line * cache->reciprocal) >> 64);

	return (struct set_number){(uint32_t)quotient, (uint32_t)(line - quotient * cache->set_count)};
}

SET_INLINE struct set_place
set_place(const struct cache *cache, uint64_t line, uint32_t set_bytes)
{
	struct set_number number;

	if (!cache->reciprocal)
		return (struct set_place){cache->sets, (uint32_t)line, 0};
	number = set_number_among(cache, line);
	return (struct set_place){cache->sets + (size_t)number.index * set_bytes, number.tag, number.index};
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
		return order_oldest(*set_order(kind, set), cache->present);
	return order_bytes_oldest(set + kind.order_at, kind.order_bytes, cache->ways);
}

/* It is the youngest. */
SET_INLINE void
set_renew(uint8_t *set, uint32_t way, const struct cache_set_kind kind)
{
	if (set_is_small(kind))
		*set_order(kind, set) = order_used(*set_order(kind, set), way);
	else
		order_bytes_use(set + kind.order_at, kind.order_bytes, way);
}

/* Puts the tag where another leaves. */
SET_INLINE struct cache_found
set_replace(const struct cache *cache, const struct set_place place, uint8_t flags, const struct cache_set_kind kind)
{
	const uint32_t way = set_victim(cache, place.set, kind), left = set_tags(place.set)[way];
	uint8_t *there = place.set + kind.flags_at + way;
	struct cache_found found = {.left = CACHE_NO_LINE, .what = *there & CACHE_WAS_WRITTEN};

	if (left != TAG_NONE)
		found.left = (uint64_t)left * cache->set_count + place.index;
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
	const struct cache_found found = {.left = CACHE_NO_LINE, .what = CACHE_HIT | *flags};

	*flags = (uint8_t)((*flags & CACHE_WAS_WRITTEN) | (writes ? CACHE_WAS_WRITTEN : 0));
	if (kind.is_lru)
		set_renew(set, way, kind);
	return found;
}

#endif
