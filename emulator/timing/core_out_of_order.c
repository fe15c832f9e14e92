/*
 * Out of order: what is in the window was begun earlier. See core.h.
 *
 * Without stalls an instruction enters the window when the one that is a window before it retires: `lead` cycles of the
 * static clock before it retires itself. Stalls since then were not in its way: that is how misses overlap.
 */
#include "emulator/timing/core.h"

void
core_forget_stalls(struct thread *thread)
{
	thread->stall_count = thread->stall_found = THREAD_HISTORY;
	for (unsigned i = 0; i < THREAD_STALLS; i++)
		thread->stalls[i] = (struct past_stall){.position = i < THREAD_HISTORY ? 0 : UINT64_MAX};
}

static inline bool
is_stall_before(const struct thread *thread, uint32_t at, uint64_t position)
{
	return thread->stalls[at % THREAD_STALLS].position <= position;
}

/*
 * The first stall, of those that are remembered, that came when what was at `position` had retired already. It is the
 * last one that was found or one of the next two, and nobody can foresee which: the host has no branch for it.
 */
static inline uint32_t
first_stall_behind(struct thread *thread, uint64_t position)
{
	const uint32_t oldest = thread->stall_count - THREAD_HISTORY;
	uint32_t at = thread->stall_found < oldest ? oldest : thread->stall_found;
	const bool one = is_stall_before(thread, at, position);

	at += one + (one & is_stall_before(thread, at + 1, position));
	while (is_stall_before(thread, at, position))
		at++;
	while (at > oldest && !is_stall_before(thread, at - 1, position))
		at--;
	thread->stall_found = at;
	return at;
}

static inline __attribute__((always_inline)) uint64_t
entry_time(struct thread *thread, uint64_t position, uint64_t lead)
{
	const uint64_t entered = position > lead ? position - lead : 0;
	const uint32_t stall = first_stall_behind(thread, entered);
	const uint64_t time =
		entered + (stall == thread->stall_count ? thread->other : thread->stalls[stall % THREAD_STALLS].other);
	const int64_t behind = (int64_t)(position - thread->front_position);
	const uint64_t refilled = behind < (int64_t)lead ? thread->front_time + (uint64_t)behind : 0;

	return time > refilled ? time : refilled;
}

/* `load_cycles`: of waiting for memory, as of struct access_result. */
static inline __attribute__((always_inline)) void
load_with_cost(struct thread *thread, unsigned index, struct load_cost cost, uint32_t load_cycles)
{
	const struct block *block = thread->variant->block;
	const uint64_t retires = core_time(thread, index), position = retires - thread->other;
	const uint32_t number = block->first + index;
	uint64_t issue = entry_time(thread, position, thread->variant->lead);
	uint64_t ready = dependence_ready(thread, index, issue);

	issue = ready > issue ? ready : issue;
	issue = core_flight_turn(thread) > issue ? core_flight_turn(thread) : issue;
	core_issue_later(&cost, load_cycles, thread->clock, issue);
	ready = issue + thread->load_cycles + core_cycles(&cost);
	core_flight_add(thread, ready);
	dependence_add(thread, index, ready);
	if (ready <= retires)
		return;
	core_remember_stall(thread, position);
	core_stall_for_load(thread, number, number, ready - retires, cost);
}

static void
out_of_order_load_second(struct thread *thread, unsigned index)
{
	load_with_cost(thread, index, (struct load_cost){.cache_cycles = thread->second_cycles}, 0);
}

static void
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	load_with_cost(thread, index, core_load_cost(thread, result), result->load_cycles);
}

static void
out_of_order_load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	load_with_cost(thread, index, (struct load_cost){.cache_cycles = cache_cycles, .tlb_cycles = tlb_cycles}, 0);
}

const struct core_ways core_out_of_order = {out_of_order_load_second, out_of_order_load_simply,
                                            out_of_order_load_missed};
