/*
 * miss_counters.h - what an access missed, as events that are sampled, and in counters what is no event
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_MISS_COUNTERS_H
#define DCPI_EMULATOR_TIMING_MISS_COUNTERS_H

#include "emulator/timing/sample.h"
#include "emulator/timing/timing.h"

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
