#include "emulator/model/hierarchy_state.h"

void
hierarchy_meet(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result)
{
	const struct arrival *arrival = hierarchy_arrival(hierarchy, line);
	uint64_t late = arrival->line == line && arrival->ready > now ? arrival->ready - now : 0;

	result->used_prefetch = true;
	result->cycles = late > result->cycles ? hierarchy_clamp(late) : result->cycles;
	hierarchy->traffic.prefetched_used++;
}

/* Reads it from memory: when it is there. By itself, as the next one: mostly a cache has it. */
static __attribute__((noinline)) uint64_t
read_ahead(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct access_result result;

	hierarchy_read(hierarchy, line, hierarchy->system->data_cycles, now, &result);
	return now + result.cycles + result.wait_cycles;
}

uint64_t
hierarchy_prefetch_bring(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	for (unsigned i = level + 1; i < hierarchy->level_count; i++) {
		struct cache_found found = cache_access(hierarchy->levels[i], line, false);

		if (found.what & CACHE_HIT)
			return now + hierarchy->system->data_cycles[i];
		if (cache_found_writes_back(found))
			hierarchy_write_back(hierarchy, found.left, i + 1, now);
	}
	return read_ahead(hierarchy, line, now);
}

/* A fetch of what nobody will ask for, in place of a line: it goes nowhere. */
static __attribute__((noinline)) void
fetch_in_vain(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	prefetcher_count(prefetcher, false);
	hierarchy->traffic.prefetched++;
	for (unsigned level = prefetcher->level + 1; level < hierarchy->level_count; level++) {
		if (cache_has(hierarchy->levels[level], line))
			return;
	}
	read_ahead(hierarchy, line, now);
}

/* The level does not have it. */
static void
bring_into(struct hierarchy *hierarchy, unsigned level, uint64_t line, uint64_t now)
{
	struct cache *cache = hierarchy->levels[level];
	struct cache_found found;

	if (cache->is_simple)
		found = cache_small_replace(cache, cache_small_set(cache, line), line, CACHE_WAS_PREFETCHED);
	else
		found = cache_prefetch(cache, line);
	if (cache_found_writes_back(found))
		hierarchy_write_back(hierarchy, found.left, level + 1, now);
}

static void
fetch_rightly(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	const unsigned level = prefetcher->level;

	prefetcher_count(prefetcher, true);
	hierarchy->traffic.prefetched++;
	if (level == 0)
		hierarchy_first_prefetch(hierarchy, line, now);
	else
		bring_into(hierarchy, level, line, now);
	*hierarchy_arrival(hierarchy, line) =
		(struct arrival){line, hierarchy_prefetch_bring(hierarchy, line, level, now)};
}

/* Whether the prefetcher's level has the line: then nothing changes. */
static inline bool
is_there(const struct hierarchy *hierarchy, const struct prefetcher *prefetcher, uint64_t line)
{
	struct cache *cache = hierarchy->levels[prefetcher->level];

	if (prefetcher->level == 0)
		return hierarchy_first_has(hierarchy, line);
	return cache->is_simple ? cache_small_has(cache, line) : cache_has(cache, line);
}

__attribute__((noinline)) void
hierarchy_prefetch_line(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	if (prefetcher_next_is_right(prefetcher))
		fetch_rightly(hierarchy, prefetcher, line, now);
	else
		fetch_in_vain(hierarchy, prefetcher, line, now);
}

static void
fetch(struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned count, uint64_t now)
{
	for (unsigned i = 0; i < count; i++) {
		const uint64_t line = prefetcher_line(prefetcher, i);

		if (!is_there(hierarchy, prefetcher, line))
			hierarchy_prefetch_line(hierarchy, prefetcher, line, now);
	}
}

void
hierarchy_prefetch_any(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                       const struct access_result *result)
{
	const unsigned reached = result->level;
	const bool used_prefetch = result->used_prefetch;

	for (unsigned i = 0; i < hierarchy->prefetcher_count; i++) {
		struct prefetcher *prefetcher = &hierarchy->prefetchers[i];
		const unsigned level = prefetcher->level;
		unsigned count;

		if (reached < level || (level == 0 && !instruction))
			continue;
		count = prefetcher_watch(
			prefetcher, (struct prefetch_access){address, instruction, reached > level || used_prefetch});
		if (count)
			fetch(hierarchy, prefetcher, count, now);
	}
}
