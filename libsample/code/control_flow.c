#include "code/control_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_LOCK 0xf0

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
		for (size_t j = 0; j < i; j++) {
			const struct code_part *other = &source->parts[j];

			if (part->address < other->address + other->size && other->address < part->address + part->size)
				return true;
		}
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
	return memchr(instruction->writes, reg, instruction->write_count) != NULL;
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
