/*
 * translate.h - a page that is no plain hit: what its translation takes
 *
 * Straight on where both TLBs are of the usual kind, so that who asks has no registers to save; else nothing has
 * changed, and hierarchy_translate() does it.
 *
 * Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_TRANSLATE_H
#define DCPI_EMULATOR_MODEL_TRANSLATE_H

#include "emulator/model/hierarchy_state.h"

/*
 * Who goes to another page may well go to the last level, whose set takes the host as long as the guest's line does:
 * both are fetched at once.
 */
static inline __attribute__((always_inline)) void
translate_fetch_set(const struct hierarchy *hierarchy, uint64_t line)
{
	if (hierarchy->far)
		cache_fetch_set(hierarchy->far, line);
}

/* The number of the page that has the line, of the usual sizes. */
static inline uint32_t
translate_number(uint64_t line)
{
	return (uint32_t)(line >> (HIERARCHY_PAGE_SHIFT - HIERARCHY_LINE_SHIFT));
}

/* Of a page that the first TLB had not; `ways`: of the second one. */
static inline __attribute__((always_inline)) enum hierarchy_translation
translate_second(struct hierarchy *hierarchy, uint32_t number, const uint32_t ways)
{
	return tlb_access_recent(&hierarchy->shared_tlb, number, ways) ? TRANSLATION_SECOND : TRANSLATION_WALKED;
}

/* The first TLB is ordered, or recent: whether the page is known not to be there; it comes in. `there`: plain_page().
 */
static inline __attribute__((always_inline)) bool
translate_ordered_lacks(struct first_pages *pages, const struct plain_place *there, uint64_t page, uint64_t offset)
{
	if (__builtin_expect(!first_level_lacks_ordered(&pages->level, there, page), 0))
		return false;
	first_level_bring_ordered(&pages->level, page, offset);
	return true;
}

static inline __attribute__((always_inline)) bool
translate_recent_lacks(struct first_pages *pages, const struct plain_place *there, uint64_t page, uint64_t offset)
{
	if (__builtin_expect(!first_level_lacks_recent(there, page), 0))
		return false;
	first_level_bring_recent(&pages->level, page, offset);
	return true;
}

/* False: it is not straight, and nothing was done. `line`: of the page, by its number until pages are moved. */
static inline __attribute__((always_inline)) bool
translate_straight(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t line,
                   enum hierarchy_translation *translation)
{
	const uint32_t number = translate_number(line);
	const uint64_t offset = (number - page) << HIERARCHY_PAGE_SHIFT;
	const struct plain_place *there = plain_page(pages->level.plain, page);

	if (__builtin_expect(hierarchy_has_moved(hierarchy), 0))
		return false;
	if (pages->kind == FIRST_PAGES_ANY ||
	    (pages->kind == FIRST_PAGES_ORDERED ? !translate_ordered_lacks(pages, there, page, offset)
	                                        : !translate_recent_lacks(pages, there, page, offset)))
		return false;
	*translation = translate_second(hierarchy, number, hierarchy->shared_tlb.ways);
	return true;
}

/* Of whatever kind the TLBs are. */
static inline __attribute__((always_inline)) enum hierarchy_translation
translate_page(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page, uint64_t line)
{
	enum hierarchy_translation translation;

	translate_fetch_set(hierarchy, line);
	if (__builtin_expect(translate_straight(hierarchy, pages, page, line, &translation), 1))
		return translation;
	return hierarchy_translate(hierarchy, pages, page, line);
}

#endif
