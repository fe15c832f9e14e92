/*
 * load_second.h - a load whose line was in level 2, and whose page is a plain hit
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_SECOND_H
#define DCPI_EMULATOR_TIMING_LOAD_SECOND_H

#include "emulator/timing/load_kind.h"
#include "emulator/timing/missed.h"

/* It is sampled. */
SLOW void load_sampled(struct thread *thread, unsigned index);

/* Prefetchers, if there are any, are told; and all else. */
SLOW void load_second_told(struct thread *thread, unsigned index, uint64_t address, uint64_t line);

/* The same of the usual ones; and of a load that level 3 had served. */
load_step load_second_usual;
load_translated_step load_third_usual;

/* The same behind what left level 1, was written, and is not there yet where it goes. */
SLOW void load_second_leaving(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left);

/* They are told. */
LOAD_INLINE void
load_second(struct thread *thread, unsigned index)
{
	if (__builtin_expect(sample_is_due(thread, SETUP_EVENT_LEVEL1_DATA), 0))
		load_sampled(thread, index);
	else
		core_load_second(thread, index);
}

/* In order, and nobody prefetches. */
LOAD_INLINE void
load_second_in_order(struct thread *thread, unsigned index)
{
	if (__builtin_expect(sample_is_due(thread, SETUP_EVENT_LEVEL1_DATA), 0))
		load_sampled(thread, index);
	else
		in_order_load(thread, index, thread->second_cycles, 0);
}

/* Its line is to be brought into level 1. */
LOAD_INLINE void
load_second_by(struct thread *thread, unsigned index, uint64_t address, uint64_t line, const struct load_kind kind)
{
	const uint64_t left = simple_bring(&thread->hierarchy->data, address, line, kind.slots);

	const bool leaves_simply = kind.behind == LOAD_BEHIND_MEMORY ? simple_leave_simply(thread->hierarchy, left)
	                                                             : left == CACHE_NO_LINE;

	if (!__builtin_expect(leaves_simply, 1))
		load_second_leaving(thread, index, address, line, left);
	else if (kind.behind == LOAD_BEHIND_MEMORY)
		load_second_in_order(thread, index);
	else if (kind.behind == LOAD_BEHIND_THIRD)
		load_second_usual(thread, index, address, line);
	else if (thread->ways.load_told)
		thread->ways.load_told(thread, index, address, line);
	else
		load_second(thread, index);
}

#endif
