/*
 * in_order.h - in order: a load that missed, straight on as long as nothing else waits or is waited for, as is usual
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_IN_ORDER_H
#define DCPI_EMULATOR_TIMING_IN_ORDER_H

#include "emulator/timing/core.h"
#include "emulator/timing/load_stall.h"

/* The same when something does. By itself, so that the usual way has nothing to save for it. */
void in_order_load_among_others(struct thread *thread, unsigned index, uint64_t cache_cycles, uint64_t tlb_cycles);

/* What it takes longer than a hit is no waiting for memory. */
static inline __attribute__((always_inline)) void
in_order_load(struct thread *thread, unsigned index, const uint64_t cache_cycles, const uint64_t tlb_cycles)
{
	const struct variant_load *load = variant_load(&thread->edge->variant, index);
	const int64_t later = (int64_t)(cache_cycles + tlb_cycles), cycles = load->wait + later;
	const uint64_t issue = thread_clock(thread) + (uint64_t)(int64_t)load->issue;

	if (__builtin_expect(cycles <= 0 || thread->waiting_count || core_flight_turn(thread) > issue, 0)) {
		in_order_load_among_others(thread, index, cache_cycles, tlb_cycles);
		return;
	}
	core_flight_add(thread, issue + thread->load_cycles + (uint64_t)later);
	load_stall_split(thread, &thread->edge->code->load_stalls[index], (uint64_t)cycles, cache_cycles, tlb_cycles);
}

#endif
