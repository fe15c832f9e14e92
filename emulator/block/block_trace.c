/* What a block's values depend on: see block_internal.h. */
#include <errno.h>

#include "emulator/block/block_internal.h"

#define LOADS_TRACED 64
#define GENERAL      32 /* general registers */

static bool
has(const uint8_t *registers, unsigned count, unsigned reg)
{
	for (unsigned i = 0; i < count; i++)
		if (registers[i] == reg)
			return true;
	return false;
}

static uint16_t
first_use(const struct block *block, unsigned from, unsigned reg)
{
	for (unsigned i = from; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		if (has(instruction->reads, instruction->read_count, reg) ||
		    has(instruction->writes, instruction->write_count, reg))
			return (uint16_t)i;
	}
	return BLOCK_NOT_USED;
}

uint16_t
block_first_reader(const struct block *block, unsigned reg)
{
	return block_mentions(block, reg) ? first_use(block, 0, reg) : BLOCK_NOT_USED;
}

/* Whether instruction `use` exists, and none from `from` until before it accesses memory. */
static bool
is_used_first(const struct block *block, unsigned from, uint16_t use)
{
	if (use == BLOCK_NOT_USED)
		return false;
	while (from < use && !block->instructions[from].loads && !block->instructions[from].stores)
		from++;
	return from == use;
}

static void
find_uses(struct block *block)
{
	for (unsigned i = 0; i < block->count; i++) {
		struct block_instruction *instruction = &block->instructions[i];

		if (!instruction->loads)
			continue;
		for (unsigned k = 0; k < 2; k++) {
			const uint8_t reg = instruction->load_registers[k];
			const uint16_t use = reg == REGISTER_NONE ? BLOCK_NOT_USED : first_use(block, i + 1, reg);

			if (use < instruction->use)
				instruction->use = use;
		}
		instruction->is_used_first = is_used_first(block, i + 1, instruction->use);
	}
}

/* What registers depend on behind the instruction, which is load `load` if it loads. */
static void
trace_one(struct block_origin *origins, const struct block_instruction *instruction, unsigned load)
{
	const unsigned data = instruction->read_count - instruction->address_count;
	struct block_origin result = {0, 0};

	for (unsigned i = 0; i < instruction->read_count; i++) {
		result.loads |= origins[instruction->reads[i]].loads;
		result.live |= origins[instruction->reads[i]].live;
	}
	for (unsigned i = 0; i < instruction->write_count; i++) {
		const uint8_t reg = instruction->writes[i];
		const bool is_loaded = has(instruction->load_registers, 2, reg);
		const bool is_moved = !is_loaded && (instruction->loads || instruction->stores) &&
		                      has(instruction->reads + data, instruction->address_count, reg);

		if (is_moved)
			continue; /* an address register that the access updates depends on what it did before */
		origins[reg] = result;
		if (is_loaded && load < LOADS_TRACED)
			origins[reg].loads |= UINT64_C(1) << load;
	}
}

/* What an instruction's address depends on. */
static void
trace_address(const struct block_origin *origins, const struct block_instruction *instruction,
              struct block_dependence *dependence)
{
	for (unsigned i = instruction->read_count - instruction->address_count; i < instruction->read_count; i++) {
		dependence->address_loads |= origins[instruction->reads[i]].loads;
		dependence->address_live |= (uint32_t)origins[instruction->reads[i]].live;
	}
}

static void
trace_origins(struct block *block, struct block_origin origins[REGISTER_COUNT])
{
	uint16_t load = 0;

	for (unsigned i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		if (i < block->access_end) {
			trace_address(origins, instruction, &block->dependences[i]);
			block->dependences[i].load = instruction->loads ? load : BLOCK_NOT_USED;
		}
		trace_one(origins, instruction, load);
		load += instruction->loads;
	}
}

static void
reset_origins(struct block_origin origins[REGISTER_COUNT], uint64_t writes, unsigned other_writes)
{
	for (; writes; writes &= writes - 1) {
		const unsigned reg = (unsigned)__builtin_ctzll(writes);

		origins[reg] = (struct block_origin){.live = reg < GENERAL ? UINT64_C(1) << reg : 0};
	}
	for (; other_writes; other_writes &= other_writes - 1)
		origins[64 + __builtin_ctz(other_writes)] = (struct block_origin){0};
}

void
block_trace_begin(struct block_origin origins[REGISTER_COUNT])
{
	reset_origins(origins, UINT64_MAX, (1u << (REGISTER_COUNT - 64)) - 1);
}

/* Those of the registers `writes` that depend on the load. */
static uint32_t
reached_by_load(const struct block_origin *origins, uint32_t writes, unsigned load)
{
	uint32_t reached = 0;

	for (uint32_t left = writes; left; left &= left - 1)
		if (origins[__builtin_ctz(left)].loads >> load & 1)
			reached |= left & -left;
	return reached;
}

/* From origins by register to registers by origin: what depends on each load and each register. */
static int
fill_reaches(struct block *block, struct arena *arena, const struct block_origin origins[REGISTER_COUNT])
{
	const uint32_t writes = (uint32_t)block->writes, live_in = (uint32_t)block->live_in;
	const size_t count = live_in ? GENERAL - (size_t)__builtin_clz(live_in) : 0;

	block->keeps = ~writes;
	block->reaches = arena_take(arena, count * sizeof(*block->reaches), sizeof(*block->reaches));
	if (!block->reaches)
		return -ENOMEM;
	for (uint32_t left = writes; left; left &= left - 1)
		for (uint64_t live = origins[__builtin_ctz(left)].live; live; live &= live - 1)
			block->reaches[__builtin_ctzll(live)] |= left & -left;
	for (unsigned i = 0; i < block->access_end; i++)
		if (block->dependences[i].load < LOADS_TRACED)
			block->dependences[i].reaches = reached_by_load(origins, writes, block->dependences[i].load);
	return 0;
}

static void
find_live(struct block *block)
{
	for (unsigned i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		for (unsigned k = 0; k < instruction->read_count; k++) {
			const unsigned reg = instruction->reads[k];

			if (reg < 64)
				block->live_in |= UINT64_C(1) << reg & ~block->writes;
			else
				block->other_live_in |= (uint16_t)(1u << (reg - 64) & ~block->other_writes);
		}
		for (unsigned k = 0; k < instruction->write_count; k++) {
			const unsigned reg = instruction->writes[k];

			if (reg < 64)
				block->writes |= UINT64_C(1) << reg;
			else
				block->other_writes |= (uint16_t)(1u << (reg - 64));
		}
	}
}

static int
trace_dependences(struct block *block, struct arena *arena, struct block_origin origins[REGISTER_COUNT])
{
	int err;

	block->dependences =
		arena_take(arena, block->access_end * sizeof(*block->dependences), _Alignof(struct block_dependence));
	if (!block->dependences)
		return -ENOMEM;
	trace_origins(block, origins);
	err = fill_reaches(block, arena, origins);
	reset_origins(origins, block->writes, block->other_writes);
	return err;
}

int
block_trace(struct block *block, struct arena *arena, struct block_origin origins[REGISTER_COUNT])
{
	find_live(block);
	if (!block->is_in_order)
		return trace_dependences(block, arena, origins);
	find_uses(block);
	return 0;
}
