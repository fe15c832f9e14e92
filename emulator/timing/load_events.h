/*
 * load_events.h - what a simple load missed, counted and waited for straight on
 *
 * Inner header of load*.c. Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_EVENTS_H
#define DCPI_EMULATOR_TIMING_LOAD_EVENTS_H

#include "emulator/timing/load_kind.h"

/* The events of a load, in the order in which they are counted. */
enum load_event {
	LOAD_MISSED_TLB,
	LOAD_WALKED,
	LOAD_MISSED_FIRST,
	LOAD_MISSED_SECOND,
	LOAD_MISSED_LAST,
};

static const enum setup_event load_events[] = {
	[LOAD_MISSED_TLB] = SETUP_EVENT_DATA_TLB,      [LOAD_WALKED] = SETUP_EVENT_DATA_WALK,
	[LOAD_MISSED_FIRST] = SETUP_EVENT_LEVEL1_DATA, [LOAD_MISSED_SECOND] = SETUP_EVENT_LEVEL2,
	[LOAD_MISSED_LAST] = SETUP_EVENT_LAST_LEVEL,
};

/*
 * It is sampled, as of event `at`, and may be as of those behind it. `last`: the last of its events. By itself, so that
 * the usual way has nothing to save for it.
 */
void load_sampled_behind(struct thread *thread, unsigned index, enum hierarchy_translation translation,
                         enum load_event at, enum load_event last);

/* Longer than a hit. */
static inline uint32_t
load_cache_cycles(const struct thread *thread, enum load_event last)
{
	switch (last) {
	case LOAD_WALKED:
		return 0;
	case LOAD_MISSED_FIRST:
		return thread->second_cycles;
	case LOAD_MISSED_SECOND:
		return thread->third_cycles;
	default:
		return thread->memory_cycles;
	}
}

LOAD_INLINE bool
load_happens(const enum load_event event, enum hierarchy_translation translation)
{
	if (event == LOAD_MISSED_TLB)
		return translation != TRANSLATION_FIRST;
	return event != LOAD_WALKED || translation == TRANSLATION_WALKED;
}

/*
 * Its page was translated, and its line is from level 1, with LOAD_WALKED; from level 2, with LOAD_MISSED_FIRST; from
 * level 3, with LOAD_MISSED_SECOND; or from the memory behind level 2, with LOAD_MISSED_LAST. False: it is sampled, and
 * all was done.
 */
LOAD_INLINE bool
load_count(struct thread *thread, unsigned index, enum hierarchy_translation translation, const enum load_event last)
{
#pragma GCC unroll 5
	for (enum load_event event = LOAD_MISSED_TLB; event <= last; event++) {
		if (load_happens(event, translation) &&
		    __builtin_expect(sample_is_due(thread, load_events[event]), 0)) {
			load_sampled_behind(thread, index, translation, event, last);
			return false;
		}
	}
	return true;
}

/* The same, and in order it is waited for. */
LOAD_INLINE void
load_counted(struct thread *thread, unsigned index, enum hierarchy_translation translation, const enum load_event last)
{
	if (load_count(thread, index, translation, last))
		in_order_load(thread, index, load_cache_cycles(thread, last),
		              simple_translation_cycles(thread->hierarchy, translation));
}

#endif
