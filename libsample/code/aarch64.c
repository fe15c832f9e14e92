/*
 * An aarch64 instruction out of its word, capstone's operands and the form of its name. Where capstone does not know
 * the word, aarch64_newer.c may.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "code/aarch64_newer.h"
#include "code/decoder_private.h"
#include "code/forms.h"

#define SIZE 4u
#define SP   31u

static uint32_t
word_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

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

static void
detail_fill(const cs_insn *from, uint32_t word, struct instruction_detail *detail)
{
	const cs_arm64 *arm = &from->detail->arm64;

	memset(detail, 0, sizeof(*detail));
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", from->mnemonic);
	for (size_t i = 0; i < arm->op_count && i < INSTRUCTION_OPERANDS_MAX; i++)
		operand_fill(&arm->operands[i], &detail->operands[detail->operand_count++]);
	literal_fill(word, detail);
}

/* An element of a vector is written, or bits of it are set by an immediate: the rest stays. */
static bool
keeps_rest(uint32_t word)
{
	bool is_insert = (word & 0xbfe0fc00) == 0x0e001c00 || (word & 0xffe08400) == 0x6e000400;
	bool is_lane_load = (word & 0xbf400000) == 0x0d400000 && (word & 0xe000) < 0xc000;
	bool is_immediate = (word & 0x9ff80400) == 0x0f000400 && (word & 0x1000) && (word & 0xc000) != 0xc000;

	return is_insert || is_lane_load || is_immediate;
}

static size_t
written_count(const struct form *form, uint32_t word, const struct instruction_detail *detail)
{
	bool is_structure_load = form->class == CLASS_LOAD && (word & 0xbe000000) == 0x0c000000;
	size_t count = 0;

	if (!is_structure_load)
		return form->access == ACCESS_PAIR || form->access == ACCESS_SWAP ? 2 : 1;
	while (count < detail->operand_count && detail->operands[count].kind == OPERAND_REGISTER)
		count++;
	return count;
}

static bool
is_written(const struct form *form, size_t i, size_t written)
{
	switch (form->access) {
	case ACCESS_WRITE:
	case ACCESS_UPDATE:
	case ACCESS_PAIR:
	case ACCESS_SWAP:
		return i < written;
	case ACCESS_SECOND:
		return i == 1;
	default:
		return false;
	}
}

static void
touch_operands(struct instruction *instruction, const struct form *form, uint32_t word,
               const struct instruction_detail *detail)
{
	size_t written = written_count(form, word, detail);
	bool updates = form->access == ACCESS_UPDATE || form->access == ACCESS_SWAP || keeps_rest(word);

	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];
		bool is_result = is_written(form, i, written);

		if (operand->kind == OPERAND_MEMORY) {
			instruction_add_address(instruction, operand->base);
			instruction_add_address(instruction, operand->index);
		}
		if (operand->kind != OPERAND_REGISTER || form->access == ACCESS_NONE)
			continue;
		if (!is_result || updates)
			instruction_add_read(instruction, operand->reg);
		if (is_result)
			instruction_add_write(instruction, operand->reg);
	}
}

static void
touch_implicit(struct instruction *instruction, const struct form *form)
{
	for (uint8_t reg = 0; reg < REGISTER_VECTOR; reg++) {
		if (form->reads >> reg & 1)
			instruction_add_read(instruction, reg);
		if (form->writes >> reg & 1)
			instruction_add_write(instruction, reg);
	}
	if (form->traits & FLAGS_READ)
		instruction_add_read(instruction, REGISTER_FLAGS);
}

/* Loads and stores with an address that moves on. */
static void
touch_writeback(struct instruction *instruction, uint32_t word)
{
	uint8_t base = word >> 5 & 31;
	bool is_single = (word & 0x3b200400) == 0x38000400; /* ldr, str: before or after */
	bool is_pair = (word & 0x3a800000) == 0x28800000;
	bool is_structure = (word & 0xbe800000) == 0x0c800000;

	if (is_single || is_pair || is_structure)
		instruction_add_write(instruction, base);
}

static uint8_t
access_size(const struct form *form, uint32_t word, const struct instruction_detail *detail)
{
	size_t count = 0, last = strlen(detail->mnemonic) - 1;
	bool is_integer = (word & 0x3c000000) != 0x3c000000 && (word & 0x3e000000) != 0x2c000000;
	bool is_pair = detail->mnemonic[last] == 'p' || strcmp(detail->mnemonic, "ldpsw") == 0;
	size_t i = form->access == ACCESS_WRITE && (form->traits & IS_STORE);

	if ((word & 0xbe000000) == 0x0c000000) { /* ld1 to st4: lists, or an element of each */
		while (count < detail->operand_count && detail->operands[count].kind == OPERAND_REGISTER)
			count++;
		if (word & 0x01000000)
			return 0;
		return (uint8_t)(detail->operands[0].size * count);
	}
	if (strcmp(detail->mnemonic, "ldpsw") == 0)
		return 8;
	if (is_integer && detail->mnemonic[last] == 'b')
		return 1;
	if (is_integer && detail->mnemonic[last] == 'h')
		return 2;
	if (is_integer && detail->mnemonic[last] == 'w')
		return 4;
	if (i >= detail->operand_count)
		return 0;
	return (uint8_t)(detail->operands[i].size * (is_pair ? 2 : 1));
}

static bool
has_vector(const struct instruction_detail *detail)
{
	for (size_t i = 0; i < detail->operand_count; i++)
		if (detail->operands[i].kind == OPERAND_REGISTER && detail->operands[i].reg >= REGISTER_VECTOR &&
		    detail->operands[i].reg < REGISTER_FLAGS)
			return true;
	return false;
}

static enum instruction_class
class_of(const struct form *form, const struct instruction_detail *detail)
{
	bool is_vector = has_vector(detail);

	switch (form->class) {
	case CLASS_MOVE:
		if (is_vector)
			return CLASS_FLOAT_MOVE;
		return detail->operand_count == 2 && detail->operands[1].kind == OPERAND_REGISTER &&
		                       detail->operands[1].reg != REGISTER_NONE
		               ? CLASS_MOVE
		               : CLASS_INTEGER;
	case CLASS_INTEGER:
	case CLASS_SHIFT:
	case CLASS_BIT:
		return is_vector ? CLASS_VECTOR_INTEGER : form->class;
	case CLASS_MULTIPLY:
		return is_vector ? CLASS_VECTOR_MULTIPLY : form->class;
	default:
		return form->class;
	}
}

static int64_t
field_signed(uint32_t word, unsigned int from, unsigned int bits)
{
	return (int64_t)((uint64_t)(word >> from) << (64 - bits)) >> (64 - bits);
}

static void
instruction_place(struct instruction *instruction, uint64_t address, uint32_t word)
{
	int64_t words = 0;

	instruction->address = address;
	instruction->target = 0;
	if ((word & 0x7c000000) == 0x14000000)
		words = field_signed(word, 0, 26);
	else if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		words = field_signed(word, 5, 19);
	else if ((word & 0x7e000000) == 0x36000000)
		words = field_signed(word, 5, 14);
	else
		return;
	instruction->target = address + 4 * (uint64_t)words;
}

/* The word without those bits that make no difference: of displacements, offsets, and other immediates. */
static uint32_t
canonical(uint32_t word)
{
	if ((word & 0x7c000000) == 0x14000000)
		return word & 0xfc000000;
	if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		return word & 0xff00001f;
	if ((word & 0x7e000000) == 0x36000000)
		return word & 0x7f00001f;
	if ((word & 0x1f000000) == 0x10000000)
		return word & 0x9f00001f;
	if ((word & 0x3b000000) == 0x39000000)
		return word & 0xffc003ff;
	if ((word & 0x3a000000) == 0x28000000)
		return word & 0xffc07fff;
	/* add of 0 is a move */
	if ((word & 0x1f800000) == 0x11000000 && word >> 10 & 0xfff)
		return (word & 0xff8003ff) | 0x400;
	return word;
}

static bool
identify(struct decoder *decoder, const uint8_t *bytes, uint64_t address, struct instruction_detail *detail)
{
	uint32_t word = word_at(bytes);

	if (aarch64_newer_detail(word, address, detail))
		return true;
	if (!decoder_disassemble(decoder, bytes, SIZE, address))
		return false;
	detail_fill(decoder->scratch, word, detail);
	return true;
}

static void
instruction_fill(struct instruction *instruction, const struct form *form, uint32_t word,
                 const struct instruction_detail *detail)
{
	instruction->flow = form->flow;
	touch_operands(instruction, form, word, detail);
	touch_implicit(instruction, form);
	if (instruction->flow == FLOW_RETURN && detail->operand_count == 0 && form->class == CLASS_RETURN)
		instruction_add_read(instruction, 30);
	if ((word & 0xffffffe0) == 0xd53b4200) /* mrs x0, nzcv */
		instruction_add_read(instruction, REGISTER_FLAGS);
	if ((word & 0xffffffe0) == 0xd51b4200)
		instruction_add_write(instruction, REGISTER_FLAGS);
	instruction->loads = form->traits & IS_LOAD;
	instruction->stores = form->traits & IS_STORE;
	if (instruction->loads || instruction->stores) {
		touch_writeback(instruction, word);
		instruction->access_size = access_size(form, word, detail);
	}
	if (form->traits & FLAGS_WRITE)
		instruction_add_write(instruction, REGISTER_FLAGS);
	instruction->class = class_of(form, detail);
	instruction->is_landing_pad = form->traits & IS_LANDING;
}

static size_t
decode_bad(size_t length, uint64_t address, struct instruction *instruction)
{
	*instruction = (struct instruction){.address = address, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
	instruction->size = length < SIZE ? (uint8_t)length : SIZE;
	return instruction->size;
}

size_t
aarch64_decode(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
               struct instruction *instruction)
{
	struct instruction_detail detail;
	uint8_t key[MEMO_KEY] = {0};
	struct memo *memo;
	uint32_t word, same;
	bool found;

	if (length < SIZE)
		return decode_bad(length, address, instruction);
	word = word_at(bytes);
	same = canonical(word);
	memcpy(key, &same, sizeof(same));
	memo = decoder_memo(decoder, key, &found);
	if (!found) {
		if (!identify(decoder, bytes, address, &detail))
			return decode_bad(length, address, instruction);
		memcpy(memo->key, key, sizeof(key));
		memset(&memo->instruction, 0, sizeof(memo->instruction));
		memo->instruction.size = SIZE;
		instruction_fill(&memo->instruction, decoder_form(decoder, detail.mnemonic), word, &detail);
	}
	*instruction = memo->instruction;
	instruction_place(instruction, address, word);
	return SIZE;
}

int
aarch64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
               struct instruction_detail *detail)
{
	memset(detail, 0, sizeof(*detail));
	if (length < SIZE || !identify(decoder, bytes, address, detail))
		return -DCPI_EDAMAGED;
	return 0;
}
