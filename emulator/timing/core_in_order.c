#include "emulator/timing/core_in_order.h"

#include <string.h>

#include "emulator/timing/core.h"
#include "emulator/timing/stall.h"

static void
wait_for(struct thread *thread, const struct load_use *load)
{
	const uint64_t now = load->user_position + thread->stall_cycles;
	const struct record_pair pair = {load->user, load->culprit};

	if (load->ready > now)
		stall_for_load(thread, &pair, load->ready - now, &load->cost);
}

/* Of those that wait, the one whose user comes first. */
static unsigned
first_waiting(const struct thread *thread)
{
	unsigned first = 0;

	for (unsigned i = 1; i < thread->waiting_count; i++)
		if (thread->waiting[i].user_index < thread->waiting[first].user_index)
			first = i;
	return first;
}

static void
remove_waiting(struct thread *thread, unsigned at)
{
	thread->waiting[at] = thread->waiting[--thread->waiting_count];
	thread->first_user = BLOCK_NOT_USED;
	if (thread->waiting_count)
		thread->first_user = thread->waiting[first_waiting(thread)].user_index;
}

void
in_order_reset(struct thread *thread)
{
	thread->waiting_count = 0;
	thread->first_user = BLOCK_NOT_USED;
}

void
in_order_settle_some(struct thread *thread, unsigned index)
{
	while (thread->first_user <= index) {
		const unsigned first = first_waiting(thread);
		const struct load_use load = thread->waiting[first];

		remove_waiting(thread, first);
		wait_for(thread, &load);
	}
}

/* Whether the block reads or writes a register of the load. */
static bool
is_needed(const struct load_use *load, const struct block *block)
{
	return (load->registers[0] != REGISTER_NONE && block_mentions(block, load->registers[0])) ||
	       (load->registers[1] != REGISTER_NONE && block_mentions(block, load->registers[1]));
}

/* The block that runs needs it; it began at `begin`. */
static void
add_user(struct thread *thread, struct load_use *load, uint64_t begin)
{
	const struct variant *variant = &thread->edge->variant;
	uint16_t reader = BLOCK_NOT_USED;

	for (unsigned i = 0; i < 2; i++) {
		if (load->registers[i] != REGISTER_NONE) {
			const uint16_t first = block_first_reader(variant->block, load->registers[i]);

			reader = first < reader ? first : reader;
		}
	}
	load->user = variant->block->first + reader;
	load->user_index = reader;
	load->user_position = begin - thread->stall_cycles + variant->issue_cycles[reader];
	if (reader < thread->first_user)
		thread->first_user = reader;
}

void
in_order_begin_block(struct thread *thread)
{
	const uint64_t cycles = thread->edge->variant.cycles;
	uint64_t begin;

	if (thread->first_user != BLOCK_NOT_USED) { /* those wait before the block begins */
		thread_pass(thread, 0 - cycles);
		in_order_settle_some(thread, BLOCK_INSTRUCTIONS_MAX);
		thread_pass(thread, cycles);
	}
	begin = thread_clock(thread) - cycles;
	for (unsigned i = 0; i < thread->waiting_count;) {
		struct load_use *load = &thread->waiting[i];

		if (is_needed(load, thread->edge->variant.block))
			add_user(thread, load, begin);
		else if (load->ready <= begin) { /* it came, and nobody waits for it */
			*load = thread->waiting[--thread->waiting_count];
			continue;
		}
		i++;
	}
}

/* When the load may be issued: as many as may be in flight are, and it waits for the first of them to be done. */
static uint64_t
wait_for_turn(struct thread *thread, uint32_t number, uint64_t issue)
{
	const uint64_t turn = core_mshr_free_at(thread);

	if (turn <= issue)
		return issue;
	stall_add(thread, number, number, REASON_DATA_CACHE, turn - issue);
	return turn;
}

static unsigned
first_ready(const struct thread *thread)
{
	unsigned first = 0;

	for (unsigned i = 1; i < thread->waiting_count; i++)
		if (thread->waiting[i].ready < thread->waiting[first].ready)
			first = i;
	return first;
}

/* Its value is waited for later. */
static void
begin_waiting(struct thread *thread, const struct block_instruction *instruction, uint32_t number, uint64_t ready,
              const struct load_cost *cost)
{
	struct load_use *load;

	if (thread->waiting_count == THREAD_HISTORY) /* full: the load whose value comes first is forgotten */
		remove_waiting(thread, first_ready(thread));
	load = &thread->waiting[thread->waiting_count++];
	load->ready = ready;
	load->culprit = number;
	load->cost = *cost;
	memcpy(load->registers, instruction->load_registers, sizeof(load->registers));
	load->user_index = instruction->use;
	if (instruction->use != BLOCK_NOT_USED) {
		load->user = thread->edge->variant.block->first + instruction->use;
		load->user_position = core_time(thread, instruction->use) - thread->stall_cycles;
		if (instruction->use < thread->first_user)
			thread->first_user = instruction->use;
	}
	thread_expire_limit(thread);
}

void
in_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct block *block = thread->edge->variant.block;
	const struct block_instruction *instruction = &block->instructions[index];
	const uint64_t asked = thread_clock(thread);
	struct load_cost cost = core_load_cost(thread, result);
	uint64_t issue, ready, used;

	in_order_settle(thread, index);
	issue = wait_for_turn(thread, block->first + index, core_time(thread, index));
	core_issue_later(&cost, result->load_cycles, asked, issue);
	ready = issue + thread->load_cycles + core_cycles(&cost);
	core_mshr_allocate(thread, ready);
	if (!instruction->is_used_first || thread->waiting_count) {
		begin_waiting(thread, instruction, block->first + index, ready, &cost);
		return;
	}
	used = core_time(thread, instruction->use);
	if (ready > used)
		load_stall(thread, &thread->edge->code->load_stalls[index], ready - used, &cost);
}
