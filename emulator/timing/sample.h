/*
 * sample.h - events are counted, and which instruction is sampled: at randomised periods of cycles and of events
 *
 * Thread rule: of the thread.
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

#endif
