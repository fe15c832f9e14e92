/* In order: who needs a value that is not there waits. See core.h. */
#include "emulator/timing/core.h"
#include "emulator/timing/load_stall.h"

static uint64_t
position_of(const struct thread *thread, unsigned index)
{
	return core_time(thread, index) - thread->other;
}

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

/* Of several. */
static __attribute__((noinline)) void
settle_several(struct thread *thread, unsigned index)
{
	while (thread->waiting_count) {
		const unsigned first = first_waiting(thread);
		const struct waiting_load load = thread->waiting[first];

		if (load.user_index > index)
			return;
		thread->waiting[first] = thread->waiting[--thread->waiting_count];
		wait_for(thread, &load);
	}
}

/* Those whose user is at `index` of the block that runs, or before; there are some that wait. */
static inline void
settle_up_to(struct thread *thread, unsigned index)
{
	if (thread->waiting_count > 1) {
		settle_several(thread, index);
	} else if (thread->waiting[0].user_index <= index) {
		thread->waiting_count = 0;
		wait_for(thread, &thread->waiting[0]);
	}
}

void
core_settle(struct thread *thread)
{
	if (thread->waiting_count)
		settle_up_to(thread, BLOCK_INSTRUCTIONS_MAX);
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
		core_stall_for_load(thread, thread->variant->block->first + use, number, ready - now, cost);
}

/* Its value is waited for later. It is made where it stays: the host waits for what is copied in other pieces. */
static void
begin_waiting(struct thread *thread, const struct block_instruction *instruction, uint32_t number, uint64_t ready,
              struct load_cost cost)
{
	struct waiting_load *load;

	if (thread->waiting_count == THREAD_HISTORY) /* the oldest is the one that is done first */
		thread->waiting[0] = thread->waiting[--thread->waiting_count];
	load = &thread->waiting[thread->waiting_count++];
	load->ready = ready;
	load->culprit = number;
	load->cost = cost;
	load->registers[0] = instruction->load_registers[0];
	load->registers[1] = instruction->load_registers[1];
	load->user_index = instruction->use;
	if (instruction->use != BLOCK_NOT_USED) {
		load->user = thread->variant->block->first + instruction->use;
		load->user_position = position_of(thread, instruction->use);
	}
	thread->limit = 0;
}

/* `load_cycles`: of waiting for memory, as of struct access_result. */
static __attribute__((noinline)) void
load_among_others(struct thread *thread, unsigned index, struct load_cost cost, uint32_t load_cycles)
{
	const struct block *block = thread->variant->block;
	const struct block_instruction *instruction = &block->instructions[index];
	const uint32_t number = block->first + index;
	const uint64_t told = thread->clock;
	uint64_t issue, ready;

	if (thread->waiting_count)
		settle_up_to(thread, index);
	issue = wait_for_room(thread, number, core_time(thread, index));
	core_issue_later(&cost, load_cycles, told, issue);
	ready = issue + thread->load_cycles + core_cycles(&cost);
	core_flight_add(thread, ready);
	if (instruction->is_used_first && thread->waiting_count == 0)
		wait_at_once(thread, number, instruction->use, ready, cost);
	else
		begin_waiting(thread, instruction, number, ready, cost);
}

/* The same straight on: nothing else waits or is waited for, which is the usual. */
static inline __attribute__((always_inline)) void
load_simply(struct thread *thread, unsigned index, const uint32_t cache_cycles, const uint32_t tlb_cycles)
{
	const struct variant_load load = *variant_load(thread->variant, index);
	struct load_stall *stall = &thread_edge(thread)->code->load_stalls[index];
	const uint64_t issue = thread->clock + (uint64_t)(int64_t)load.issue;
	const uint64_t later = (uint64_t)cache_cycles + tlb_cycles;
	const int64_t cycles = load.wait + (int64_t)later;

	if (load.wait == VARIANT_WAITS_LATER || thread->waiting_count || core_flight_turn(thread) > issue) {
		load_among_others(thread, index,
		                  (struct load_cost){.cache_cycles = cache_cycles, .tlb_cycles = tlb_cycles}, 0);
		return;
	}
	core_flight_add(thread, issue + thread->load_cycles + later);
	if (cycles <= 0)
		return;
	if (tlb_cycles == 0 || (uint64_t)cycles <= cache_cycles) {
		load_stall_for_line(thread, stall, (uint64_t)cycles);
	} else {
		const uint64_t most = (uint64_t)cycles - cache_cycles,
			       translating = most < tlb_cycles ? most : tlb_cycles;

		load_stall_for_page(thread, stall, (uint64_t)cycles - translating, translating);
	}
}

static void
in_order_load_second(struct thread *thread, unsigned index)
{
	load_simply(thread, index, thread->second_cycles, 0);
}

static void
in_order_load_simply(struct thread *thread, unsigned index, uint32_t cache_cycles, uint32_t tlb_cycles)
{
	load_simply(thread, index, cache_cycles, tlb_cycles);
}

static void
in_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct load_cost cost = core_load_cost(thread, result);

	if (cost.wait_cycles)
		load_among_others(thread, index, cost, result->load_cycles);
	else
		load_simply(thread, index, cost.cache_cycles, cost.tlb_cycles);
}

const struct core_ways core_in_order = {in_order_load_second, in_order_load_simply, in_order_load_missed};

/* Whether the block that begins needs a register of the load, and from which instruction on. */
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

/* The block that begins, at the clock, needs some of what is waited for; of the rest, nobody waits for what came. */
static inline void
find_users(struct thread *thread)
{
	const struct variant *variant = thread->variant;
	const struct block *block = variant->block;

	for (unsigned i = 0; i < thread->waiting_count;) {
		struct waiting_load *load = &thread->waiting[i];
		const uint16_t reader = first_reader(block, load);

		if (reader != BLOCK_NOT_USED) {
			load->user = block->first + reader;
			load->user_index = reader;
			load->user_position = thread->clock - thread->other + variant->issue_cycles[reader];
		} else if (load->ready <= thread->clock) {
			*load = thread->waiting[--thread->waiting_count];
			continue;
		}
		i++;
	}
}

void
core_begin_block(struct thread *thread)
{
	const uint64_t cycles = thread->variant->cycles;

	thread->clock -= cycles;
	settle_up_to(thread, BLOCK_INSTRUCTIONS_MAX);
	find_users(thread);
	thread->clock += cycles;
}
