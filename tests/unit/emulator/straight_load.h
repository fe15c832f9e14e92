/*
 * straight_load.h - a load that is no plain hit, as emulator/timing/load.c does it: straight on as far as it can be
 */
#ifndef DCPI_TESTS_EMULATOR_STRAIGHT_LOAD_H
#define DCPI_TESTS_EMULATOR_STRAIGHT_LOAD_H

#include "emulator/model/simple.h"

/* A line that is no plain hit: whether that was simple. */
static inline bool
straight_load_line(struct hierarchy *hierarchy, uint64_t address, uint64_t line, uint64_t instruction, uint64_t now,
                   struct hierarchy_translation translation, struct access_result *result)
{
	const struct simple_load load = hierarchy->simple_slots == 4 ? simple_load_line(hierarchy, address, line, 4)
	                                                             : simple_load_line(hierarchy, address, line, 8);

	if (load.found == SIMPLE_NOT) {
		hierarchy_load_line(hierarchy, address, instruction, now, translation, result);
	} else if (load.found != SIMPLE_SECOND) {
		*result = hierarchy_result_of(translation);
		simple_load_rest(hierarchy, load, instruction, now, result);
	} else {
		result->level = 1;
		result->cycles = hierarchy_second_cycles(hierarchy);
		simple_load_second_rest(hierarchy, load, instruction, now);
	}
	return load.found != SIMPLE_NOT;
}

/* `result`: all zero. Whether its line was no plain hit, and that was simple. */
static inline bool
straight_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
              struct access_result *result)
{
	struct hierarchy_translation translation = {.missed = false};
	bool was_simple = false;
	uint64_t line;

	if (!hierarchy->simple_slots || !simple_find_line(hierarchy, address, &line)) {
		hierarchy_load(hierarchy, address, instruction, now, result);
		return false;
	}
	if (!simple_use_page(hierarchy, address))
		translation = simple_translate(hierarchy, address, line);
	if (!simple_use_plainly(hierarchy, address))
		was_simple = straight_load_line(hierarchy, address, line, instruction, now, translation, result);
	result->tlb_cycles = translation.cycles;
	result->tlb_missed = translation.missed;
	result->walked = translation.walked;
	return was_simple;
}

#endif
