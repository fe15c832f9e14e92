/*
 * RISC-V: an instruction out of its word and its row of the table. RV64GC and the bit manipulations Zba, Zbb, Zbs, by
 * tables of our own; a compressed instruction is first expanded to the one that it stands for.
 * Source: The RISC-V Instruction Set Manual, volume I, 20191213.
 */
#include "code/riscv64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "code/decoder_internal.h"

#define RISCV64_RA 1u
#define RISCV64_SP 2u
#define RISCV64_T0 5u

/*
 * The words that have `match` under `mask`. Operands, in the order of the text: d s t registers (rd, rs1, rs2), D S T R
 * floating-point registers (rd, rs1, rs2, rs3), j u immediates, < > shifts of 5 and 6 bits, o q memory at rs1
 * with a load's or a store's displacement, A memory at rs1, p a targets of branches and of jal, E Z a control register
 * and an immediate for it, m a rounding mode (n: one
 * that has no effect), F what a fence orders.
 */
struct riscv64_form {
	uint32_t match, mask;
	const char *name;
	const char *operands;
	uint8_t class; /* enum instruction_class */
};

#define F3(funct3)   ((uint32_t)(funct3) << 12)
#define F7(funct7)   ((uint32_t)(funct7) << 25)
#define F12(funct12) ((uint32_t)(funct12) << 20)
#define WITH_F3      0x0000707f
#define WITH_F7      0xfe00707f /* and F3 */
#define WITH_F6      0xfc00707f
#define WITH_F12     0xfff0707f

/* clang-format off */
#define I(name, class, f3, op, form) {F3(f3) | (op), WITH_F3, name, form, class}
#define R(name, class, f7, f3, op) {F7(f7) | F3(f3) | (op), WITH_F7, name, "dst", class}
#define SHIFT6(name, class, f6, f3) {F7((f6) << 1) | F3(f3) | 0x13, WITH_F6, name, "ds>", class}
#define SHIFT5(name, class, f7, f3) {F7(f7) | F3(f3) | 0x1b, WITH_F7, name, "ds<", class}
#define UNARY(name, class, f12, f3, op) {F12(f12) | F3(f3) | (op), WITH_F12, name, "ds", class}
#define AMO(name, f5, form) \
	{(uint32_t)(f5) << 27 | F3(2) | 0x2f, 0xf800707f, name ".w", form, CLASS_ATOMIC}, \
	{(uint32_t)(f5) << 27 | F3(3) | 0x2f, 0xf800707f, name ".d", form, CLASS_ATOMIC}
#define FUSED(name, op) \
	{(op), 0x0600007f, name ".s", "DSTRm", CLASS_FLOAT_FUSED}, \
	{F7(1) | (op), 0x0600007f, name ".d", "DSTRm", CLASS_FLOAT_FUSED}
/* of single and double precision */
#define FLOAT2(name, class, f7) \
	{F7(f7) | 0x53, 0xfe00007f, name ".s", "DSTm", class}, \
	{F7((f7) + 1) | 0x53, 0xfe00007f, name ".d", "DSTm", class}
#define FLOAT3(name, class, f7, f3, form) \
	{F7(f7) | F3(f3) | 0x53, WITH_F7, name ".s", form, class}, \
	{F7((f7) + 1) | F3(f3) | 0x53, WITH_F7, name ".d", form, class}
#define FLOAT1(name, class, f7, rs2, form) {F7(f7) | F12(rs2) | 0x53, 0xfff0007f, name, form, class}
#define FLOAT13(name, class, f7, f3, form) {F7(f7) | F3(f3) | 0x53, WITH_F12, name, form, class}
#define ALL(name, class, word) {(word), 0xffffffff, name, "", class}

/* Rows of one major opcode follow each other. */
static const struct riscv64_form forms[] = {
	/* 00000: loads */
	I("lb", CLASS_LOAD, 0, 0x03, "do"),
	I("lh", CLASS_LOAD, 1, 0x03, "do"),
	I("lw", CLASS_LOAD, 2, 0x03, "do"),
	I("ld", CLASS_LOAD, 3, 0x03, "do"),
	I("lbu", CLASS_LOAD, 4, 0x03, "do"),
	I("lhu", CLASS_LOAD, 5, 0x03, "do"),
	I("lwu", CLASS_LOAD, 6, 0x03, "do"),
	/* 00001 */
	I("flw", CLASS_LOAD, 2, 0x07, "Do"),
	I("fld", CLASS_LOAD, 3, 0x07, "Do"),
	/* 00011 */
	I("fence", CLASS_BARRIER, 0, 0x0f, "F"),
	I("fence.i", CLASS_BARRIER, 1, 0x0f, ""),
	/* 00100: with an immediate */
	{F3(0) | 0x13, 0x000fffff, "nop", "", CLASS_NOP},
	I("addi", CLASS_INTEGER, 0, 0x13, "dsj"),
	I("slti", CLASS_INTEGER, 2, 0x13, "dsj"),
	I("sltiu", CLASS_INTEGER, 3, 0x13, "dsj"),
	I("xori", CLASS_INTEGER, 4, 0x13, "dsj"),
	I("ori", CLASS_INTEGER, 6, 0x13, "dsj"),
	I("andi", CLASS_INTEGER, 7, 0x13, "dsj"),
	SHIFT6("slli", CLASS_SHIFT, 0x00, 1),
	SHIFT6("srli", CLASS_SHIFT, 0x00, 5),
	SHIFT6("srai", CLASS_SHIFT, 0x10, 5),
	SHIFT6("rori", CLASS_SHIFT, 0x18, 5),
	SHIFT6("bclri", CLASS_BIT, 0x12, 1),
	SHIFT6("bexti", CLASS_BIT, 0x12, 5),
	SHIFT6("binvi", CLASS_BIT, 0x1a, 1),
	SHIFT6("bseti", CLASS_BIT, 0x0a, 1),
	UNARY("clz", CLASS_BIT, 0x600, 1, 0x13),
	UNARY("ctz", CLASS_BIT, 0x601, 1, 0x13),
	UNARY("cpop", CLASS_BIT, 0x602, 1, 0x13),
	UNARY("sext.b", CLASS_INTEGER, 0x604, 1, 0x13),
	UNARY("sext.h", CLASS_INTEGER, 0x605, 1, 0x13),
	UNARY("orc.b", CLASS_BIT, 0x287, 5, 0x13),
	UNARY("rev8", CLASS_BIT, 0x6b8, 5, 0x13),
	/* 00101 */
	{0x17, 0x7f, "auipc", "du", CLASS_ADDRESS},
	/* 00110: of 32 bits */
	I("addiw", CLASS_INTEGER, 0, 0x1b, "dsj"),
	SHIFT5("slliw", CLASS_SHIFT, 0x00, 1),
	SHIFT5("srliw", CLASS_SHIFT, 0x00, 5),
	SHIFT5("sraiw", CLASS_SHIFT, 0x20, 5),
	SHIFT5("roriw", CLASS_SHIFT, 0x30, 5),
	{F7(0x04) | F3(1) | 0x1b, WITH_F6, "slli.uw", "ds>", CLASS_SHIFT},
	UNARY("clzw", CLASS_BIT, 0x600, 1, 0x1b),
	UNARY("ctzw", CLASS_BIT, 0x601, 1, 0x1b),
	UNARY("cpopw", CLASS_BIT, 0x602, 1, 0x1b),
	/* 01000: stores */
	I("sb", CLASS_STORE, 0, 0x23, "tq"),
	I("sh", CLASS_STORE, 1, 0x23, "tq"),
	I("sw", CLASS_STORE, 2, 0x23, "tq"),
	I("sd", CLASS_STORE, 3, 0x23, "tq"),
	/* 01001 */
	I("fsw", CLASS_STORE, 2, 0x27, "Tq"),
	I("fsd", CLASS_STORE, 3, 0x27, "Tq"),
	/* 01011 */
	{UINT32_C(0x02) << 27 | F3(2) | 0x2f, 0xf9f0707f, "lr.w", "dA", CLASS_ATOMIC},
	{UINT32_C(0x02) << 27 | F3(3) | 0x2f, 0xf9f0707f, "lr.d", "dA", CLASS_ATOMIC},
	AMO("sc", 0x03, "dtA"),
	AMO("amoswap", 0x01, "dtA"),
	AMO("amoadd", 0x00, "dtA"),
	AMO("amoxor", 0x04, "dtA"),
	AMO("amoand", 0x0c, "dtA"),
	AMO("amoor", 0x08, "dtA"),
	AMO("amomin", 0x10, "dtA"),
	AMO("amomax", 0x14, "dtA"),
	AMO("amominu", 0x18, "dtA"),
	AMO("amomaxu", 0x1c, "dtA"),
	/* 01100: of registers */
	R("add", CLASS_INTEGER, 0x00, 0, 0x33),
	R("sub", CLASS_INTEGER, 0x20, 0, 0x33),
	R("sll", CLASS_SHIFT, 0x00, 1, 0x33),
	R("slt", CLASS_INTEGER, 0x00, 2, 0x33),
	R("sltu", CLASS_INTEGER, 0x00, 3, 0x33),
	R("xor", CLASS_INTEGER, 0x00, 4, 0x33),
	R("srl", CLASS_SHIFT, 0x00, 5, 0x33),
	R("sra", CLASS_SHIFT, 0x20, 5, 0x33),
	R("or", CLASS_INTEGER, 0x00, 6, 0x33),
	R("and", CLASS_INTEGER, 0x00, 7, 0x33),
	R("mul", CLASS_MULTIPLY, 0x01, 0, 0x33),
	R("mulh", CLASS_MULTIPLY, 0x01, 1, 0x33),
	R("mulhsu", CLASS_MULTIPLY, 0x01, 2, 0x33),
	R("mulhu", CLASS_MULTIPLY, 0x01, 3, 0x33),
	R("div", CLASS_DIVIDE, 0x01, 4, 0x33),
	R("divu", CLASS_DIVIDE, 0x01, 5, 0x33),
	R("rem", CLASS_DIVIDE, 0x01, 6, 0x33),
	R("remu", CLASS_DIVIDE, 0x01, 7, 0x33),
	R("sh1add", CLASS_ADDRESS, 0x10, 2, 0x33),
	R("sh2add", CLASS_ADDRESS, 0x10, 4, 0x33),
	R("sh3add", CLASS_ADDRESS, 0x10, 6, 0x33),
	R("andn", CLASS_INTEGER, 0x20, 7, 0x33),
	R("orn", CLASS_INTEGER, 0x20, 6, 0x33),
	R("xnor", CLASS_INTEGER, 0x20, 4, 0x33),
	R("max", CLASS_INTEGER, 0x05, 6, 0x33),
	R("maxu", CLASS_INTEGER, 0x05, 7, 0x33),
	R("min", CLASS_INTEGER, 0x05, 4, 0x33),
	R("minu", CLASS_INTEGER, 0x05, 5, 0x33),
	R("rol", CLASS_SHIFT, 0x30, 1, 0x33),
	R("ror", CLASS_SHIFT, 0x30, 5, 0x33),
	R("bclr", CLASS_BIT, 0x24, 1, 0x33),
	R("bext", CLASS_BIT, 0x24, 5, 0x33),
	R("binv", CLASS_BIT, 0x34, 1, 0x33),
	R("bset", CLASS_BIT, 0x14, 1, 0x33),
	/* 01101 */
	{0x37, 0x7f, "lui", "du", CLASS_INTEGER},
	/* 01110: of 32 bits */
	R("addw", CLASS_INTEGER, 0x00, 0, 0x3b),
	R("subw", CLASS_INTEGER, 0x20, 0, 0x3b),
	R("sllw", CLASS_SHIFT, 0x00, 1, 0x3b),
	R("srlw", CLASS_SHIFT, 0x00, 5, 0x3b),
	R("sraw", CLASS_SHIFT, 0x20, 5, 0x3b),
	R("mulw", CLASS_MULTIPLY, 0x01, 0, 0x3b),
	R("divw", CLASS_DIVIDE, 0x01, 4, 0x3b),
	R("divuw", CLASS_DIVIDE, 0x01, 5, 0x3b),
	R("remw", CLASS_DIVIDE, 0x01, 6, 0x3b),
	R("remuw", CLASS_DIVIDE, 0x01, 7, 0x3b),
	UNARY("zext.h", CLASS_INTEGER, 0x080, 4, 0x3b),
	R("add.uw", CLASS_ADDRESS, 0x04, 0, 0x3b),
	R("sh1add.uw", CLASS_ADDRESS, 0x10, 2, 0x3b),
	R("sh2add.uw", CLASS_ADDRESS, 0x10, 4, 0x3b),
	R("sh3add.uw", CLASS_ADDRESS, 0x10, 6, 0x3b),
	R("rolw", CLASS_SHIFT, 0x30, 1, 0x3b),
	R("rorw", CLASS_SHIFT, 0x30, 5, 0x3b),
	/* 10000 to 10011 */
	FUSED("fmadd", 0x43),
	FUSED("fmsub", 0x47),
	FUSED("fnmsub", 0x4b),
	FUSED("fnmadd", 0x4f),
	/* 10100 */
	FLOAT2("fadd", CLASS_FLOAT_ADD, 0x00),
	FLOAT2("fsub", CLASS_FLOAT_ADD, 0x04),
	FLOAT2("fmul", CLASS_FLOAT_MULTIPLY, 0x08),
	FLOAT2("fdiv", CLASS_FLOAT_DIVIDE, 0x0c),
	FLOAT1("fsqrt.s", CLASS_FLOAT_ROOT, 0x2c, 0, "DSm"),
	FLOAT1("fsqrt.d", CLASS_FLOAT_ROOT, 0x2d, 0, "DSm"),
	FLOAT3("fsgnj", CLASS_FLOAT_MOVE, 0x10, 0, "DST"),
	FLOAT3("fsgnjn", CLASS_FLOAT_MOVE, 0x10, 1, "DST"),
	FLOAT3("fsgnjx", CLASS_FLOAT_MOVE, 0x10, 2, "DST"),
	FLOAT3("fmin", CLASS_FLOAT_COMPARE, 0x14, 0, "DST"),
	FLOAT3("fmax", CLASS_FLOAT_COMPARE, 0x14, 1, "DST"),
	FLOAT3("fle", CLASS_FLOAT_COMPARE, 0x50, 0, "dST"),
	FLOAT3("flt", CLASS_FLOAT_COMPARE, 0x50, 1, "dST"),
	FLOAT3("feq", CLASS_FLOAT_COMPARE, 0x50, 2, "dST"),
	FLOAT1("fcvt.s.d", CLASS_FLOAT_CONVERT, 0x20, 1, "DSm"),
	FLOAT1("fcvt.d.s", CLASS_FLOAT_CONVERT, 0x21, 0, "DSn"),
	FLOAT1("fcvt.w.s", CLASS_FLOAT_CONVERT, 0x60, 0, "dSm"),
	FLOAT1("fcvt.wu.s", CLASS_FLOAT_CONVERT, 0x60, 1, "dSm"),
	FLOAT1("fcvt.l.s", CLASS_FLOAT_CONVERT, 0x60, 2, "dSm"),
	FLOAT1("fcvt.lu.s", CLASS_FLOAT_CONVERT, 0x60, 3, "dSm"),
	FLOAT1("fcvt.w.d", CLASS_FLOAT_CONVERT, 0x61, 0, "dSm"),
	FLOAT1("fcvt.wu.d", CLASS_FLOAT_CONVERT, 0x61, 1, "dSm"),
	FLOAT1("fcvt.l.d", CLASS_FLOAT_CONVERT, 0x61, 2, "dSm"),
	FLOAT1("fcvt.lu.d", CLASS_FLOAT_CONVERT, 0x61, 3, "dSm"),
	FLOAT1("fcvt.s.w", CLASS_FLOAT_CONVERT, 0x68, 0, "Dsm"),
	FLOAT1("fcvt.s.wu", CLASS_FLOAT_CONVERT, 0x68, 1, "Dsm"),
	FLOAT1("fcvt.s.l", CLASS_FLOAT_CONVERT, 0x68, 2, "Dsm"),
	FLOAT1("fcvt.s.lu", CLASS_FLOAT_CONVERT, 0x68, 3, "Dsm"),
	FLOAT1("fcvt.d.w", CLASS_FLOAT_CONVERT, 0x69, 0, "Dsn"),
	FLOAT1("fcvt.d.wu", CLASS_FLOAT_CONVERT, 0x69, 1, "Dsn"),
	FLOAT1("fcvt.d.l", CLASS_FLOAT_CONVERT, 0x69, 2, "Dsm"),
	FLOAT1("fcvt.d.lu", CLASS_FLOAT_CONVERT, 0x69, 3, "Dsm"),
	FLOAT13("fmv.x.w", CLASS_FLOAT_MOVE, 0x70, 0, "dS"),
	FLOAT13("fmv.x.d", CLASS_FLOAT_MOVE, 0x71, 0, "dS"),
	FLOAT13("fclass.s", CLASS_FLOAT_COMPARE, 0x70, 1, "dS"),
	FLOAT13("fclass.d", CLASS_FLOAT_COMPARE, 0x71, 1, "dS"),
	FLOAT13("fmv.w.x", CLASS_FLOAT_MOVE, 0x78, 0, "Ds"),
	FLOAT13("fmv.d.x", CLASS_FLOAT_MOVE, 0x79, 0, "Ds"),
	/* 11000: branches */
	I("beq", CLASS_BRANCH, 0, 0x63, "stp"),
	I("bne", CLASS_BRANCH, 1, 0x63, "stp"),
	I("blt", CLASS_BRANCH, 4, 0x63, "stp"),
	I("bge", CLASS_BRANCH, 5, 0x63, "stp"),
	I("bltu", CLASS_BRANCH, 6, 0x63, "stp"),
	I("bgeu", CLASS_BRANCH, 7, 0x63, "stp"),
	/* 11001 */
	I("jalr", CLASS_JUMP, 0, 0x67, "do"),
	/* 11011 */
	{0x6f, 0x7f, "jal", "da", CLASS_JUMP},
	/* 11100 */
	ALL("ecall", CLASS_SYSTEM, 0x00000073),
	ALL("ebreak", CLASS_SYSTEM, 0x00100073),
	I("csrrw", CLASS_SYSTEM, 1, 0x73, "dEs"),
	I("csrrs", CLASS_SYSTEM, 2, 0x73, "dEs"),
	I("csrrc", CLASS_SYSTEM, 3, 0x73, "dEs"),
	I("csrrwi", CLASS_SYSTEM, 5, 0x73, "dEZ"),
	I("csrrsi", CLASS_SYSTEM, 6, 0x73, "dEZ"),
	I("csrrci", CLASS_SYSTEM, 7, 0x73, "dEZ"),
};
/* clang-format on */

#define FORM_COUNT (sizeof(forms) / sizeof(forms[0]))

static unsigned
major_opcode(uint32_t word)
{
	return word >> 2 & 31;
}

/* The first row of the word's major opcode, or of a higher one. */
static size_t
first_row(uint32_t word)
{
	size_t low = 0, high = FORM_COUNT;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (major_opcode(forms[middle].match) < major_opcode(word))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* NULL: an instruction that is not in the table. */
static const struct riscv64_form *
find_form(uint32_t word)
{
	for (size_t i = first_row(word); i < FORM_COUNT && major_opcode(forms[i].match) == major_opcode(word); i++)
		if ((word & forms[i].mask) == forms[i].match)
			return &forms[i];
	return NULL;
}

/* Major opcodes that compressed instructions expand to. */
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
encode_immediate(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t immediate)
{
	return immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}

static uint32_t
encode_store(uint32_t opcode, uint32_t funct3, uint32_t rs1, uint32_t rs2, uint32_t offset)
{
	return bits(offset, 5, 7, 25) | rs2 << 20 | rs1 << 15 | funct3 << 12 | bits(offset, 0, 5, 7) | opcode;
}

static uint32_t
encode_register(uint32_t opcode, uint32_t funct7, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}

static uint32_t
encode_jump(uint32_t rd, uint32_t offset)
{
	return bits(offset, 20, 1, 31) | bits(offset, 1, 10, 21) | bits(offset, 11, 1, 20) | bits(offset, 12, 8, 12) |
	       rd << 7 | JAL;
}

static uint32_t
encode_branch(uint32_t funct3, uint32_t rs1, uint32_t offset)
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
		return of_stack ? encode_immediate(IMM, 0, to, RISCV64_SP, of_stack) : 0;
	case 1:
		return encode_immediate(LOAD_FP, 3, to, base, of_8);
	case 2:
		return encode_immediate(LOAD, 2, to, base, of_4);
	case 3:
		return encode_immediate(LOAD, 3, to, base, of_8);
	case 5:
		return encode_store(STORE_FP, 3, base, to, of_8);
	case 6:
		return encode_store(STORE, 2, base, to, of_4);
	case 7:
		return encode_store(STORE, 3, base, to, of_8);
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
		return encode_immediate(IMM, 5, rd, rd, six);
	case 1:
		return encode_immediate(IMM, 5, rd, rd, six | 0x400);
	case 2:
		return encode_immediate(IMM, 7, rd, rd, sign_extend(six, 6));
	default:
		break;
	}
	if (functions[which] == 0xff)
		return 0;
	return encode_register(which < 4 ? OP : OP_32, which == 0 || which == 4 ? 0x20 : 0, functions[which], rd, rd,
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
		return encode_immediate(IMM, 0, rd, rd, sign_extend(of_stack, 10));
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
		return encode_immediate(IMM, 0, rd, rd, six);
	case 1:
		return rd ? encode_immediate(IMM_32, 0, rd, rd, six) : 0;
	case 2:
		return encode_immediate(IMM, 0, rd, 0, six);
	case 3:
		return expand_upper(word, rd);
	case 4:
		return expand_arithmetic(word);
	case 5:
		return encode_jump(0, sign_extend(jump, 12));
	case 6:
		return encode_branch(0, near_register(word, 7), sign_extend(branch, 9));
	default:
		return encode_branch(1, near_register(word, 7), sign_extend(branch, 9));
	}
}

static uint32_t
expand_registers(uint32_t word)
{
	const uint32_t rd = word >> 7 & 31, rs2 = word >> 2 & 31;
	const bool second = word >> 12 & 1;

	if (rs2)
		return encode_register(OP, 0, 0, rd, second ? rd : 0, rs2);
	if (!rd)
		return second ? EBREAK : 0;
	return encode_immediate(JALR, 0, second ? RISCV64_RA : 0, rd, 0);
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
		return encode_immediate(IMM, 1, rd, rd, bits(word, 12, 1, 5) | bits(word, 2, 5, 0));
	case 1:
		return encode_immediate(LOAD_FP, 3, rd, RISCV64_SP, load_8);
	case 2:
		return rd ? encode_immediate(LOAD, 2, rd, RISCV64_SP, load_4) : 0;
	case 3:
		return rd ? encode_immediate(LOAD, 3, rd, RISCV64_SP, load_8) : 0;
	case 4:
		return expand_registers(word);
	case 5:
		return encode_store(STORE_FP, 3, RISCV64_SP, rs2, store_8);
	case 6:
		return encode_store(STORE, 2, RISCV64_SP, rs2, store_4);
	default:
		return encode_store(STORE, 3, RISCV64_SP, rs2, store_8);
	}
}

/* The word that a compressed instruction stands for (the manual, chapter 16); 0: it is none. */
static uint32_t
expand(uint16_t compressed)
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
		*word = expand((uint16_t)*word);
		return 2;
	}
	if (length < 4)
		return 0;
	*word |= (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	return 4;
}

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

static int64_t
riscv64_branch_offset(uint32_t word)
{
	return signed_bits((word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1,
	                   13);
}

static int64_t
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

	form = size && word ? find_form(word) : NULL;
	if (!form)
		return decode_bad(length, size, address, instruction);
	*instruction = (struct instruction){.address = address, .size = (uint8_t)size, .class = class_of(word, form)};
	find_access(word, form, instruction);
	for (const char *operand = form->operands; *operand; operand++)
		touch_operand(*operand, word, instruction->access_size, instruction);
	if (word == 0x00000073) { /* ecall reads a0 to a5 and a7, and writes a0 */
		for (uint8_t reg = 10; reg <= 15; reg++)
			instruction_add_read(instruction, reg);
		instruction_add_write(instruction, 10);
	}
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
	form = size && word ? find_form(word) : NULL;
	if (!form)
		return -DCPI_EDAMAGED;
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", form->name);
	for (const char *operand = form->operands; *operand; operand++)
		detail->operands[detail->operand_count++] = operand_of(*operand, word, address);
	return 0;
}

static const char *const general_names[32] = {
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
	"a6",   "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

static const char *const float_names[32] = {
	"ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1",  "fa0",
	"fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4",  "fs5",
	"fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
};

/* A name of the assembly language for a form with some operands fixed. */
struct riscv64_alias {
	const char *name, *of, *operands;
	uint32_t match, mask; /* of the word, beside the form's */
};

static const struct riscv64_alias aliases[] = {
	{"li", "addi", "dj", 0, 0x000f8000},
	{"mv", "addi", "ds", 0, 0xfff00000},
	{"mv", "add", "dt", 0, 0x000f8000},
	{"sext.w", "addiw", "ds", 0, 0xfff00000},
	{"neg", "sub", "dt", 0, 0x000f8000},
	{"negw", "subw", "dt", 0, 0x000f8000},
	{"not", "xori", "ds", 0xfff00000, 0xfff00000},
	{"seqz", "sltiu", "ds", 0x00100000, 0xfff00000},
	{"snez", "sltu", "dt", 0, 0x000f8000},
	{"zext.b", "andi", "ds", 0x0ff00000, 0xfff00000},
	{"beqz", "beq", "sp", 0, 0x01f00000},
	{"bnez", "bne", "sp", 0, 0x01f00000},
	{"bgez", "bge", "sp", 0, 0x01f00000},
	{"bltz", "blt", "sp", 0, 0x01f00000},
	{"blez", "bge", "tp", 0, 0x000f8000},
	{"bgtz", "blt", "tp", 0, 0x000f8000},
	{"j", "jal", "a", 0, 0x00000f80},
	{"jal", "jal", "a", 0x00000080, 0x00000f80},
	{"ret", "jalr", "", 0x00008000, 0xffffff80},
	{"jr", "jalr", "s", 0, 0xfff00f80},
	{"jr", "jalr", "o", 0, 0x00000f80},
	{"jalr", "jalr", "s", 0x00000080, 0xfff00f80},
	{"jalr", "jalr", "o", 0x00000080, 0x00000f80},
	{"sgtz", "slt", "dt", 0, 0x000f8000},
	{"frflags", "csrrs", "d", 0x00100000, 0xffff8000},
	{"frrm", "csrrs", "d", 0x00200000, 0xffff8000},
	{"frcsr", "csrrs", "d", 0x00300000, 0xffff8000},
	{"fsflags", "csrrw", "s", 0x00100000, 0xfff00f80},
	{"fsrm", "csrrw", "s", 0x00200000, 0xfff00f80},
	{"fscsr", "csrrw", "s", 0x00300000, 0xfff00f80},
	{"csrs", "csrrs", "Es", 0, 0x00000f80},
	{"csrs", "csrrsi", "EZ", 0, 0x00000f80},
	{"csrr", "csrrs", "dE", 0, 0x000f8000},
	{"csrw", "csrrw", "Es", 0, 0x00000f80},
};

static const struct riscv64_alias *
find_alias(uint32_t word, const struct riscv64_form *form)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if ((word & aliases[i].mask) == aliases[i].match && strcmp(aliases[i].of, form->name) == 0)
			return &aliases[i];
	return NULL;
}

/* fmv, fabs, fneg: sign injections of a register into itself. */
static const char *
sign_alias(uint32_t word, const struct riscv64_form *form)
{
	static const char *const names[2][3] = {{"fmv.s", "fneg.s", "fabs.s"}, {"fmv.d", "fneg.d", "fabs.d"}};

	if (strncmp(form->name, "fsgnj", 5) != 0 || riscv64_rs1(word) != riscv64_rs2(word))
		return NULL;
	return names[word >> 25 & 1][word >> 12 & 3];
}

static void
put_fence(struct text *text, unsigned set)
{
	static const char letters[4] = {'w', 'r', 'o', 'i'};

	for (int bit = 3; bit >= 0; bit--)
		if (set >> bit & 1)
			text_put(text, "%c", letters[bit]);
	if (!set)
		text_put(text, "unknown");
}

static void
put_control(struct text *text, unsigned number)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {
		{1, "fflags"}, {2, "frm"}, {3, "fcsr"}, {0xc00, "cycle"}, {0xc01, "time"}, {0xc02, "instret"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number) {
			text_put(text, "%s", names[i].name);
			return;
		}
	}
	text_put(text, "0x%x", number);
}

static const char *
register_name(char operand, uint32_t word)
{
	switch (operand) {
	case 'd':
		return general_names[riscv64_rd(word)];
	case 's':
		return general_names[riscv64_rs1(word)];
	case 't':
		return general_names[riscv64_rs2(word)];
	case 'D':
		return float_names[riscv64_rd(word)];
	case 'S':
		return float_names[riscv64_rs1(word)];
	case 'T':
		return float_names[riscv64_rs2(word)];
	default:
		return float_names[word >> 27];
	}
}

static void
put_operand(struct text *text, char operand, uint32_t word, uint64_t address)
{
	static const char *const modes[8] = {"rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown", "dyn"};

	switch (operand) {
	case 'j':
		text_put(text, "%" PRId64, riscv64_load_offset(word));
		break;
	case 'u':
		text_put(text, "0x%" PRIx32, word >> 12);
		break;
	case '<':
		text_put(text, "0x%" PRIx32, word >> 20 & 31);
		break;
	case '>':
		text_put(text, "0x%" PRIx32, word >> 20 & 63);
		break;
	case 'p':
		text_put(text, "0x%" PRIx64, address + (uint64_t)riscv64_branch_offset(word));
		break;
	case 'a':
		text_put(text, "0x%" PRIx64, address + (uint64_t)riscv64_jump_offset(word));
		break;
	case 'o':
		text_put(text, "%" PRId64 "(%s)", riscv64_load_offset(word), general_names[riscv64_rs1(word)]);
		break;
	case 'q':
		text_put(text, "%" PRId64 "(%s)", riscv64_store_offset(word), general_names[riscv64_rs1(word)]);
		break;
	case 'A':
		text_put(text, "(%s)", general_names[riscv64_rs1(word)]);
		break;
	case 'E':
		put_control(text, word >> 20);
		break;
	case 'Z':
		text_put(text, "%u", riscv64_rs1(word));
		break;
	case 'm':
		text_put(text, "%s", modes[word >> 12 & 7]);
		break;
	case 'F':
		put_fence(text, word >> 24 & 15);
		text_put(text, ",");
		put_fence(text, word >> 20 & 15);
		break;
	default:
		text_put(text, "%s", register_name(operand, word));
		break;
	}
}

static bool
is_shown(char operand, uint32_t word)
{
	if (operand == 'm')
		return (word >> 12 & 7) != 7;
	if (operand == 'F')
		return (word >> 20 & 0xff) != 0xff;
	return operand != 'n';
}

static const char *
ordering(uint32_t word, const struct riscv64_form *form)
{
	static const char *const suffixes[4] = {"", ".rl", ".aq", ".aqrl"};

	return form->class == CLASS_ATOMIC ? suffixes[word >> 25 & 3] : "";
}

static void
put_instruction(struct text *text, uint32_t word, const struct riscv64_form *form, uint64_t address)
{
	const struct riscv64_alias *alias = find_alias(word, form);
	const char *name = alias ? alias->name : form->name, *operands = alias ? alias->operands : form->operands;
	const char *sign = sign_alias(word, form);
	bool is_first = true;
	size_t from;

	if (sign) {
		name = sign;
		operands = "DS";
	}
	from = text->at;
	text_put(text, "%s%s", name, ordering(word, form));
	for (; *operands; operands++) {
		const int width = (int)(text->at - from);

		if (!is_shown(*operands, word))
			continue;
		if (is_first)
			text_put(text, "%*s ", width < 6 ? 6 - width : 0, "");
		else
			text_put(text, ",");
		is_first = false;
		put_operand(text, *operands, word, address);
	}
}

void
riscv64_text(const uint8_t *bytes, size_t length, uint64_t address, struct text *text)
{
	const struct riscv64_form *form;
	uint32_t word;
	const size_t size = riscv64_word(bytes, length, &word);

	form = size && word ? find_form(word) : NULL;
	if (form)
		put_instruction(text, word, form, address);
	else if (size == 4)
		text_put(text, ".inst  0x%08" PRIx32, word);
	else
		text_put(text, "(bad)");
}
