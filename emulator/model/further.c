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
