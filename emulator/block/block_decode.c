#include <errno.h>
#include <string.h>

#include "emulator/block/block_parts.h"

/* What the decoder takes for shorter or longer than the emulator does is not known. */
static void
decode_one(struct blocks *blocks, const struct encoded_instruction *encoded, uint64_t address,
           struct instruction *instruction)
{
	const uint8_t size = (uint8_t)encoded->length;
	const size_t taken = decoder_decode_encoded(blocks->decoder, encoded, address, instruction);

	if (taken == size && size)
		return;
	*instruction =
		(struct instruction){.address = address, .size = size, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
}

/* A system register is read or written without waiting; of what else has its class it is not known. */
static bool
is_blocking(enum architecture architecture, const struct instruction *instruction, const uint8_t *bytes)
{
	if (instruction->class == CLASS_ATOMIC || instruction->class == CLASS_BARRIER)
		return true;
	if (instruction->class != CLASS_SYSTEM)
		return false;
	/* what is not ecall or ebreak is about control registers */
	if (architecture == ARCHITECTURE_RISCV64)
		return !(bytes[1] & 0x70);
	/* mrs and msr: 1101 0101 00.1 */
	return architecture != ARCHITECTURE_AARCH64 || bytes[3] != 0xd5 || !(bytes[2] & 0x10);
}

/* Registers that wait for its load: what it writes, but for an address that it moves on. */
static void
find_load_registers(const struct instruction *from, struct block_instruction *to)
{
	const unsigned data = from->read_count - from->address_reads;
	unsigned count = 0;

	to->load_registers[0] = to->load_registers[1] = REGISTER_NONE;
	for (unsigned i = 0; from->loads && i < from->write_count && count < 2; i++) {
		const bool is_moved = memchr(from->reads + data, from->writes[i], from->address_reads) &&
		                      (i > 0 || from->class == CLASS_RETURN);

		if (!is_moved)
			to->load_registers[count++] = from->writes[i];
	}
}

/* Of what is no plain operation between registers it is not said what it does with memory. */
static bool
may_access(const struct encoded_instruction *encoded, const struct instruction *instruction, bool is_x86)
{
	if (instruction->loads || instruction->stores)
		return true;
	if (is_x86 && encoded->x86.has_memory)
		return instruction->class != CLASS_NOP && instruction->class != CLASS_ADDRESS;
	return instruction->class == CLASS_ATOMIC || instruction->class == CLASS_STRING ||
	       instruction->class == CLASS_SYSTEM || instruction->class == CLASS_UNKNOWN;
}

static void
fill(enum architecture architecture, const struct instruction *from, const struct encoded_instruction *encoded,
     struct block_instruction *to)
{
	to->class = from->class;
	to->read_count = from->clears ? 0 : from->read_count;
	to->address_count = from->clears ? 0 : from->address_reads;
	to->write_count = from->write_count;
	memcpy(to->reads, from->reads, sizeof(to->reads));
	memcpy(to->writes, from->writes, sizeof(to->writes));
	to->loads = from->loads && from->class != CLASS_PREFETCH;
	to->stores = from->stores;
	to->access_size = to->loads || to->stores ? from->access_size : 0;
	to->is_atomic = from->class == CLASS_ATOMIC;
	to->may_access = may_access(encoded, from, architecture == ARCHITECTURE_X86_64);
	to->is_blocking = is_blocking(architecture, from, encoded->bytes);
	find_load_registers(from, to);
	to->use = BLOCK_NOT_USED;
	to->leader = BLOCK_ALONE;
	to->next_member = BLOCK_NOT_USED;
}

static void
find_end(const struct instruction *last, struct block *block)
{
	static const uint8_t ends[] = {
		[FLOW_NEXT] = BLOCK_FALLS,     [FLOW_BRANCH] = BLOCK_BRANCHES,
		[FLOW_JUMP] = BLOCK_JUMPS,     [FLOW_JUMP_INDIRECT] = BLOCK_JUMPS_INDIRECT,
		[FLOW_CALL] = BLOCK_CALLS,     [FLOW_CALL_INDIRECT] = BLOCK_CALLS_INDIRECT,
		[FLOW_RETURN] = BLOCK_RETURNS, [FLOW_STOP] = BLOCK_FALLS,
	};

	block->end = ends[last->flow];
	block->target = last->target;
	block->end_size = last->size;
}

/* Of which size and offset of each instruction are known. */
static void
decode_all(struct blocks *blocks, const struct block *block, const uint8_t *bytes)
{
	for (unsigned i = 0; i < block->count; i++)
		decoder_prefetch(blocks->decoder, bytes + block->instructions[i].offset, block->instructions[i].size,
		                 &blocks->encoded[i]);
	for (unsigned i = 0; i < block->count; i++)
		decode_one(blocks, &blocks->encoded[i], block->address + block->instructions[i].offset,
		           &blocks->decoded[i]);
}

int
block_decode(struct blocks *blocks, struct block_node *node, const uint8_t *bytes, const uint8_t *sizes)
{
	struct block *block = &node->block;
	unsigned at = 0;

	block->instructions = arena_take(&blocks->arena, block->count * sizeof(*block->instructions),
	                                 _Alignof(struct block_instruction));
	if (!block->instructions)
		return -ENOMEM;
	for (unsigned i = 0; i < block->count; i++) {
		block->instructions[i].offset = (uint16_t)at;
		block->instructions[i].size = sizes[i];
		at += sizes[i];
	}
	decode_all(blocks, block, bytes);
	for (uint16_t i = 0; i < block->count; i++) {
		fill(blocks->architecture, &blocks->decoded[i], &blocks->encoded[i], &block->instructions[i]);
		if (block->instructions[i].may_access)
			block->access_end = i + 1;
	}
	find_end(&blocks->decoded[block->count - 1], block);
	return 0;
}

void
block_decode_again(struct blocks *blocks, const struct block_node *node)
{
	decode_all(blocks, &node->block, node->bytes);
}
