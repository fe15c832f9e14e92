/*
 * stall.h - an instruction holds everything up
 *
 * Thread rule: of the thread; load stalls of a block are of all threads, and their places are read and changed
 * atomically.
 */
#ifndef DCPI_EMULATOR_TIMING_STALL_H
#define DCPI_EMULATOR_TIMING_STALL_H

#include "emulator/timing/sample.h"

/*
 * The stall for a load, of which it is known who waits. In order that is its first user, when it comes before any other
 * access to memory; out of order the load itself. Which instruction waits for which never changes then, and neither
 * does the place in the record of a thread: where one thread or another had it last, as of record_stall_at(), because
 * of the line and because of the page.
 */
struct load_stall {
	struct record_pair pair;
	uint32_t cache_at, tlb_at;
};

/* Of the first access_end instructions of a block; in order, of what is no such load, it is empty. NULL: no memory. */
struct load_stall *load_stalls_take(struct arena *arena, const struct block *block);

/* A load's stall, whose search in the record begins at the first slot: nothing is known of where it was last. */
static inline struct load_stall
load_stall_of(uint32_t stalled, uint32_t culprit)
{
	const uint32_t size = sizeof(struct record_stall);

	return (struct load_stall){
		.pair = {stalled, culprit},
		.cache_at = size * record_stall_place(stalled, culprit, REASON_DATA_CACHE),
		.tlb_at = size * record_stall_place(stalled, culprit, REASON_DATA_TLB),
	};
}

/* The core stalls for `cycles`, more than 0: the last part of the load's cost. The first part was hidden. */
void stall_for_load(struct thread *thread, struct load_stall *load, uint64_t cycles, const struct load_cost *cost);

/* As stall_record(). *at is where the record had the pair last, and is set to where it has it now. */
void stall_record_at(struct thread *thread, const struct record_pair *pair, enum record_reason reason, uint64_t cycles,
                     uint32_t *at);

/* Advance the clock by a stall of `cycles`. */
static inline __attribute__((always_inline)) void
stall_pass(struct thread *thread, uint64_t cycles)
{
	thread_pass(thread, cycles);
	thread->stall_cycles += cycles;
}

/* Count and record a part of what stall_pass() has let pass, by who stalled, who is to blame, and why. */
void stall_record(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                  uint64_t cycles);

/* Call after the stall is recorded: takes due samples. */
static inline __attribute__((always_inline)) void
stall_sample(struct thread *thread, uint32_t stalled)
{
	if (__builtin_expect(!thread_is_below_limit(thread) && thread_clock(thread) > thread->next_sample, 0))
		sample_stall(thread, stalled);
}

/* Instruction `stalled` holds up everything for `cycles`, not 0, because of `culprit`. */
void stall_add(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles);

#endif
