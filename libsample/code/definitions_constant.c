#include <stdlib.h>
#include <string.h>

#include "code/definitions.h"

#define CONSTANT_DEPTH 4

static bool
is_stack(const struct code_map *map, uint8_t reg)
{
	const struct architecture_registers *registers = architecture_registers(map->source->architecture);

	return reg == registers->stack || reg == registers->frame;
}

static int
spill_compare(const void *a, const void *b)
{
	const struct spill *left = a, *right = b;

	if (left->base != right->base)
		return left->base < right->base ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

static bool
is_spill(const struct code_map *map, uint32_t index, struct spill *spill)
{
	const struct instruction *instruction = &map->instructions[index];
	const struct instruction_operand *cell, *from;
	struct instruction_detail detail;
	bool is_arm = map->source->architecture == ARCHITECTURE_AARCH64;

	if (!instruction->stores || instruction->flow != FLOW_NEXT || !code_map_detail(map, index, &detail) ||
	    detail.operand_count != 2)
		return false;
	cell = &detail.operands[is_arm];
	from = &detail.operands[!is_arm];
	if (cell->kind != OPERAND_MEMORY || from->kind != OPERAND_REGISTER || cell->index != REGISTER_NONE ||
	    !is_stack(map, cell->base) || (strcmp(detail.mnemonic, "mov") != 0 && strcmp(detail.mnemonic, "str") != 0))
		return false;
	*spill = (struct spill){.at = index, .base = cell->base, .reg = from->reg, .offset = cell->value};
	return true;
}

/* Once for each tracer. */
static void
spills_find(struct tracer *tracer)
{
	size_t capacity = 0;

	if (tracer->spills)
		return;
	for (uint32_t i = 0; i < tracer->map->count; i++)
		capacity += tracer->map->instructions[i].stores;
	tracer->spills = calloc(capacity + 1, sizeof(*tracer->spills));
	if (!tracer->spills)
		return;
	for (uint32_t i = 0; i < tracer->map->count; i++)
		tracer->spill_count += is_spill(tracer->map, i, &tracer->spills[tracer->spill_count]);
	if (tracer->spill_count)
		qsort(tracer->spills, tracer->spill_count, sizeof(*tracer->spills), spill_compare);
}

static size_t
spill_first(const struct tracer *tracer, const struct spill *wanted)
{
	size_t low = 0, high = tracer->spill_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spill_compare(&tracer->spills[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool constant_at(struct tracer *tracer, uint32_t at, uint8_t reg, int depth, uint64_t *value);

/* What a place on the stack has, if the same is put there everywhere. */
static bool
spilled_constant(struct tracer *tracer, const struct instruction_operand *cell, int depth, uint64_t *value)
{
	const struct spill wanted = {.base = cell->base, .offset = cell->value};
	size_t first, i;

	if (!is_stack(tracer->map, cell->base) || cell->index != REGISTER_NONE)
		return false;
	spills_find(tracer);
	first = spill_first(tracer, &wanted);
	for (i = first; i < tracer->spill_count && spill_compare(&tracer->spills[i], &wanted) == 0; i++) {
		uint64_t put;

		if (i - first == DEFINITIONS_MAX ||
		    !constant_at(tracer, tracer->spills[i].at, tracer->spills[i].reg, depth - 1, &put) ||
		    (i > first && put != *value))
			return false;
		*value = put;
	}
	return i > first;
}

/* An address that is made of a register and a displacement. */
static bool
constant_sum(struct tracer *tracer, uint32_t at, uint8_t base, int64_t offset, int depth, uint64_t *value)
{
	if (base == REGISTER_NONE || !constant_at(tracer, at, base, depth - 1, value))
		return false;
	*value += (uint64_t)offset;
	return true;
}

static bool
lea_constant(struct tracer *tracer, uint32_t at, const struct instruction_operand *memory, int depth, uint64_t *value)
{
	if (memory->kind != OPERAND_MEMORY || memory->index != REGISTER_NONE)
		return false;
	if (!memory->is_pc)
		return constant_sum(tracer, at, memory->base, memory->value, depth, value);
	*value = (uint64_t)memory->value;
	return true;
}

static bool
immediate_constant(const struct instruction_detail *detail, uint64_t *value)
{
	const struct instruction_operand *from = &detail->operands[1];

	if (detail->operand_count != 2 || from->kind != OPERAND_IMMEDIATE)
		return false;
	*value = (uint64_t)from->value << from->shift;
	if (detail->operands[0].size == 4)
		*value &= UINT32_MAX;
	return true;
}

/* `add to, from, immediate` of aarch64, and x86's with one register. */
static bool
add_constant(struct tracer *tracer, uint32_t at, const struct instruction_detail *detail, int depth, uint64_t *value)
{
	const struct instruction_operand *last = &detail->operands[detail->operand_count - 1];
	const struct instruction_operand *from = &detail->operands[detail->operand_count - 2];

	if (last->kind != OPERAND_IMMEDIATE || from->kind != OPERAND_REGISTER)
		return false;
	return constant_sum(tracer, at, from->reg, (int64_t)((uint64_t)last->value << last->shift), depth, value);
}

/* The value that instruction `at` gives its first operand. */
static bool
constant_made(struct tracer *tracer, uint32_t at, uint8_t reg, int depth, uint64_t *value)
{
	struct instruction_detail detail;

	if (!code_map_detail(tracer->map, at, &detail) || detail.operand_count < 2)
		return false;
	if (detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != reg)
		return false;
	if (strcmp(detail.mnemonic, "lea") == 0)
		return lea_constant(tracer, at, &detail.operands[1], depth, value);
	if (strcmp(detail.mnemonic, "add") == 0)
		return add_constant(tracer, at, &detail, depth, value);
	if (strcmp(detail.mnemonic, "adr") == 0 || strcmp(detail.mnemonic, "adrp") == 0)
		return immediate_constant(&detail, value);
	if (detail.operands[1].kind == OPERAND_MEMORY &&
	    (strcmp(detail.mnemonic, "mov") == 0 || strcmp(detail.mnemonic, "ldr") == 0))
		return spilled_constant(tracer, &detail.operands[1], depth, value);
	if (strcmp(detail.mnemonic, "mov") != 0 && strcmp(detail.mnemonic, "movabs") != 0)
		return false;
	if (detail.operands[1].kind == OPERAND_REGISTER)
		return constant_sum(tracer, at, detail.operands[1].reg, 0, depth, value);
	return immediate_constant(&detail, value);
}

static bool
constant_at(struct tracer *tracer, uint32_t at, uint8_t reg, int depth, uint64_t *value)
{
	struct definitions definitions;

	if (depth == 0)
		return false;
	tracer_definitions(tracer, at, reg, &definitions);
	if (!definitions.count || definitions.is_lost || definitions.from_call || definitions.from_caller)
		return false;
	for (size_t i = 0; i < definitions.count; i++) {
		uint64_t made;

		if (!constant_made(tracer, definitions.at[i], reg, depth, &made) || (i > 0 && made != *value))
			return false;
		*value = made;
	}
	return true;
}

bool
tracer_constant(struct tracer *tracer, uint32_t at, uint8_t reg, uint64_t *value)
{
	return constant_at(tracer, at, reg, CONSTANT_DEPTH, value);
}

bool
tracer_made_constant(struct tracer *tracer, uint32_t at, uint8_t reg, uint64_t *value)
{
	return constant_made(tracer, at, reg, CONSTANT_DEPTH, value);
}
