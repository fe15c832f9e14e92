#include "code/code_map.h"

#include <errno.h>
#include <stdlib.h>

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
parts_match(struct code_map *map, const struct instruction_list *list)
{
	const struct flow_source *source = map->source;
	size_t at = 0;

	if (!source->part_count || source->part_count > FLOW_PARTS_MAX)
		return -EINVAL;
	if (list->count >= CODE_INSIDE)
		return -E2BIG;
	for (size_t i = 0; i < source->part_count; i++) {
		const struct code_part *part = &source->parts[i];
		uint64_t done = 0;

		map->part_firsts[i] = (uint32_t)at;
		for (; at < list->count && done < part->size; at++) {
			if (!list->instructions[at].size || list->instructions[at].address != part->address + done)
				return -EINVAL;
			done += list->instructions[at].size;
		}
		if (!part->size || done != part->size)
			return -EINVAL;
	}
	map->part_firsts[source->part_count] = (uint32_t)at;
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
part_find(const struct code_map *map, size_t part, uint64_t address)
{
	uint32_t low = map->part_firsts[part], high = map->part_firsts[part + 1];

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (map->instructions[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The instruction that holds `address`, or CODE_OUTSIDE. */
static uint32_t
holder_find(const struct code_map *map, uint64_t address, const struct code_part **part)
{
	for (size_t i = 0; i < map->source->part_count; i++) {
		*part = &map->source->parts[i];
		if (address >= (*part)->address && address - (*part)->address < (*part)->size)
			return part_find(map, i, address);
	}
	return CODE_OUTSIDE;
}

uint32_t
code_map_find(const struct code_map *map, uint64_t address)
{
	const struct code_part *part;
	uint32_t index = holder_find(map, address, &part);

	if (index == CODE_OUTSIDE || map->instructions[index].address == address)
		return index;
	/* glibc's way to do without a `lock` prefix: over it, into the rest of the same instruction */
	if (map->source->architecture == ARCHITECTURE_X86_64 && part->bytes &&
	    map->instructions[index].address + 1 == address && part->bytes[address - 1 - part->address] == PREFIX_LOCK)
		return index;
	return CODE_INSIDE;
}

bool
code_map_detail(const struct code_map *map, uint32_t index, struct instruction_detail *detail)
{
	const struct instruction *instruction = &map->instructions[index];
	const struct code_part *part;
	uint64_t offset;

	if (!map->decoder || holder_find(map, instruction->address, &part) == CODE_OUTSIDE || !part->bytes)
		return false;
	offset = instruction->address - part->address;
	return decoder_detail(map->decoder, part->bytes + offset, part->size - offset, instruction->address, detail) ==
	       0;
}

bool
code_map_returns(const struct code_map *map, uint64_t address)
{
	return !map->source->returns || map->source->returns(map->source->argument, address);
}

/* Does control run on from `index` to the next instruction? */
static bool
is_followed(const struct code_map *map, uint32_t index)
{
	const struct instruction *instruction = &map->instructions[index];

	return index + 1 < map->count && instruction[1].address == instruction->address + instruction->size;
}

/* Is there nothing but padding behind `index` in its part? */
static bool
ends_part(const struct code_map *map, uint32_t index)
{
	size_t part = 0;

	while (map->part_firsts[part + 1] <= index)
		part++;
	for (index++; index < map->part_firsts[part + 1]; index++) {
		if (!instruction_is_padding(&map->instructions[index]))
			return false;
	}
	return true;
}

static uint8_t
way_on(const struct code_map *map, uint32_t index)
{
	return is_followed(map, index) ? WAY_FALL : WAY_EXIT;
}

/* A branch or jump to a known address. */
static uint8_t
way_taken(struct code_map *map, uint32_t index)
{
	uint64_t address = map->instructions[index].target;
	uint32_t target = code_map_find(map, address);

	if (target == CODE_OUTSIDE)
		return code_map_returns(map, address) ? WAY_EXIT : WAY_NORETURN;
	if (target == CODE_INSIDE) {
		map->is_torn = true;
		return WAY_EXIT;
	}
	map->targets[index] = target;
	return WAY_TAKEN;
}

/* Behind its last call a procedure has nothing to do only if that call does not return. */
static uint8_t
way_after_call(const struct code_map *map, uint32_t index, bool returns)
{
	if (!returns || !is_followed(map, index) || ends_part(map, index))
		return WAY_NORETURN;
	return WAY_FALL;
}

/* Routines within the procedure are called from the outside as far as its graph goes, and return there. */
static void
note_inner_call(struct code_map *map, uint32_t index)
{
	uint32_t target = code_map_find(map, map->instructions[index].target);

	if (target < CODE_INSIDE)
		map->ways[target] |= WAY_ENTERED;
}

static bool
indirect_call_returns(const struct code_map *map, uint32_t index)
{
	struct instruction_detail detail;

	if (!map->source->returns || !code_map_detail(map, index, &detail) || detail.operand_count != 1)
		return true;
	if (detail.operands[0].kind != OPERAND_MEMORY || !detail.operands[0].is_pc)
		return true;
	return code_map_returns(map, (uint64_t)detail.operands[0].value);
}

static uint8_t
ways_of(struct code_map *map, uint32_t index)
{
	switch ((enum control_flow)map->instructions[index].flow) {
	case FLOW_BRANCH:
		return WAY_ENDS | way_taken(map, index) | way_on(map, index);
	case FLOW_JUMP:
		return WAY_ENDS | way_taken(map, index);
	case FLOW_JUMP_INDIRECT:
		return WAY_ENDS | WAY_INDIRECT;
	case FLOW_CALL:
		note_inner_call(map, index);
		return WAY_ENDS | way_after_call(map, index, code_map_returns(map, map->instructions[index].target));
	case FLOW_CALL_INDIRECT:
		return WAY_ENDS | way_after_call(map, index, indirect_call_returns(map, index));
	case FLOW_RETURN:
		return WAY_ENDS | WAY_EXIT;
	case FLOW_STOP:
		return WAY_ENDS | WAY_NORETURN;
	case FLOW_NEXT:
		break;
	}
	return is_followed(map, index) ? WAY_FALL : WAY_ENDS | WAY_EXIT;
}

int
code_map_init(struct code_map *map, const struct instruction_list *list, struct decoder *decoder,
              const struct flow_source *source)
{
	int err;

	*map = (struct code_map){.source = source, .decoder = decoder, .instructions = list->instructions};
	err = parts_match(map, list);
	if (err)
		return err;
	if (parts_overlap(source))
		return -EINVAL;
	map->count = (uint32_t)list->count;
	map->ways = calloc(map->count, sizeof(*map->ways));
	map->targets = calloc(map->count, sizeof(*map->targets));
	if (!map->ways || !map->targets) {
		code_map_fini(map);
		return -ENOMEM;
	}
	map->ways[0] |= WAY_ENTERED;
	for (uint32_t i = 0; i < map->count; i++)
		map->ways[i] |= ways_of(map, i);
	/* unwinding, or longjmp, comes back to behind a call by another way than its return */
	for (uint32_t i = 1; i < map->count; i++) {
		if (map->instructions[i].is_landing_pad &&
		    (map->instructions[i - 1].flow == FLOW_CALL || map->instructions[i - 1].flow == FLOW_CALL_INDIRECT))
			map->ways[i] |= WAY_ENTERED;
	}
	return 0;
}

void
code_map_fini(struct code_map *map)
{
	free(map->ways);
	free(map->targets);
	free(map->table_ways);
	*map = (struct code_map){0};
}
