#include <string.h>

#include "code/aarch64_parts.h"
#include "code/decoder_private.h"
#include "code/forms.h"

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

void
aarch64_effects_fill(struct instruction *instruction, const struct form *form, uint32_t word,
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
	instruction->is_wide = form->class == CLASS_DIVIDE && word >> 31;
	instruction->is_landing_pad = form->traits & IS_LANDING;
}
