#include "emulator/model/hierarchy_state.h"

void
hierarchy_meet(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result)
{
	const struct arrival *arrival = &hierarchy->arrivals[line % ARRIVALS];
	uint64_t late = arrival->line == line && arrival->ready > now ? arrival->ready - now : 0;

	result->used_prefetch = true;
	result->cycles = late > result->cycles ? hierarchy_clamp(late) : result->cycles;
	hierarchy->traffic.prefetched_used++;
}

/* Brings the line as far as the level behind `level`: when it is there. */
static uint64_t
bring(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	const uint32_t *latencies = hierarchy->system->data_cycles;
	struct access_result result;

	for (unsigned i = level + 1; i < hierarchy->level_count; i++) {
		struct cache_found found = cache_access(hierarchy->levels[i], line, false);

		if (found.what & CACHE_HIT)
			return now + latencies[i];
		if (cache_found_writes_back(found))
			hierarchy_write_back(hierarchy, found.left, i + 1, now);
	}
	hierarchy_read(hierarchy, line, latencies, now, &result);
	return now + result.cycles + result.wait_cycles;
}

/* A fetch of what nobody will ask for: in place of the line, and it goes nowhere. */
static void
fetch_in_vain(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	unsigned level = prefetcher->level;
	struct access_result nobody;

	if (level == 0 ? hierarchy_first_has(hierarchy, line) : cache_has(hierarchy->levels[level], line))
		return;
	prefetcher_count(prefetcher, false);
	hierarchy->traffic.prefetched++;
	while (++level < hierarchy->level_count) {
		if (cache_has(hierarchy->levels[level], line))
			return;
	}
	hierarchy_read(hierarchy, line, hierarchy->system->data_cycles, now, &nobody);
}

static void
fetch_ahead(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	unsigned level = prefetcher->level;
	struct cache_found found = {.what = 0};

	if (level == 0 ? !hierarchy_first_prefetch(hierarchy, line, now)
	               : (found = cache_prefetch(hierarchy->levels[level], line)).what & CACHE_HIT)
		return;
	prefetcher_count(prefetcher, true);
	hierarchy->traffic.prefetched++;
	if (cache_found_writes_back(found))
		hierarchy_write_back(hierarchy, found.left, level + 1, now);
	hierarchy->arrivals[line % ARRIVALS] = (struct arrival){line, bring(hierarchy, line, level, now)};
}

static __attribute__((noinline)) void
fetch_from(struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned first, unsigned count, uint64_t now)
{
	for (unsigned i = first; i < count; i++) {
		if (prefetcher_next_is_right(prefetcher))
			fetch_ahead(hierarchy, prefetcher, prefetcher->lines[i], now);
		else
			fetch_in_vain(hierarchy, prefetcher, prefetcher->lines[i], now);
	}
}

/* By itself: mostly nothing is wanted; or what is there already, which changes nothing. */
static __attribute__((noinline)) void
fetch(struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned count, uint64_t now)
{
	const struct cache *cache = prefetcher->level ? hierarchy->levels[prefetcher->level] : NULL;
	unsigned i = 0;

	if (cache && cache->is_simple) {
		while (i < count && cache_small_has(cache, prefetcher->lines[i]))
			i++;
	}
	if (i < count)
		fetch_from(hierarchy, prefetcher, i, count, now);
}

void
hierarchy_prefetch(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                   const struct access_result *result)
{
	const unsigned reached = result->level;
	const bool used_prefetch = result->used_prefetch;
	struct prefetcher *prefetcher = hierarchy->prefetchers;

	for (unsigned left = hierarchy->prefetcher_count; left; left--, prefetcher++) {
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
