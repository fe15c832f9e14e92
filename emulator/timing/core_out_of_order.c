/*
 * Out of order: what is in the window (window.h) was begun earlier. See core.h.
 *
 * What a load that missed goes through is several functions, each of which goes on in the next one, so that none has
 * registers to save for what is not usual. Each is there for a load that level 2 serves, as most are (second_...), for
 * one that does not wait for memory (simple_...), and for any, of which the thread has what it takes (`missed`).
 */
#include "emulator/timing/core.h"
#include "emulator/timing/dependence_usual.h"
#include "emulator/timing/load_stall.h"
#include "emulator/timing/window.h"

#define INLINE static inline __attribute__((always_inline))
#define APART  static __attribute__((noinline))

void
core_forget_stalls(struct thread *thread)
{
	for (unsigned i = 0; i < THREAD_STALLS; i++)
		thread->stalls[i] = (struct past_stall){
			.on = {&thread->stalls[i], &thread->stalls[(i + 1) % THREAD_STALLS]},
			.back = &thread->stalls[(i + THREAD_STALLS - 1) % THREAD_STALLS],
		};
	thread->oldest_stall = &thread->stalls[0];
	thread->next_stall = thread->found_stall = &thread->stalls[THREAD_HISTORY];
	thread->next_stall->position = thread->next_stall->other = UINT64_MAX;
	thread->front_stall = thread->next_stall->back;
}

INLINE const struct block_dependence *
dependence_at(const struct thread *thread, unsigned index)
{
	return &thread->edge->variant.block->dependences[index];
}

/* The load is done when all before it has retired, and has to be waited for: at `retires`. */
INLINE struct load_stall *
begin_stall(struct thread *thread, const struct block_dependence *load, uint64_t retires)
{
	core_remember_stall(thread, retires - thread->other);
	return &thread->edge->code->load_stalls[load->index];
}

APART void
second_holds_up(struct thread *thread, const struct block_dependence *load, uint64_t retires, uint64_t cycles)
{
	load_stall_for_line(thread, begin_stall(thread, load, retires), cycles);
}

APART void
simple_holds_up(struct thread *thread, const struct block_dependence *load, uint64_t retires, uint64_t cycles,
                uint32_t cache_cycles, uint32_t tlb_cycles)
{
	load_stall_split(thread, begin_stall(thread, load, retires), cycles, cache_cycles, tlb_cycles);
}

APART void
missed_holds_up(struct thread *thread, const struct block_dependence *load, uint64_t retires, uint64_t cycles)
{
	struct load_stall *stall = begin_stall(thread, load, retires);
	const struct load_cost cost = thread->missed.cost;

	if (cost.wait_cycles)
		core_stall_for_several(thread, stall->pair.stalled, stall->pair.culprit, cycles, cost);
	else
		load_stall_split(thread, stall, cycles, cost.cache_cycles, cost.tlb_cycles);
}

/* It may be issued from `issue` on, and waits for its turn. */
INLINE uint64_t
turn_of(const struct thread *thread, uint64_t issue)
{
	const uint64_t turn = core_flight_turn(thread);

	return turn > issue ? turn : issue;
}

/* It is issued at `issue`, and takes `later` cycles more than a hit: when it is done. */
INLINE uint64_t
issue_load(struct thread *thread, uint64_t issue, uint64_t later)
{
	const uint64_t ready = issue + thread->load_cycles + later;

	core_flight_add(thread, ready);
	return ready;
}

/* What its address is made of has to be looked for: when that is there. */
INLINE uint64_t
issue_behind_any(struct thread *thread, const struct block_dependence *load, uint64_t issue)
{
	const uint64_t ready = dependence_ready(thread, load, issue);

	return turn_of(thread, ready > issue ? ready : issue);
}

APART void
second_behind_any(struct thread *thread, const struct block_dependence *load, uint64_t issue, uint64_t retires)
{
	const uint64_t ready = issue_load(thread, issue_behind_any(thread, load, issue), thread->second_cycles);

	dependence_add(thread, load, ready);
	if (ready > retires)
		second_holds_up(thread, load, retires, ready - retires);
}

APART void
missed_behind_any(struct thread *thread, const struct block_dependence *load, uint64_t issue, uint64_t retires)
{
	struct window_load *missed = &thread->missed;
	uint64_t ready;

	issue = issue_behind_any(thread, load, issue);
	core_issue_later(&missed->cost, missed->load_cycles, thread_clock(thread), issue);
	ready = issue_load(thread, issue, core_cycles(&missed->cost));
	dependence_add(thread, load, ready);
	if (ready > retires)
		missed_holds_up(thread, load, retires, ready - retires);
}

INLINE void
simple_behind_any(struct thread *thread, const struct block_dependence *load, uint64_t issue, uint64_t retires,
                  uint32_t cache_cycles, uint32_t tlb_cycles)
{
	thread->missed.cost = (struct load_cost){.cache_cycles = cache_cycles, .tlb_cycles = tlb_cycles};
	missed_behind_any(thread, load, issue, retires);
}

/* No other is missing, or any that did was followed; `registers`: that wait before its block. */
INLINE void
issue_second(struct thread *thread, const struct block_dependence *load, uint32_t registers, uint64_t issue,
             uint64_t retires)
{
	const uint64_t ready = issue_load(thread, turn_of(thread, issue), thread->second_cycles);

	dependence_add_one(thread, load, registers, ready);
	if (ready > retires)
		second_holds_up(thread, load, retires, ready - retires);
}

INLINE void
issue_simple(struct thread *thread, const struct block_dependence *load, uint32_t registers, uint64_t issue,
             uint64_t retires, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	const uint64_t later = (uint64_t)cache_cycles + tlb_cycles;
	const uint64_t ready = issue_load(thread, turn_of(thread, issue), later);

	dependence_add_one(thread, load, registers, ready);
	if (ready > retires)
		simple_holds_up(thread, load, retires, ready - retires, cache_cycles, tlb_cycles);
}

/* Its address may be made of what one that is missing brings: what was followed says so. */
INLINE uint64_t
issue_behind_one(const struct thread *thread, const struct block_dependence *load, uint32_t registers, uint64_t issue)
{
	const uint64_t ready = dependence_made(&thread->dependence, registers, load);

	return ready > issue ? ready : issue;
}

APART void
simple_behind_one(struct thread *thread, const struct block_dependence *load, uint64_t issue, uint64_t retires,
                  uint32_t cache_cycles, uint32_t tlb_cycles)
{
	uint32_t registers;

	if (dependence_follow(thread, issue, &registers))
		issue_simple(thread, load, registers, issue_behind_one(thread, load, registers, issue), retires,
		             cache_cycles, tlb_cycles);
	else
		simple_behind_any(thread, load, issue, retires, cache_cycles, tlb_cycles);
}

APART void
second_behind_one(struct thread *thread, const struct block_dependence *load, uint64_t issue, uint64_t retires)
{
	uint32_t registers;

	if (dependence_follow(thread, issue, &registers))
		issue_second(thread, load, registers, issue_behind_one(thread, load, registers, issue), retires);
	else
		second_behind_any(thread, load, issue, retires);
}

APART void
second_anyhow(struct thread *thread, const struct block_dependence *load)
{
	const uint64_t retires = core_time(thread, load->index);

	second_behind_any(thread, load, window_entry(thread, retires - thread->other), retires);
}

static void
out_of_order_load_second(struct thread *thread, unsigned index)
{
	const uint64_t retires = core_time(thread, index);
	const struct block_dependence *load = dependence_at(thread, index);
	enum dependence_kind kind;
	uint64_t issue;

	if (!window_find_entry(thread, retires - thread->other, &issue)) {
		second_anyhow(thread, load);
		return;
	}
	kind = dependence_kind(thread, load, issue);
	if (kind == DEPENDENCE_NONE)
		issue_second(thread, load, 0, issue, retires);
	else if (kind == DEPENDENCE_ONE)
		second_behind_one(thread, load, issue, retires);
	else
		second_behind_any(thread, load, issue, retires);
}

APART void
simple_anyhow(struct thread *thread, const struct block_dependence *load, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	const uint64_t retires = core_time(thread, load->index), issue = window_entry(thread, retires - thread->other);

	simple_behind_any(thread, load, issue, retires, cache_cycles, tlb_cycles);
}

INLINE void
load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	const uint64_t retires = core_time(thread, index);
	const struct block_dependence *load = dependence_at(thread, index);
	enum dependence_kind kind;
	uint64_t issue;

	if (!window_find_entry(thread, retires - thread->other, &issue)) {
		simple_anyhow(thread, load, cache_cycles, tlb_cycles);
		return;
	}
	kind = dependence_kind(thread, load, issue);
	if (kind == DEPENDENCE_NONE)
		issue_simple(thread, load, 0, issue, retires, cache_cycles, tlb_cycles);
	else if (kind == DEPENDENCE_ONE)
		simple_behind_one(thread, load, issue, retires, cache_cycles, tlb_cycles);
	else
		simple_behind_any(thread, load, issue, retires, cache_cycles, tlb_cycles);
}

static void
out_of_order_load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	load_simply(thread, index, cache_cycles, tlb_cycles);
}

/* It waits for memory, or its line takes no longer than a hit, as the schedules have it. */
APART void
load_oddly(struct thread *thread, unsigned index, const struct access_result *result)
{
	const uint64_t retires = core_time(thread, index), issue = window_entry(thread, retires - thread->other);

	thread->missed = (struct window_load){core_load_cost(thread, result), result->load_cycles};
	missed_behind_any(thread, dependence_at(thread, index), issue, retires);
}

static void
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const int64_t cache_cycles = (int64_t)result->cycles + thread->timing->level1_difference;

	if (__builtin_expect(result->wait_cycles || result->cycles == 0 || cache_cycles < 0, 0))
		load_oddly(thread, index, result);
	else
		load_simply(thread, index, (uint32_t)cache_cycles, result->tlb_cycles);
}

const struct core_ways core_out_of_order = {out_of_order_load_second, out_of_order_load_simply,
                                            out_of_order_load_missed};
