/*
 * Out of order: what is in the window was begun earlier. See core.h.
 *
 * Without stalls an instruction enters the window when the one that is a window before it retires: `lead` cycles of the
 * static clock before it retires itself. Stalls since then were not in its way: that is how misses overlap.
 *
 * What a load that missed goes through is several functions, each of which goes on in the next one, so that none has
 * registers to save for what is not usual. Each is there for a load that level 2 serves, as most are, and for others,
 * of which the thread has what they take (`missed`).
 */
#include "emulator/timing/core.h"
#include "emulator/timing/dependence_usual.h"
#include "emulator/timing/load_stall.h"

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
}

/*
 * The first stall, of those that are remembered, that came when what was at `position` had retired already. It is the
 * last one that was found or one of the next two, and nobody can foresee which: the host has no branch for it.
 */
INLINE const struct past_stall *
first_stall_behind(struct thread *thread, uint64_t position)
{
	struct past_stall *stall = thread->found_stall;

	stall = stall->on[stall->position <= position];
	stall = stall->on[stall->position <= position];
	while (__builtin_expect(stall->position <= position, 0))
		stall = stall->on[1];
	while (__builtin_expect(stall->before > position, 0))
		stall = stall->back;
	return thread->found_stall = stall;
}

/* When the instruction entered the window that retires at `position` of the static clock. */
INLINE uint64_t
entry_time(struct thread *thread, uint64_t position)
{
	const uint64_t lead = thread->variant->lead, entered = position > lead ? position - lead : 0;
	const struct past_stall *stall = first_stall_behind(thread, entered);
	const uint64_t time = entered + (stall->other < thread->other ? stall->other : thread->other);
	const uint64_t behind = position - thread->front_position;
	const uint64_t refilled = (thread->front_time + behind) & -(uint64_t)((int64_t)behind < (int64_t)lead);

	return time > refilled ? time : refilled;
}

INLINE const struct block_dependence *
dependence_at(const struct thread *thread, unsigned index)
{
	return &thread->variant->block->dependences[index];
}

/* The load is done when all before it has retired, and has to be waited for: at `retires`. */
INLINE struct load_stall *
begin_stall(struct thread *thread, unsigned index, uint64_t retires)
{
	core_remember_stall(thread, retires - thread->other);
	return &thread_edge(thread)->code->load_stalls[index];
}

APART void
second_holds_up(struct thread *thread, unsigned index, uint64_t retires, uint64_t cycles)
{
	load_stall_for_line(thread, begin_stall(thread, index, retires), cycles);
}

APART void
missed_holds_up(struct thread *thread, unsigned index, uint64_t retires, uint64_t cycles)
{
	struct load_stall *stall = begin_stall(thread, index, retires);
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

/* It is issued at `issue`, and takes `later` cycles more than a hit. */
INLINE void
issue_load(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires, uint64_t later,
           const bool is_second)
{
	const uint64_t ready = issue + thread->load_cycles + later;

	core_flight_add(thread, ready);
	dependence_add(thread, dependence_at(thread, index), ready);
	if (ready <= retires)
		return;
	if (is_second)
		second_holds_up(thread, index, retires, ready - retires);
	else
		missed_holds_up(thread, index, retires, ready - retires);
}

INLINE void
issue_second(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires)
{
	issue_load(thread, index, turn_of(thread, issue), retires, thread->second_cycles, true);
}

INLINE void
issue_missed(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires)
{
	struct window_load *load = &thread->missed;

	issue = turn_of(thread, issue);
	core_issue_later(&load->cost, load->load_cycles, thread->clock, issue);
	issue_load(thread, index, issue, retires, core_cycles(&load->cost), false);
}

/* What its address is made of has to be looked for: when that is there. */
INLINE uint64_t
issue_behind_any(struct thread *thread, unsigned index, uint64_t issue)
{
	const uint64_t ready = dependence_ready(thread, dependence_at(thread, index), issue);

	return ready > issue ? ready : issue;
}

APART void
second_behind_any(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires)
{
	issue_second(thread, index, issue_behind_any(thread, index, issue), retires);
}

APART void
missed_behind_any(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires)
{
	issue_missed(thread, index, issue_behind_any(thread, index, issue), retires);
}

/* Its address may be made of what one that is missing brings: what was followed says so. */
INLINE uint64_t
issue_behind_one(const struct thread *thread, unsigned index, uint64_t issue)
{
	const uint64_t ready = dependence_made(&thread->dependence, dependence_at(thread, index));

	return ready > issue ? ready : issue;
}

APART void
second_behind_one(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires)
{
	if (dependence_follow(thread, issue))
		issue_second(thread, index, issue_behind_one(thread, index, issue), retires);
	else
		second_behind_any(thread, index, issue, retires);
}

APART void
missed_behind_one(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires)
{
	if (dependence_follow(thread, issue))
		issue_missed(thread, index, issue_behind_one(thread, index, issue), retires);
	else
		missed_behind_any(thread, index, issue, retires);
}

static void
out_of_order_load_second(struct thread *thread, unsigned index)
{
	const uint64_t retires = core_time(thread, index), issue = entry_time(thread, retires - thread->other);
	const enum dependence_kind kind = dependence_kind(thread, dependence_at(thread, index), issue);

	if (kind == DEPENDENCE_ONE)
		second_behind_one(thread, index, issue, retires);
	else if (kind == DEPENDENCE_NONE)
		issue_second(thread, index, issue, retires);
	else
		second_behind_any(thread, index, issue, retires);
}

/* The same of one that does not wait for memory. */
INLINE void
load_simply(struct thread *thread, unsigned index, uint64_t issue, uint64_t retires, uint32_t cache_cycles,
            uint32_t tlb_cycles)
{
	const enum dependence_kind kind = dependence_kind(thread, dependence_at(thread, index), issue);

	thread->missed.cost.cache_cycles = cache_cycles;
	thread->missed.cost.tlb_cycles = tlb_cycles;
	thread->missed.cost.wait_cycles = 0;
	if (kind == DEPENDENCE_ONE)
		missed_behind_one(thread, index, issue, retires);
	else if (kind == DEPENDENCE_NONE)
		issue_load(thread, index, turn_of(thread, issue), retires, (uint64_t)cache_cycles + tlb_cycles, false);
	else
		missed_behind_any(thread, index, issue, retires);
}

static void
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const uint64_t retires = core_time(thread, index), issue = entry_time(thread, retires - thread->other);

	if (result->wait_cycles) {
		thread->missed = (struct window_load){core_load_cost(thread, result), result->load_cycles};
		missed_behind_any(thread, index, issue, retires);
	} else {
		load_simply(thread, index, issue, retires, core_cache_cycles(thread->timing, result->cycles),
		            result->tlb_cycles);
	}
}

static void
out_of_order_load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	const uint64_t retires = core_time(thread, index), issue = entry_time(thread, retires - thread->other);

	load_simply(thread, index, issue, retires, cache_cycles, tlb_cycles);
}

const struct core_ways core_out_of_order = {out_of_order_load_second, out_of_order_load_simply,
                                            out_of_order_load_missed};
