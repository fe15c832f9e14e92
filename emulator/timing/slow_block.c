#include "emulator/timing/core.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/missed.h"
#include "emulator/timing/slow.h"

/* The first instruction that has a byte in the line with `address`. */
static uint32_t
instruction_in(const struct code *code, uint64_t address)
{
	const struct block *block = code->block;
	unsigned i = 0;

	if (address == code->address)
		return code->first;
	if (code->last_line != THREAD_NO_LINE)
		return code->first + code->second_line_from;
	while (i + 1u < block->count && code->address + block->instructions[i + 1].offset <= address)
		i++;
	return code->first + i;
}

/* Its line is no plain hit. */
static __attribute__((noinline)) void
fetch_line(struct thread *thread, const struct code *code, uint64_t address)
{
	struct access_result result;
	uint32_t number;

	hierarchy_fetch(thread->hierarchy, address, thread->clock, &result);
	if (missed_nothing(&result))
		return;
	number = instruction_in(code, address);
	missed_count_read(thread, number, &result, true);
	if (thread->timing->parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
}

static void
fetch_two_lines(struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	if (code->last_line - 1 != thread->last_line &&
	    !plain_hits_use_one(thread->code_plain, false, code->last_line - 1, code->page))
		fetch_line(thread, code, code->address);
	if (!plain_hits_use_one(thread->code_plain, false, code->last_line, code->page))
		fetch_line(thread, code, (code->address | (line_bytes - 1)) + 1);
}

static void
fetch_lines(struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;
	const uint64_t end = code->address + code->block->size;

	for (uint64_t address = code->address; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!plain_hits_use_address(thread->code_plain, false, address))
			fetch_line(thread, code, address);
	}
}

/* Some of it is no plain hit. */
static __attribute__((noinline)) void
fetch_slowly(struct thread *thread, const struct code *code, struct variant *variant, uint32_t parts)
{
	if (code->only_line != CODE_SEVERAL_LINES)
		fetch_line(thread, code, code->address);
	else if (code->last_line != THREAD_NO_LINE)
		fetch_two_lines(thread, code);
	else
		fetch_lines(thread, code);
	thread->last_line = code->last_line;
	hot_advance(thread, code, variant, parts);
}

/* Of two lines, whether both are plain hits, which are then used: the first need not be if it was used last. */
static inline bool
uses_two_lines(struct thread *thread, const struct code *code)
{
	if (code->last_line - 1 == thread->last_line)
		return plain_hits_use_one(thread->code_plain, false, code->last_line, code->page);
	/* behind itself: they were used a moment ago, in this order */
	if (thread->code == code && code->last_line != THREAD_NO_LINE)
		return true;
	return plain_hits_use(thread->code_plain, false, code->last_line - 1, code->last_line, code->page);
}

void
slow_fetch(struct thread *thread, struct code *code, struct variant *variant, uint32_t parts)
{
	if (code->only_line != CODE_SEVERAL_LINES || !uses_two_lines(thread, code)) {
		fetch_slowly(thread, code, variant, parts);
		return;
	}
	thread->last_line = code->last_line;
	hot_advance(thread, code, variant, parts);
}

/* The block before went on to it otherwise than was predicted. */
static __attribute__((noinline)) void
mispredict(struct thread *thread, struct code *code, struct variant *variant, uint32_t parts)
{
	const uint32_t branch = thread->code->last;

	thread->record->counters.mispredicted++;
	sample_count(thread, SETUP_EVENT_BRANCH, branch);
	if (parts & SETUP_CLOCK)
		core_mispredicted(thread, code->first, branch);
	hot_fetch(thread, code, variant, parts);
}

/* Only the table of targets knows whether an indirect jump or call goes where it was predicted to. */
static bool
was_target_predicted(struct thread *thread, const struct code *code)
{
	const struct block *before = thread->code->block;

	if (before->end == BLOCK_CALLS_INDIRECT)
		predictor_call(&thread->predictor, before->fall);
	return !predictor_indirect(&thread->predictor, before->fall - before->end_size, code->address);
}

void
slow_ending(struct thread *thread, struct code *code, struct variant *variant, uint32_t parts)
{
	const struct code *before = thread->code;

	if (HOT_LIKELY(before->ending == CODE_BRANCHES))
		predictor_branch_wrong(&thread->predictor, before->site, (uint32_t)code->address != before->fall);
	else if (before->ending == CODE_RETURNS)
		predictor_return_wrong(&thread->predictor);
	else if (was_target_predicted(thread, code)) {
		hot_fetch(thread, code, variant, parts);
		return;
	}
	mispredict(thread, code, variant, parts);
}

/* Out of order it is that behind itself: two threads that make it at once make the same one. */
static struct variant *
variant_of(const struct thread *thread, struct code *code)
{
	struct blocks *blocks = thread->timing->blocks;
	struct variant *variant;

	if (thread->timing->is_in_order)
		return variant_enter(blocks, thread->variant, code->block);
	variant = blocks_find_variant(blocks, blocks_first_variant(blocks, code->block), code->block);
	__atomic_store_n(&code->variants[1], variant, __ATOMIC_RELEASE);
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

/* A sample is due, or a turn. */
static __attribute__((noinline)) void
reach(struct thread *thread)
{
	struct clock_step step;

	if (thread->clock > thread->next_sample)
		sample_execution(thread, thread->clock - thread->variant->cycles);
	if (thread->clock >= thread->next_turn) {
		thread_publish(thread);
		clock_reached(thread->timing->clock, thread->vcpu, thread->clock, &step);
		thread_step(thread, &step);
	}
}

void
slow_limit(struct thread *thread)
{
	if (thread->waiting_count)
		core_begin_block(thread);
	if (thread->clock > thread->next_sample || thread->clock >= thread->next_turn)
		reach(thread);
	thread_set_limit(thread);
}
