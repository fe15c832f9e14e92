/*
 * Out of order: what is in the window was begun earlier. See core.h.
 *
 * Without stalls an instruction enters the window when the one that is a window before it retires: `lead` cycles of the
 * static clock before it retires itself. Stalls since then were not in its way: that is how misses overlap.
 */
#include "emulator/timing/core.h"

/* How long the window lasts at the speed of the block that runs. */
static uint32_t
lead_of(const struct thread *thread)
{
	const struct variant *variant = thread->variant;
	const uint32_t lead = thread->timing->setup->pipeline.window * variant->cycles / variant->block->count;

	return lead > thread->timing->lead_cycles ? lead : thread->timing->lead_cycles;
}

static uint64_t
entry_time(const struct thread *thread, uint64_t position, uint64_t lead)
{
	const uint64_t entered = position > lead ? position - lead : 0;
	const uint32_t count = thread->stall_count;
	uint64_t other = thread->other, time;

	for (uint32_t i = 1; i <= count && i <= THREAD_HISTORY; i++) {
		const struct past_stall *stall = &thread->stalls[(count - i) % THREAD_HISTORY];

		if (stall->position <= entered)
			break;
		other -= stall->cycles;
	}
	time = entered + other;
	if (position < thread->front_position + lead) {
		const uint64_t refilled = thread->front_time + (position - thread->front_position);

		time = time > refilled ? time : refilled;
	}
	return time;
}

/* The load `number` of a block that was executed as `sequence`, if it missed: when it is done. 0: it did not. */
static uint64_t
missing_until(const struct thread *thread, uint32_t sequence, unsigned number, uint64_t since)
{
	for (uint32_t i = 1; i <= thread->missing_count && i <= THREAD_HISTORY; i++) {
		const struct missing_load *load = &thread->missing[(thread->missing_count - i) % THREAD_HISTORY];

		if (load->position < since || (int32_t)(load->sequence - sequence) < 0)
			return 0;
		if (load->sequence == sequence && load->load == number)
			return load->ready;
	}
	return 0;
}

static const struct block_instruction *
load_of(const struct block *block, unsigned number)
{
	for (uint16_t i = 0; i < block->count; i++)
		if (block->instructions[i].load == number)
			return &block->instructions[i];
	return NULL;
}

/* Loads of one block, down to what they are made of before it. */
static uint64_t
loads_ready(const struct thread *thread, uint32_t sequence, const struct block *block, uint64_t loads, uint64_t since,
            uint64_t *live)
{
	uint64_t ready = 0;

	while (loads) {
		const unsigned number = 63 - (unsigned)__builtin_clzll(loads);
		const uint64_t until = missing_until(thread, sequence, number, since);
		const struct block_instruction *instruction = NULL;

		loads &= ~(UINT64_C(1) << number);
		if (until > ready)
			ready = until;
		if (until == 0)
			instruction = load_of(block, number);
		if (instruction) {
			loads |= instruction->address_loads & ((UINT64_C(1) << number) - 1);
			*live |= instruction->address_live;
		}
	}
	return ready;
}

/* The block that ran first of those whose loads are still missing at `issue`; false: there is none. */
static bool
find_oldest(const struct thread *thread, uint64_t issue, uint64_t since, uint32_t *sequence)
{
	const uint32_t count = thread->missing_count;
	bool found = false;

	for (uint32_t i = 1; i <= count && i <= THREAD_HISTORY; i++) {
		const struct missing_load *load = &thread->missing[(count - i) % THREAD_HISTORY];

		if (load->position < since)
			break;
		if (load->ready > issue) {
			*sequence = load->sequence;
			found = true;
		}
	}
	return found;
}

/* What registers behind the block are made of: loads of it, and registers before it. */
static uint64_t
follow_registers(const struct block *block, uint64_t registers, uint64_t *loads)
{
	uint64_t before = registers & ~block->writes;

	*loads = 0;
	for (uint64_t left = registers & block->writes; left; left &= left - 1) {
		uint64_t made_of, live;

		block_origin(block, (unsigned)__builtin_ctzll(left), &made_of, &live);
		*loads |= made_of;
		before |= live;
	}
	return before;
}

/* When all that the address of instruction `index` is made of is there; 0: it was before `issue`. */
static uint64_t
address_ready(const struct thread *thread, unsigned index, uint64_t issue, uint64_t since)
{
	const struct block *block = thread->variant->block;
	const struct block_instruction *instruction = &block->instructions[index];
	uint64_t loads = instruction->address_loads, live = instruction->address_live, ready = 0;
	uint32_t sequence = thread->sequence, oldest;

	if (!(loads | live) || !find_oldest(thread, issue, since, &oldest))
		return 0;
	for (;;) {
		if (loads) {
			const uint64_t until = loads_ready(thread, sequence, block, loads, since, &live);

			ready = until > ready ? until : ready;
		}
		if (!live || sequence == oldest || thread->sequence - sequence >= THREAD_HISTORY - 1)
			return ready;
		sequence--;
		block = thread->history[sequence % THREAD_HISTORY]->block;
		live = follow_registers(block, live, &loads);
	}
}

void
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct timing *timing = thread->timing;
	const struct block *block = thread->variant->block;
	const uint64_t extra = core_extra_cycles(thread, result);
	const uint64_t retires = core_time(thread, index), position = retires - thread->other;
	const uint64_t lead = lead_of(thread), since = position > lead ? position - lead : 0;
	const uint32_t number = block->first + index, count = thread->in_flight_count;
	uint64_t issue = entry_time(thread, position, lead), ready;

	if (thread->missing_until > issue) {
		ready = address_ready(thread, index, issue, since);
		issue = ready > issue ? ready : issue;
	}
	if (count >= timing->misses_in_flight &&
	    thread->in_flight[(count - timing->misses_in_flight) % THREAD_HISTORY] > issue)
		issue = thread->in_flight[(count - timing->misses_in_flight) % THREAD_HISTORY];
	ready = issue + timing->load_cycles + extra;
	thread->in_flight[thread->in_flight_count++ % THREAD_HISTORY] = ready;
	if (ready > thread->missing_until)
		thread->missing_until = ready;
	thread->missing[thread->missing_count++ % THREAD_HISTORY] = (struct missing_load){
		.position = position,
		.ready = ready,
		.sequence = thread->sequence,
		.load = block->instructions[index].load,
	};
	if (ready <= retires)
		return;
	core_stall_for_load(thread, number, number, ready - retires, extra - result->wait_cycles - result->tlb_cycles,
	                    result->wait_cycles);
	thread->stalls[thread->stall_count++ % THREAD_HISTORY] = (struct past_stall){position, ready - retires};
}
