#include "emulator/timing/callback_data.h"
#include "emulator/timing/core.h"
#include "emulator/timing/load.h"
#include "emulator/timing/missed.h"

static SLOW void
store_line(struct thread *thread, unsigned index, uint64_t address)
{
	const uint64_t begins = access_is_timed(thread) ? core_store_begins(thread, index) : thread->clock;
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
	const uint64_t from = address + (uint64_t)(int64_t)leader->group_from;
	const uint64_t to = address + (uint64_t)(int64_t)leader->group_to;
	uint64_t first = address + (uint64_t)(int64_t)member->displacement, end = first + member->access_size;

	first = first < from ? from : first;
	end = end > to ? to : end;
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

/* A handler may return to the middle of a block that was left. */
static inline bool
is_left(const struct thread *thread, const struct access *access)
{
	return thread->variant->block != access->code->block;
}

void
slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store)
{
	if (is_left(thread, access))
		return;
	if ((address ^ (address + size - 1)) >> thread->data_plain->line_shift == 0)
		access_line(thread, access->index, address, is_store);
	else
		access_bytes(thread, access->index, address, address + size, is_store);
}

void
slow_load(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	slow_access(thread, callback_access(data), address, callback_last(data) + 1u, false);
}

void
slow_store(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	slow_access(thread, callback_access(data), address, callback_last(data) + 1u, true);
}

void
slow_group(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct access *access = callback_access(data);
	const struct block *block = access->code->block;
	const struct block_instruction *leader = &block->instructions[access->index];

	(void)info;
	if (is_left(thread, access))
		return;
	for (unsigned i = access->index; i != BLOCK_NOT_USED; i = block->instructions[i].next_member) {
		access_member(thread, block, i, address, leader);
		if (is_plain_group(thread, access, address + (uint64_t)(int64_t)leader->group_from,
		                   address + (uint64_t)(int64_t)leader->group_to - 1))
			return; /* and so are those that follow */
	}
}
