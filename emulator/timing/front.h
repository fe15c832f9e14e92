/*
 * front.h - what holds up the front end, straight on where it is as most often: who asks has nothing to save for it
 *
 * It is simple when nobody waits for a load, no sample comes meanwhile, and the record has the stall where it is looked
 * for first. Else nothing was done, and the functions of core.h do it.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_FRONT_H
#define DCPI_EMULATOR_TIMING_FRONT_H

#include "emulator/timing/core.h"

/* Out of order, it begins anew: what comes now was not in the window before. The last stall may be why. */
static inline void
front_begin(struct thread *thread)
{
	thread->front_stall = thread->next_stall->back;
	thread->front_position = thread_clock(thread) - thread->other;
	thread->front_other = thread->other;
}

/*
 * Whether a stall is remembered that was there when it began anew: so none that came when less had retired was later.
 * What is forgotten never is taken for it, unless nothing had retired when it began anew.
 */
static inline bool
front_is_remembered(const struct thread *thread)
{
	const struct past_stall *stall = thread->front_stall;

	return stall->position == thread->front_position && stall->other <= thread->front_other;
}

/* In all, for so long. */
static inline bool
front_is_simple(const struct thread *thread, uint64_t cycles)
{
	return thread->first_user == BLOCK_NOT_USED &&
	       (thread_has_time(thread, cycles) || thread_clock(thread) + cycles <= thread->next_sample);
}

static inline bool
front_is_known(const struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason)
{
	return !thread->records_stalls || record_stall_is_first(thread->record, stalled, culprit, reason);
}

/* All of it but its record. */
static inline __attribute__((always_inline)) void
front_pass(struct thread *thread, enum record_reason reason, uint64_t cycles, const bool is_in_order)
{
	if (!is_in_order)
		core_remember_stall(thread, thread_clock(thread) - thread->other);
	stall_pass(thread, cycles);
	thread->record->counters.cycles[reason] += cycles;
	if (!is_in_order)
		front_begin(thread);
}

/* It is simple, and `stall` is its place in the record. */
static inline __attribute__((always_inline)) void
front_stall_at(struct thread *thread, struct record_stall *stall, enum record_reason reason, uint64_t cycles,
               const bool is_in_order)
{
	front_pass(thread, reason, cycles, is_in_order);
	if (thread->records_stalls)
		record_stall_count(stall, cycles);
}

/* core_mispredicted() of the block before, that went on by the edge. */
static inline __attribute__((always_inline)) bool
front_mispredicts(struct thread *thread, const struct edge *edge, bool is_in_order)
{
	const uint32_t cycles = thread->mispredict_cycles;
	struct record_stall *stall = stall_at(thread, &edge->misprediction_at);

	if (!cycles || !front_is_simple(thread, cycles) ||
	    (thread->records_stalls && !record_stall_is(stall, &edge->misprediction, REASON_MISPREDICT)))
		return false;
	front_stall_at(thread, stall, REASON_MISPREDICT, cycles, is_in_order);
	return true;
}

/* core_fetch_missed() of what does not wait for memory: 0 cycles are no stall. */
static inline __attribute__((always_inline)) bool
front_misses(struct thread *thread, uint32_t instruction, uint32_t tlb_cycles, uint32_t cache_cycles,
             const bool is_in_order)
{
	struct record_stall *tlb = record_stall_first(thread->record, instruction, instruction, REASON_CODE_TLB);
	struct record_stall *cache = record_stall_first(thread->record, instruction, instruction, REASON_CODE_CACHE);

	if (!front_is_simple(thread, (uint64_t)tlb_cycles + cache_cycles) ||
	    (tlb_cycles && !front_is_known(thread, instruction, instruction, REASON_CODE_TLB)) ||
	    (cache_cycles && !front_is_known(thread, instruction, instruction, REASON_CODE_CACHE)))
		return false;
	if (tlb_cycles)
		front_stall_at(thread, tlb, REASON_CODE_TLB, tlb_cycles, is_in_order);
	if (cache_cycles)
		front_stall_at(thread, cache, REASON_CODE_CACHE, cache_cycles, is_in_order);
	return true;
}

#endif
