/*
 * core.h - what a miss costs on the target's core
 *
 * In order, an instruction that needs a value waits for it; loads themselves do not (core_in_order.h). Out of order, a
 * load that missed holds up retirement as far as the reorder buffer does not hide it: it was issued that much earlier,
 * unless its address is made of what other missing loads bring, or as many as the core may have were in flight
 * (core_out_of_order.h). docs/emulation.md says more.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_CORE_H
#define DCPI_EMULATOR_TIMING_CORE_H

#include "emulator/timing/core_in_order.h"
#include "emulator/timing/core_out_of_order.h"

/* When instruction `index` of the block that runs is at the head, with all stalls so far. */
static inline uint64_t
core_time(const struct thread *thread, unsigned index)
{
	return thread_clock(thread) - thread->edge->variant.cycles + thread->edge->variant.issue_cycles[index];
}

/* When the store of instruction `index` asks for its line, should it miss: the write buffer has it by then. */
static inline uint64_t
core_store_begins(const struct thread *thread, unsigned index)
{
	const uint64_t now = core_time(thread, index), begins = now > thread->store_room ? now : thread->store_room;

	return begins > thread->store_mshr_free_at ? begins : thread->store_mshr_free_at;
}

/* In order: the block that ran waits for what its instructions need. */
static inline void
core_settle(struct thread *thread)
{
	in_order_settle(thread, BLOCK_INSTRUCTIONS_MAX);
}

/* Of the block that runs: the load of instruction `index` missed something; its store. */
void core_load_missed(struct thread *thread, unsigned index, const struct access_result *result);
void core_store_missed(struct thread *thread, unsigned index, const struct access_result *result);

/*
 * Before a block, whose first instruction it is, or which is entered by `edge`: its static time is not in the clock
 * yet. Code that was not there, and a branch that went another way.
 */
void core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result);
void core_mispredicted(struct thread *thread, struct edge *edge);

/* Everything is ready, and nothing is known of what was before: behind a system call. */
void core_restart(struct thread *thread);

/* ---- for the two cores ---- */

/* What a load that missed takes beyond a hit, as the schedules have it. */
struct load_cost core_load_cost(const struct thread *thread, const struct access_result *result);

static inline uint64_t
core_cycles(const struct load_cost *cost)
{
	return (uint64_t)cost->cache_cycles + cost->tlb_cycles + cost->wait_cycles;
}

/*
 * Memory was asked at `asked`, and it is issued at `issue`: when that is later, its turn comes no later for it. It
 * takes `load_cycles` longer whenever that is.
 */
void core_issue_later(struct load_cost *cost, uint32_t load_cycles, uint64_t asked, uint64_t issue);

/* MSHRs: free all; when one is free; allocate that one until `ready`. */
void core_reset_mshrs(struct thread *thread);

static inline uint64_t
core_mshr_free_at(const struct thread *thread)
{
	return thread->oldest_mshr->ready;
}

static inline void
core_mshr_allocate(struct thread *thread, uint64_t ready)
{
	struct mshr *mshr = thread->oldest_mshr;

	mshr->ready = ready;
	thread->oldest_mshr = mshr->next;
}

#endif
