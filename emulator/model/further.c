#include "emulator/model/hierarchy_state.h"

/* The second TLB, and what its miss takes. */
static __attribute__((noinline)) void
walk_any(struct hierarchy *hierarchy, uint64_t number, struct access_result *result)
{
	if (tlb_access(&hierarchy->shared_tlb, number))
		result->walked = false;
	else
		result->tlb_cycles += hierarchy->system->machine.shared_tlb.miss_cycles;
}

/* The first TLB has missed. */
static inline __attribute__((always_inline)) void
walk(struct hierarchy *hierarchy, uint64_t number, uint32_t miss_cycles, struct access_result *result)
{
	const struct machine_tlb *shared = &hierarchy->system->machine.shared_tlb;

	result->tlb_missed = true;
	result->walked = true;
	result->tlb_cycles = miss_cycles;
	if (!shared->entries)
		return;
	if (!hierarchy->shared_tlb.cache.is_simple)
		walk_any(hierarchy, number, result);
	else if (cache_access(&hierarchy->shared_tlb.cache, number, false).what & CACHE_HIT)
		result->walked = false;
	else
		result->tlb_cycles = miss_cycles + shared->miss_cycles;
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

static inline __attribute__((always_inline)) void
translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known,
          struct access_result *result, const unsigned slots)
{
	const uint64_t number = known >> hierarchy->page_shift, stamp = pages->level.plain->use += PLAIN_USE;
	const struct first_found found = slots ? first_level_use_usual(&pages->level, number, stamp, slots)
	                                       : first_level_use_any(&pages->level, number, stamp);

	first_level_put_page(&pages->level, found.place, page);
	if (!found.hit)
		walk(hierarchy, number, pages->miss_cycles, result);
}

static __attribute__((noinline)) void
translate_any(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known,
              struct access_result *result)
{
	translate(hierarchy, pages, page, known, result, 0);
}

static inline __attribute__((always_inline)) void
translate_near(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known,
               struct access_result *result)
{
	if (pages->level.usual_slots == FIRST_LEVEL_ORDERED)
		translate(hierarchy, pages, page, known, result, FIRST_LEVEL_ORDERED);
	else if (pages->level.usual_slots == 4)
		translate(hierarchy, pages, page, known, result, 4);
	else
		translate_any(hierarchy, pages, page, known, result);
}

/* By itself, as it keeps more in registers. */
static __attribute__((noinline)) void
translate_far(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known,
              struct access_result *result)
{
	fetch_far_sets(hierarchy, known >> hierarchy->line_shift);
	translate_near(hierarchy, pages, page, known, result);
}

void
hierarchy_translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t known,
                    struct access_result *result)
{
	if (hierarchy->far)
		translate_far(hierarchy, pages, page, known, result);
	else
		translate_near(hierarchy, pages, page, known, result);
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
