/*
 * load_look.h - a load whose page is translated, and whose line is no plain hit: where it is looked for
 *
 * Inner header of load*.c. Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_LOOK_H
#define DCPI_EMULATOR_TIMING_LOAD_LOOK_H

#include "emulator/timing/load_kind.h"

/* Level 1 has not its line. */
LOAD_INLINE void
load_from_second(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                 const enum hierarchy_translation translation, const struct load_kind kind)
{
	struct cache_small *set = simple_second_set(thread->hierarchy, line);
	const enum simple_found found = simple_use_second(thread->hierarchy, set, line, !kind.is_in_order);

	if (found == SIMPLE_BEYOND && kind.is_in_order)
		thread->ways.load_beyond_in_order[translation](thread, index, address, line, set);
	else if (found == SIMPLE_BEYOND)
		thread->ways.load_beyond(thread, index, address, line, translation);
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
          const enum hierarchy_translation translation, const struct plain_place *there, const struct load_kind kind)
{
	if (simple_lacks_line(thread->hierarchy, there, address))
		load_from_second(thread, index, address, line, translation, kind);
	else
		kind.unsure(thread, index, address, line, translation);
}

#endif
