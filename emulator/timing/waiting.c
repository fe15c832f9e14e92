#include "emulator/timing/core.h"

static void
wait_for(struct thread *thread, const struct waiting_load *load)
{
	const uint64_t now = load->user_position + thread->other;

	if (load->ready > now)
		core_stall_for_load(thread, load->user, load->culprit, load->ready - now, load->cost);
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

void
waiting_remove(struct thread *thread, unsigned at)
{
	thread->waiting[at] = thread->waiting[--thread->waiting_count];
	thread->first_user = BLOCK_NOT_USED;
	if (thread->waiting_count)
		thread->first_user = thread->waiting[first_waiting(thread)].user_index;
}

/* Of several. */
static void
settle_several(struct thread *thread, unsigned index)
{
	while (thread->first_user <= index) {
		const unsigned first = first_waiting(thread);
		const struct waiting_load load = thread->waiting[first];

		waiting_remove(thread, first);
		wait_for(thread, &load);
	}
}

void
waiting_forget(struct thread *thread)
{
	thread->waiting_count = 0;
	thread->first_user = BLOCK_NOT_USED;
}

__attribute__((noinline)) void
waiting_settle_some(struct thread *thread, unsigned index)
{
	if (thread->waiting_count > 1) {
		settle_several(thread, index);
		return;
	}
	waiting_forget(thread);
	wait_for(thread, &thread->waiting[0]);
}

/* From which instruction on the block needs a register of the load. */
static uint16_t
first_reader(const struct block *block, const struct waiting_load *load)
{
	uint16_t first = BLOCK_NOT_USED;

	for (unsigned i = 0; i < 2; i++) {
		uint16_t reader = BLOCK_NOT_USED;

		if (load->registers[i] != REGISTER_NONE)
			reader = block_first_reader(block, load->registers[i]);
		if (reader < first)
			first = reader;
	}
	return first;
}

__attribute__((noinline)) void
waiting_add_user(struct thread *thread, struct waiting_load *load, uint64_t begin)
{
	const struct variant *variant = &thread->edge->variant;
	const uint16_t reader = first_reader(variant->block, load);

	load->user = variant->block->first + reader;
	load->user_index = reader;
	load->user_position = begin - thread->other + variant->issue_cycles[reader];
	if (reader < thread->first_user)
		thread->first_user = reader;
}

/* It needs some; of the rest, nobody waits for what came. */
static void
find_users(struct thread *thread, uint64_t begin)
{
	for (unsigned i = 0; i < thread->waiting_count;) {
		struct waiting_load *load = &thread->waiting[i];

		if (waiting_is_needed(load, thread->edge->variant.block))
			waiting_add_user(thread, load, begin);
		else if (load->ready <= begin) {
			*load = thread->waiting[--thread->waiting_count];
			continue;
		}
		i++;
	}
}

bool
waiting_settle_plainly(struct thread *thread)
{
	const struct waiting_load *load = &thread->waiting[0];
	const uint64_t now = load->user_position + thread->other, cycles = load->ready - now;
	const bool is_for_line = core_waits_for_line(&load->cost, cycles);

	if (load->ready > now && ((!is_for_line && !core_waits_for_page(&load->cost, cycles)) ||
	                          !stall_plainly(thread, load->user, load->culprit,
	                                         is_for_line ? REASON_DATA_CACHE : REASON_DATA_TLB, cycles)))
		return false;
	waiting_forget(thread);
	return true;
}

void
waiting_begin_block(struct thread *thread)
{
	const uint64_t cycles = thread->edge->variant.cycles;

	if (thread->first_user != BLOCK_NOT_USED) {
		thread_pass(thread, 0 - cycles);
		waiting_settle_some(thread, BLOCK_INSTRUCTIONS_MAX);
		thread_pass(thread, cycles);
	}
	find_users(thread, thread_clock(thread) - cycles);
}
