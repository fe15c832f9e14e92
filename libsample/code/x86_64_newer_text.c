/*
 * The texts of instructions that capstone does not know.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "code/x86_64_newer.h"
#include "code/x86_64_parts.h"

static void
put_general(struct text *text, uint8_t reg, uint8_t size)
{
	static const char *const names[8] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};

	if (reg < 8)
		text_put(text, "%s%s", size == 8 ? "r" : "e", names[reg]);
	else
		text_put(text, "r%u%s", reg, size == 8 ? "" : "d");
}

static void
put_register(struct text *text, const struct instruction_operand *operand)
{
	if (operand->reg >= REGISTER_MASK)
		text_put(text, "k%u", operand->reg - REGISTER_MASK);
	else if (operand->reg >= REGISTER_VECTOR)
		text_put(text, "%cmm%u",
		         operand->size == 64   ? 'z'
		         : operand->size == 32 ? 'y'
		                               : 'x',
		         operand->reg - REGISTER_VECTOR);
	else
		put_general(text, operand->reg, operand->size);
}

static void
put_number(struct text *text, int64_t value)
{
	if (value < 0)
		text_put(text, "-0x%" PRIx64, -(uint64_t)value);
	else
		text_put(text, "0x%" PRIx64, (uint64_t)value);
}

static void
put_memory_att(struct text *text, const struct instruction_operand *operand, uint64_t next)
{
	int64_t displacement = operand->is_pc ? operand->value - (int64_t)next : operand->value;

	if (displacement || (operand->base == REGISTER_NONE && operand->index == REGISTER_NONE && !operand->is_pc))
		put_number(text, displacement);
	if (operand->is_pc)
		text_put(text, "(%%rip)");
	if (operand->base == REGISTER_NONE && operand->index == REGISTER_NONE)
		return;
	text_put(text, "(");
	if (operand->base != REGISTER_NONE) {
		text_put(text, "%%");
		put_general(text, operand->base, 8);
	}
	if (operand->index != REGISTER_NONE) {
		text_put(text, ",%%");
		put_general(text, operand->index, 8);
		text_put(text, ",%u", operand->scale);
	}
	text_put(text, ")");
}

static void
put_memory_intel(struct text *text, const struct instruction_operand *operand, uint64_t next)
{
	int64_t displacement = operand->is_pc ? operand->value - (int64_t)next : operand->value;
	const char *plus = "", *size = x86_64_size_name(operand->size);

	text_put(text, "%s%s[", size ? size : "", size ? " ptr " : "");
	if (operand->is_pc) {
		text_put(text, "rip");
		plus = " + ";
	}
	if (operand->base != REGISTER_NONE) {
		put_general(text, operand->base, 8);
		plus = " + ";
	}
	if (operand->index != REGISTER_NONE) {
		text_put(text, "%s", plus);
		put_general(text, operand->index, 8);
		text_put(text, "*%u", operand->scale);
		plus = " + ";
	}
	if (displacement || !*plus) {
		text_put(text, "%s", *plus && displacement < 0 ? " - " : plus);
		put_number(text, *plus && displacement < 0 ? -displacement : displacement);
	}
	text_put(text, "]");
}

static void
put_operand(struct text *text, const struct instruction_operand *operand, enum listing_syntax syntax, uint64_t next)
{
	bool is_att = syntax == LISTING_ATT;

	switch (operand->kind) {
	case OPERAND_REGISTER:
		text_put(text, "%s", is_att ? "%" : "");
		put_register(text, operand);
		break;
	case OPERAND_MEMORY:
		if (is_att)
			put_memory_att(text, operand, next);
		else
			put_memory_intel(text, operand, next);
		break;
	default:
		text_put(text, "%s0x%" PRIx64, is_att ? "$" : "", (uint64_t)operand->value);
		break;
	}
}

/* {1to8} behind memory, {%k1} and {z} behind the destination. */
static void
put_decoration(struct text *text, const struct x86_encoding *encoding, const struct instruction_operand *operand,
               bool is_destination, enum listing_syntax syntax)
{
	if (encoding->kind != ENCODING_EVEX)
		return;
	if (encoding->broadcasts && operand->kind == OPERAND_MEMORY && operand->size)
		text_put(text, "{1to%u}", (16u << (encoding->length & 3)) / operand->size);
	if (is_destination && encoding->mask)
		text_put(text, "{%sk%u}%s", syntax == LISTING_ATT ? "%" : "", encoding->mask,
		         encoding->clears_mask ? "{z}" : "");
}

/* Comparisons of integers by names of their own, as objdump has them: vpcmpltub for vpcmpub $1. */
static void
name_comparison(struct instruction_detail *detail)
{
	static const char *const conditions[8] = {"eq", "lt", "le", NULL, "neq", "nlt", "nle", NULL};
	const struct instruction_operand *last = &detail->operands[3];
	char part[8];

	if (strncmp(detail->mnemonic, "vpcmp", 5) != 0 || detail->operand_count != 4)
		return;
	if (last->value < 0 || last->value > 7 || !conditions[last->value])
		return;
	snprintf(part, sizeof(part), "%s", detail->mnemonic + 5);
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "vpcmp%s%s", conditions[last->value], part);
	detail->operand_count--;
}

bool
x86_64_newer_text(const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax, struct text *text)
{
	struct instruction_detail detail;
	struct x86_encoding encoding;

	if (x86_encoding_parse(bytes, length, &encoding) != 0 || !x86_64_newer_detail(&encoding, address, &detail))
		return false;
	if (strcmp(detail.mnemonic, X86_64_UNKNOWN_NAME) == 0)
		return false;
	name_comparison(&detail);
	text_put(text, detail.operand_count > 0 ? "%-6s " : "%s", detail.mnemonic);
	for (size_t i = 0; i < detail.operand_count; i++) {
		size_t at = syntax == LISTING_ATT ? detail.operand_count - 1 - i : i;

		text_put(text, "%s", i == 0 ? "" : syntax == LISTING_ATT ? "," : ", ");
		put_operand(text, &detail.operands[at], syntax, address + encoding.size);
		put_decoration(text, &encoding, &detail.operands[at], at == 0, syntax);
	}
	return true;
}
