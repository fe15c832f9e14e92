/* Fetching a block's code whatever the caches are. */
#include "emulator/timing/core.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/missed.h"

/* The first instruction that has a byte in the line with `address`. */
static uint32_t
instruction_in(const struct code *code, uint64_t address)
{
	const struct block *block = code->block;
	unsigned i = 0;

	if (address == code->address)
		return code->first;
	if (code->last_line != CODE_NO_LINE)
		return code->first + code->second_line_from;
	while (i + 1u < block->count && code->address + block->instructions[i + 1].offset <= address)
		i++;
	return code->first + i;
}

/* Its line is no plain hit. */
static __attribute__((noinline)) void
fetch_any_line(struct thread *thread, const struct code *code, uint64_t address)
{
	struct access_result result;
	uint32_t number;

	hierarchy_fetch(thread->hierarchy, address, thread_clock(thread), &result);
	if (missed_nothing(&result))
		return;
	number = instruction_in(code, address);
	missed_count_read(thread, number, &result, true);
	if (thread->timing->parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
}

/* Of the first byte of the block in it. */
static uint64_t
last_line_address(const struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	return code->last_line == code->first_line ? code->address : (code->address | (line_bytes - 1)) + 1;
}

SLOW void
slow_fetch_line(struct thread *thread, struct edge *edge, uint32_t parts)
{
	fetch_any_line(thread, edge->code, last_line_address(thread, edge->code));
	hot_advance(thread, edge, parts);
}

SLOW void
slow_fetch_two(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const struct code *code = edge->code;

	if (!plain_hits_use_one(thread->code_plain, false, code->first_line, code->page))
		fetch_any_line(thread, code, code->address);
	if (!plain_hits_use_one(thread->code_plain, false, code->last_line, code->page))
		fetch_any_line(thread, code, last_line_address(thread, code));
	hot_advance(thread, edge, parts);
}

static inline uint64_t
end_of(const struct code *code)
{
	return code->address + code->block->size;
}

/* Lines of the block from the one with `address` on. */
static SLOW void
fetch_any_lines(struct thread *thread, struct edge *edge, uint32_t parts, uint64_t address)
{
	const uint64_t within = thread->timing->setup->machine.line_bytes - 1, end = end_of(edge->code);

	while (address < end) {
		const uint64_t next = plain_code_use_lines(thread->code_plain, address, end);

		if (next == address)
			fetch_any_line(thread, edge->code, address);
		address = next == address ? (address | within) + 1 : next;
	}
	hot_advance(thread, edge, parts);
}

SLOW void
slow_fetch_all(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const uint64_t end = end_of(edge->code);
	const uint64_t next = plain_code_use_lines(thread->code_plain, edge->code->address, end);

	if (next < end)
		fetch_any_lines(thread, edge, parts, next);
	else
		hot_advance(thread, edge, parts);
}
