/* What level 1 does not have, nor level 2 if it is simple: in the levels behind them, or in memory. */
#include "emulator/model/cache_narrow.h"
#include "emulator/model/moves.h"

#define BEYOND_INLINE static inline __attribute__((always_inline))

/* The level had the line. */
BEYOND_INLINE void
serve(struct hierarchy *hierarchy, unsigned level, uint32_t flags, uint64_t line, const uint32_t *latencies,
      uint64_t now, struct access_result *result)
{
	result->level = (uint8_t)level;
	result->cycles = latencies[level];
	if (__builtin_expect(flags & CACHE_WAS_PREFETCHED, 0))
		hierarchy_meet(hierarchy, line, now, result);
}

/* In the levels from `level` on, and in memory. */
static __attribute__((noinline)) void
look_from(struct hierarchy *hierarchy, unsigned level, uint64_t line, const uint32_t *latencies, uint64_t now,
          struct access_result *result)
{
	for (; level < hierarchy->level_count; level++) {
		const struct cache_found found = cache_access_any(hierarchy->levels[level], line, false);

		if (found.what & CACHE_HIT) {
			serve(hierarchy, level, found.what, line, latencies, now, result);
			return;
		}
		if (cache_found_writes_back(found))
			hierarchy_write_back(hierarchy, found.left, level + 1, now);
	}
	result->level = HIERARCHY_MEMORY;
	hierarchy_read(hierarchy, line, latencies, now, result);
}

__attribute__((noinline)) void
hierarchy_look_in_third(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies,
                        uint64_t now, struct access_result *result)
{
	if (left != CACHE_NO_LINE)
		hierarchy_write_back(hierarchy, left, 2, now);
	look_from(hierarchy, 2, line, latencies, now, result);
}

/* A narrow level 3 did not have the line. */
static __attribute__((noinline)) void
bring_into_third(struct hierarchy *hierarchy, struct narrow_place place, uint64_t line, const uint32_t *latencies,
                 uint64_t now, struct access_result *result)
{
	const struct cache_found found = narrow_replace(hierarchy->levels[2], place, false);

	if (cache_found_writes_back(found))
		hierarchy_write_back(hierarchy, found.left, 3, now);
	look_from(hierarchy, 3, line, latencies, now, result);
}

/*
 * A narrow level 3: what level 2 has was there, so that it has room for its number. The host gets the sets of both
 * lines at once, unless it did when the page was translated.
 */
BEYOND_INLINE void
look_in_narrow_third(struct hierarchy *hierarchy, const struct cache *third, struct narrow_place place, uint64_t left,
                     uint64_t line, const uint32_t *latencies, uint64_t now, struct access_result *result)
{
	uint32_t matches;

	if (left != CACHE_NO_LINE) {
		const struct narrow_place back = narrow_place(third, left);

		if (!result->tlb_missed) {
			__builtin_prefetch(place.set, 1);
			__builtin_prefetch(back.set, 1);
		}
		if (__builtin_expect(!narrow_mark_written(back), 0))
			hierarchy_write_back(hierarchy, left, 3, now);
	}
	matches = narrow_match(place);
	if (!matches) {
		bring_into_third(hierarchy, place, line, latencies, now, result);
		return;
	}
	narrow_use(place, matches);
	serve(hierarchy, 2, 0, line, latencies, now, result);
}

BEYOND_INLINE void
look_in_third(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies, uint64_t now,
              struct access_result *result)
{
	const struct cache *third = hierarchy->levels[2];
	struct narrow_place place;

	if (third->is_narrow) {
		place = narrow_place(third, line);
		if (__builtin_expect(narrow_has_room(place), 1)) {
			look_in_narrow_third(hierarchy, third, place, left, line, latencies, now, result);
			return;
		}
	}
	hierarchy_look_in_third(hierarchy, left, line, latencies, now, result);
}

/* Memory is behind level 2: `left`, if it is not CACHE_NO_LINE, goes there, and the line comes. */
BEYOND_INLINE void
move_to_second(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies, uint64_t now,
               struct access_result *result)
{
	const struct path_user *user = moves_exchange(hierarchy, left, line, now);

	result->level = HIERARCHY_MEMORY;
	if (user)
		moves_came(result, user, 0, latencies[HIERARCHY_MEMORY], 0);
	else
		hierarchy_exchange(hierarchy, left, line, latencies, now, result);
}

/* A simple level 2 did not have the line: it makes room for it. */
BEYOND_INLINE void
look_behind(struct hierarchy *hierarchy, const struct cache *second, uint64_t line, const uint32_t *latencies,
            uint64_t now, struct access_result *result)
{
	const uint64_t left = cache_small_make_room(second, cache_small_set(second, line), line);

	if (hierarchy->level_count > 2)
		look_in_third(hierarchy, left, line, latencies, now, result);
	else
		move_to_second(hierarchy, left, line, latencies, now, result);
}

void
hierarchy_look_further(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                       struct access_result *result)
{
	struct cache *second = hierarchy->levels[1];

	if (second->is_simple)
		look_behind(hierarchy, second, line, latencies, now, result);
	else
		look_from(hierarchy, 1, line, latencies, now, result);
}

void
hierarchy_load_beyond(struct hierarchy *hierarchy, uint64_t line, uint64_t left, uint64_t now,
                      struct access_result *result)
{
	struct cache *second = &hierarchy->own[1];

	if (left != CACHE_NO_LINE && !cache_small_mark_written(second, left))
		hierarchy_write_back(hierarchy, left, 2, now);
	look_behind(hierarchy, second, line, hierarchy->system->data_cycles, now, result);
}
