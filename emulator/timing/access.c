#include "emulator/timing/access.h"

#include "emulator/model/hit_filter.h"
#include "emulator/timing/core.h"
#include "emulator/timing/sample.h"

static void
load_line(struct thread *thread, unsigned index, uint64_t address)
{
	const uint32_t number = thread->edge->variant.block->first + index;
	struct access_result result;

	if (!hierarchy_load(thread->hierarchy, address, number, thread_clock(thread), &result))
		return;
	miss_count_read(thread, number, &result, false);
	core_load_missed(thread, index, &result);
}

static void
store_line(struct thread *thread, unsigned index, uint64_t address)
{
	const bool is_timed = thread->timing->parts & SETUP_CLOCK;
	const uint64_t begins = is_timed ? core_store_begins(thread, index) : thread_clock(thread);
	const uint32_t number = thread->edge->variant.block->first + index;
	struct access_result result;

	if (!hierarchy_store(thread->hierarchy, address, number, begins, &result))
		return;
	miss_count_store(thread, number, &result);
	if (is_timed)
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
access_bytes(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store)
{
	if (is_left(thread, access))
		return;
	if (((address ^ (address + size - 1)) & -(uint64_t)thread->timing->line_bytes) == 0)
		access_line(thread, access->index, address, is_store);
	else
		access_lines(thread, access->index, address, address + size, is_store);
}

void
access_update(struct thread *thread, const struct access *access, uint64_t address, unsigned size)
{
	access_bytes(thread, access, address, size, false);
	access_bytes(thread, access, address, size, true);
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
access_group(struct thread *thread, const struct access *access, uint64_t address)
{
	const struct block *block = access->code->block;
	const struct block_instruction *leader = &block->instructions[access->index];
	const uint64_t first = address + (uint64_t)(int64_t)leader->group_from;
	const uint64_t last = address + (uint64_t)(int64_t)leader->group_to - 1;

	if (is_left(thread, access))
		return;
	if (access->may_store && filter_has_both(thread, false, first, last)) { /* all lines hit; some were clean */
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
