#include "emulator/model/hierarchy_state.h"
#include "emulator/timing/callback_data.h"
#include "emulator/timing/core.h"
#include "emulator/timing/fetch.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/load.h"
#include "emulator/timing/missed.h"

static SLOW void
store_line(struct thread *thread, unsigned index, uint64_t address)
{
	const uint64_t begins = access_is_timed(thread) ? core_store_begins(thread, index) : thread_clock(thread);
	const uint32_t number = access_number(thread, index);
	struct access_result result;

	hierarchy_store(thread->hierarchy, address, number, begins, &result);
	if (missed_nothing(&result))
		return;
	missed_count_store(thread, number, &result);
	if (access_is_timed(thread))
		core_store_missed(thread, index, &result);
}

static void
access_line(struct thread *thread, unsigned index, uint64_t address, bool is_store)
{
	if (is_store)
		store_line(thread, index, address);
	else
		load_line(thread, index, address);
}

/* Each line of it that is no plain hit. */
static void
access_bytes(struct thread *thread, unsigned index, uint64_t first, uint64_t end, bool is_store)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	for (uint64_t address = first; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!plain_hits_use_address(thread->data_plain, is_store, address))
			access_line(thread, index, address, is_store);
	}
}

static void
access_member(struct thread *thread, const struct block *block, unsigned index, uint64_t address,
              const struct block_instruction *leader)
{
	const struct block_instruction *member = &block->instructions[index];
	const struct block_span bytes = block_member_bytes(leader, member);
	const uint64_t first = address + (uint64_t)(int64_t)bytes.from, end = address + (uint64_t)(int64_t)bytes.to;

	if (member->loads)
		access_bytes(thread, index, first, end, false);
	if (member->stores)
		access_bytes(thread, index, first, end, true);
}

static bool
is_plain_group(const struct thread *thread, const struct access *access, uint64_t first, uint64_t last)
{
	return plain_hits_use_address(thread->data_plain, access->may_store, first) &&
	       plain_hits_use_address(thread->data_plain, access->may_store, last);
}

void
slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store)
{
	if (access_is_left(thread, access))
		return;
	if ((address ^ (address + size - 1)) >> thread->data_plain->line_shift == 0)
		access_line(thread, access->index, address, is_store);
	else
		access_bytes(thread, access->index, address, address + size, is_store);
}

static void
store_given(struct thread *thread, unsigned size, uint64_t address, const void *data)
{
	slow_access(thread, callback_access(data), address, size, true);
}

/* One after the other. */
static SLOW void
group_members(struct thread *thread, const struct access *access, uint64_t address)
{
	const struct block *block = access->code->block;
	const struct block_instruction *leader = &block->instructions[access->index];

	for (unsigned i = access->index; i != BLOCK_NOT_USED; i = block->instructions[i].next_member) {
		access_member(thread, block, i, address, leader);
		if (is_plain_group(thread, access, address + (uint64_t)(int64_t)leader->group_from,
		                   address + (uint64_t)(int64_t)leader->group_to - 1))
			return; /* and so are those that follow */
	}
}

static void
group_given_anyhow(struct thread *thread, bool writes, uint64_t address, const void *data)
{
	const struct access *access = callback_access(data);

	(void)writes;
	if (!access_is_left(thread, access))
		group_members(thread, access, address);
}

/* Of two lines: if all is plain hits, what some of it write is written. */
static SLOW void
group_of_two(struct thread *thread, bool writes, uint64_t address, const void *data)
{
	struct plain_hits *plain = thread->data_plain;
	const struct access *access = callback_access(data);
	const uint64_t stores_first = address + (uint64_t)(int64_t)access->store_first;
	const uint64_t stores_last = address + (uint64_t)(int64_t)access->store_last;

	if (!writes ||
	    !hot_use_lines(plain, callback_first_byte(address, data), callback_last_byte(address, data), false)) {
		group_members(thread, access, address);
		return;
	}
	plain_line(plain, stores_first >> TIMING_LINE_SHIFT)->key |= PLAIN_WRITTEN;
	plain_line(plain, stores_last >> TIMING_LINE_SHIFT)->key |= PLAIN_WRITTEN;
}

/* The leader loads a line that others of the group write. */
static SLOW void
group_load_line(struct thread *thread, unsigned index, uint64_t address)
{
	load_line(thread, index, address);
	plain_line(thread->data_plain, address >> TIMING_LINE_SHIFT)->key |= PLAIN_WRITTEN;
}

/* Of one line that is no plain hit: the leader, unless it both loads and stores, brings it for all. */
static inline __attribute__((always_inline)) void
group_of_one(struct thread *thread, bool writes, uint64_t address, const struct access *access)
{
	const struct block_instruction *leader = &access->code->block->instructions[access->index];

	if (leader->loads == leader->stores)
		group_members(thread, access, address);
	else if (leader->stores)
		store_line(thread, access->index, address);
	else if (writes)
		group_load_line(thread, access->index, address);
	else
		load_line(thread, access->index, address);
}

/* Loads are simple (model/simple.h): what is brought is a plain hit then, that was used last. */
static void
group_given(struct thread *thread, bool writes, uint64_t address, const void *data)
{
	const struct access *access = callback_access(data);
	const uint64_t first = callback_first_byte(address, data), last = callback_last_byte(address, data);

	if (access_is_left(thread, access))
		return;
	if ((first ^ last) >> TIMING_LINE_SHIFT)
		group_of_two(thread, writes, address, data);
	else if (!writes || !hot_access_line(thread->data_plain, first, (unsigned)(last - first) + 1, true))
		group_of_one(thread, writes, address, access);
}

void
slow_choose_ways(struct thread *thread)
{
	const bool is_simple = thread->timing->is_common && thread->hierarchy->simple_slots;

	load_choose_ways(thread);
	fetch_choose_ways(thread);
	thread->ways.store = store_given;
	thread->ways.group = is_simple ? group_given : group_given_anyhow;
}
