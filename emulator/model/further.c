#include "emulator/model/hierarchy_state.h"

/* Whether the second TLB has the page; afterwards it does. */
static __attribute__((noinline)) bool
shared_has(struct hierarchy *hierarchy, uint64_t number)
{
	return tlb_access(&hierarchy->shared_tlb, number);
}

/* The first TLB has missed. */
static inline __attribute__((always_inline)) struct hierarchy_translation
walk(struct hierarchy *hierarchy, uint64_t number, uint32_t miss_cycles)
{
	const struct machine_tlb *shared = &hierarchy->system->machine.shared_tlb;
	const struct hierarchy_translation here = {.cycles = miss_cycles, .missed = true};
	bool has;

	if (!shared->entries)
		return (struct hierarchy_translation){miss_cycles, true, true};
	if (!hierarchy->shared_tlb.cache.is_simple)
		has = shared_has(hierarchy, number);
	else
		has = cache_access(&hierarchy->shared_tlb.cache, number, false).what & CACHE_HIT;
	return has ? here : (struct hierarchy_translation){miss_cycles + shared->miss_cycles, true, true};
}

/*
 * Who goes to another page may well go to the last level, whose set takes the host as long as the guest's line does:
 * both are fetched at once, and the set of what may leave the level before.
 */
static inline __attribute__((always_inline)) void
fetch_far_sets(const struct hierarchy *hierarchy, uint64_t line)
{
	const struct cache *before = hierarchy->levels[hierarchy->level_count - 2];
	uint64_t left;

	cache_fetch_set(hierarchy->far, line);
	if (!before->is_simple)
		return;
	left = cache_next_written(before, line);
	if (left != CACHE_NO_LINE)
		cache_fetch_set(hierarchy->far, left);
}

static inline __attribute__((always_inline)) struct hierarchy_translation
translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known, const unsigned slots)
{
	const uint64_t number = known >> hierarchy->page_shift, stamp = pages->level.plain->use += PLAIN_USE;
	const struct first_found found = slots ? first_level_use_usual(&pages->level, number, stamp, slots)
	                                       : first_level_use_any(&pages->level, number, stamp);

	first_level_put_page(&pages->level, found.place, page);
	if (found.hit)
		return (struct hierarchy_translation){.missed = false};
	return walk(hierarchy, number, pages->miss_cycles);
}

static __attribute__((noinline)) struct hierarchy_translation
translate_any(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known)
{
	return translate(hierarchy, pages, page, known, 0);
}

static inline __attribute__((always_inline)) struct hierarchy_translation
translate_near(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known)
{
	if (pages->level.usual_slots == FIRST_LEVEL_ORDERED)
		return translate(hierarchy, pages, page, known, FIRST_LEVEL_ORDERED);
	if (pages->level.usual_slots == 4)
		return translate(hierarchy, pages, page, known, 4);
	return translate_any(hierarchy, pages, page, known);
}

/* By itself, as it keeps more in registers. */
static __attribute__((noinline)) struct hierarchy_translation
translate_far(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known)
{
	fetch_far_sets(hierarchy, known >> hierarchy->line_shift);
	return translate_near(hierarchy, pages, page, known);
}

struct hierarchy_translation
hierarchy_translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known)
{
	if (hierarchy->far)
		return translate_far(hierarchy, pages, page, known);
	return translate_near(hierarchy, pages, page, known);
}

/* In the levels from `level` on, and in memory. */
static inline __attribute__((always_inline)) void
look_from(struct hierarchy *hierarchy, unsigned level, uint64_t line, const uint32_t *latencies, uint64_t now,
          struct access_result *result)
{
	for (; level < hierarchy->level_count; level++) {
		const struct cache_found found = cache_access_any(hierarchy->levels[level], line, false);

		if (found.what & CACHE_HIT) {
			result->level = (uint8_t)level;
			result->cycles = latencies[level];
			if (__builtin_expect(found.what & CACHE_WAS_PREFETCHED, 0))
				hierarchy_meet(hierarchy, line, now, result);
			return;
		}
		if (cache_found_writes_back(found))
			hierarchy_write_back(hierarchy, found.left, level + 1, now);
	}
	result->level = HIERARCHY_MEMORY;
	hierarchy_read(hierarchy, line, latencies, now, result);
}

static __attribute__((noinline)) void
look_from_second(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                 struct access_result *result)
{
	look_from(hierarchy, 1, line, latencies, now, result);
}

static __attribute__((noinline)) void
look_from_third(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                struct access_result *result)
{
	look_from(hierarchy, 2, line, latencies, now, result);
}

/* Level 2 has made room for the line, where one was that was written. */
static __attribute__((noinline)) void
leave_for_third(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies, uint64_t now,
                struct access_result *result)
{
	struct cache *third = hierarchy->levels[2];

	if (!result->tlb_missed) { /* else they were fetched */
		cache_fetch_set(third, line);
		cache_fetch_set(third, left);
	}
	if (!cache_mark_written_any(third, left))
		hierarchy_write_back(hierarchy, left, 3, now);
	look_from(hierarchy, 2, line, latencies, now, result);
}

void
hierarchy_look_further(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                       struct access_result *result)
{
	struct cache *second = hierarchy->levels[1];
	struct cache_left left;

	if (!second->is_simple) {
		look_from_second(hierarchy, line, latencies, now, result);
		return;
	}
	left = cache_small_bring(second, cache_small_set(second, line), line, 0);
	if (hierarchy->level_count > 2) {
		if (left.flags & CACHE_WAS_WRITTEN)
			leave_for_third(hierarchy, cache_small_left(second, line, left), line, latencies, now, result);
		else
			look_from_third(hierarchy, line, latencies, now, result);
		return;
	}
	result->level = HIERARCHY_MEMORY;
	if (left.flags & CACHE_WAS_WRITTEN)
		hierarchy_exchange(hierarchy, cache_small_left(second, line, left), line, latencies, now, result);
	else
		hierarchy_read(hierarchy, line, latencies, now, result);
}
