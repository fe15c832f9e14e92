/*
 * straight_load.h - a load that is no plain hit, as emulator/timing/load.c does it: straight on as far as it can be
 */
#ifndef DCPI_TESTS_EMULATOR_STRAIGHT_LOAD_H
#define DCPI_TESTS_EMULATOR_STRAIGHT_LOAD_H

#include "emulator/model/simple.h"

/* A line that is no plain hit: whether that was simple. */
static inline bool
straight_load_line(struct hierarchy *hierarchy, uint64_t address, uint64_t line, uint64_t instruction, uint64_t now,
                   enum hierarchy_translation translation, struct access_result *result)
{
	const struct plain_place *there = plain_line(hierarchy->plain_data, address >> HIERARCHY_LINE_SHIFT);
	enum simple_found found;

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	if (!simple_lacks_line(hierarchy, there, address) &&
	    (hierarchy->simple_slots == 4 ? simple_use_hidden(&hierarchy->data, address, line, 4)
	                                  : simple_use_hidden(&hierarchy->data, address, line, 8)))
		return false;
	found = simple_use_second(hierarchy, simple_second_set(hierarchy, line), line, true);
	if (found == SIMPLE_BEYOND) {
		simple_load_beyond(hierarchy, address, line, instruction, now, result);
	} else if (found == SIMPLE_MET) {
		simple_load_met(hierarchy, address, line, instruction, now, result);
	} else {
		result->level = 1;
		result->cycles = hierarchy_cycles(hierarchy, 1);
		simple_leave(hierarchy, simple_load_bring(hierarchy, address, line), now);
		simple_tell_second(hierarchy, address, line, instruction, now);
	}
	return true;
}

/* The translation of a page that is no plain hit, and the line. */
static inline enum hierarchy_translation
straight_translate(struct hierarchy *hierarchy, uint64_t address, uint64_t *line)
{
	const enum first_pages_kind kind = hierarchy->data_pages.kind;
	const struct plain_place *there = plain_page(hierarchy->plain_data, address >> HIERARCHY_PAGE_SHIFT);
	uint64_t offset;

	if (kind == FIRST_PAGES_ANY || !simple_find_page(hierarchy, address, &offset))
		return simple_translate_anyhow(hierarchy, address, line);
	*line = simple_line(address, offset);
	if (kind == FIRST_PAGES_RECENT ? !simple_recent_lacks(hierarchy, there, address, offset)
	                               : !simple_ordered_lacks(hierarchy, there, address, offset))
		return simple_translate_anyhow(hierarchy, address, line);
	return simple_translate_second(hierarchy, *line, hierarchy->shared_tlb.ways);
}

/* `result`: all zero. Whether its line was no plain hit, and that was simple. */
static inline bool
straight_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
              struct access_result *result)
{
	struct plain_hits *plain = hierarchy->plain_data;
	struct plain_place *page = plain_page(plain, address >> HIERARCHY_PAGE_SHIFT);
	enum hierarchy_translation translation = TRANSLATION_FIRST;
	uint64_t line = simple_line(address, plain_page_of(page)->offset);
	bool was_simple = false;

	if (!hierarchy->simple_slots) {
		hierarchy_load(hierarchy, address, instruction, now, result);
		return false;
	}
	if (!simple_use_page(hierarchy, page, address))
		translation = straight_translate(hierarchy, address, &line);
	if (!simple_use_line(hierarchy, plain_line(plain, address >> HIERARCHY_LINE_SHIFT), address))
		was_simple = straight_load_line(hierarchy, address, line, instruction, now, translation, result);
	result->tlb_cycles = hierarchy->data_pages.cycles[translation];
	result->tlb_missed = translation != TRANSLATION_FIRST;
	result->walked = translation == TRANSLATION_WALKED;
	return was_simple;
}

#endif
