/*
 * Out of order: what is in the window was begun earlier. See core.h.
 *
 * Without stalls an instruction enters the window when the one that is a window before it retires: `lead` cycles of the
 * static clock before it retires itself. Stalls since then were not in its way: that is how misses overlap.
 *
 * The usual load calls nobody on the way, and so has nothing to save: where it is another, nothing has changed that
 * matters, and load_slowly() does it from the beginning.
 */
#include "emulator/timing/core.h"
#include "emulator/timing/dependence_usual.h"

void
core_forget_stalls(struct thread *thread)
{
	for (unsigned i = 0; i < THREAD_STALLS; i++)
		thread->stalls[i] = (struct past_stall){.next = &thread->stalls[(i + 1) % THREAD_STALLS]};
	thread->oldest_stall = &thread->stalls[0];
	thread->next_stall = thread->found_stall = &thread->stalls[THREAD_HISTORY];
	thread->next_stall->position = thread->next_stall->other = UINT64_MAX;
}

static inline bool
is_first_behind(const struct past_stall *stall, uint64_t position)
{
	return stall->position > position && stall->before <= position;
}

/*
 * The first stall, of those that are remembered, that came when what was at `position` had retired already. It is the
 * last one that was found or one of the next two, and nobody can foresee which: the host has no branch for it.
 */
static inline __attribute__((always_inline)) struct past_stall *
stall_found_near(const struct thread *thread, uint64_t position)
{
	struct past_stall *stall = thread->found_stall, *next = stall->next;

	stall = stall->position <= position ? next : stall;
	next = stall->next;
	return stall->position <= position ? next : stall;
}

/* The same wherever it is. */
static struct past_stall *
stall_found(struct thread *thread, uint64_t position)
{
	struct past_stall *stall = stall_found_near(thread, position);

	while (stall->position <= position)
		stall = stall->next;
	while (stall->before > position)
		stall = stall == thread->stalls ? stall + THREAD_STALLS - 1 : stall - 1;
	return stall;
}

/* When an instruction, at `position` of the static clock, entered the window. */
static inline __attribute__((always_inline)) uint64_t
entry_time(const struct thread *thread, const struct past_stall *stall, uint64_t entered, uint64_t position,
           uint64_t lead)
{
	const uint64_t time = entered + (stall->other < thread->other ? stall->other : thread->other);
	const uint64_t behind = position - thread->front_position;
	uint64_t refilled;

	if ((int64_t)behind >= (int64_t)lead)
		return time;
	refilled = thread->front_time + behind;
	return time > refilled ? time : refilled;
}

/* A load that missed. */
struct window_load {
	const struct block_instruction *instruction;
	uint64_t retires, position, entered; /* by itself; the same, and when it entered, on the static clock */
	uint32_t number;
};

static inline __attribute__((always_inline)) struct window_load
window_load(const struct thread *thread, unsigned index)
{
	const struct block *block = thread->variant->block;
	const uint64_t retires = core_time(thread, index), position = retires - thread->other;
	const uint64_t lead = thread->variant->lead;

	return (struct window_load){&block->instructions[index], retires, position,
	                            position > lead ? position - lead : 0, block->first + index};
}

/* It may be issued from `issue` on: it waits for its turn, and holds up retirement for what is left. */
static inline __attribute__((always_inline)) void
load_issued(struct thread *thread, const struct window_load *load, struct load_cost cost, uint32_t load_cycles,
            uint64_t issue)
{
	const uint64_t turn = core_flight_turn(thread);
	uint64_t ready;

	issue = turn > issue ? turn : issue;
	core_issue_later(&cost, load_cycles, thread->clock, issue);
	ready = issue + thread->load_cycles + core_cycles(&cost);
	core_flight_add(thread, ready);
	dependence_add(thread, load->instruction, ready);
	if (ready <= load->retires)
		return;
	core_remember_stall(thread, load->position);
	core_stall_for_load(thread, load->number, load->number, ready - load->retires, cost);
}

static __attribute__((noinline)) void
load_slowly(struct thread *thread, unsigned index, struct load_cost cost, uint32_t load_cycles)
{
	const struct window_load load = window_load(thread, index);
	uint64_t issue, ready;

	thread->found_stall = stall_found(thread, load.entered);
	issue = entry_time(thread, thread->found_stall, load.entered, load.position, thread->variant->lead);
	ready = dependence_ready(thread, load.instruction, issue);
	load_issued(thread, &load, cost, load_cycles, ready > issue ? ready : issue);
}

/* `load_cycles`: of waiting for memory, as of struct access_result. */
static inline __attribute__((always_inline)) void
load_with_cost(struct thread *thread, unsigned index, struct load_cost cost, uint32_t load_cycles)
{
	const struct window_load load = window_load(thread, index);
	struct past_stall *stall = stall_found_near(thread, load.entered);
	const uint64_t issue = entry_time(thread, stall, load.entered, load.position, thread->variant->lead);
	uint64_t ready;

	if (!__builtin_expect(is_first_behind(stall, load.entered), 1) ||
	    !dependence_usual(thread, load.instruction, issue, &ready)) {
		load_slowly(thread, index, cost, load_cycles);
		return;
	}
	thread->found_stall = stall;
	load_issued(thread, &load, cost, load_cycles, ready > issue ? ready : issue);
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
