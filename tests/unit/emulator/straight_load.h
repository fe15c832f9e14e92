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
	const enum simple_found found = hierarchy->simple_slots == 4 ? simple_load_look(hierarchy, line, 4)
	                                                             : simple_load_look(hierarchy, line, 8);

	*result = hierarchy_result_of(&hierarchy->data_pages, translation);
	if (found == SIMPLE_NOT) {
		hierarchy_load_line(hierarchy, address, instruction, now, translation, result);
	} else if (found == SIMPLE_BEYOND) {
		simple_load_beyond(hierarchy, address, line, instruction, now, result);
	} else if (found == SIMPLE_MET) {
		simple_load_met(hierarchy, address, line, instruction, now, result);
	} else {
		result->level = 1;
		result->cycles = hierarchy_second_cycles(hierarchy);
		simple_load_second(hierarchy, address, line, instruction, now);
	}
	return found != SIMPLE_NOT;
}

/* The translation of a page that is no plain hit, and the line. */
static inline enum hierarchy_translation
straight_translate(struct hierarchy *hierarchy, uint64_t address, uint64_t *line)
{
	const enum first_pages_kind kind = hierarchy->data_pages.kind;
	uint64_t offset;

	if (kind == FIRST_PAGES_ANY || !simple_find_page(hierarchy, address, &offset))
		return simple_translate_anyhow(hierarchy, address, line);
	*line = simple_line(address, offset);
	if (kind == FIRST_PAGES_RECENT ? !simple_recent_lacks(hierarchy, address, offset)
	                               : !simple_ordered_lacks(hierarchy, address, offset))
		return simple_translate_anyhow(hierarchy, address, line);
	return simple_translate_second(hierarchy, *line, hierarchy->shared_tlb.ways);
}

/* `result`: all zero. Whether its line was no plain hit, and that was simple. */
static inline bool
straight_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
              struct access_result *result)
{
	enum hierarchy_translation translation = TRANSLATION_FIRST;
	bool was_simple = false;
	uint64_t line;

	if (!hierarchy->simple_slots) {
		hierarchy_load(hierarchy, address, instruction, now, result);
		return false;
	}
	if (!simple_use_page(hierarchy, address, &line))
		translation = straight_translate(hierarchy, address, &line);
	if (!simple_use_plainly(hierarchy, address))
		was_simple = straight_load_line(hierarchy, address, line, instruction, now, translation, result);
	result->tlb_cycles = hierarchy->data_pages.cycles[translation];
	result->tlb_missed = translation != TRANSLATION_FIRST;
	result->walked = translation == TRANSLATION_WALKED;
	return was_simple;
}

#endif
