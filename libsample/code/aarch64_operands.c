#include <stdio.h>
#include <string.h>

#include "code/aarch64_parts.h"

#define SP 31u

struct reg {
	uint8_t number, size;
};

/* Capstone numbers x29, x30 and the stack pointer apart from the others. */
static struct reg
special_register(unsigned int from)
{
	switch (from) {
	case ARM64_REG_X29:
		return (struct reg){29, 8};
	case ARM64_REG_X30:
		return (struct reg){30, 8};
	case ARM64_REG_SP:
		return (struct reg){SP, 8};
	case ARM64_REG_WSP:
		return (struct reg){SP, 4};
	case ARM64_REG_XZR:
		return (struct reg){REGISTER_NONE, 8};
	case ARM64_REG_WZR:
		return (struct reg){REGISTER_NONE, 4};
	default:
		return (struct reg){REGISTER_NONE, 0};
	}
}

static struct reg
register_of(unsigned int from)
{
	static const struct {
		unsigned int first, count;
		uint8_t number, size;
	} rows[] = {
		{ARM64_REG_X0, 29, 0, 8},
		{ARM64_REG_W0, 31, 0, 4},
		{ARM64_REG_B0, 32, REGISTER_VECTOR, 1},
		{ARM64_REG_H0, 32, REGISTER_VECTOR, 2},
		{ARM64_REG_S0, 32, REGISTER_VECTOR, 4},
		{ARM64_REG_D0, 32, REGISTER_VECTOR, 8},
		{ARM64_REG_Q0, 32, REGISTER_VECTOR, 16},
		{ARM64_REG_V0, 32, REGISTER_VECTOR, 16},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (from >= rows[i].first && from - rows[i].first < rows[i].count)
			return (struct reg){(uint8_t)(rows[i].number + from - rows[i].first), rows[i].size};
	return special_register(from);
}

static bool
is_extension(arm64_extender extension)
{
	return extension != ARM64_EXT_INVALID && extension != ARM64_EXT_UXTX && extension != ARM64_EXT_SXTX;
}

static bool
is_half_vector(arm64_vas arrangement)
{
	return arrangement == ARM64_VAS_8B || arrangement == ARM64_VAS_4H || arrangement == ARM64_VAS_2S ||
	       arrangement == ARM64_VAS_1D;
}

static void
operand_fill(const cs_arm64_op *from, struct instruction_operand *operand)
{
	struct reg reg;

	*operand = (struct instruction_operand){.kind = OPERAND_OTHER};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	operand->shift = from->shift.type == ARM64_SFT_LSL ? (uint8_t)from->shift.value : 0;
	operand->is_extended = is_extension(from->ext);
	operand->is_signed = from->ext >= ARM64_EXT_SXTB;
	switch ((int)from->type) {
	case ARM64_OP_REG:
		reg = register_of(from->reg);
		operand->kind = OPERAND_REGISTER;
		operand->reg = reg.number;
		operand->size = is_half_vector(from->vas) ? 8 : reg.size;
		break;
	case ARM64_OP_IMM:
		operand->kind = OPERAND_IMMEDIATE;
		operand->value = from->imm;
		break;
	case ARM64_OP_MEM:
		operand->kind = OPERAND_MEMORY;
		operand->base = register_of(from->mem.base).number;
		operand->index = register_of(from->mem.index).number;
		operand->scale = (uint8_t)(1u << (operand->shift & 7));
		operand->value = from->mem.disp;
		break;
	default:
		break;
	}
}

/* ldr x0, label: capstone gives the address as an immediate. */
static void
literal_fill(uint32_t word, struct instruction_detail *detail)
{
	struct instruction_operand *last;

	if ((word & 0x3b000000) != 0x18000000 || detail->operand_count == 0)
		return;
	last = &detail->operands[detail->operand_count - 1];
	if (last->kind != OPERAND_IMMEDIATE)
		return;
	last->kind = OPERAND_MEMORY;
	last->is_pc = true;
}

void
aarch64_operands_fill(const cs_insn *from, uint32_t word, struct instruction_detail *detail)
{
	const cs_arm64 *arm = &from->detail->arm64;

	memset(detail, 0, sizeof(*detail));
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", from->mnemonic);
	for (size_t i = 0; i < arm->op_count && i < INSTRUCTION_OPERANDS_MAX; i++)
		operand_fill(&arm->operands[i], &detail->operands[detail->operand_count++]);
	literal_fill(word, detail);
}
