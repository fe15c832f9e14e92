/*
 * load_second.h - a load whose line was in level 2, and whose page is a plain hit
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_SECOND_H
#define DCPI_EMULATOR_TIMING_LOAD_SECOND_H

#include "emulator/timing/core.h"
#include "emulator/timing/load.h"
#include "emulator/timing/missed.h"

/* It is sampled. */
SLOW void load_sampled(struct thread *thread, unsigned index);

/* Prefetchers, of which there are some, are told; and all else. */
SLOW void load_second_told(struct thread *thread, unsigned index, uint64_t address, uint64_t line);

/* They are told. */
static inline __attribute__((always_inline)) void
load_second(struct thread *thread, unsigned index)
{
	thread->record->counters.loads_missed[0]++;
	if (__builtin_expect(sample_is_due(thread, SETUP_EVENT_LEVEL1_DATA), 0))
		load_sampled(thread, index);
	else
		core_load_second(thread, index);
}

#endif
