/*
 * load_look.h - a load whose page is translated, and whose line is no plain hit: where it is looked for
 *
 * Inner header of load*.c. Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_LOOK_H
#define DCPI_EMULATOR_TIMING_LOAD_LOOK_H

#include "emulator/timing/load_third.h"

/* Where memory is behind level 2, by the slots of level 1: these are constants, for the most part. */
static load_set_step *const load_from_memory[][TRANSLATION_WALKED + 1] = {
	[4] = {load_memory_of_four_first, load_memory_of_four_second, load_memory_of_four_walked},
	[8] = {load_memory_of_eight_first, load_memory_of_eight_second, load_memory_of_eight_walked},
};

/* Nor has level 2, in its `set`. `third`: load_third_place(), if it is known; NULL. */
LOAD_INLINE void
load_from_behind(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                 const enum hierarchy_translation translation, struct cache_small *set, const struct load_kind kind,
                 const struct narrow_place *third)
{
	if (kind.behind == LOAD_BEHIND_THIRD && third)
		load_from_third(thread, index, address, line, translation, set, *third);
	else if (kind.behind == LOAD_BEHIND_THIRD)
		load_by_third(thread, index, address, line, translation, set);
	else if (kind.behind == LOAD_BEHIND_MEMORY)
		load_from_memory[kind.slots][translation](thread, index, address, line, set);
	else
		load_beyond(thread, index, address, line, translation);
}

/* Level 1 has not its line. */
LOAD_INLINE void
load_from_second(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                 const enum hierarchy_translation translation, const struct load_kind kind,
                 const struct narrow_place *third)
{
	struct cache_small *set = simple_second_set(thread->hierarchy, line);
	const bool prefetches = kind.behind != LOAD_BEHIND_MEMORY;
	const enum simple_found found = simple_use_second(thread->hierarchy, set, line, prefetches);

	if (found == SIMPLE_BEYOND)
		load_from_behind(thread, index, address, line, translation, set, kind, third);
	else if (found == SIMPLE_MET)
		load_met(thread, index, address, line, translation);
	else if (translation == TRANSLATION_FIRST)
		kind.second(thread, index, address, line);
	else
		kind.second_behind(thread, index, address, line, translation);
}

/* `there`: plain_line(). */
LOAD_INLINE void
load_look(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
          const enum hierarchy_translation translation, const struct plain_place *there, const struct load_kind kind,
          const struct narrow_place *third)
{
	if (simple_lacks_line(thread->hierarchy, there, address))
		load_from_second(thread, index, address, line, translation, kind, third);
	else
		kind.unsure(thread, index, address, line, translation);
}

#endif
