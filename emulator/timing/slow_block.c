#include "emulator/timing/core.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/missed.h"
#include "emulator/timing/slow.h"

/* The first instruction that has a byte in the line. */
static uint32_t
instruction_in(const struct block *block, uint64_t line_address)
{
	unsigned i = 0;

	while (i + 1u < block->count &&
	       block->address + block->instructions[i].offset + block->instructions[i].size <= line_address)
		i++;
	return block->first + i;
}

static inline void
fetch_line(struct thread *thread, const struct block *block, uint64_t address)
{
	struct access_result result;
	uint32_t number;

	hierarchy_fetch(thread->hierarchy, address, thread->clock, &result);
	if (missed_nothing(&result))
		return;
	number = instruction_in(block, address);
	missed_count_read(thread, number, &result, true);
	if (thread->timing->parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
}

static void
fetch_lines(struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;
	const uint64_t end = code->address + code->block->size;

	for (uint64_t address = code->address; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!plain_hits_use_address(&thread->code_plain, false, address))
			fetch_line(thread, code->block, address);
	}
}

/* Some of it is no plain hit. */
static __attribute__((noinline)) void
fetch_slowly(struct thread *thread, struct code *code, struct variant *variant, uint32_t parts)
{
	if (code->only_line == CODE_SEVERAL_LINES)
		fetch_lines(thread, code);
	else
		fetch_line(thread, code->block, code->address);
	thread->last_line = code->last_line;
	hot_advance(thread, code, variant, parts);
}

void
slow_fetch(struct thread *thread, struct code *code, struct variant *variant, uint32_t parts)
{
	/* of two lines, behind itself: they were used a moment ago, in this order */
	const bool is_again = thread->code == code && code->last_line == code->first_line + 1;

	if (!is_again && (code->only_line != CODE_SEVERAL_LINES ||
	                  !plain_hits_use(&thread->code_plain, false, code->first_line, code->last_line, code->page))) {
		fetch_slowly(thread, code, variant, parts);
		return;
	}
	thread->last_line = code->last_line;
	hot_advance(thread, code, variant, parts);
}

static uint32_t
last_of(const struct block *block)
{
	return block->first + block->count - 1u;
}

static void
mispredict(struct thread *thread, const struct code *code)
{
	const uint32_t branch = last_of(thread->code->block);

	thread->record->counters.mispredicted++;
	sample_count(thread, SETUP_EVENT_BRANCH, branch);
	if (thread->timing->parts & SETUP_CLOCK)
		core_mispredicted(thread, code->block->first, branch);
}

/* What it goes on to was not predicted, or only here is it known whether it was: whether it was. */
static bool
was_predicted(struct thread *thread, const struct code *code)
{
	const struct code *before = thread->code;
	const struct block *block = before->block;

	if (before->ending == CODE_BRANCHES) {
		predictor_branch_wrong(&thread->predictor, before->site, (uint32_t)code->address != before->fall);
		return false;
	}
	if (before->ending == CODE_RETURNS) {
		predictor_return_wrong(&thread->predictor);
		return false;
	}
	if (block->end == BLOCK_CALLS_INDIRECT)
		predictor_call(&thread->predictor, block->fall);
	return !predictor_indirect(&thread->predictor, block->fall - block->end_size, code->address);
}

void
slow_ending(struct thread *thread, struct code *code, struct variant *variant, uint32_t parts)
{
	if (!was_predicted(thread, code))
		mispredict(thread, code);
	hot_fetch(thread, code, variant, parts);
}

/* Out of order, two threads that make it at once make the same one. */
static struct variant *
variant_of(const struct thread *thread, struct code *code)
{
	struct blocks *blocks = thread->timing->blocks;
	struct variant *variant = code->variants[thread->code == code];

	if (thread->timing->is_in_order)
		return variant_enter(blocks, thread->variant, code->block);
	if (variant)
		return variant;
	variant = blocks_first_variant(blocks, code->block);
	if (thread->code == code)
		variant = blocks_find_variant(blocks, variant, code->block);
	__atomic_store_n(&code->variants[thread->code == code], variant, __ATOMIC_RELEASE);
	return variant;
}

void
slow_variant(struct thread *thread, struct code *code, uint32_t parts)
{
	struct variant *variant = variant_of(thread, code);

	if (parts & SETUP_BRANCHES && !hot_was_predicted(thread, code))
		slow_ending(thread, code, variant, parts);
	else
		hot_fetch(thread, code, variant, parts);
}

void
slow_limit(struct thread *thread)
{
	const uint64_t cycles = thread->variant->cycles;
	struct clock_step step;
	uint64_t start;

	thread->clock -= cycles;
	if (thread->waiting_count) {
		core_settle(thread);
		core_enter(thread);
	}
	start = thread->clock;
	thread->clock += cycles;
	if (thread->clock > thread->next_sample)
		sample_execution(thread, start);
	if (thread->clock >= thread->next_turn) {
		thread_publish(thread);
		clock_reached(thread->timing->clock, thread->vcpu, thread->clock, &step);
		thread_step(thread, &step);
	}
	thread_set_limit(thread);
}
