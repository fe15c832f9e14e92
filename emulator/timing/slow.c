#include "emulator/timing/slow.h"

#include "emulator/timing/core.h"
#include "emulator/timing/hot.h"
#include "emulator/timing/sample.h"

/* Whether the bytes are of a line, and of a page, that are plain hits; they are used. */
static bool
is_plain(const struct plain_hits *plain, uint64_t address, bool is_store)
{
	const uint64_t line = address >> plain->line_shift;

	return plain_hits_use(plain, is_store, line, line, address >> plain->page_shift);
}

/* What the first level missed, as most do that one, is counted at once. */
static inline void
count_levels(const struct timing *timing, uint64_t missed[MACHINE_LEVELS_MAX], unsigned level)
{
	missed[0]++;
	for (unsigned i = 1; i < level && i < timing->setup->machine.level_count; i++)
		missed[i]++;
}

/* What loads and code have in common: they wait for what they missed. */
static void
count_reads(struct thread *thread, uint32_t number, const struct access_result *result)
{
	if (result->level > 1 && thread->timing->setup->machine.level_count > 1)
		sample_count(thread, SETUP_EVENT_LEVEL2, number);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

static void
count_load(struct thread *thread, uint32_t number, const struct access_result *result)
{
	struct record_counters *counters = &thread->record->counters;

	if (result->tlb_missed) {
		counters->data_tlb_missed++;
		sample_count(thread, SETUP_EVENT_DATA_TLB, number);
	}
	if (result->walked) {
		counters->data_walks++;
		sample_count(thread, SETUP_EVENT_DATA_WALK, number);
	}
	if (result->level == 0)
		return;
	count_levels(thread->timing, counters->loads_missed, result->level);
	sample_count(thread, SETUP_EVENT_LEVEL1_DATA, number);
	count_reads(thread, number, result);
}

static void
count_store(struct thread *thread, uint32_t number, const struct access_result *result)
{
	struct record_counters *counters = &thread->record->counters;

	counters->data_tlb_missed += result->tlb_missed;
	counters->data_walks += result->walked;
	if (result->level == 0)
		return;
	count_levels(thread->timing, counters->stores_missed, result->level);
	if (result->level == HIERARCHY_MEMORY)
		sample_count(thread, SETUP_EVENT_LAST_LEVEL, number);
}

static void
count_fetch(struct thread *thread, uint32_t number, const struct access_result *result)
{
	struct record_counters *counters = &thread->record->counters;

	if (result->tlb_missed) {
		counters->code_tlb_missed++;
		sample_count(thread, SETUP_EVENT_CODE_TLB, number);
	}
	if (result->walked) {
		counters->code_walks++;
		sample_count(thread, SETUP_EVENT_CODE_WALK, number);
	}
	if (result->level == 0)
		return;
	count_levels(thread->timing, counters->code_missed, result->level);
	sample_count(thread, SETUP_EVENT_LEVEL1_CODE, number);
	count_reads(thread, number, result);
}

static bool
is_free(const struct access_result *result)
{
	return result->level == 0 && !result->tlb_missed && result->cycles == 0 && result->wait_cycles == 0 &&
	       result->tlb_cycles == 0;
}

static void
load_line(struct thread *thread, const struct block *block, unsigned index, uint64_t address)
{
	struct access_result result;

	hierarchy_load(thread->hierarchy, address, block->first + index, thread->clock, &result);
	if (is_free(&result))
		return;
	count_load(thread, block->first + index, &result);
	if (thread->timing->parts & SETUP_CLOCK)
		core_load_missed(thread, index, &result);
}

static void
store_line(struct thread *thread, const struct block *block, unsigned index, uint64_t address)
{
	const bool is_timed = thread->timing->parts & SETUP_CLOCK;
	const uint64_t begins = is_timed ? core_store_begins(thread, index) : thread->clock;
	struct access_result result;

	hierarchy_store(thread->hierarchy, address, block->first + index, begins, &result);
	if (is_free(&result))
		return;
	count_store(thread, block->first + index, &result);
	if (is_timed)
		core_store_missed(thread, index, &result);
}

static void
access_line(struct thread *thread, const struct block *block, unsigned index, uint64_t address, bool is_store)
{
	if (is_store)
		store_line(thread, block, index, address);
	else
		load_line(thread, block, index, address);
}

/* Each line of it that is no plain hit. */
static void
access_bytes(struct thread *thread, const struct block *block, unsigned index, uint64_t first, uint64_t end,
             bool is_store)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	for (uint64_t address = first; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!is_plain(&thread->data_plain, address, is_store))
			access_line(thread, block, index, address, is_store);
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
		access_bytes(thread, block, index, first, end, false);
	if (member->stores)
		access_bytes(thread, block, index, first, end, true);
}

static bool
is_plain_group(const struct thread *thread, const struct access *access, uint64_t first, uint64_t last)
{
	return is_plain(&thread->data_plain, first, access->may_store) &&
	       is_plain(&thread->data_plain, last, access->may_store);
}

/* A handler may return to the middle of a block that was left. */
static inline bool
is_left(const struct thread *thread, const struct access *access)
{
	return thread->code != access->code;
}

void
slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store)
{
	const struct block *block = access->code->block;

	if (is_left(thread, access))
		return;
	if ((address ^ (address + size - 1)) >> thread->data_plain.line_shift == 0)
		access_line(thread, block, access->index, address, is_store);
	else
		access_bytes(thread, block, access->index, address, address + size, is_store);
}

void
slow_group(struct thread *thread, const struct access *access, uint64_t address)
{
	const struct block *block = access->code->block;
	const struct block_instruction *leader = &block->instructions[access->index];

	if (is_left(thread, access))
		return;
	for (unsigned i = access->index; i != BLOCK_NOT_USED; i = block->instructions[i].next_member) {
		access_member(thread, block, i, address, leader);
		if (is_plain_group(thread, access, address + (uint64_t)(int64_t)leader->group_from,
		                   address + (uint64_t)(int64_t)leader->group_to - 1))
			return; /* and so are those that follow */
	}
}

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
	if (is_free(&result))
		return;
	number = instruction_in(block, address);
	count_fetch(thread, number, &result);
	if (thread->timing->parts & SETUP_CLOCK)
		core_fetch_missed(thread, number, &result);
}

static void
fetch_lines(struct thread *thread, const struct code *code)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;
	const uint64_t end = code->address + code->block->size;

	for (uint64_t address = code->address; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!is_plain(&thread->code_plain, address, false))
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
