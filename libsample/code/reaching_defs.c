#include "code/reaching_defs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_STEPS_MAX 20000
#define STEPS_BASE       1000000 /* of all searches in a procedure; and for each of its instructions: */
#define STEPS_EACH       64
#define CONSTANT_DEPTH   4 /* definitions that are followed, one behind the other */

void
reaching_defs_fini(struct reaching_defs *defs)
{
	free(defs->firsts);
	free(defs->sources);
	free(defs->seen);
	free(defs->queue);
	free(defs->spills);
	*defs = (struct reaching_defs){0};
}

static int
sources_fill(struct reaching_defs *defs)
{
	const struct control_flow *flow = defs->flow;
	uint32_t sum = 0;

	/* firsts[i] first counts the jumps to i, then says where its sources end, and is moved back to where they begin
	 */
	for (uint32_t i = 0; i < flow->count; i++) {
		if (flow->flags[i] & CONTROL_TAKEN)
			defs->firsts[flow->targets[i]]++;
	}
	for (size_t i = 0; i < flow->table_target_count; i++)
		defs->firsts[flow->table_targets[i].to]++;
	for (uint32_t i = 0; i < flow->count; i++) {
		sum += defs->firsts[i];
		defs->firsts[i] = sum;
	}
	defs->firsts[flow->count] = sum;
	defs->sources = calloc((size_t)sum + 1, sizeof(*defs->sources));
	if (!defs->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < flow->count; i++) {
		if (flow->flags[i] & CONTROL_TAKEN)
			defs->sources[--defs->firsts[flow->targets[i]]] = i;
	}
	for (size_t i = 0; i < flow->table_target_count; i++)
		defs->sources[--defs->firsts[flow->table_targets[i].to]] = flow->table_targets[i].from;
	return 0;
}

int
reaching_defs_init(struct reaching_defs *defs, const struct control_flow *flow)
{
	size_t count = (size_t)flow->count + 1;
	int err = -ENOMEM;

	*defs = (struct reaching_defs){.flow = flow, .steps_left = STEPS_BASE + STEPS_EACH * (uint64_t)flow->count};
	defs->firsts = calloc(count, sizeof(*defs->firsts));
	defs->seen = calloc(count, sizeof(*defs->seen));
	defs->queue = calloc(count, sizeof(*defs->queue));
	if (defs->firsts && defs->seen && defs->queue)
		err = sources_fill(defs);
	if (err)
		reaching_defs_fini(defs);
	return err;
}

static bool
is_fallen_into(const struct control_flow *flow, uint32_t index)
{
	return index > 0 && flow->flags[index - 1] & CONTROL_FALL;
}

uint32_t
reaching_defs_only_source(const struct reaching_defs *defs, uint32_t index)
{
	uint32_t jumps = defs->firsts[index + 1] - defs->firsts[index];
	bool fallen_into = is_fallen_into(defs->flow, index);

	if (defs->flow->flags[index] & CONTROL_ENTERED || jumps + fallen_into != 1)
		return CONTROL_OUTSIDE;
	return fallen_into ? index - 1 : defs->sources[defs->firsts[index]];
}

/* Append the instructions that control comes from to `index` and that this search did not see. */
static size_t
sources_queue(struct reaching_defs *defs, uint32_t index, size_t tail, struct definition_set *definitions)
{
	if (index == 0)
		definitions->from_caller = true;
	if (is_fallen_into(defs->flow, index) && defs->seen[index - 1] != defs->search) {
		defs->seen[index - 1] = defs->search;
		defs->queue[tail++] = index - 1;
	}
	for (uint32_t i = defs->firsts[index]; i < defs->firsts[index + 1]; i++) {
		uint32_t source = defs->sources[i];

		if (defs->seen[source] == defs->search)
			continue;
		defs->seen[source] = defs->search;
		defs->queue[tail++] = source;
	}
	return tail;
}

void
reaching_defs_find(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct definition_set *definitions)
{
	size_t head = 0, tail, steps = 0;

	*definitions = (struct definition_set){0};
	defs->search++;
	tail = sources_queue(defs, at, 0, definitions);
	while (head < tail && !definitions->is_lost) {
		uint32_t index = defs->queue[head++];

		if (++steps > SEARCH_STEPS_MAX || !defs->steps_left) {
			definitions->is_lost = true;
			return;
		}
		defs->steps_left--;
		if (!control_flow_changes(defs->flow, index, reg))
			tail = sources_queue(defs, index, tail, definitions);
		else if (instruction_is_call(&defs->flow->instructions[index]))
			definitions->from_call = true;
		else if (definitions->count == DEFINITION_SET_MAX)
			definitions->is_lost = true;
		else
			definitions->at[definitions->count++] = index;
	}
}

bool
reaching_defs_find_only(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint32_t *definition)
{
	struct definition_set definitions;

	reaching_defs_find(defs, at, reg, &definitions);
	if (definitions.count != 1 || definitions.is_lost || definitions.from_call || definitions.from_caller)
		return false;
	*definition = definitions.at[0];
	return true;
}

static int
spill_compare(const void *a, const void *b)
{
	const struct stack_spill *left = a, *right = b;

	if (left->base != right->base)
		return left->base < right->base ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

static bool
is_spill(const struct control_flow *flow, uint32_t index, struct stack_spill *spill)
{
	const struct instruction *instruction = &flow->instructions[index];
	const struct instruction_operand *cell, *from;
	struct instruction_detail detail;
	bool is_arm = flow->source->architecture == ARCHITECTURE_AARCH64;

	if (!instruction->stores || instruction->flow != FLOW_NEXT || !control_flow_detail(flow, index, &detail) ||
	    detail.operand_count != 2)
		return false;
	cell = &detail.operands[is_arm];
	from = &detail.operands[!is_arm];
	if (cell->kind != OPERAND_MEMORY || from->kind != OPERAND_REGISTER || cell->index != REGISTER_NONE ||
	    !control_flow_is_stack(flow, cell->base) ||
	    (strcmp(detail.mnemonic, "mov") != 0 && strcmp(detail.mnemonic, "str") != 0))
		return false;
	*spill = (struct stack_spill){.at = index, .base = cell->base, .reg = from->reg, .offset = cell->value};
	return true;
}

/* All stores to stack slots; looked for once. */
static void
spills_find(struct reaching_defs *defs)
{
	size_t capacity = 0;

	if (defs->spills)
		return;
	for (uint32_t i = 0; i < defs->flow->count; i++)
		capacity += defs->flow->instructions[i].stores;
	defs->spills = calloc(capacity + 1, sizeof(*defs->spills));
	if (!defs->spills)
		return;
	for (uint32_t i = 0; i < defs->flow->count; i++)
		defs->spill_count += is_spill(defs->flow, i, &defs->spills[defs->spill_count]);
	if (defs->spill_count)
		qsort(defs->spills, defs->spill_count, sizeof(*defs->spills), spill_compare);
}

static size_t
spill_first(const struct reaching_defs *defs, const struct stack_spill *wanted)
{
	size_t low = 0, high = defs->spill_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spill_compare(&defs->spills[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool constant_at(struct reaching_defs *defs, uint32_t at, uint8_t reg, int depth, uint64_t *value);

/* What a stack slot holds, if every store to it in the procedure stores one constant. */
static bool
spilled_constant(struct reaching_defs *defs, const struct instruction_operand *cell, int depth, uint64_t *value)
{
	const struct stack_spill wanted = {.base = cell->base, .offset = cell->value};
	size_t first, i;

	if (!control_flow_is_stack(defs->flow, cell->base) || cell->index != REGISTER_NONE)
		return false;
	spills_find(defs);
	first = spill_first(defs, &wanted);
	for (i = first; i < defs->spill_count && spill_compare(&defs->spills[i], &wanted) == 0; i++) {
		uint64_t put;

		if (i - first == DEFINITION_SET_MAX ||
		    !constant_at(defs, defs->spills[i].at, defs->spills[i].reg, depth - 1, &put) ||
		    (i > first && put != *value))
			return false;
		*value = put;
	}
	return i > first;
}

/* A register before `at` plus a displacement. */
static bool
constant_sum(struct reaching_defs *defs, uint32_t at, uint8_t base, int64_t offset, int depth, uint64_t *value)
{
	if (base == REGISTER_NONE || !constant_at(defs, at, base, depth - 1, value))
		return false;
	*value += (uint64_t)offset;
	return true;
}

static bool
lea_constant(struct reaching_defs *defs, uint32_t at, const struct instruction_operand *memory, int depth,
             uint64_t *value)
{
	if (memory->kind != OPERAND_MEMORY || memory->index != REGISTER_NONE)
		return false;
	if (!memory->is_pc)
		return constant_sum(defs, at, memory->base, memory->value, depth, value);
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
add_constant(struct reaching_defs *defs, uint32_t at, const struct instruction_detail *detail, int depth,
             uint64_t *value)
{
	const struct instruction_operand *last = &detail->operands[detail->operand_count - 1];
	const struct instruction_operand *from = &detail->operands[detail->operand_count - 2];

	if (last->kind != OPERAND_IMMEDIATE || from->kind != OPERAND_REGISTER)
		return false;
	return constant_sum(defs, at, from->reg, (int64_t)((uint64_t)last->value << last->shift), depth, value);
}

/* The value that instruction `at` gives its first operand. */
static bool
constant_made(struct reaching_defs *defs, uint32_t at, uint8_t reg, int depth, uint64_t *value)
{
	struct instruction_detail detail;

	if (!control_flow_detail(defs->flow, at, &detail) || detail.operand_count < 2)
		return false;
	if (detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != reg)
		return false;
	if (strcmp(detail.mnemonic, "lea") == 0)
		return lea_constant(defs, at, &detail.operands[1], depth, value);
	if (strcmp(detail.mnemonic, "add") == 0)
		return add_constant(defs, at, &detail, depth, value);
	if (strcmp(detail.mnemonic, "adr") == 0 || strcmp(detail.mnemonic, "adrp") == 0)
		return immediate_constant(&detail, value);
	if (detail.operands[1].kind == OPERAND_MEMORY &&
	    (strcmp(detail.mnemonic, "mov") == 0 || strcmp(detail.mnemonic, "ldr") == 0))
		return spilled_constant(defs, &detail.operands[1], depth, value);
	if (strcmp(detail.mnemonic, "mov") != 0 && strcmp(detail.mnemonic, "movabs") != 0)
		return false;
	if (detail.operands[1].kind == OPERAND_REGISTER)
		return constant_sum(defs, at, detail.operands[1].reg, 0, depth, value);
	return immediate_constant(&detail, value);
}

static bool
constant_at(struct reaching_defs *defs, uint32_t at, uint8_t reg, int depth, uint64_t *value)
{
	struct definition_set definitions;

	if (depth == 0)
		return false;
	reaching_defs_find(defs, at, reg, &definitions);
	if (!definitions.count || definitions.is_lost || definitions.from_call || definitions.from_caller)
		return false;
	for (size_t i = 0; i < definitions.count; i++) {
		uint64_t made;

		if (!constant_made(defs, definitions.at[i], reg, depth, &made) || (i > 0 && made != *value))
			return false;
		*value = made;
	}
	return true;
}

bool
reaching_defs_constant_before(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint64_t *value)
{
	return constant_at(defs, at, reg, CONSTANT_DEPTH, value);
}

bool
reaching_defs_constant_of(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint64_t *value)
{
	return constant_made(defs, at, reg, CONSTANT_DEPTH, value);
}
