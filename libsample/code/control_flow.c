#include "code/control_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_LOCK 0xf0

#define SEARCH_STEPS_MAX 20000
#define STEPS_BASE       1000000 /* of all searches in a procedure; and for each of its instructions: */
#define STEPS_EACH       64
#define CONSTANT_DEPTH   4 /* definitions that are followed, one behind the other */

bool
instruction_is_padding(const struct instruction *instruction)
{
	if (instruction->is_landing_pad)
		return false;
	return instruction->flow == FLOW_STOP || (instruction->class == CLASS_NOP && instruction->flow == FLOW_NEXT);
}

/* The instructions of `list` must fill the parts exactly. */
static int
parts_match(struct control_flow *flow, const struct instruction_list *list)
{
	const struct flow_source *source = flow->source;
	size_t at = 0;

	if (!source->part_count || source->part_count > FLOW_PARTS_MAX)
		return -EINVAL;
	if (list->count >= CONTROL_INSIDE)
		return -E2BIG;
	for (size_t i = 0; i < source->part_count; i++) {
		const struct code_part *part = &source->parts[i];
		uint64_t done = 0;

		flow->part_firsts[i] = (uint32_t)at;
		for (; at < list->count && done < part->size; at++) {
			if (!list->instructions[at].size || list->instructions[at].address != part->address + done)
				return -EINVAL;
			done += list->instructions[at].size;
		}
		if (!part->size || done != part->size)
			return -EINVAL;
	}
	flow->part_firsts[source->part_count] = (uint32_t)at;
	return at == list->count ? 0 : -EINVAL;
}

static bool
parts_overlap(const struct flow_source *source)
{
	for (size_t i = 0; i < source->part_count; i++) {
		const struct code_part *part = &source->parts[i];

		if (part->size > UINT64_MAX - part->address)
			return true;
		for (size_t j = 0; j < i; j++)
			if (code_parts_overlap(part, &source->parts[j]))
				return true;
	}
	return false;
}

static uint32_t
part_find(const struct control_flow *flow, size_t part, uint64_t address)
{
	uint32_t low = flow->part_firsts[part], high = flow->part_firsts[part + 1];

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (flow->instructions[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The instruction that holds `address`, or CONTROL_OUTSIDE. */
static uint32_t
holder_find(const struct control_flow *flow, uint64_t address, const struct code_part **part)
{
	for (size_t i = 0; i < flow->source->part_count; i++) {
		*part = &flow->source->parts[i];
		if (address >= (*part)->address && address - (*part)->address < (*part)->size)
			return part_find(flow, i, address);
	}
	return CONTROL_OUTSIDE;
}

uint32_t
control_flow_find(const struct control_flow *flow, uint64_t address)
{
	const struct code_part *part;
	uint32_t index = holder_find(flow, address, &part);

	if (index == CONTROL_OUTSIDE || flow->instructions[index].address == address)
		return index;
	/* glibc jumps over a `lock` prefix, to the second byte of an instruction, where one thread runs alone. */
	if (flow->source->architecture == ARCHITECTURE_X86_64 && part->bytes &&
	    flow->instructions[index].address + 1 == address && part->bytes[address - 1 - part->address] == PREFIX_LOCK)
		return index;
	return CONTROL_INSIDE;
}

bool
control_flow_detail(const struct control_flow *flow, uint32_t index, struct instruction_detail *detail)
{
	const struct instruction *instruction = &flow->instructions[index];
	const struct code_part *part;
	uint64_t offset;

	if (!flow->decoder || holder_find(flow, instruction->address, &part) == CONTROL_OUTSIDE || !part->bytes)
		return false;
	offset = instruction->address - part->address;
	return decoder_detail(flow->decoder, part->bytes + offset, part->size - offset, instruction->address, detail) ==
	       0;
}

bool
control_flow_changes(const struct control_flow *flow, uint32_t index, uint8_t reg)
{
	const struct instruction *instruction = &flow->instructions[index];

	if (instruction_is_call(instruction))
		return reg >= 32 || architecture_registers(flow->source->architecture)->call_changes >> reg & 1;
	return instruction_writes(instruction, reg);
}

bool
control_flow_is_stack(const struct control_flow *flow, uint8_t reg)
{
	const struct architecture_registers *registers = architecture_registers(flow->source->architecture);

	return reg == registers->stack || reg == registers->frame;
}

bool
control_flow_call_returns(const struct control_flow *flow, uint64_t address)
{
	return !flow->source->returns || flow->source->returns(flow->source->argument, address);
}

/* Does an instruction of the procedure follow right behind `index`? */
static bool
is_followed(const struct control_flow *flow, uint32_t index)
{
	const struct instruction *instruction = &flow->instructions[index];

	return index + 1 < flow->count && instruction[1].address == instruction->address + instruction->size;
}

/* Is there nothing but padding behind `index` in its part? */
static bool
ends_part(const struct control_flow *flow, uint32_t index)
{
	size_t part = 0;

	while (flow->part_firsts[part + 1] <= index)
		part++;
	for (index++; index < flow->part_firsts[part + 1]; index++) {
		if (!instruction_is_padding(&flow->instructions[index]))
			return false;
	}
	return true;
}

/* A branch or jump to a known address. */
static uint8_t
flags_of_target(struct control_flow *flow, uint32_t index)
{
	uint64_t address = flow->instructions[index].target;
	uint32_t target = control_flow_find(flow, address);

	if (target == CONTROL_OUTSIDE)
		return control_flow_call_returns(flow, address) ? CONTROL_EXIT : CONTROL_NORETURN;
	if (target == CONTROL_INSIDE) {
		flow->has_split_target = true;
		return CONTROL_EXIT;
	}
	flow->targets[index] = target;
	return CONTROL_TAKEN;
}

/* Nothing but padding behind a part's last call: the call does not return. */
static uint8_t
flags_after_call(const struct control_flow *flow, uint32_t index, bool returns)
{
	if (!returns || !is_followed(flow, index) || ends_part(flow, index))
		return CONTROL_NORETURN;
	return CONTROL_FALL;
}

/* A routine within the procedure counts as entered from outside, and returns there. */
static void
inner_call_note(struct control_flow *flow, uint32_t index)
{
	uint32_t target = control_flow_find(flow, flow->instructions[index].target);

	if (target < CONTROL_INSIDE)
		flow->flags[target] |= CONTROL_ENTERED;
}

static bool
indirect_call_returns(const struct control_flow *flow, uint32_t index)
{
	struct instruction_detail detail;

	if (!flow->source->returns || !control_flow_detail(flow, index, &detail) || detail.operand_count != 1)
		return true;
	if (detail.operands[0].kind != OPERAND_MEMORY || !detail.operands[0].is_pc)
		return true;
	return control_flow_call_returns(flow, (uint64_t)detail.operands[0].value);
}

static uint8_t
flags_of(struct control_flow *flow, uint32_t index)
{
	switch ((enum instruction_flow)flow->instructions[index].flow) {
	case FLOW_BRANCH:
		return CONTROL_ENDS | flags_of_target(flow, index) |
		       (is_followed(flow, index) ? CONTROL_FALL : CONTROL_EXIT);
	case FLOW_JUMP:
		return CONTROL_ENDS | flags_of_target(flow, index);
	case FLOW_JUMP_INDIRECT:
		return CONTROL_ENDS | CONTROL_INDIRECT;
	case FLOW_CALL:
		inner_call_note(flow, index);
		return CONTROL_ENDS |
		       flags_after_call(flow, index, control_flow_call_returns(flow, flow->instructions[index].target));
	case FLOW_CALL_INDIRECT:
		return CONTROL_ENDS | flags_after_call(flow, index, indirect_call_returns(flow, index));
	case FLOW_RETURN:
		return CONTROL_ENDS | CONTROL_EXIT;
	case FLOW_STOP:
		return CONTROL_ENDS | CONTROL_NORETURN;
	case FLOW_NEXT:
		break;
	}
	return is_followed(flow, index) ? CONTROL_FALL : CONTROL_ENDS | CONTROL_EXIT;
}

void
control_flow_fini(struct control_flow *flow)
{
	free(flow->flags);
	free(flow->targets);
	free(flow->table_targets);
	*flow = (struct control_flow){0};
}

int
control_flow_init(struct control_flow *flow, const struct instruction_list *list, struct decoder *decoder,
                  const struct flow_source *source)
{
	int err;

	*flow = (struct control_flow){.source = source, .decoder = decoder, .instructions = list->instructions};
	err = parts_match(flow, list);
	if (err)
		return err;
	if (parts_overlap(source))
		return -EINVAL;
	flow->count = (uint32_t)list->count;
	flow->flags = calloc(flow->count, sizeof(*flow->flags));
	flow->targets = calloc(flow->count, sizeof(*flow->targets));
	if (!flow->flags || !flow->targets) {
		control_flow_fini(flow);
		return -ENOMEM;
	}
	flow->flags[0] |= CONTROL_ENTERED;
	for (uint32_t i = 0; i < flow->count; i++)
		flow->flags[i] |= flags_of(flow, i);
	/* Unwinding and longjmp() come back behind a call, and not by its return. */
	for (uint32_t i = 1; i < flow->count; i++) {
		if (flow->instructions[i].is_landing_pad && instruction_is_call(&flow->instructions[i - 1]))
			flow->flags[i] |= CONTROL_ENTERED;
	}
	return 0;
}

/* Reaching definitions. */

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

size_t
reaching_defs_spills(struct reaching_defs *defs, uint8_t base, int64_t offset, struct stack_spill *spills, size_t max)
{
	const struct stack_spill wanted = {.base = base, .offset = offset};
	size_t count = 0;

	if (!control_flow_is_stack(defs->flow, base))
		return 0;
	spills_find(defs);
	for (size_t i = spill_first(defs, &wanted);
	     i < defs->spill_count && count < max && spill_compare(&defs->spills[i], &wanted) == 0; i++)
		spills[count++] = defs->spills[i];
	return count;
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
