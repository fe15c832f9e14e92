#include "code/x86_64_parts.h"

#include <stdio.h>
#include <string.h>

#include "code/decoder_internal.h"

/* Which register of ours is capstone's: names of one row are parts of one. */
#define GENERAL(number, r8, r8_high, r16, r32, r64)                                                                    \
	[X86_REG_##r8] = (number) + 1, [X86_REG_##r8_high] = (number) + 1, [X86_REG_##r16] = (number) + 1,             \
	[X86_REG_##r32] = (number) + 1, [X86_REG_##r64] = (number) + 1
#define LATER(number)                                                                                                  \
	[X86_REG_R##number##B] = (number) + 1, [X86_REG_R##number##W] = (number) + 1,                                  \
	[X86_REG_R##number##D] = (number) + 1, [X86_REG_R##number] = (number) + 1

/* One more than the number, so that 0 is none. */
static const uint8_t general[X86_REG_ENDING] = {
	GENERAL(0, AL, AH, AX, EAX, RAX),
	GENERAL(1, CL, CH, CX, ECX, RCX),
	GENERAL(2, DL, DH, DX, EDX, RDX),
	GENERAL(3, BL, BH, BX, EBX, RBX),
	[X86_REG_SPL] = 5,
	[X86_REG_SP] = 5,
	[X86_REG_ESP] = 5,
	[X86_REG_RSP] = 5,
	[X86_REG_BPL] = 6,
	[X86_REG_BP] = 6,
	[X86_REG_EBP] = 6,
	[X86_REG_RBP] = 6,
	[X86_REG_SIL] = 7,
	[X86_REG_SI] = 7,
	[X86_REG_ESI] = 7,
	[X86_REG_RSI] = 7,
	[X86_REG_DIL] = 8,
	[X86_REG_DI] = 8,
	[X86_REG_EDI] = 8,
	[X86_REG_RDI] = 8,
	LATER(8),
	LATER(9),
	LATER(10),
	LATER(11),
	LATER(12),
	LATER(13),
	LATER(14),
	LATER(15),
};

static uint8_t
register_number(unsigned int reg)
{
	if (reg < X86_REG_ENDING && general[reg])
		return general[reg] - 1;
	if (reg >= X86_REG_XMM0 && reg <= X86_REG_XMM31)
		return (uint8_t)(REGISTER_VECTOR + reg - X86_REG_XMM0);
	if (reg >= X86_REG_YMM0 && reg <= X86_REG_YMM31)
		return (uint8_t)(REGISTER_VECTOR + reg - X86_REG_YMM0);
	if (reg >= X86_REG_ZMM0 && reg <= X86_REG_ZMM31)
		return (uint8_t)(REGISTER_VECTOR + reg - X86_REG_ZMM0);
	if (reg >= X86_REG_K0 && reg <= X86_REG_K7)
		return (uint8_t)(REGISTER_MASK + reg - X86_REG_K0);
	if ((reg >= X86_REG_MM0 && reg <= X86_REG_MM7) || (reg >= X86_REG_ST0 && reg <= X86_REG_ST7))
		return REGISTER_X87;
	return REGISTER_NONE;
}

static void
memory_operand(const cs_x86_op *from, uint64_t next, struct instruction_operand *operand)
{
	operand->kind = OPERAND_MEMORY;
	operand->base = register_number(from->mem.base);
	operand->index = register_number(from->mem.index);
	operand->scale = (uint8_t)from->mem.scale;
	operand->value = from->mem.disp;
	if (from->mem.base != X86_REG_RIP && from->mem.base != X86_REG_EIP)
		return;
	operand->is_pc = true;
	operand->value = (int64_t)(next + (uint64_t)from->mem.disp);
}

static void
operand_fill(const cs_x86_op *from, uint64_t next, struct instruction_operand *operand)
{
	*operand = (struct instruction_operand){.kind = OPERAND_OTHER, .size = from->size};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	switch ((int)from->type) {
	case X86_OP_REG:
		operand->kind = OPERAND_REGISTER;
		operand->reg = register_number(from->reg);
		break;
	case X86_OP_IMM:
		operand->kind = OPERAND_IMMEDIATE;
		operand->value = from->imm;
		break;
	case X86_OP_MEM:
		memory_operand(from, next, operand);
		break;
	default:
		break;
	}
}

/* Capstone counts the mask of "{%k1}" among the operands, as the second or, of a store, the first. */
static bool
is_mask_only(const struct x86_encoding *encoding, const struct instruction_operand *operand, size_t i)
{
	return encoding->kind == ENCODING_EVEX && encoding->mask != 0 && i <= 1 && operand->kind == OPERAND_REGISTER &&
	       operand->reg == REGISTER_MASK + encoding->mask;
}

/*
 * What capstone 4 and 5 tell differently: the size of some memory operands, the order of xchg's registers and, of
 * compares that have their condition in the name, the name.
 */
uint8_t
x86_64_memory_size(const char *name, uint8_t told)
{
	static const struct {
		const char *name;
		uint8_t size;
	} sizes[] = {
		{"fnstsw", 2},          {"lsl", 2},        {"punpckldq", 4},  {"comiss", 4},     {"ucomiss", 4},
		{"vcomiss", 4},         {"vucomiss", 4},   {"comisd", 8},     {"ucomisd", 8},    {"vcomisd", 8},
		{"vucomisd", 8},        {"kmovb", 1},      {"kmovw", 2},      {"kmovd", 4},      {"kmovq", 8},
		{"ljmp", 10},           {"lcall", 10},     {"vpgatherdd", 4}, {"vpgatherqd", 4}, {"vpgatherdq", 8},
		{"vpgatherqq", 8},      {"vgatherdps", 4}, {"vgatherqps", 4}, {"vgatherdpd", 8}, {"vgatherqpd", 8},
		{"vbroadcasti128", 16},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(sizes[i].name, name) == 0)
			return sizes[i].size;
	return told;
}

const char *
x86_64_size_name(uint8_t size)
{
	switch (size) {
	case 1:
		return "byte";
	case 2:
		return "word";
	case 4:
		return "dword";
	case 8:
		return "qword";
	case 16:
		return "xmmword";
	case 32:
		return "ymmword";
	case 64:
		return "zmmword";
	default:
		return NULL;
	}
}

static const char *
operation_name(csh handle, const struct x86_encoding *encoding, const cs_insn *from)
{
	const char *name;

	if (encoding->map == MAP_0F && encoding->opcode == 0xc2)
		return from->mnemonic;
	name = cs_insn_name(handle, from->id);
	return name ? name : "";
}

static void
operands_unify(const struct x86_encoding *encoding, struct instruction_detail *detail)
{
	const bool is_xchg = encoding->kind == ENCODING_LEGACY && encoding->map == MAP_ONE_BYTE &&
	                     encoding->opcode >= (encoding->rex & REX_B ? 0x90 : 0x91) && encoding->opcode <= 0x97;

	if (is_xchg && detail->operand_count == 2 && detail->operands[0].reg != 0) {
		const struct instruction_operand other = detail->operands[0];

		detail->operands[0] = detail->operands[1];
		detail->operands[1] = other;
	}
	for (size_t i = 0; i < detail->operand_count; i++)
		if (detail->operands[i].kind == OPERAND_MEMORY)
			detail->operands[i].size = x86_64_memory_size(detail->mnemonic, detail->operands[i].size);
}

void
x86_64_operands_fill(struct decoder *decoder, const struct x86_encoding *encoding, uint64_t address,
                     struct instruction_detail *detail)
{
	const cs_insn *from = decoder->scratch;
	const cs_x86 *x86 = &from->detail->x86;
	bool skipped = false;

	memset(detail, 0, sizeof(*detail));
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", operation_name(decoder->capstone, encoding, from));
	for (size_t i = 0; i < x86->op_count && i < INSTRUCTION_OPERANDS_MAX; i++) {
		struct instruction_operand *operand = &detail->operands[detail->operand_count];

		operand_fill(&x86->operands[i], address + from->size, operand);
		if (!skipped && is_mask_only(encoding, operand, i))
			skipped = true;
		else
			detail->operand_count++;
	}
	operands_unify(encoding, detail);
}
