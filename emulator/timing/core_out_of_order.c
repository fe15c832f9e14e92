#include "emulator/timing/core_out_of_order.h"

#include <string.h>

#include "emulator/timing/core.h"
#include "emulator/timing/stall.h"

/* ---- stalls that are remembered ---- */

void
out_of_order_reset(struct thread *thread)
{
	for (unsigned i = 0; i < THREAD_STALLS; i++)
		thread->stalls[i] = (struct past_stall){
			.on = {&thread->stalls[i], &thread->stalls[(i + 1) % THREAD_STALLS]},
			.back = &thread->stalls[(i + THREAD_STALLS - 1) % THREAD_STALLS],
		};
	thread->oldest_stall = &thread->stalls[0];
	thread->next_stall = thread->found_stall = &thread->stalls[THREAD_HISTORY];
	thread->next_stall->position = thread->next_stall->stall_cycles = UINT64_MAX;
}

void
out_of_order_record_stall(struct thread *thread, uint64_t position)
{
	struct past_stall *stall = thread->next_stall, *next = stall->on[1], *oldest = thread->oldest_stall;

	stall->position = position;
	stall->stall_cycles = thread->stall_cycles;
	next->position = UINT64_MAX;
	next->before = position;
	next->stall_cycles = UINT64_MAX;
	thread->next_stall = next;
	oldest->position = 0;
	oldest->on[1]->before = 0;
	thread->oldest_stall = oldest->on[1];
}

void
out_of_order_restart_frontend(struct thread *thread)
{
	thread->frontend_position = thread_clock(thread) - thread->stall_cycles;
	thread->frontend_stall_cycles = thread->stall_cycles;
}

/*
 * The first stall, of those that are remembered, that came when what was at `position` had retired already. It is the
 * last one found or the next one; host branch prediction cannot learn which, so it is selected without a branch.
 */
static inline const struct past_stall *
stall_behind(struct thread *thread, uint64_t position)
{
	struct past_stall *stall = thread->found_stall;

	stall = stall->on[stall->position <= position];
	while (__builtin_expect(stall->position <= position, 0))
		stall = stall->on[1];
	while (__builtin_expect(stall->before > position, 0))
		stall = stall->back;
	return thread->found_stall = stall;
}

/* When the instruction entered the reorder buffer that retires at `position` of the static clock. */
static inline uint64_t
entry_time(struct thread *thread, uint64_t position)
{
	const uint64_t lead = thread->edge->variant.lead, entered = position > lead ? position - lead : 0;
	const struct past_stall *stall = stall_behind(thread, entered);
	const uint64_t time =
		entered + (stall->stall_cycles < thread->stall_cycles ? stall->stall_cycles : thread->stall_cycles);
	const bool is_refilled = position < lead + thread->frontend_position; /* the front end began anew meanwhile */
	const uint64_t refilled = is_refilled ? position + thread->frontend_stall_cycles : 0;

	return time > refilled ? time : refilled;
}

/* ---- loads whose addresses are made of what other missing loads bring ---- */

void
dependence_reset(struct dependence *dependence, uint32_t sequence)
{
	dependence->until = 0;
	dependence->registers = 0;
	dependence->followed = sequence;
	dependence->count = 0;
}

/* Registers `reached` wait until `ready`; `behind`: those that wait already. Returns all that do. */
static inline uint32_t
propagate(struct dependence *dependence, uint32_t behind, uint32_t reached, uint64_t ready, uint64_t issue)
{
	if (ready <= issue)
		return behind;
	for (uint32_t left = reached; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctz(left);

		if (!(behind >> reg & 1) || dependence->ready[reg] < ready)
			dependence->ready[reg] = ready;
	}
	return behind | reached;
}

/* Block `followed` was executed: which registers wait behind it. */
static void
follow_block(struct dependence *dependence, const struct block *block, uint64_t issue)
{
	const uint32_t sequence = dependence->followed++;
	uint64_t ready[DEPENDENCE_REGISTERS];
	uint32_t behind = 0, waiting = dependence->registers & (uint32_t)block->live_in;
	unsigned first = 0;

	for (uint32_t left = waiting; left; left &= left - 1)
		ready[__builtin_ctz(left)] = dependence->ready[__builtin_ctz(left)];
	for (uint32_t left = waiting; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctz(left);

		behind = propagate(dependence, behind, block->reaches[reg], ready[reg], issue);
	}
	for (; first < dependence->count && dependence->missing[first].sequence == sequence; first++)
		behind = propagate(dependence, behind, dependence->missing[first].load->reaches,
		                   dependence->missing[first].ready, issue);
	if (first) {
		dependence->count -= first;
		memmove(dependence->missing, dependence->missing + first,
		        dependence->count * sizeof(*dependence->missing));
	}
	dependence->registers = (dependence->registers & block->keeps) | behind;
}

/* When all is there that the address of the load, of the block that runs, is made of; 0: before `issue`. */
static uint64_t
address_ready(struct thread *thread, const struct block_dependence *load, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;
	uint64_t ready = 0;

	if (dependence->until <= issue) {
		dependence_reset(dependence, thread->sequence);
		return 0;
	}
	if (!(load->address_loads | load->address_live))
		return 0;
	if (thread->sequence - dependence->followed >= THREAD_HISTORY || dependence->count > DEPENDENCE_MISSING) {
		const uint64_t until = dependence->until; /* what is not known any more is ready */

		dependence_reset(dependence, thread->sequence);
		dependence->until = until;
	}
	while (dependence->followed != thread->sequence)
		follow_block(dependence, thread->history[dependence->followed % THREAD_HISTORY]->variant.block, issue);
	for (uint32_t left = load->address_live & dependence->registers; left; left &= left - 1) {
		const uint64_t until = dependence->ready[(size_t)__builtin_ctz(left)];

		ready = until > ready ? until : ready;
	}
	for (uint32_t i = 0; i < dependence->count; i++) {
		const struct missing_load *missing = &dependence->missing[i];
		const unsigned place = missing->load->load;

		if (place < 64 && load->address_loads >> place & 1 && missing->ready > ready)
			ready = missing->ready;
	}
	return ready;
}

/* The load, for which that was asked, is missing until `ready`. */
static void
add_missing(struct thread *thread, const struct block_dependence *load, uint64_t ready)
{
	struct dependence *dependence = &thread->dependence;

	if (dependence->count == 0)
		dependence->followed = thread->sequence;
	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->missing[dependence->count++ % DEPENDENCE_MISSING] = (struct missing_load){
		.ready = ready,
		.load = load,
		.sequence = thread->sequence,
	};
}

/* ---- a load ---- */

void
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct block_dependence *load = &thread->edge->variant.block->dependences[index];
	const uint64_t retires = core_time(thread, index), position = retires - thread->stall_cycles;
	const uint64_t turn = core_mshr_free_at(thread);
	struct load_cost cost = core_load_cost(thread, result);
	uint64_t issue = entry_time(thread, position), ready = address_ready(thread, load, issue);

	issue = ready > issue ? ready : issue;
	issue = turn > issue ? turn : issue;
	core_issue_later(&cost, result->load_cycles, thread_clock(thread), issue);
	ready = issue + thread->load_cycles + core_cycles(&cost);
	core_mshr_allocate(thread, ready);
	add_missing(thread, load, ready);
	if (ready <= retires)
		return;
	out_of_order_record_stall(thread, position);
	load_stall(thread, &thread->edge->code->load_stalls[index], ready - retires, &cost);
}
