/*
 * sample.h - events and stalls are counted and recorded, and instructions sampled: at randomised periods of cycles and
 * of events
 *
 * Thread rule: of the thread; load stalls of a block are of all threads, and their places are read and changed
 * atomically.
 */
#ifndef DCPI_EMULATOR_TIMING_SAMPLE_H
#define DCPI_EMULATOR_TIMING_SAMPLE_H

#include "emulator/timing/timing.h"

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

/* ---- what an access missed: events, and counters of what is no event ---- */

/* The levels from `first` on, up to the one before `level`. */
static inline void
miss_count_levels(const struct timing *timing, uint64_t missed[MACHINE_LEVELS_MAX], unsigned first, unsigned level)
{
	for (unsigned i = first; i < level && i < timing->level_count; i++)
		missed[i]++;
}

/* A load, or a fetch of code: both wait for what they missed. */
static inline __attribute__((always_inline)) void
miss_count_read(struct thread *thread, uint32_t number, const struct access_result *result, const bool is_code)
{
	struct record_counters *counters = &thread->record->counters;

	if (result->tlb_missed) {
		sample_count(thread, is_code ? SETUP_EVENT_CODE_TLB : SETUP_EVENT_DATA_TLB, number);
		if (result->walked)
			sample_count(thread, is_code ? SETUP_EVENT_CODE_WALK : SETUP_EVENT_DATA_WALK, number);
	}
	if (result->level == 0)
		return;
	if (is_code)
		miss_count_levels(thread->timing, counters->code_missed, 1, result->level);
	else if (result->level > 2)
		miss_count_levels(thread->timing, counters->loads_missed, 2, result->level);
	sample_count(thread, is_code ? SETUP_EVENT_LEVEL1_CODE : SETUP_EVENT_LEVEL1_DATA, number);
	if (result->level > 1 && thread->timing->level_count > 1)
		sample_count(thread, SETUP_EVENT_LEVEL2, number);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

/* A store, which is no event but at the last level. */
static inline void
miss_count_store(struct thread *thread, uint32_t number, const struct access_result *result)
{
	struct record_counters *counters = &thread->record->counters;

	counters->data_tlb_missed += result->tlb_missed;
	counters->data_walks += result->walked;
	if (result->level == 0)
		return;
	miss_count_levels(thread->timing, counters->stores_missed, 0, result->level);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

/* ---- stalls: an instruction holds everything up ---- */

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
