/*
 * prefetch_fetch.h - a line that one of the usual prefetchers wants comes into level 2, straight on
 *
 * In steps, each of which calls nothing: that the fetch is simple, that the line comes into level 2, and from where.
 *
 * Inner header of emulator/model. Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_PREFETCH_FETCH_H
#define DCPI_EMULATOR_MODEL_PREFETCH_FETCH_H

#include "emulator/model/cache_narrow.h"
#include "emulator/model/moves.h"
#include "emulator/model/prefetch_usual.h"

/* The fetch is right, and level 3 is narrow and has room for the line's number, at `place`. Nothing is done. */
PREFETCH_USUAL_INLINE bool
prefetch_fetch_is_simple(const struct hierarchy *hierarchy, const struct prefetcher *prefetcher, uint64_t line,
                         struct narrow_place *place)
{
	const struct cache *third = hierarchy->levels[2];

	if (hierarchy->level_count < 3 || !third->is_narrow || !prefetcher_next_is_right(prefetcher))
		return false;
	*place = narrow_place(third, line);
	return narrow_has_room(*place);
}

/* Such a line comes into level 2, and is counted: what was written and leaves for it; CACHE_NO_LINE. */
PREFETCH_USUAL_INLINE uint64_t
prefetch_fetch_into_second(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line)
{
	const struct cache *second = &hierarchy->own[1];
	const struct cache_left there =
		cache_small_bring(second, cache_small_set(second, line), line, CACHE_WAS_PREFETCHED);

	prefetcher_count(prefetcher, true);
	hierarchy->traffic.prefetched++;
	return there.flags & CACHE_WAS_WRITTEN ? cache_some_line(cache_small_left(second, line, there)) : CACHE_NO_LINE;
}

/* What left level 2, if anything did, is in a narrow level 3, as for the most part; else nothing was done. */
PREFETCH_USUAL_INLINE bool
prefetch_fetch_leaves_simply(const struct hierarchy *hierarchy, uint64_t left)
{
	return left == CACHE_NO_LINE || narrow_mark_written(narrow_place(hierarchy->levels[2], left));
}

/* Whether the line comes from there; else nothing was done. */
PREFETCH_USUAL_INLINE bool
prefetch_fetch_from_third(struct hierarchy *hierarchy, struct narrow_place place, uint64_t line, uint64_t now)
{
	const uint32_t matches = narrow_match(place);

	if (!matches)
		return false;
	narrow_use(place, matches);
	*hierarchy_arrival(hierarchy, line) = (struct arrival){line, now + hierarchy->system->data_cycles[2]};
	return true;
}

/* It comes from behind it: for the most part that is memory, straight on. */
PREFETCH_USUAL_INLINE void
prefetch_fetch_from_behind(struct hierarchy *hierarchy, struct narrow_place place, uint64_t line, uint64_t now)
{
	const struct cache_found found = narrow_replace(hierarchy->levels[2], place, false);
	struct arrival *arrival = hierarchy_arrival(hierarchy, line);
	const struct path_user *user;

	if (__builtin_expect(cache_found_writes_back(found), 0))
		hierarchy_write_back(hierarchy, found.left, 3, now);
	user = hierarchy->level_count == 3 ? moves_simply(hierarchy, line, now, 1) : NULL;
	arrival->line = line;
	arrival->ready = user ? now + hierarchy->system->data_cycles[HIERARCHY_MEMORY] + user->load_cycles
	                      : hierarchy_prefetch_bring(hierarchy, line, 2, now);
}

/* The fetch is right, and threads share a level 3 that is narrow, with memory behind it. Nothing is done. */
PREFETCH_USUAL_INLINE bool
prefetch_fetch_is_shared(const struct hierarchy *hierarchy, const struct prefetcher *prefetcher)
{
	return hierarchy->level_count == 3 && narrow_is_shared(hierarchy->levels[2]) &&
	       prefetcher_next_is_right(prefetcher);
}

/* Then that is where it comes from. */
PREFETCH_USUAL_INLINE void
prefetch_fetch_from_shared(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	const uint32_t *cycles = hierarchy->system->data_cycles;
	struct cache *third = hierarchy->levels[2];
	struct arrival *arrival = hierarchy_arrival(hierarchy, line);
	const struct path_user *user;
	struct narrow_place place;
	struct cache_found found;
	uint32_t written;
	uint64_t wait;

	if (narrow_enter(third, line, &place, &written))
		found = narrow_access_locked(third, place, false, written);
	else
		found = cache_access_shared(third, line, false);
	arrival->line = line;
	if (found.what & CACHE_HIT) {
		arrival->ready = now + cycles[2];
		return;
	}
	if (__builtin_expect(found.what & CACHE_WAS_WRITTEN, 0))
		hierarchy_write(hierarchy, found.left, now);
	user = moves_shared(hierarchy, line, now, &wait);
	if (user)
		arrival->ready = now + cycles[HIERARCHY_MEMORY] + (wait > user->load_cycles ? wait : user->load_cycles);
	else
		arrival->ready = hierarchy_prefetch_bring(hierarchy, line, 2, now);
}

#endif
