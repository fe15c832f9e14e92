/*
 * A riscv64 instruction out of its word and its row of the table.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "code/decoder_private.h"
#include "code/riscv64_parts.h"

static int64_t
signed_bits(uint64_t value, unsigned width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

int64_t
riscv64_load_offset(uint32_t word)
{
	return signed_bits(word >> 20, 12);
}

int64_t
riscv64_store_offset(uint32_t word)
{
	return signed_bits((word >> 25) << 5 | (word >> 7 & 31), 12);
}

int64_t
riscv64_branch_offset(uint32_t word)
{
	return signed_bits((word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1,
	                   13);
}

int64_t
riscv64_jump_offset(uint32_t word)
{
	return signed_bits(
		(word >> 31) << 20 | (word >> 12 & 255) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 1023) << 1, 21);
}

static uint8_t
general(unsigned number)
{
	return number ? (uint8_t)number : REGISTER_NONE;
}

static bool
is_link(unsigned reg)
{
	return reg == RISCV64_RA || reg == RISCV64_T0;
}

/* jal and jalr: calls, returns and jumps by the registers that they use, as the manual tells predictors to. */
static void
find_flow(uint32_t word, const struct riscv64_form *form, uint64_t address, struct instruction *instruction)
{
	const unsigned rd = riscv64_rd(word), rs1 = riscv64_rs1(word);

	if (form->class == CLASS_BRANCH) {
		instruction->flow = FLOW_BRANCH;
		instruction->target = address + (uint64_t)riscv64_branch_offset(word);
	} else if (form->class == CLASS_JUMP && form->operands[1] == 'a') {
		instruction->flow = rd ? FLOW_CALL : FLOW_JUMP;
		instruction->class = rd ? CLASS_CALL : CLASS_JUMP;
		instruction->target = address + (uint64_t)riscv64_jump_offset(word);
	} else if (form->class == CLASS_JUMP && rd) {
		instruction->flow = FLOW_CALL_INDIRECT;
		instruction->class = CLASS_CALL;
	} else if (form->class == CLASS_JUMP) {
		instruction->flow = is_link(rs1) ? FLOW_RETURN : FLOW_JUMP_INDIRECT;
		instruction->class = is_link(rs1) ? CLASS_RETURN : CLASS_JUMP;
	} else if (word == 0x00100073) {
		instruction->flow = FLOW_STOP; /* ebreak */
	}
}

/* Moves that are additions or sign injections. */
static uint8_t
class_of(uint32_t word, const struct riscv64_form *form)
{
	const unsigned rs1 = riscv64_rs1(word), rs2 = riscv64_rs2(word);

	if (form->match == 0x13 && form->class == CLASS_INTEGER && rs1 && word >> 20 == 0)
		return CLASS_MOVE; /* addi rd, rs, 0 */
	if (form->match == 0x33 && (!rs1 || !rs2))
		return CLASS_MOVE;
	return form->class;
}

static void
touch_operand(char operand, uint32_t word, bool is_access, struct instruction *instruction)
{
	switch (operand) {
	case 's':
		instruction_add_read(instruction, general(riscv64_rs1(word)));
		break;
	case 't':
		instruction_add_read(instruction, general(riscv64_rs2(word)));
		break;
	case 'S':
		instruction_add_read(instruction, (uint8_t)(REGISTER_VECTOR + riscv64_rs1(word)));
		break;
	case 'T':
		instruction_add_read(instruction, (uint8_t)(REGISTER_VECTOR + riscv64_rs2(word)));
		break;
	case 'R':
		instruction_add_read(instruction, (uint8_t)(REGISTER_VECTOR + (word >> 27)));
		break;
	case 'd':
		instruction_add_write(instruction, general(riscv64_rd(word)));
		break;
	case 'D':
		instruction_add_write(instruction, (uint8_t)(REGISTER_VECTOR + riscv64_rd(word)));
		break;
	case 'o':
	case 'q':
	case 'A':
		if (is_access)
			instruction_add_address(instruction, general(riscv64_rs1(word)));
		else
			instruction_add_read(instruction, general(riscv64_rs1(word)));
		break;
	default:
		break;
	}
}

static void
find_access(uint32_t word, const struct riscv64_form *form, struct instruction *instruction)
{
	const unsigned funct5 = word >> 27;

	instruction->loads = form->class == CLASS_LOAD || (form->class == CLASS_ATOMIC && funct5 != 3);
	instruction->stores = form->class == CLASS_STORE || (form->class == CLASS_ATOMIC && funct5 != 2);
	if (instruction->loads || instruction->stores)
		instruction->access_size = (uint8_t)(1u << (word >> 12 & 3));
}

/* A system call reads a0 to a5 and a7, and writes a0. */
static void
touch_call(struct instruction *instruction)
{
	for (uint8_t reg = 10; reg <= 15; reg++)
		instruction_add_read(instruction, reg);
	instruction_add_write(instruction, 10);
}

static size_t
decode_bad(size_t length, size_t size, uint64_t address, struct instruction *instruction)
{
	*instruction = (struct instruction){.address = address, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
	instruction->size = (uint8_t)(size ? size : length);
	return instruction->size;
}

size_t
riscv64_decode(const uint8_t *bytes, size_t length, uint64_t address, struct instruction *instruction)
{
	const struct riscv64_form *form;
	uint32_t word;
	const size_t size = riscv64_word(bytes, length, &word);

	form = size && word ? riscv64_find(word) : NULL;
	if (!form)
		return decode_bad(length, size, address, instruction);
	*instruction = (struct instruction){.address = address, .size = (uint8_t)size, .class = class_of(word, form)};
	find_access(word, form, instruction);
	for (const char *operand = form->operands; *operand; operand++)
		touch_operand(*operand, word, instruction->access_size, instruction);
	if (word == 0x00000073)
		touch_call(instruction);
	find_flow(word, form, address, instruction);
	instruction->is_wide = form->class == CLASS_DIVIDE && (word & 0x7f) == 0x33;
	return size;
}

static struct instruction_operand
operand_of(char operand, uint32_t word, uint64_t address)
{
	struct instruction reads = {0};
	struct instruction_operand made = {
		.kind = OPERAND_OTHER, .reg = REGISTER_NONE, .base = REGISTER_NONE, .index = REGISTER_NONE, .scale = 1};

	switch (operand) {
	case 'j':
		made.kind = OPERAND_IMMEDIATE;
		made.value = riscv64_load_offset(word);
		break;
	case 'u':
		made.kind = OPERAND_IMMEDIATE;
		made.value = signed_bits(word & 0xfffff000, 32);
		break;
	case '<':
	case '>':
		made.kind = OPERAND_IMMEDIATE;
		made.value = word >> 20 & (operand == '<' ? 31 : 63);
		break;
	case 'p':
	case 'a':
		made.kind = OPERAND_IMMEDIATE;
		made.value =
			(int64_t)address + (operand == 'p' ? riscv64_branch_offset(word) : riscv64_jump_offset(word));
		break;
	case 'o':
	case 'q':
	case 'A':
		made.kind = OPERAND_MEMORY;
		made.size = (uint8_t)(1u << (word >> 12 & 3));
		made.base = general(riscv64_rs1(word));
		made.value = operand == 'o'   ? riscv64_load_offset(word)
		             : operand == 'q' ? riscv64_store_offset(word)
		                              : 0;
		break;
	case 'E':
	case 'Z':
	case 'F':
	case 'm':
	case 'n':
		break;
	default:
		touch_operand(operand, word, false, &reads);
		made.kind = OPERAND_REGISTER;
		made.size = 8;
		made.reg = reads.read_count ? reads.reads[0] : reads.write_count ? reads.writes[0] : REGISTER_NONE;
		break;
	}
	return made;
}

int
riscv64_detail(const uint8_t *bytes, size_t length, uint64_t address, struct instruction_detail *detail)
{
	const struct riscv64_form *form;
	uint32_t word;
	const size_t size = riscv64_word(bytes, length, &word);

	memset(detail, 0, sizeof(*detail));
	form = size && word ? riscv64_find(word) : NULL;
	if (!form)
		return -DCPI_EDAMAGED;
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", form->name);
	for (const char *operand = form->operands; *operand; operand++)
		detail->operands[detail->operand_count++] = operand_of(*operand, word, address);
	return 0;
}
