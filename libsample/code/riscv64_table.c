/*
 * The instructions of RV64GC, Zba, Zbb and Zbs: see riscv64_parts.h. Rows of one major opcode follow each other.
 */
#include "code/riscv64_parts.h"

#define F3(funct3)   ((uint32_t)(funct3) << 12)
#define F7(funct7)   ((uint32_t)(funct7) << 25)
#define F12(funct12) ((uint32_t)(funct12) << 20)
#define WITH_F3      0x0000707f
#define WITH_F7      0xfe00707f /* and F3 */
#define WITH_F6      0xfc00707f
#define WITH_F12     0xfff0707f
#define I(name, class, f3, op, form)                                                                                   \
	{                                                                                                              \
		F3(f3) | (op), WITH_F3, name, form, class                                                              \
	}
#define R(name, class, f7, f3, op)                                                                                     \
	{                                                                                                              \
		F7(f7) | F3(f3) | (op), WITH_F7, name, "dst", class                                                    \
	}
#define SHIFT6(name, class, f6, f3)                                                                                    \
	{                                                                                                              \
		F7((f6) << 1) | F3(f3) | 0x13, WITH_F6, name, "ds>", class                                             \
	}
#define SHIFT5(name, class, f7, f3)                                                                                    \
	{                                                                                                              \
		F7(f7) | F3(f3) | 0x1b, WITH_F7, name, "ds<", class                                                    \
	}
#define UNARY(name, class, f12, f3, op)                                                                                \
	{                                                                                                              \
		F12(f12) | F3(f3) | (op), WITH_F12, name, "ds", class                                                  \
	}
#define AMO(name, f5, form)                                                                                            \
	{(uint32_t)(f5) << 27 | F3(2) | 0x2f, 0xf800707f, name ".w", form, CLASS_ATOMIC},                              \
	{                                                                                                              \
		(uint32_t)(f5) << 27 | F3(3) | 0x2f, 0xf800707f, name ".d", form, CLASS_ATOMIC                         \
	}
#define FUSED(name, op)                                                                                                \
	{(op), 0x0600007f, name ".s", "DSTRm", CLASS_FLOAT_FUSED},                                                     \
	{                                                                                                              \
		F7(1) | (op), 0x0600007f, name ".d", "DSTRm", CLASS_FLOAT_FUSED                                        \
	}
/* of single and double precision */
#define FLOAT2(name, class, f7)                                                                                        \
	{F7(f7) | 0x53, 0xfe00007f, name ".s", "DSTm", class},                                                         \
	{                                                                                                              \
		F7((f7) + 1) | 0x53, 0xfe00007f, name ".d", "DSTm", class                                              \
	}
#define FLOAT3(name, class, f7, f3, form)                                                                              \
	{F7(f7) | F3(f3) | 0x53, WITH_F7, name ".s", form, class},                                                     \
	{                                                                                                              \
		F7((f7) + 1) | F3(f3) | 0x53, WITH_F7, name ".d", form, class                                          \
	}
#define FLOAT1(name, class, f7, rs2, form)                                                                             \
	{                                                                                                              \
		F7(f7) | F12(rs2) | 0x53, 0xfff0007f, name, form, class                                                \
	}
#define FLOAT13(name, class, f7, f3, form)                                                                             \
	{                                                                                                              \
		F7(f7) | F3(f3) | 0x53, WITH_F12, name, form, class                                                    \
	}
#define ALL(name, class, word)                                                                                         \
	{                                                                                                              \
		(word), 0xffffffff, name, "", class                                                                    \
	}

/* clang-format off */
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

/* The first row of its major opcode, or of one behind it. */
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

const struct riscv64_form *
riscv64_find(uint32_t word)
{
	for (size_t i = first_row(word); i < FORM_COUNT && major_opcode(forms[i].match) == major_opcode(word); i++)
		if ((word & forms[i].mask) == forms[i].match)
			return &forms[i];
	return NULL;
}
