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
	if (code->last_line != CODE_NO_LINE)
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

/* Of the first byte of the block in it. */
static uint64_t
last_line_address(const struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	return code->last_line == code->first_line ? code->address : (code->address | (line_bytes - 1)) + 1;
}

static void
fetch_two_lines(struct thread *thread, const struct code *code)
{
	if (!plain_hits_use_one(thread->code_plain, false, code->first_line, code->page))
		fetch_line(thread, code, code->address);
	if (!plain_hits_use_one(thread->code_plain, false, code->last_line, code->page))
		fetch_line(thread, code, last_line_address(thread, code));
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

void
slow_fetch(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const struct code *code = edge->code;

	if (edge->fetch == EDGE_FETCHES_TWO)
		fetch_two_lines(thread, code);
	else if (edge->fetch == EDGE_FETCHES_ANY)
		fetch_lines(thread, code);
	else
		fetch_line(thread, code, last_line_address(thread, code));
	hot_advance(thread, edge, parts);
}

/* The block before went on to it otherwise than was predicted; that is sampled, or holds up otherwise than is usual. */
static SLOW void
mispredict_rest(struct thread *thread, struct edge *edge, uint32_t parts, bool is_sampled)
{
	const uint32_t branch = thread_edge(thread)->code->last;

	if (is_sampled)
		sample_event(thread, SETUP_EVENT_BRANCH, branch);
	if (parts & SETUP_CLOCK)
		core_mispredicted(thread, edge->code->first, branch);
	hot_fetch(thread, edge, parts);
}

static inline void
learn(struct predictor *predictor, const struct code *before, const struct edge *edge)
{
	if (HOT_LIKELY(edge->ending == CODE_BRANCHES))
		predictor_branch_wrong(predictor, edge->site, edge->taken);
	else if (edge->ending == CODE_RETURNS)
		predictor_return_wrong(predictor);
	else
		predictor_indirect_wrong(predictor, before->end, edge->code->address);
}

void
slow_ending(struct thread *thread, struct edge *edge, uint32_t parts)
{
	const struct code *before = thread_edge(thread)->code;
	bool is_sampled;

	learn(&thread->predictor, before, edge);
	thread->record->counters.mispredicted++;
	is_sampled = sample_is_due(thread, SETUP_EVENT_BRANCH);
	if (__builtin_expect(is_sampled, 0) ||
	    (parts & SETUP_CLOCK && !core_mispredicted_simply(thread, edge->code->first, before->last)))
		mispredict_rest(thread, edge, parts, is_sampled);
	else
		hot_fetch(thread, edge, parts);
}

void
slow_edge(struct thread *thread, struct code *code, uint32_t parts)
{
	hot_go(thread, edges_find(thread->timing, thread_edge(thread), code), parts);
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
