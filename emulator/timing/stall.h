/*
 * stall.h - an instruction holds everything up
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_STALL_H
#define DCPI_EMULATOR_TIMING_STALL_H

#include "emulator/timing/sample.h"
#include "emulator/timing/timing.h"

/* The stall is in the clock and the counters, and is to be recorded where it is not looked for first. */
void stall_elsewhere(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                     uint64_t cycles);

/* The stall is in the clock and the counters, and is to be recorded wherever it is; *at is where from now on. */
void stall_anywhere(struct thread *thread, const struct record_pair *pair, enum record_reason reason, uint64_t cycles,
                    uint32_t *at);

/* Where it is, perhaps. */
static inline struct record_stall *
stall_at(const struct thread *thread, const uint32_t *at)
{
	return record_stall_at(thread->record, __atomic_load_n(at, __ATOMIC_RELAXED));
}

/* Nothing is done for so long. */
static inline __attribute__((always_inline)) void
stall_pass(struct thread *thread, uint64_t cycles)
{
	thread_pass(thread, cycles);
	thread->other += cycles;
}

/* Part of what has passed was for this. */
static inline __attribute__((always_inline)) void
stall_tell(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	thread->record->counters.cycles[reason] += cycles;
	if (thread->records_stalls && !record_stall_add_at(thread->record, stalled, culprit, reason, cycles, 0))
		stall_elsewhere(thread, stalled, culprit, reason, cycles);
}

/* All of it was told. */
static inline __attribute__((always_inline)) void
stall_sample(struct thread *thread, uint32_t stalled)
{
	if (__builtin_expect(!thread_has_time(thread, 0) && thread_clock(thread) > thread->next_sample, 0))
		sample_stall(thread, stalled);
}

/*
 * thread_stall(), if the record has it where it is looked for first, and no sample is due even with the block that
 * runs; else false: nothing was done.
 */
static inline __attribute__((always_inline)) bool
stall_plainly(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	if (!thread_has_time(thread, cycles) && thread_clock(thread) + cycles > thread->next_sample)
		return false;
	if (thread->records_stalls && !record_stall_add_at(thread->record, stalled, culprit, reason, cycles, 0))
		return false;
	stall_pass(thread, cycles);
	thread->record->counters.cycles[reason] += cycles;
	return true;
}

/* thread_stall(), for who does it last of all: nothing needs be saved for it. */
static inline __attribute__((always_inline)) void
stall_at_last(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	stall_pass(thread, cycles);
	thread->record->counters.cycles[reason] += cycles;
	if (thread->records_stalls && !record_stall_add_at(thread->record, stalled, culprit, reason, cycles, 0))
		stall_elsewhere(thread, stalled, culprit, reason, cycles);
	else
		stall_sample(thread, stalled);
}

#endif
