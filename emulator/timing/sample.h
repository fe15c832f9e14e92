/*
 * sample.h - which instruction is sampled: at randomised periods of cycles, and of events
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_SAMPLE_H
#define DCPI_EMULATOR_TIMING_SAMPLE_H

#include "emulator/timing/thread.h"

/* Start of a thread: draw first periods. */
void sample_begin(struct thread *thread);

/* The clock has gone over a sample, or several, while instruction `stalled` waited. */
void sample_stall(struct thread *thread, uint32_t stalled);

/* The clock is about to go over one while the block that runs executes: which began at `start`. */
void sample_execution(struct thread *thread, uint64_t start);

/* Shift the next sample by cycles that are not sampled (blocked time). */
void sample_skip(struct thread *thread, uint64_t cycles);

/* The countdown of an event is over at `instruction`. */
void sample_event(struct thread *thread, enum setup_event event, uint32_t instruction);

/* Count an event; true: the caller must call sample_event(). */
static inline bool
sample_is_due(struct thread *thread, enum setup_event event)
{
	thread->record->counters.events[event]++;
	return --thread->countdowns[event] == 0;
}

/* An event happened at `instruction`. */
static inline void
sample_count(struct thread *thread, enum setup_event event, uint32_t instruction)
{
	if (sample_is_due(thread, event))
		sample_event(thread, event, instruction);
}

#endif
