#include "emulator/timing/core.h"

#include <string.h>

#include "emulator/model/hit_filter.h"
#include "emulator/timing/sample.h"

/* ---- what a load that missed costs, and when it may be in flight ---- */

/* What a load that missed takes beyond a hit, as the schedules have it. */
static struct load_cost
load_cost_of(const struct thread *thread, const struct access_result *result)
{
	const int64_t more = (int64_t)result->cycles + thread->timing->level1_difference;

	return (struct load_cost){
		.cache_cycles = result->cycles == 0 || more < 0 ? 0 : (uint32_t)more,
		.tlb_cycles = result->tlb_cycles,
		.wait_cycles = result->wait_cycles,
		.is_transfer = result->transfer != TRANSFER_NONE,
	};
}

static inline uint64_t
cycles_of(const struct load_cost *cost)
{
	return (uint64_t)cost->cache_cycles + cost->tlb_cycles + cost->wait_cycles;
}

/*
 * Memory was asked at `asked`, and the load is issued at `issue`: when that is later, its turn comes no later for it.
 * It takes `load_cycles` longer whenever that is.
 */
static void
issue_later(struct load_cost *cost, uint32_t load_cycles, uint64_t asked, uint64_t issue)
{
	uint64_t later, left;

	if (!cost->wait_cycles)
		return;
	later = issue > asked ? issue - asked : 0;
	left = cost->wait_cycles > later ? cost->wait_cycles - later : 0;
	cost->wait_cycles = left > load_cycles ? (uint32_t)left : load_cycles;
}

void
core_reset_mshrs(struct thread *thread)
{
	const unsigned count = thread->timing->misses_in_flight;

	for (unsigned i = 0; i < count; i++)
		thread->mshrs[i] = (struct mshr){.next = &thread->mshrs[(i + 1) % count]};
	thread->oldest_mshr = &thread->mshrs[0];
}

static inline uint64_t
mshr_free_at(const struct thread *thread)
{
	return thread->oldest_mshr->ready;
}

static inline void
mshr_allocate(struct thread *thread, uint64_t ready)
{
	struct mshr *mshr = thread->oldest_mshr;

	mshr->ready = ready;
	thread->oldest_mshr = mshr->next;
}

/* ---- in order: loads in flight, and the instructions that wait for their values ---- */

static void
wait_for(struct thread *thread, const struct load_use *load)
{
	const uint64_t now = load->user_position + thread->stall_cycles;
	struct load_stall stall = load_stall_of(load->user, load->culprit);

	if (load->ready > now)
		stall_for_load(thread, &stall, load->ready - now, &load->cost);
}

static uint64_t
use_index(const struct load_use *load)
{
	return load->user_index;
}

static uint64_t
ready_time(const struct load_use *load)
{
	return load->ready;
}

/* The index in thread->waiting of the load with the least `key`. */
static inline __attribute__((always_inline)) unsigned
least_waiting(const struct thread *thread, uint64_t (*key)(const struct load_use *load))
{
	unsigned least = 0;

	for (unsigned i = 1; i < thread->waiting_count; i++)
		if (key(&thread->waiting[i]) < key(&thread->waiting[least]))
			least = i;
	return least;
}

static void
remove_waiting(struct thread *thread, unsigned at)
{
	thread->waiting[at] = thread->waiting[--thread->waiting_count];
	thread->first_user = BLOCK_NOT_USED;
	if (thread->waiting_count)
		thread->first_user = thread->waiting[least_waiting(thread, use_index)].user_index;
}

/* No value is waited for. */
static void
in_order_reset(struct thread *thread)
{
	thread->waiting_count = 0;
	thread->first_user = BLOCK_NOT_USED;
}

void
core_settle_users(struct thread *thread, unsigned index)
{
	while (thread->first_user <= index) {
		const unsigned first = least_waiting(thread, use_index);
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
core_begin_block(struct thread *thread)
{
	const uint64_t cycles = thread->edge->variant.cycles;
	uint64_t begin;

	if (thread->first_user != BLOCK_NOT_USED) { /* those wait before the block begins */
		thread_pass(thread, 0 - cycles);
		core_settle_users(thread, BLOCK_INSTRUCTIONS_MAX);
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
	const uint64_t turn = mshr_free_at(thread);

	if (turn <= issue)
		return issue;
	stall_add(thread, number, number, REASON_DATA_CACHE, turn - issue);
	return turn;
}

/* The load does not stall the core now: it waits in thread->waiting for the first instruction that uses its value. */
static void
begin_waiting(struct thread *thread, const struct block_instruction *instruction, uint32_t number, uint64_t ready,
              const struct load_cost *cost)
{
	struct load_use *load;

	if (thread->waiting_count == THREAD_HISTORY) /* full: the load whose value comes first is forgotten */
		remove_waiting(thread, least_waiting(thread, ready_time));
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

/*
 * The load itself waits for nothing but a free MSHR. Its first user waits for its value: at once when that comes before
 * any other access to memory, else when the block that runs has come to it.
 */
static uint64_t
in_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct block *block = thread->edge->variant.block;
	const struct block_instruction *instruction = &block->instructions[index];
	const uint64_t asked = thread_clock(thread);
	struct load_cost cost = load_cost_of(thread, result);
	uint64_t issue, ready, used;

	core_settle_until(thread, index);
	issue = wait_for_turn(thread, block->first + index, core_time(thread, index));
	issue_later(&cost, result->load_cycles, asked, issue);
	ready = issue + thread->load_cycles + cycles_of(&cost);
	mshr_allocate(thread, ready);
	if (!instruction->is_used_first || thread->waiting_count) {
		begin_waiting(thread, instruction, block->first + index, ready, &cost);
		return cycles_of(&cost); /* at most: how much is hidden is known later */
	}
	used = core_time(thread, instruction->use);
	if (ready <= used)
		return 0;
	stall_for_load(thread, &thread->edge->code->load_stalls[index], ready - used, &cost);
	return ready - used;
}

/* ---- out of order: stalls that are remembered ---- */

/* There was no stall yet. */
static void
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

/* A stall begins at `position` on the static clock. */
static void
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

/* Behind a stall of the front end, which is the last one: what comes now was not in the reorder buffer before. */
static void
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

/* ---- out of order: loads whose addresses are made of what other missing loads bring ---- */

/* No load is missing, as block `sequence` begins. */
static void
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

/* ---- out of order: a load ---- */

/*
 * The load is issued when it enters the reorder buffer, when its address is there, and when an MSHR is free. Without
 * stalls an instruction enters when the one that is a buffer before it retires: `lead` cycles of the static clock
 * before it retires itself. Stalls since then were not in its way: that is how misses overlap. An atomic access is
 * issued when it is the oldest, so it hides nothing.
 */
static uint64_t
out_of_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct block_dependence *load = &thread->edge->variant.block->dependences[index];
	const uint64_t retires = core_time(thread, index), position = retires - thread->stall_cycles;
	const uint64_t turn = mshr_free_at(thread);
	struct load_cost cost = load_cost_of(thread, result);
	uint64_t issue = entry_time(thread, position), ready = address_ready(thread, load, issue);

	issue = ready > issue ? ready : issue;
	issue = turn > issue ? turn : issue;
	if (thread->edge->variant.block->instructions[index].is_blocking && issue + thread->load_cycles < retires)
		issue = retires - thread->load_cycles;
	issue_later(&cost, result->load_cycles, thread_clock(thread), issue);
	ready = issue + thread->load_cycles + cycles_of(&cost);
	mshr_allocate(thread, ready);
	add_missing(thread, load, ready);
	if (ready <= retires)
		return 0;
	out_of_order_record_stall(thread, position);
	stall_for_load(thread, &thread->edge->code->load_stalls[index], ready - retires, &cost);
	return ready - retires;
}

/* ---- both ---- */

uint64_t
core_load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	if (!(thread->timing->parts & SETUP_CLOCK))
		return 0;
	if (thread->timing->is_in_order)
		return in_order_load_missed(thread, index, result);
	return out_of_order_load_missed(thread, index, result);
}

/* ---- the front end ---- */

/* Out of order, a front-end stall drains the reorder buffer, which refills behind it. */
static void
frontend_stall_pass(struct thread *thread, uint64_t cycles)
{
	const bool is_in_order = thread->timing->is_in_order;

	if (!is_in_order)
		out_of_order_record_stall(thread, thread_clock(thread) - thread->stall_cycles);
	stall_pass(thread, cycles);
	if (!is_in_order)
		out_of_order_restart_frontend(thread);
}

static void
frontend_stall(struct thread *thread, uint32_t instruction, enum record_reason reason, uint64_t cycles)
{
	if (cycles == 0)
		return;
	frontend_stall_pass(thread, cycles);
	stall_record(thread, instruction, instruction, reason, cycles);
	stall_sample(thread, instruction);
}

void
core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result)
{
	core_settle(thread);
	frontend_stall(thread, instruction, REASON_CODE_TLB, result->tlb_cycles);
	frontend_stall(thread, instruction, REASON_CODE_CACHE, result->cycles);
	frontend_stall(thread, instruction, REASON_BANDWIDTH, result->wait_cycles);
}

void
core_mispredicted(struct thread *thread, struct edge *edge)
{
	const uint32_t cycles = thread->mispredict_cycles;

	core_settle(thread);
	if (cycles == 0)
		return;
	frontend_stall_pass(thread, cycles);
	thread->record->counters.cycles[REASON_MISPREDICT] += cycles;
	stall_record_at(thread, &edge->misprediction, REASON_MISPREDICT, cycles, &edge->misprediction_at);
	stall_sample(thread, edge->misprediction.stalled);
}

void
core_stall(struct thread *thread, unsigned index, uint32_t culprit, enum record_reason reason, uint64_t cycles)
{
	if (!thread->timing->is_in_order)
		out_of_order_record_stall(thread, core_time(thread, index) - thread->stall_cycles);
	stall_add(thread, thread->edge->variant.block->first + index, culprit, reason, cycles);
}

/* ---- the write buffer ---- */

/* When the store before the last `distance` is done; 0: there were not so many. */
static uint64_t
done_before(const struct thread *thread, uint32_t distance)
{
	return thread->store_done[(thread->store_count - distance) % THREAD_STORES];
}

/*
 * Stores that hit leave it at once; those that missed wait for their lines, as many at a time as misses may be in
 * flight, and leave in their order.
 */
uint64_t
core_store_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	const struct timing *timing = thread->timing;
	const uint32_t number = thread->edge->variant.block->first + index;
	const uint32_t at = thread->store_count % THREAD_STORES;
	const uint64_t now = core_time(thread, index), before = done_before(thread, 1);
	const struct load_cost cost = load_cost_of(thread, result);
	const uint64_t done = core_store_begins(thread, index) + cycles_of(&cost);

	if (thread->store_room > now) {
		const uint32_t oldest = (thread->store_count - timing->write_buffer_entries) % THREAD_STORES;

		core_stall(thread, index, thread->store_culprits[oldest], REASON_WRITE_BUFFER,
		           thread->store_room - now);
	}
	thread->store_done[at] = done > before ? done : before;
	thread->store_culprits[at] = number;
	thread->store_count++;
	thread->store_room = done_before(thread, timing->write_buffer_entries);
	thread->store_mshr_free_at = done_before(thread, timing->misses_in_flight);
	if (done <= before || done <= now)
		return 0;
	return done - (before > now ? before : now);
}

void
core_restart(struct thread *thread)
{
	core_settle(thread);
	in_order_reset(thread);
	dependence_reset(&thread->dependence, thread->sequence);
	thread->edge = &thread->timing->nothing->edge;
	out_of_order_restart_frontend(thread);
}

void
core_begin(struct thread *thread)
{
	in_order_reset(thread);
	out_of_order_reset(thread);
	dependence_reset(&thread->dependence, thread->sequence);
	core_reset_mshrs(thread);
	memset(thread->store_done, 0, sizeof(thread->store_done));
	thread->store_count = 0;
	thread->store_room = thread->store_mshr_free_at = 0;
	thread->frontend_position = thread->frontend_stall_cycles = 0;
}

/* ---- accesses that the hit filter does not know ---- */

static bool
is_atomic_update(const struct block *block, unsigned index)
{
	return block->instructions[index].is_atomic && block->instructions[index].stores;
}

static void
load_line(struct thread *thread, unsigned index, uint64_t address)
{
	const struct block *block = thread->edge->variant.block;
	const bool is_atomic = is_atomic_update(block, index);
	const uint32_t number = block->first + index;
	const uint64_t now = thread_clock(thread);
	struct access_result result;
	bool is_missed;
	uint64_t cost;

	if (is_atomic) /* the core asks for the line once, to write it */
		is_missed = hierarchy_store(thread->hierarchy, address, number, now, now, &result);
	else
		is_missed = hierarchy_load(thread->hierarchy, address, number, now, &result);
	if (!is_missed)
		return;
	miss_count_read(thread, number, &result, false);
	cost = core_load_missed(thread, index, &result);
	if (thread->access_countdown)
		sample_access(thread, &(struct sampled_access){number, address, now, cost, is_atomic, is_atomic},
		              &result);
}

static void
store_line(struct thread *thread, unsigned index, uint64_t address)
{
	const bool is_timed = thread->timing->parts & SETUP_CLOCK;
	const uint64_t begins = is_timed ? core_store_begins(thread, index) : thread_clock(thread);
	const uint32_t number = thread->edge->variant.block->first + index;
	struct access_result result;
	const uint64_t now = thread_clock(thread);
	const bool is_missed = hierarchy_store(thread->hierarchy, address, number, now, begins, &result);
	uint64_t cost = 0;

	if (is_missed)
		miss_count_store(thread, number, &result);
	if (is_missed && is_timed)
		cost = core_store_missed(thread, index, &result);
	if (thread->access_countdown)
		sample_access(thread, &(struct sampled_access){number, address, now, cost, true, false}, &result);
}

static void
access_line(struct thread *thread, unsigned index, uint64_t address, bool is_store)
{
	if (is_store)
		store_line(thread, index, address);
	else
		load_line(thread, index, address);
}

/* Each line of it that the filter does not know. */
static void
access_lines(struct thread *thread, unsigned index, uint64_t first, uint64_t end, bool is_store)
{
	const uint64_t line_bytes = thread->timing->line_bytes;

	for (uint64_t address = first; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!filter_use_address(thread->data_filter, is_store, address))
			access_line(thread, index, address, is_store);
	}
}

static bool
is_left(const struct thread *thread, const struct access *access)
{
	return thread->edge->code != access->code;
}

void
core_access_bytes(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store)
{
	if (is_left(thread, access))
		return;
	if (((address ^ (address + size - 1)) & -(uint64_t)thread->timing->line_bytes) == 0)
		access_line(thread, access->index, address, is_store);
	else
		access_lines(thread, access->index, address, address + size, is_store);
}

void
core_access_update(struct thread *thread, const struct access *access, uint64_t address, unsigned size)
{
	core_access_bytes(thread, access, address, size, false);
	if (!is_atomic_update(access->code->block, access->index))
		core_access_bytes(thread, access, address, size, true);
}

static void
access_member(struct thread *thread, const struct block *block, unsigned index, uint64_t address,
              const struct block_instruction *leader)
{
	const struct block_instruction *member = &block->instructions[index];
	const struct block_span bytes = block_member_bytes(leader, member);
	const uint64_t first = address + (uint64_t)(int64_t)bytes.from, end = address + (uint64_t)(int64_t)bytes.to;

	if (member->loads)
		access_lines(thread, index, first, end, false);
	if (member->stores)
		access_lines(thread, index, first, end, true);
}

/* The lines of these two bytes hit. */
static bool
filter_has_both(struct thread *thread, bool is_store, uint64_t first, uint64_t last)
{
	return filter_use_address(thread->data_filter, is_store, first) &&
	       filter_use_address(thread->data_filter, is_store, last);
}

static void
mark_written(struct hit_filter *filter, uint64_t address)
{
	filter_line(filter, address >> filter->line_shift)->key |= FILTER_WRITTEN;
}

void
core_access_group(struct thread *thread, const struct access *access, uint64_t address)
{
	const struct block *block = access->code->block;
	const struct block_instruction *leader = &block->instructions[access->index];
	const uint64_t first = address + (uint64_t)(int64_t)leader->group_from;
	const uint64_t last = address + (uint64_t)(int64_t)leader->group_to - 1;

	if (is_left(thread, access))
		return;
	if (access->may_store && !hierarchy_is_coherent(thread->hierarchy) &&
	    filter_has_both(thread, false, first, last)) { /* all lines hit; some were clean */
		mark_written(thread->data_filter, address + (uint64_t)(int64_t)access->store_first);
		mark_written(thread->data_filter, address + (uint64_t)(int64_t)access->store_last);
		return;
	}
	for (unsigned i = access->index; i != BLOCK_NOT_USED; i = block->instructions[i].next_member) {
		access_member(thread, block, i, address, leader);
		if (filter_has_both(thread, access->may_store, first, last))
			return; /* and so do those that follow */
	}
}
