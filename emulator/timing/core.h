/*
 * core.h - what a miss costs on the target's core
 *
 * In order, an instruction that needs a value waits for it; loads themselves do not. Out of order, a load that missed
 * holds up retirement as far as the window does not hide it: it was issued that much earlier, unless its address is
 * made of what other missing loads bring, or as many as the core may have were in flight. docs/emulation.md says more.
 */
#ifndef DCPI_EMULATOR_TIMING_CORE_H
#define DCPI_EMULATOR_TIMING_CORE_H

#include "emulator/timing/stall.h"
#include "emulator/timing/timing.h"
#include "emulator/timing/waiting.h"

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

	return begins > thread->store_turn ? begins : thread->store_turn;
}

/* The program is about to stand still, at `position` on the static clock. */
static inline void
core_remember_stall(struct thread *thread, uint64_t position)
{
	struct past_stall *stall = thread->next_stall, *next = stall->on[1], *oldest = thread->oldest_stall;

	stall->position = position;
	stall->other = thread->other;
	next->position = UINT64_MAX;
	next->before = position;
	next->other = UINT64_MAX;
	thread->next_stall = next;
	oldest->position = 0;
	oldest->on[1]->before = 0;
	thread->oldest_stall = oldest->on[1];
}

/* It never did: all that are remembered were before everything. */
void core_forget_stalls(struct thread *thread);

/* How loads that missed are waited for: in order, out of order, not at all without a clock. */
struct core_ways {
	void (*load_second)(struct thread *thread, unsigned index);
	void (*load_simply)(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles);
	void (*load_missed)(struct thread *thread, unsigned index, const struct access_result *result);
};

extern const struct core_ways core_in_order, core_out_of_order;
const struct core_ways *core_ways_of(const struct timing *timing);

/* The load of instruction `index`, of the block that runs, took longer than a hit. */
static inline void
core_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	thread->core->load_missed(thread, index, result);
}

/* The same by what it took longer than a hit, which is no waiting for memory. */
static inline void
core_load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	thread->core->load_simply(thread, index, cache_cycles, tlb_cycles);
}

/* The same when it needed level 2, and that is all. */
static inline void
core_load_second(struct thread *thread, unsigned index)
{
	thread->core->load_second(thread, index);
}

/* The same of its store. */
void core_store_missed(struct thread *thread, unsigned index, const struct access_result *result);

/*
 * Before a block, whose first instruction it is, or which is entered by `edge`: its static time is not in the clock
 * yet. Code that was not there, and a branch that went another way.
 */
void core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result);
void core_mispredicted(struct thread *thread, struct edge *edge);

/* In order: the block that ran waits for what its instructions need. */
static inline void
core_settle(struct thread *thread)
{
	waiting_settle(thread, BLOCK_INSTRUCTIONS_MAX);
}

/* Everything is ready, and nothing is known of what was before: behind a system call. */
void core_restart(struct thread *thread);

/* core_stall_for_load() for several reasons. */
void core_stall_for_several(struct thread *thread, uint32_t stalled, uint32_t culprit, uint64_t cycles,
                            struct load_cost cost);

/* Whether `cycles` of waiting for a load were for its line alone, or its page: what is hidden is what came first. */
static inline bool
core_waits_for_line(const struct load_cost *cost, uint64_t cycles)
{
	return cost->wait_cycles == 0 && (cost->tlb_cycles == 0 || cycles <= cost->cache_cycles);
}

static inline bool
core_waits_for_page(const struct load_cost *cost, uint64_t cycles)
{
	return cost->wait_cycles == 0 && cost->cache_cycles == 0 && cycles <= cost->tlb_cycles;
}

/* `cycles` of waiting for a load, into what they were for. */
static inline __attribute__((always_inline)) void
core_stall_for_load(struct thread *thread, uint32_t stalled, uint32_t culprit, uint64_t cycles, struct load_cost cost)
{
	if (core_waits_for_line(&cost, cycles))
		stall_at_last(thread, stalled, culprit, REASON_DATA_CACHE, cycles);
	else if (core_waits_for_page(&cost, cycles))
		stall_at_last(thread, stalled, culprit, REASON_DATA_TLB, cycles);
	else
		core_stall_for_several(thread, stalled, culprit, cycles, cost);
}

/* What a line takes that comes `cycles` later than from level 1, beyond a hit as the schedules have it. */
static inline uint32_t
core_cache_cycles(const struct timing *timing, uint32_t cycles)
{
	const int64_t more = (int64_t)cycles + timing->level1_difference;

	return __builtin_expect(cycles == 0 || more < 0, 0) ? 0 : (uint32_t)more;
}

/* What a load that missed takes beyond a hit. */
static inline struct load_cost
core_load_cost(const struct thread *thread, const struct access_result *result)
{
	return (struct load_cost){
		.cache_cycles = core_cache_cycles(thread->timing, result->cycles),
		.tlb_cycles = result->tlb_cycles,
		.wait_cycles = result->wait_cycles,
	};
}

/* None is in flight. */
void core_forget_flights(struct thread *thread);

/* When the next load that misses may be in flight, and that it is until `ready`. */
static inline uint64_t
core_flight_turn(const struct thread *thread)
{
	return thread->oldest_flight->ready;
}

static inline void
core_flight_add(struct thread *thread, uint64_t ready)
{
	struct flight *flight = thread->oldest_flight;

	flight->ready = ready;
	thread->oldest_flight = flight->next;
}

/*
 * Memory was told at `told`, and it is issued at `issue`: when that is later, its turn comes no later for it. It takes
 * `load_cycles` longer whenever that is.
 */
static inline void
core_issue_later(struct load_cost *cost, uint32_t load_cycles, uint64_t told, uint64_t issue)
{
	uint64_t later, left;

	if (!cost->wait_cycles)
		return;
	later = issue > told ? issue - told : 0;
	left = cost->wait_cycles > later ? cost->wait_cycles - later : 0;
	cost->wait_cycles = left > load_cycles ? (uint32_t)left : load_cycles;
}

static inline uint64_t
core_cycles(const struct load_cost *cost)
{
	return (uint64_t)cost->cache_cycles + cost->tlb_cycles + cost->wait_cycles;
}

#endif
