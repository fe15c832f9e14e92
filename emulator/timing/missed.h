/*
 * missed.h - what an access missed, as events that are sampled, and in counters what is no event
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_MISSED_H
#define DCPI_EMULATOR_TIMING_MISSED_H

#include "emulator/timing/sample.h"
#include "emulator/timing/timing.h"

/* Nothing was missed, and nothing waits. */
static inline bool
missed_nothing(const struct access_result *result)
{
	return result->level == 0 && !result->tlb_missed && result->cycles == 0 && result->wait_cycles == 0 &&
	       result->tlb_cycles == 0;
}

/* Those from `first` on, up to the one before `level`. */
static inline void
missed_count_levels(const struct timing *timing, uint64_t missed[MACHINE_LEVELS_MAX], unsigned first, unsigned level)
{
	for (unsigned i = first; i < level && i < timing->setup->machine.level_count; i++)
		missed[i]++;
}

/* Of a load, those behind level 2: `level` is not the first of them. */
static __attribute__((noinline)) void
missed_count_third(uint64_t missed[MACHINE_LEVELS_MAX], unsigned level)
{
	for (unsigned i = 2; i < level; i++)
		missed[i]++;
}

/* A page's translation, for a load or for code. */
static inline __attribute__((always_inline)) void
missed_count_translation(struct thread *thread, uint32_t number, bool walked, const bool is_code)
{
	sample_count(thread, is_code ? SETUP_EVENT_CODE_TLB : SETUP_EVENT_DATA_TLB, number);
	if (walked)
		sample_count(thread, is_code ? SETUP_EVENT_CODE_WALK : SETUP_EVENT_DATA_WALK, number);
}

/* Of a load that level 2 had. */
static inline void
missed_count_second(struct thread *thread, uint32_t number)
{
	sample_count(thread, SETUP_EVENT_LEVEL1_DATA, number);
}

/* Of a load, or of code: both wait for what they missed. */
static inline __attribute__((always_inline)) void
missed_count_read(struct thread *thread, uint32_t number, const struct access_result *result, const bool is_code)
{
	struct record_counters *counters = &thread->record->counters;

	if (result->tlb_missed)
		missed_count_translation(thread, number, result->walked, is_code);
	if (result->level == 0)
		return;
	if (is_code)
		missed_count_levels(thread->timing, counters->code_missed, 1, result->level);
	else
		missed_count_levels(thread->timing, counters->loads_missed, 2, result->level);
	sample_count(thread, is_code ? SETUP_EVENT_LEVEL1_CODE : SETUP_EVENT_LEVEL1_DATA, number);
	if (result->level > 1 && thread->timing->setup->machine.level_count > 1)
		sample_count(thread, SETUP_EVENT_LEVEL2, number);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

/* The same of a load whose line is from behind level 2, of `levels`. */
static inline __attribute__((always_inline)) void
missed_count_beyond(struct thread *thread, uint32_t number, const struct access_result *result, unsigned levels)
{
	uint64_t *missed = thread->record->counters.loads_missed;

	if (result->tlb_missed)
		missed_count_translation(thread, number, result->walked, false);
	if (result->level > 2 && levels > 2)
		missed_count_third(missed, result->level < levels ? result->level : levels);
	sample_count(thread, SETUP_EVENT_LEVEL1_DATA, number);
	sample_count(thread, SETUP_EVENT_LEVEL2, number);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

/* Of a store, which is no event but at the last level. */
static inline void
missed_count_store(struct thread *thread, uint32_t number, const struct access_result *result)
{
	struct record_counters *counters = &thread->record->counters;

	counters->data_tlb_missed += result->tlb_missed;
	counters->data_walks += result->walked;
	if (result->level == 0)
		return;
	missed_count_levels(thread->timing, counters->stores_missed, 0, result->level);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

#endif
