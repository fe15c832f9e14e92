/*
 * simple_fetch.h - the usual code that misses level 1, straight on: simple.h
 *
 * Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_SIMPLE_FETCH_H
#define DCPI_EMULATOR_MODEL_SIMPLE_FETCH_H

#include "emulator/model/simple.h"

/*
 * Whether the page, of this key where the table's `index` says, is a plain hit; it is used, and says which line, as
 * caches know it, the address is of.
 */
static inline __attribute__((always_inline)) bool
simple_use_code_page(struct plain_hits *plain, uint16_t index, uint64_t key, uint64_t address, uint64_t *line)
{
	struct plain_place *there = plain_place_at(plain, plain->pages[index]);

	if (plain_page_differs(there, key))
		return false;
	*line = simple_line(address, plain_page_of(there)->offset);
	there->stamp = plain->use += PLAIN_USE;
	return true;
}

/*
 * A page that is no plain hit, with `address`, is brought into the first TLB, which is a `first` and known not to have
 * it; its line, as caches know it. `index`: in the table of plain hits. False: nothing was done.
 */
static inline __attribute__((always_inline)) bool
simple_fetch_page(struct hierarchy *hierarchy, uint64_t address, uint16_t index, const enum first_pages_kind first,
                  uint64_t *line)
{
	struct first_pages *pages = &hierarchy->code_pages;
	struct plain_hits *plain = hierarchy->plain_code;
	const struct plain_place *there = plain_place_at(plain, plain->pages[index]);
	const uint64_t page = address >> HIERARCHY_PAGE_SHIFT;
	uint64_t offset;

	if (!__builtin_expect(page_map_recent_offset(&hierarchy->regions, address, &offset), 1))
		return false;
	*line = simple_line(address, offset);
	return first == FIRST_PAGES_ORDERED ? translate_ordered_lacks(pages, there, page, offset)
	                                    : translate_recent_lacks(pages, there, page, offset);
}

/*
 * A line that level 1 has not, whose page is a plain hit; `slots`: hierarchy->simple_code_slots, 4 or 8. None was
 * written, and so nothing leaves level 1 that must go anywhere.
 */
static inline __attribute__((always_inline)) enum simple_found
simple_fetch_line(struct hierarchy *hierarchy, uint64_t address, uint64_t line, const unsigned slots)
{
	simple_bring(&hierarchy->code, address, line, slots);
	return simple_use_second(hierarchy, simple_second_set(hierarchy, line), line, true);
}

/* What it takes from level 2. */
static inline uint32_t
simple_fetch_cycles(const struct hierarchy *hierarchy)
{
	return hierarchy->system->code_cycles[1];
}

/* Behind it: what level 2 had not comes from further; prefetchers are told. */
static inline void
simple_fetch_rest(struct hierarchy *hierarchy, uint64_t address, uint64_t line, enum simple_found found, uint64_t now,
                  struct access_result *result)
{
	const uint32_t *latencies = hierarchy->system->code_cycles;

	if (found == SIMPLE_BEYOND) {
		hierarchy_look_further(hierarchy, line, latencies, now, result);
	} else {
		result->level = 1;
		result->cycles = latencies[1];
	}
	if (found == SIMPLE_MET)
		hierarchy_meet(hierarchy, line, now, result);
	simple_tell(hierarchy, address, line, 0, now, result);
}

#endif
