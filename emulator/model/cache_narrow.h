/*
 * cache_narrow.h - the usual last level of a server: a set is one line of the host
 *
 * Of 17 to 20 ways in the order of LRU a set, one of several, has 16 bits of each line's number, how many were used
 * after it (order.h), and whether it was written. What that cannot tell - a number has more bits, a line was prefetched
 * into it - makes the cache wide for good (cache_set.h): cache_widen().
 *
 * Inner header of emulator/model. Thread rule: of one thread, or of who has locked the set. A cache that threads share
 * is made wide by who has locked all sets, and never lets go of them: who waits for one finds the cache wide.
 */
#ifndef DCPI_EMULATOR_MODEL_CACHE_NARROW_H
#define DCPI_EMULATOR_MODEL_CACHE_NARROW_H

#include "emulator/model/cache_set.h"

#define NARROW_NONE   UINT16_MAX /* the tag of nothing */
#define NARROW_LOCKED UINT32_MAX /* instead of `written`: who has locked the set has that */

struct narrow_set {
	uint16_t tags[SET_USUAL_SLOTS];
	uint8_t ages[SET_USUAL_SLOTS]; /* behind the tags, which are compared in eights */
	uint32_t written;              /* bit n: way n was */
};

_Static_assert(sizeof(struct narrow_set) == 64, "a set is one line of the host");

struct narrow_place {
	struct narrow_set *set;
	uint32_t tag, index;
};

/* The tag may be too large: narrow_has_room(). */
SET_INLINE struct narrow_place
narrow_place(const struct cache *cache, uint64_t line)
{
	const struct set_number number = set_number_among(cache, line);

	return (struct narrow_place){cache->narrow + number.index, number.tag, number.index};
}

SET_INLINE bool
narrow_has_room(struct narrow_place place)
{
	return place.tag < NARROW_NONE;
}

/* cache->shares_narrow, though another thread may be making it wide. */
SET_INLINE bool
narrow_is_shared(const struct cache *cache)
{
	return __atomic_load_n(&cache->shares_narrow, __ATOMIC_ACQUIRE);
}

/* Locks the set unless somebody else has, and takes its `written`. */
SET_INLINE bool
narrow_try(struct narrow_set *set, uint32_t *written)
{
	*written = __atomic_exchange_n(&set->written, NARROW_LOCKED, __ATOMIC_ACQUIRE);
	return *written != NARROW_LOCKED;
}

/* Whoever has. False: the cache has been made wide instead. */
bool narrow_lock(const struct cache *cache, struct narrow_set *set, uint32_t *written);

SET_INLINE void
narrow_unlock(struct narrow_set *set, uint32_t written)
{
	__atomic_store_n(&set->written, written, __ATOMIC_RELEASE);
}

/* Whether it is narrow though threads share it, and the line's place there is now locked without more ado. */
SET_INLINE bool
narrow_enter(const struct cache *cache, uint64_t line, struct narrow_place *place, uint32_t *written)
{
	if (!narrow_is_shared(cache))
		return false;
	*place = narrow_place(cache, line);
	return __builtin_expect(narrow_has_room(*place) && narrow_try(place->set, written), 1);
}

/* Bit n: way n has it. */
SET_INLINE uint32_t
narrow_match(struct narrow_place place)
{
	const uint16_t *tags = place.set->tags;
#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi16((short)place.tag);
	const __m128i first = _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)(const void *)tags), wanted);
	const __m128i second = _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)(const void *)(tags + 8)), wanted);
	const __m128i last = _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)(const void *)(tags + 16)), wanted);
	const uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(first, second));

	return low | ((uint32_t)_mm_movemask_epi8(_mm_packs_epi16(last, last)) & 0xf) << 16;
#else
	uint32_t matches = 0;

	for (unsigned i = 0; i < SET_USUAL_SLOTS; i++)
		matches |= (uint32_t)(tags[i] == place.tag) << i;
	return matches;
#endif
}

/* What has it is used. */
SET_INLINE void
narrow_use(struct narrow_place place, uint32_t matches)
{
	order_bytes_use(place.set->ages, SET_USUAL_SLOTS, (uint32_t)__builtin_ctz(matches));
}

/*
 * What follows is for a set that somebody has locked, with its `written`, or, as `..._with` is left out, for one of a
 * cache that one thread has alone. Whether the line is there; then it is written.
 */
SET_INLINE bool
narrow_mark_written_with(struct narrow_place place, uint32_t *written)
{
	const uint32_t matches = narrow_match(place);

	*written |= matches;
	return matches != 0;
}

SET_INLINE bool
narrow_mark_written(struct narrow_place place)
{
	return narrow_mark_written_with(place, &place.set->written);
}

/* It comes in where another leaves. */
SET_INLINE struct cache_found
narrow_replace_with(const struct cache *cache, struct narrow_place place, bool writes, uint32_t *written)
{
	struct narrow_set *set = place.set;
	const uint32_t way = order_bytes_oldest(set->ages, SET_USUAL_SLOTS, cache->ways), bit = UINT32_C(1) << way;
	const uint32_t left = set->tags[way];
	struct cache_found found = {.left = CACHE_NO_LINE, .what = *written & bit ? CACHE_WAS_WRITTEN : 0};

	if (left != NARROW_NONE)
		found.left = (uint64_t)left * cache->set_count + place.index;
	set->tags[way] = (uint16_t)place.tag;
	*written = (*written & ~bit) | (writes ? bit : 0);
	order_bytes_use(set->ages, SET_USUAL_SLOTS, way);
	return found;
}

SET_INLINE struct cache_found
narrow_replace(const struct cache *cache, struct narrow_place place, bool writes)
{
	return narrow_replace_with(cache, place, writes, &place.set->written);
}

/* cache_access() */
SET_INLINE struct cache_found
narrow_access_with(const struct cache *cache, struct narrow_place place, bool writes, uint32_t *written)
{
	const uint32_t matches = narrow_match(place);
	struct cache_found found = {.left = CACHE_NO_LINE, .what = CACHE_HIT};

	if (!matches)
		return narrow_replace_with(cache, place, writes, written);
	found.what |= *written & matches ? CACHE_WAS_WRITTEN : 0;
	*written |= writes ? matches : 0;
	narrow_use(place, matches);
	return found;
}

/* The same in a set that is locked with `written`; then it is not any more. */
SET_INLINE struct cache_found
narrow_access_locked(const struct cache *cache, struct narrow_place place, bool writes, uint32_t written)
{
	const struct cache_found found = narrow_access_with(cache, place, writes, &written);

	narrow_unlock(place.set, written);
	return found;
}

#endif
