#include <sched.h>

#include "emulator/model/cache_narrow.h"

#define SPINS_MAX 200 /* before the processor is given to who has the lock, perhaps */

void
cache_fetch_set(const struct cache *cache, uint64_t line)
{
	const uint8_t *set;

	if (cache->is_narrow || narrow_is_shared(cache)) {
		__builtin_prefetch(narrow_place(cache, line).set, 1);
		return;
	}
	set = set_place(cache, line, cache->set_bytes).set;
	__builtin_prefetch(set, 1);
	__builtin_prefetch(set + cache->set_bytes - 1, 1); /* of 20 ways that is all of it */
}

/* Whether it is narrow, and the line's place there. What has a larger number makes it wide. */
static inline bool
is_narrow_for(struct cache *cache, uint64_t line, struct narrow_place *place)
{
	if (!cache->is_narrow)
		return false;
	*place = narrow_place(cache, line);
	if (narrow_has_room(*place))
		return true;
	cache_widen(cache);
	return false;
}

bool
narrow_lock(const struct cache *cache, struct narrow_set *set, uint32_t *written)
{
	unsigned spins = 0;

	while (!narrow_try(set, written)) {
		if (!narrow_is_shared(cache))
			return false;
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
	return true;
}

/* Whether it is narrow, and so on, or has to be made wide. */
static inline bool
enter_narrow(struct cache *cache, uint64_t line, struct narrow_place *place, uint32_t *written)
{
	if (!narrow_is_shared(cache))
		return false;
	*place = narrow_place(cache, line);
	if (narrow_has_room(*place))
		return narrow_lock(cache, place->set, written);
	cache_widen_shared(cache);
	return false;
}

static __attribute__((noinline)) void
wait_for(uint32_t *lock)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
}

/* The line's set, locked when it must be. */
SET_INLINE struct set_place
enter(struct cache *cache, uint64_t line, const struct cache_set_kind kind)
{
	const struct set_place place = set_place(cache, line, kind.bytes);

	if (kind.locks && __builtin_expect(__atomic_exchange_n(set_lock(kind, place.set), 1, __ATOMIC_ACQUIRE), 0))
		wait_for(set_lock(kind, place.set));
	return place;
}

SET_INLINE void
leave(uint8_t *set, const struct cache_set_kind kind)
{
	if (kind.locks)
		__atomic_store_n(set_lock(kind, set), 0, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) bool
has_wide(struct cache *cache, uint64_t line)
{
	const struct cache_set_kind kind = set_kind_any(cache);
	const struct set_place place = enter(cache, line, kind);
	const uint32_t matches = tags_match(set_tags(place.set), place.tag, kind.slots);

	leave(place.set, kind);
	return matches != 0;
}

bool
cache_has(struct cache *cache, uint64_t line)
{
	struct narrow_place place;
	uint32_t written;
	bool has;

	if (is_narrow_for(cache, line, &place))
		return narrow_match(place) != 0;
	if (!enter_narrow(cache, line, &place, &written))
		return has_wide(cache, line);
	has = narrow_match(place) != 0;
	narrow_unlock(place.set, written);
	return has;
}

/* Of those that lock, the usual ones. */
static inline bool
is_usual_locked(const struct cache *cache)
{
	return cache->locks && cache->slots == SET_USUAL_SLOTS && cache->is_lru;
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

static __attribute__((noinline)) struct cache_found
access_of_any_kind(struct cache *cache, uint64_t line, bool writes)
{
	return access_kind(cache, line, writes, set_kind_any(cache));
}

static __attribute__((noinline)) struct cache_found
access_any_locked(struct cache *cache, uint64_t line, bool writes)
{
	struct narrow_place place;
	uint32_t written;

	if (enter_narrow(cache, line, &place, &written))
		return narrow_access_locked(cache, place, writes, written);
	return access_kind(cache, line, writes, set_kind_of(SET_USUAL_SLOTS, true, true));
}

__attribute__((noinline)) struct cache_found
cache_access_shared(struct cache *cache, uint64_t line, bool writes)
{
	struct narrow_place place;
	uint32_t written;

	if (narrow_enter(cache, line, &place, &written))
		return narrow_access_locked(cache, place, writes, written);
	return access_any_locked(cache, line, writes);
}

struct cache_found
cache_access_any(struct cache *cache, uint64_t line, bool writes)
{
	struct narrow_place place;

	if (is_narrow_for(cache, line, &place))
		return narrow_access_with(cache, place, writes, &place.set->written);
	if (is_usual_locked(cache))
		return cache_access_shared(cache, line, writes);
	return access_of_any_kind(cache, line, writes);
}

SET_INLINE struct cache_found
prefetch_kind(struct cache *cache, uint64_t line, const struct cache_set_kind kind)
{
	const struct set_place place = enter(cache, line, kind);
	struct cache_found found = {.left = CACHE_NO_LINE, .what = CACHE_HIT};

	if (!tags_match(set_tags(place.set), place.tag, kind.slots))
		found = set_replace(cache, place, CACHE_WAS_PREFETCHED, kind);
	leave(place.set, kind);
	return found;
}

static __attribute__((noinline)) struct cache_found
prefetch_of_any_kind(struct cache *cache, uint64_t line)
{
	return prefetch_kind(cache, line, set_kind_any(cache));
}

static __attribute__((noinline)) struct cache_found
prefetch_locked(struct cache *cache, uint64_t line)
{
	return prefetch_kind(cache, line, set_kind_of(SET_USUAL_SLOTS, true, true));
}

struct cache_found
cache_prefetch(struct cache *cache, uint64_t line)
{
	if (cache->is_narrow)
		cache_widen(cache);
	if (narrow_is_shared(cache))
		cache_widen_shared(cache);
	if (is_usual_locked(cache))
		return prefetch_locked(cache, line);
	return prefetch_of_any_kind(cache, line);
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

static __attribute__((noinline)) bool
mark_written_of_any_kind(struct cache *cache, uint64_t line)
{
	return mark_written_kind(cache, line, set_kind_any(cache));
}

static __attribute__((noinline)) bool
mark_written_locked(struct cache *cache, uint64_t line)
{
	struct narrow_place place;
	uint32_t written;
	bool has;

	if (!enter_narrow(cache, line, &place, &written))
		return mark_written_kind(cache, line, set_kind_of(SET_USUAL_SLOTS, true, true));
	has = narrow_mark_written_with(place, &written);
	narrow_unlock(place.set, written);
	return has;
}

bool
cache_mark_written_any(struct cache *cache, uint64_t line)
{
	struct narrow_place place;

	if (is_narrow_for(cache, line, &place))
		return narrow_mark_written(place);
	if (is_usual_locked(cache))
		return mark_written_locked(cache, line);
	return mark_written_of_any_kind(cache, line);
}
