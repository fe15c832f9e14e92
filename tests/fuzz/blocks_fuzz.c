/*
 * Code of a guest may be anything: any bytes, cut into instructions anywhere, become a block whose parts refer to each
 * other only, and which can follow itself and others. The first byte chooses architecture and pipeline, the next ones
 * are sizes; the code lies at the end of its memory: to read behind it is seen.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/block/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
check_group(const struct block *block, unsigned i)
{
	const struct block_instruction *instruction = &block->instructions[i];
	unsigned leader = instruction->leader;

	if (leader == BLOCK_ALONE) {
		require(instruction->next_member == BLOCK_NOT_USED && instruction->group_from == 0);
		return;
	}
	require(leader <= i && (instruction->loads || instruction->stores) && !instruction->is_atomic);
	require(block->instructions[leader].leader == leader);
	require(instruction->displacement > -64 && instruction->displacement < 64);
	require(instruction->next_member == BLOCK_NOT_USED ||
	        (instruction->next_member > i && instruction->next_member < block->count &&
	         block->instructions[instruction->next_member].leader == leader));
	if (leader == i)
		require(instruction->group_from > -64 && instruction->group_from <= 0 && instruction->group_to > 0 &&
		        instruction->group_to - instruction->group_from <= 64);
}

static void
check_block(const struct block *block)
{
	require(block->end <= BLOCK_RETURNS && block->fall == block->address + block->size);
	for (unsigned i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		require(instruction->class < CLASS_COUNT && instruction->offset + instruction->size <= block->size);
		require(instruction->use == BLOCK_NOT_USED ||
		        (instruction->use > i && instruction->use < block->count));
		require(i < block->access_end || !instruction->may_access);
		require(block->is_in_order || i >= block->access_end ||
		        (block->dependences[i].load == BLOCK_NOT_USED) == !instruction->loads);
		check_group(block, i);
	}
	for (unsigned reg = 0; block->is_in_order && reg < REGISTER_COUNT; reg++) {
		const uint16_t reader = block_first_reader(block, reg);

		require(reader == BLOCK_NOT_USED || reader < block->count);
	}
	for (unsigned reg = 0; !block->is_in_order && reg < 32; reg++)
		require(!(block->live_in >> reg & 1) || !(block->reaches[reg] & ~block->writes));
}

static void
check_variant(const struct variant *variant, const struct block *block)
{
	require(variant && variant->block == block);
	for (unsigned i = 0; i < block->count; i++)
		require(variant->issue_cycles[i] <= variant->issue_cycles[i + 1]);
}

static void
check_code(const struct pipeline *pipeline, uint16_t machine, enum block_callbacks callbacks, const uint8_t *code,
           const uint8_t *sizes, size_t count)
{
	struct blocks *blocks = blocks_new(pipeline, machine, callbacks);
	const struct block *block, *half;
	const struct variant *variant;

	if (!blocks)
		return;
	block = blocks_add(blocks, 0x401000, code, sizes, count, 1, 1);
	half = blocks_add(blocks, 0x401000, code, sizes, (count + 1) / 2, 2, 1);
	if (block && half) {
		require(blocks_add(blocks, 0x401000, code, sizes, count, 1, 1) == block);
		check_block(block);
		check_block(half);
		variant = blocks_first_variant(blocks, block);
		for (unsigned i = 0; i < 6; i++) {
			check_variant(variant, variant->block);
			variant = blocks_find_variant(blocks, variant, i % 3 ? half : block);
		}
	}
	blocks_free(blocks);
}

/* Two units, everything takes two cycles of one; what has bit 0 of its class also of the other. */
static void
make_pipeline(struct pipeline *pipeline, enum pipeline_kind kind)
{
	pipeline->kind = kind;
	pipeline->issue_width = 2;
	pipeline->unit_count = 2;
	pipeline->taken_branches = 1;
	pipeline->cache_line = 64;
	for (unsigned i = 0; i < OPERATION_COUNT; i++) {
		pipeline->operations[i].latency = i % 5;
		pipeline->operations[i].micro_operations = 1;
		pipeline->operations[i].use_count = 1;
		pipeline->operations[i].uses[0] = (struct pipeline_use){.units = i & 1 ? 3 : 1, .cycles = 2};
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV, EM_SPARC};
	static struct pipeline in_order, out_of_order;
	uint8_t sizes[BLOCK_INSTRUCTIONS_MAX], *code;
	size_t count, used = 0, at;

	if (size < 3)
		return 0;
	make_pipeline(&in_order, PIPELINE_KIND_IN_ORDER);
	make_pipeline(&out_of_order, PIPELINE_KIND_OUT_OF_ORDER);
	count = 1 + data[1];
	at = 2 + count;
	if (at >= size)
		return 0;
	code = malloc(size - at);
	if (!code)
		return 0;
	memcpy(code, data + at, size - at);
	for (size_t i = 0; i < count; i++) {
		const size_t left = size - at - used, wanted = data[2 + i] % 16;

		sizes[i] = (uint8_t)(wanted < left ? wanted : left);
		used += sizes[i];
	}
	check_code(data[0] & 4 ? &in_order : &out_of_order, machines[data[0] & 3],
	           data[0] & 8 ? BLOCK_CALLBACKS_16 : BLOCK_CALLBACKS_8, code, sizes, count);
	free(code);
	return 0;
}
