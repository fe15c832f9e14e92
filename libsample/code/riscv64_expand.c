/* Compressed instructions as those they stand for: The RISC-V Instruction Set Manual, volume I, chapter 16. */
#include "code/riscv64_parts.h"

#define LOAD     0x03u
#define LOAD_FP  0x07u
#define IMM      0x13u
#define IMM_32   0x1bu
#define STORE    0x23u
#define STORE_FP 0x27u
#define OP       0x33u
#define LUI      0x37u
#define OP_32    0x3bu
#define BRANCH   0x63u
#define JALR     0x67u
#define JAL      0x6fu
#define EBREAK   0x00100073u

/* Bits `from` on, `count` of them, moved to `to`. */
static uint32_t
bits(uint32_t word, unsigned from, unsigned count, unsigned to)
{
	return (word >> from & ((1u << count) - 1)) << to;
}

static uint32_t
sign_extend(uint32_t value, unsigned width)
{
	const uint32_t sign = 1u << (width - 1);

	return (value ^ sign) - sign;
}

static uint32_t
immediate_form(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t immediate)
{
	return immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}

static uint32_t
store_form(uint32_t opcode, uint32_t funct3, uint32_t rs1, uint32_t rs2, uint32_t offset)
{
	return bits(offset, 5, 7, 25) | rs2 << 20 | rs1 << 15 | funct3 << 12 | bits(offset, 0, 5, 7) | opcode;
}

static uint32_t
register_form(uint32_t opcode, uint32_t funct7, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}

static uint32_t
jump_form(uint32_t rd, uint32_t offset)
{
	return bits(offset, 20, 1, 31) | bits(offset, 1, 10, 21) | bits(offset, 11, 1, 20) | bits(offset, 12, 8, 12) |
	       rd << 7 | JAL;
}

static uint32_t
branch_form(uint32_t funct3, uint32_t rs1, uint32_t offset)
{
	return bits(offset, 12, 1, 31) | bits(offset, 5, 6, 25) | rs1 << 15 | funct3 << 12 | bits(offset, 1, 4, 8) |
	       bits(offset, 11, 1, 7) | BRANCH;
}

/* Registers 8 to 15 in three bits. */
static uint32_t
near_register(uint32_t word, unsigned from)
{
	return 8 + bits(word, from, 3, 0);
}

static uint32_t
expand_0(uint32_t word)
{
	const uint32_t to = near_register(word, 2), base = near_register(word, 7);
	const uint32_t of_4 = bits(word, 10, 3, 3) | bits(word, 6, 1, 2) | bits(word, 5, 1, 6);
	const uint32_t of_8 = bits(word, 10, 3, 3) | bits(word, 5, 2, 6);
	const uint32_t of_stack =
		bits(word, 11, 2, 4) | bits(word, 7, 4, 6) | bits(word, 6, 1, 2) | bits(word, 5, 1, 3);

	switch (word >> 13) {
	case 0:
		return of_stack ? immediate_form(IMM, 0, to, RISCV64_SP, of_stack) : 0;
	case 1:
		return immediate_form(LOAD_FP, 3, to, base, of_8);
	case 2:
		return immediate_form(LOAD, 2, to, base, of_4);
	case 3:
		return immediate_form(LOAD, 3, to, base, of_8);
	case 5:
		return store_form(STORE_FP, 3, base, to, of_8);
	case 6:
		return store_form(STORE, 2, base, to, of_4);
	case 7:
		return store_form(STORE, 3, base, to, of_8);
	default:
		return 0;
	}
}

static uint32_t
expand_arithmetic(uint32_t word)
{
	static const uint8_t functions[8] = {0, 4, 6, 7, 0, 0, 0xff, 0xff}; /* sub xor or and subw addw */
	const uint32_t rd = near_register(word, 7), rs2 = near_register(word, 2);
	const uint32_t six = bits(word, 12, 1, 5) | bits(word, 2, 5, 0);
	const uint32_t which = bits(word, 12, 1, 2) | bits(word, 5, 2, 0);

	switch (word >> 10 & 3) {
	case 0:
		return immediate_form(IMM, 5, rd, rd, six);
	case 1:
		return immediate_form(IMM, 5, rd, rd, six | 0x400);
	case 2:
		return immediate_form(IMM, 7, rd, rd, sign_extend(six, 6));
	default:
		break;
	}
	if (functions[which] == 0xff)
		return 0;
	return register_form(which < 4 ? OP : OP_32, which == 0 || which == 4 ? 0x20 : 0, functions[which], rd, rd,
	                     rs2);
}

static uint32_t
expand_upper(uint32_t word, uint32_t rd)
{
	const uint32_t six = sign_extend(bits(word, 12, 1, 5) | bits(word, 2, 5, 0), 6);
	const uint32_t of_stack = bits(word, 12, 1, 9) | bits(word, 6, 1, 4) | bits(word, 5, 1, 6) |
	                          bits(word, 3, 2, 7) | bits(word, 2, 1, 5);

	if (!six)
		return 0;
	if (rd == RISCV64_SP)
		return immediate_form(IMM, 0, rd, rd, sign_extend(of_stack, 10));
	return six << 12 | rd << 7 | LUI;
}

static uint32_t
expand_1(uint32_t word)
{
	const uint32_t rd = word >> 7 & 31, six = sign_extend(bits(word, 12, 1, 5) | bits(word, 2, 5, 0), 6);
	const uint32_t jump = bits(word, 12, 1, 11) | bits(word, 11, 1, 4) | bits(word, 9, 2, 8) |
	                      bits(word, 8, 1, 10) | bits(word, 7, 1, 6) | bits(word, 6, 1, 7) | bits(word, 3, 3, 1) |
	                      bits(word, 2, 1, 5);
	const uint32_t branch = bits(word, 12, 1, 8) | bits(word, 10, 2, 3) | bits(word, 5, 2, 6) |
	                        bits(word, 3, 2, 1) | bits(word, 2, 1, 5);

	switch (word >> 13) {
	case 0:
		return immediate_form(IMM, 0, rd, rd, six);
	case 1:
		return rd ? immediate_form(IMM_32, 0, rd, rd, six) : 0;
	case 2:
		return immediate_form(IMM, 0, rd, 0, six);
	case 3:
		return expand_upper(word, rd);
	case 4:
		return expand_arithmetic(word);
	case 5:
		return jump_form(0, sign_extend(jump, 12));
	case 6:
		return branch_form(0, near_register(word, 7), sign_extend(branch, 9));
	default:
		return branch_form(1, near_register(word, 7), sign_extend(branch, 9));
	}
}

static uint32_t
expand_registers(uint32_t word)
{
	const uint32_t rd = word >> 7 & 31, rs2 = word >> 2 & 31;
	const bool second = word >> 12 & 1;

	if (rs2)
		return register_form(OP, 0, 0, rd, second ? rd : 0, rs2);
	if (!rd)
		return second ? EBREAK : 0;
	return immediate_form(JALR, 0, second ? RISCV64_RA : 0, rd, 0);
}

static uint32_t
expand_2(uint32_t word)
{
	const uint32_t rd = word >> 7 & 31, rs2 = word >> 2 & 31;
	const uint32_t load_8 = bits(word, 12, 1, 5) | bits(word, 5, 2, 3) | bits(word, 2, 3, 6);
	const uint32_t load_4 = bits(word, 12, 1, 5) | bits(word, 4, 3, 2) | bits(word, 2, 2, 6);
	const uint32_t store_8 = bits(word, 10, 3, 3) | bits(word, 7, 3, 6);
	const uint32_t store_4 = bits(word, 9, 4, 2) | bits(word, 7, 2, 6);

	switch (word >> 13) {
	case 0:
		return immediate_form(IMM, 1, rd, rd, bits(word, 12, 1, 5) | bits(word, 2, 5, 0));
	case 1:
		return immediate_form(LOAD_FP, 3, rd, RISCV64_SP, load_8);
	case 2:
		return rd ? immediate_form(LOAD, 2, rd, RISCV64_SP, load_4) : 0;
	case 3:
		return rd ? immediate_form(LOAD, 3, rd, RISCV64_SP, load_8) : 0;
	case 4:
		return expand_registers(word);
	case 5:
		return store_form(STORE_FP, 3, RISCV64_SP, rs2, store_8);
	case 6:
		return store_form(STORE, 2, RISCV64_SP, rs2, store_4);
	default:
		return store_form(STORE, 3, RISCV64_SP, rs2, store_8);
	}
}

uint32_t
riscv64_expand(uint16_t compressed)
{
	switch (compressed & 3) {
	case 0:
		return expand_0(compressed);
	case 1:
		return expand_1(compressed);
	case 2:
		return expand_2(compressed);
	default:
		return 0;
	}
}

size_t
riscv64_word(const uint8_t *bytes, size_t length, uint32_t *word)
{
	if (length < 2)
		return 0;
	*word = bytes[0] | (uint32_t)bytes[1] << 8;
	if ((*word & 3) != 3) {
		*word = riscv64_expand((uint16_t)*word);
		return 2;
	}
	if (length < 4)
		return 0;
	*word |= (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	return 4;
}
