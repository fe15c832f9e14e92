/* In order: who needs a value that is not there waits. See core.h. */
#include <string.h>

#include "emulator/timing/in_order.h"

static uint64_t
position_of(const struct thread *thread, unsigned index)
{
	return core_time(thread, index) - thread->other;
}

/* As many as may be in flight: the next one waits for the first to be done. */
static uint64_t
wait_for_room(struct thread *thread, uint32_t number, uint64_t issue)
{
	const uint64_t turn = core_flight_turn(thread);

	if (turn <= issue)
		return issue;
	thread_stall(thread, number, number, REASON_DATA_CACHE, turn - issue);
	return turn;
}

/* Nothing else is waited for before it: the wait is known at once. */
static void
wait_at_once(struct thread *thread, uint32_t number, unsigned use, uint64_t ready, struct load_cost cost)
{
	const uint64_t now = core_time(thread, use);

	if (ready > now)
		core_stall_for_load(thread, thread->edge->variant.block->first + use, number, ready - now, cost);
}

/* Its value is waited for later. It is made where it stays: the host waits for what is copied in other pieces. */
static inline __attribute__((always_inline)) void
begin_waiting(struct thread *thread, const struct block_instruction *instruction, uint32_t number, uint64_t ready,
              struct load_cost cost)
{
	struct waiting_load *load = &thread->waiting[thread->waiting_count++];

	load->ready = ready;
	load->culprit = number;
	load->cost = cost;
	memcpy(load->registers, instruction->load_registers, sizeof(load->registers));
	load->user_index = instruction->use;
	if (instruction->use != BLOCK_NOT_USED) {
		load->user = thread->edge->variant.block->first + instruction->use;
		load->user_position = position_of(thread, instruction->use);
		if (instruction->use < thread->first_user)
			thread->first_user = instruction->use;
	}
	thread_reach_limit(thread);
}

/* `load_cycles`: of waiting for memory, as of struct access_result. */
static __attribute__((noinline)) void
load_in_turn(struct thread *thread, unsigned index, struct load_cost cost, uint32_t load_cycles)
{
	const struct block *block = thread->edge->variant.block;
	const struct block_instruction *instruction = &block->instructions[index];
	const uint32_t number = block->first + index;
	const uint64_t told = thread_clock(thread);
	uint64_t issue, ready;

	waiting_settle(thread, index);
	issue = wait_for_room(thread, number, core_time(thread, index));
	core_issue_later(&cost, load_cycles, told, issue);
	ready = issue + thread->load_cycles + core_cycles(&cost);
	core_flight_add(thread, ready);
	if (instruction->is_used_first && thread->waiting_count == 0) {
		wait_at_once(thread, number, instruction->use, ready, cost);
		return;
	}
	if (thread->waiting_count == THREAD_HISTORY) /* the oldest is the one that is done first */
		waiting_remove(thread, 0);
	begin_waiting(thread, instruction, number, ready, cost);
}

/* Its value is waited for later, or others are: if none of those before it, and there is room, straight on. */
__attribute__((noinline)) void
in_order_load_among_others(struct thread *thread, unsigned index, uint64_t cache_cycles, uint64_t tlb_cycles)
{
	const struct load_cost cost = {.cache_cycles = (uint32_t)cache_cycles, .tlb_cycles = (uint32_t)tlb_cycles};
	const struct block *block = thread->edge->variant.block;
	const struct block_instruction *instruction = &block->instructions[index];
	const uint64_t issue =
		thread_clock(thread) + (uint64_t)(int64_t)variant_load(&thread->edge->variant, index)->issue;
	const uint64_t ready = issue + thread->load_cycles + cache_cycles + tlb_cycles;

	if (thread->first_user <= index || core_flight_turn(thread) > issue ||
	    thread->waiting_count == THREAD_HISTORY || (thread->waiting_count == 0 && instruction->is_used_first)) {
		load_in_turn(thread, index, cost, 0);
		return;
	}
	core_flight_add(thread, ready);
	begin_waiting(thread, instruction, block->first + index, ready, cost);
}

static void
in_order_load_second(struct thread *thread, unsigned index)
{
	in_order_load(thread, index, thread->second_cycles, 0);
}

static void
in_order_load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	in_order_load(thread, index, cache_cycles, tlb_cycles);
}

static void
in_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct load_cost cost = core_load_cost(thread, result);

	if (__builtin_expect(cost.wait_cycles, 0))
		load_in_turn(thread, index, cost, result->load_cycles);
	else
		in_order_load(thread, index, cost.cache_cycles, cost.tlb_cycles);
}

const struct core_ways core_in_order = {in_order_load_second, in_order_load_simply, in_order_load_missed};
