/*
 * sample.h - count and record events and stalls, and sample instructions at randomised periods of cycles and of events
 *
 * Thread rule: each thread for itself; all threads share the load stalls of a block, whose places are read and changed
 * atomically.
 */
#ifndef DCPI_EMULATOR_TIMING_SAMPLE_H
#define DCPI_EMULATOR_TIMING_SAMPLE_H

#include "emulator/timing/timing.h"

/* Start of a thread: draw first periods. */
void sample_begin(struct thread *thread);

/* The clock has passed one or several samples while instruction `stalled` waited. */
void sample_stall(struct thread *thread, uint32_t stalled);

/* The clock is about to pass a sample within the running block, which began at `start`. */
void sample_execution(struct thread *thread, uint64_t start);

/* Delay the next sample by cycles that are not sampled (blocked time). */
void sample_skip(struct thread *thread, uint64_t cycles);

/* The countdown of an event is over at `instruction`. */
void sample_event(struct thread *thread, enum setup_event event, uint32_t instruction);

/* A data access. */
struct sampled_access {
	uint32_t instruction;
	uint64_t address;
	uint64_t time;            /* when it began, cycles */
	uint64_t cost;            /* cycles: core_load_missed(), core_store_missed() */
	bool is_store, is_atomic; /* is_store: also an atomic access */
};

/*
 * Count an access that had to be looked up, if it left the core's own caches, or wrote a line first; the countdown says
 * whether it is recorded.
 */
void sample_access(struct thread *thread, const struct sampled_access *access, const struct access_result *result);

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

/* ---- misses of an access: events, and counters of misses that are no events ---- */

/* Count a miss in the levels from `first` to the one before `level`. */
static inline void
miss_count_levels(const struct timing *timing, uint64_t missed[MACHINE_LEVELS_MAX], unsigned first, unsigned level)
{
	for (unsigned i = first; i < level && i < timing->level_count; i++)
		missed[i]++;
}

/* Count a line that came from another core, or left it; of code there is none. */
static inline void
miss_count_transfer(struct record_counters *counters, const struct access_result *result)
{
	counters->transfers += result->transfer != TRANSFER_NONE;
	counters->far_transfers += result->transfer == TRANSFER_FAR;
}

/* Count the misses of a load or of a fetch of code. */
static inline __attribute__((always_inline)) void
miss_count_read(struct thread *thread, uint32_t number, const struct access_result *result, const bool is_code)
{
	struct record_counters *counters = &thread->record->counters;

	if (result->tlb_missed) {
		sample_count(thread, is_code ? SETUP_EVENT_CODE_TLB : SETUP_EVENT_DATA_TLB, number);
		if (result->walked)
			sample_count(thread, is_code ? SETUP_EVENT_CODE_WALK : SETUP_EVENT_DATA_WALK, number);
	}
	if (!is_code && result->transfer != TRANSFER_NONE) {
		miss_count_transfer(counters, result);
		sample_count(thread, SETUP_EVENT_TRANSFER, number);
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

/* Count the misses of a store, which are events only at the last level. */
static inline void
miss_count_store(struct thread *thread, uint32_t number, const struct access_result *result)
{
	struct record_counters *counters = &thread->record->counters;

	counters->data_tlb_missed += result->tlb_missed;
	counters->data_walks += result->walked;
	miss_count_transfer(counters, result);
	if (result->level == 0)
		return;
	miss_count_levels(thread->timing, counters->stores_missed, 0, result->level);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

/* ---- stalls of instructions ---- */

/*
 * The stall for a load whose waiting instruction is known: in order, its first user, if that comes before any other
 * access to memory; out of order, the load itself. The pair is then constant, and so is the place of the stall in the
 * record of a thread. The two offsets are where the last thread had it, for record_stall_at(): cache_at for a missing
 * line, tlb_at for a missing page.
 */
struct load_stall {
	struct record_pair pair;
	uint32_t cache_at, tlb_at;
};

/*
 * The load stalls of the first access_end instructions of a block; empty for an instruction that is no such load. NULL:
 * no memory.
 */
struct load_stall *load_stalls_take(struct arena *arena, const struct block *block);

/* A load's stall without a known place: its search in the record begins at the first slot. */
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

/* stall_record(), with *at where the record had the pair last; *at is set to its present place. */
void stall_record_at(struct thread *thread, const struct record_pair *pair, enum record_reason reason, uint64_t cycles,
                     uint32_t *at);

/* Advance the clock by a stall of `cycles`. */
static inline __attribute__((always_inline)) void
stall_pass(struct thread *thread, uint64_t cycles)
{
	thread_pass(thread, cycles);
	thread->stall_cycles += cycles;
}

/* Count and record a part of the cycles of stall_pass(), by stalled instruction, culprit, and reason. */
void stall_record(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                  uint64_t cycles);

/* Call after the stall is recorded: takes due samples. */
static inline __attribute__((always_inline)) void
stall_sample(struct thread *thread, uint32_t stalled)
{
	if (__builtin_expect(!thread_is_below_limit(thread) && thread_clock(thread) > thread->next_sample, 0))
		sample_stall(thread, stalled);
}

/* Instruction `stalled` stalls for `cycles`, not 0, because of `culprit`. */
void stall_add(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason, uint64_t cycles);

#endif
