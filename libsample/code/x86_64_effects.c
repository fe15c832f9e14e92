/*
 * What an x86-64 instruction reads, writes and is. Capstone's own lists of what is read and written are not used: they
 * have gaps (masks, merges, implicit operands) that are hard to see.
 */
#include "code/x86_64_parts.h"

#include <string.h>

#include "code/decoder_internal.h"
#include "code/forms.h"

#define RCX 1u
#define RSP 4u

struct x86_access {
	bool reads, writes;
};

/* What becomes of operand `i`. */
static struct x86_access
operand_access(enum operand_access access, size_t i)
{
	switch (access) {
	case ACCESS_WRITE:
	case ACCESS_LEA:
		return i == 0 ? (struct x86_access){false, true} : (struct x86_access){true, false};
	case ACCESS_UPDATE:
		return i == 0 ? (struct x86_access){true, true} : (struct x86_access){true, false};
	case ACCESS_PAIR:
		return i < 2 ? (struct x86_access){false, true} : (struct x86_access){true, false};
	case ACCESS_SWAP:
		return i < 2 ? (struct x86_access){true, true} : (struct x86_access){true, false};
	case ACCESS_SECOND:
		return i == 1 ? (struct x86_access){false, true} : (struct x86_access){true, false};
	case ACCESS_NONE:
		return (struct x86_access){false, false};
	default:
		return (struct x86_access){true, false};
	}
}

/* The access that the form's name has in this encoding and with these operands. */
static enum operand_access
access_of(const struct form *form, const struct x86_encoding *encoding, const struct instruction_detail *detail)
{
	bool has_memory =
		detail->operand_count > 0 && detail->operands[detail->operand_count - 1].kind == OPERAND_MEMORY;
	enum operand_access access = form->access;

	if (form->traits & LOADS_WHOLE)
		access = has_memory || detail->operands[0].kind == OPERAND_MEMORY ? ACCESS_WRITE : ACCESS_UPDATE;
	if (access != ACCESS_UPDATE)
		return access;
	/* movhps and its like store what they otherwise merge into a register. */
	if (form->class == CLASS_VECTOR_SHUFFLE && detail->operands[0].kind == OPERAND_MEMORY)
		return ACCESS_WRITE;
	if (encoding->kind != ENCODING_LEGACY && !(form->traits & ACCUMULATES) && detail->operand_count >= 3)
		return ACCESS_WRITE;
	return access;
}

/* The rest of the register stays: what is written there depends on it. */
static bool
merges(const struct x86_encoding *encoding, const struct instruction_operand *operand)
{
	if (operand->kind != OPERAND_REGISTER)
		return false;
	if (operand->reg < REGISTER_VECTOR)
		return operand->size < 4;
	if (operand->reg == REGISTER_X87) /* one of MMX's eight */
		return true;
	return encoding->kind == ENCODING_EVEX && encoding->mask != 0 && !encoding->clears_mask &&
	       operand->reg < REGISTER_FLAGS;
}

static void
touch_memory(struct instruction *instruction, const struct form *form, const struct instruction_operand *operand,
             struct x86_access access)
{
	bool is_data = form->access == ACCESS_LEA;

	if (form->class == CLASS_NOP)
		return;
	if (is_data) {
		instruction_add_read(instruction, operand->base);
		instruction_add_read(instruction, operand->index);
		return;
	}
	instruction_add_address(instruction, operand->base);
	instruction_add_address(instruction, operand->index);
	if (form->access == ACCESS_NONE)
		return;
	instruction->loads |= access.reads;
	instruction->stores |= access.writes;
	instruction->is_scaled = operand->index != REGISTER_NONE && operand->scale > 1;
	instruction->access_size = operand->size;
}

static void
touch_operands(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
               const struct instruction_detail *detail)
{
	enum operand_access kind = access_of(form, encoding, detail);

	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];
		struct x86_access access = operand_access(kind, i);

		if (operand->kind == OPERAND_MEMORY)
			touch_memory(instruction, form, operand, access);
		if (operand->kind != OPERAND_REGISTER)
			continue;
		if (access.reads || (access.writes && merges(encoding, operand)))
			instruction_add_read(instruction, operand->reg);
		if (access.writes)
			instruction_add_write(instruction, operand->reg);
	}
}

static void
touch_implicit(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding)
{
	bool is_repeated = form->class == CLASS_STRING && (encoding->has_rep || encoding->has_repne);
	bool is_short = encoding->kind == ENCODING_LEGACY && encoding->has_operand_size && !(encoding->rex & REX_W) &&
	                encoding->map == MAP_ONE_BYTE;
	uint32_t reads = form->reads | (is_short && !(form->traits & USES_STACK) ? form->writes : 0);

	for (uint8_t reg = 0; reg < REGISTER_VECTOR; reg++) {
		if (reads >> reg & 1)
			instruction_add_read(instruction, reg);
		if (form->writes >> reg & 1)
			instruction_add_write(instruction, reg);
	}
	if (is_repeated) {
		instruction_add_read(instruction, RCX);
		instruction_add_write(instruction, RCX);
	}
	if (encoding->kind == ENCODING_EVEX && encoding->mask)
		instruction_add_read(instruction, REGISTER_MASK + encoding->mask);
	if (form->traits & USES_X87) {
		instruction_add_read(instruction, REGISTER_X87);
		instruction_add_write(instruction, REGISTER_X87);
	}
	if (form->traits & FLAGS_READ)
		instruction_add_read(instruction, REGISTER_FLAGS);
	if (form->traits & USES_STACK) {
		instruction_add_address(instruction, RSP);
		instruction_add_write(instruction, RSP);
		instruction->access_size = encoding->has_operand_size ? 2 : 8;
	}
	instruction->loads |= (form->traits & IS_LOAD) != 0;
	instruction->stores |= (form->traits & IS_STORE) != 0;
}

/* pblendvb, blendvps, blendvpd, sha256rnds2: the third source has no place in the encoding. */
static bool
takes_xmm0(uint8_t opcode)
{
	return opcode == 0x10 || opcode == 0x14 || opcode == 0x15 || opcode == 0xcb;
}

/* What the table cannot say. */
static void
touch_special(struct instruction *instruction, const struct x86_encoding *encoding,
              const struct instruction_detail *detail)
{
	const char *name = detail->mnemonic;

	if (strstr(name, "gather") && instruction->class == CLASS_LOAD) {
		if (encoding->kind == ENCODING_EVEX)
			instruction_add_write(instruction, REGISTER_MASK + encoding->mask);
		else
			instruction_add_write(instruction, REGISTER_VECTOR + encoding->other);
	}
	if (encoding->kind == ENCODING_LEGACY && encoding->map == MAP_0F38 && takes_xmm0(encoding->opcode))
		instruction_add_read(instruction, REGISTER_VECTOR);
	/* comiss and comisd, which capstone takes for wider */
	if (encoding->map == MAP_0F && encoding->opcode == 0x2f && encoding->has_memory)
		instruction->access_size = encoding->prefix == 0x66 ? 8 : 4;
	if (strcmp(name, "leave") == 0)
		instruction->access_size = encoding->has_operand_size ? 2 : 8;
	if (strstr(name, "pcmpestrm") || strstr(name, "pcmpistrm"))
		instruction_add_write(instruction, REGISTER_VECTOR);
}

static enum instruction_class
class_of(const struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
         const struct instruction_detail *detail)
{
	const struct instruction_operand *to = &detail->operands[0], *from = &detail->operands[1];
	bool is_exchange = strcmp(detail->mnemonic, "xchg") == 0 && instruction->stores;

	if ((encoding->has_lock && instruction->stores) || is_exchange)
		return CLASS_ATOMIC;
	if (form->traits & IS_MOVE && instruction->stores)
		return CLASS_STORE;
	if (form->traits & IS_MOVE && instruction->loads)
		return CLASS_LOAD;
	/* Only moves of whole registers can be renamed away. */
	if (form->class == CLASS_MOVE && (from->kind != OPERAND_REGISTER || to->size < 4))
		return CLASS_INTEGER;
	return form->class;
}

static uint8_t
flow_of(const struct form *form, const struct x86_encoding *encoding)
{
	if (form->flow == FLOW_JUMP && !encoding->immediate_size)
		return FLOW_JUMP_INDIRECT;
	if (form->flow == FLOW_CALL && !encoding->immediate_size)
		return FLOW_CALL_INDIRECT;
	return form->flow;
}

/* xor %eax,%eax and its like; a mask, or a part of a register, would keep something. */
static bool
is_zeroing(const struct form *form, const struct x86_encoding *encoding, const struct instruction_detail *detail)
{
	const struct instruction_operand *last, *other;

	if (!(form->traits & IS_ZEROING) || detail->operand_count < 2 || encoding->mask)
		return false;
	last = &detail->operands[detail->operand_count - 1];
	other = last - 1;
	if (last->kind != OPERAND_REGISTER || other->kind != OPERAND_REGISTER || last->reg != other->reg)
		return false;
	if (last->reg >= REGISTER_FLAGS)
		return false;
	return last->size >= 4;
}

/* Base, index and displacement: two additions. */
static bool
has_three_parts(const struct instruction_operand *operand, const struct x86_encoding *encoding)
{
	return operand->base != REGISTER_NONE && operand->index != REGISTER_NONE && encoding->displacement_size;
}

static bool
is_wide(const struct form *form, const struct x86_encoding *encoding, const struct instruction_detail *detail)
{
	if (form->access == ACCESS_LEA && detail->operand_count == 2)
		return has_three_parts(&detail->operands[1], encoding);
	if (form->class == CLASS_DIVIDE)
		return encoding->rex & REX_W;
	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];

		if (operand->kind == OPERAND_REGISTER && operand->reg >= REGISTER_VECTOR &&
		    operand->reg < REGISTER_FLAGS && operand->size >= 32)
			return true;
	}
	return false;
}

/* Of an element; capstone 4 takes rep movsw for 4 bytes. */
static uint8_t
string_bytes(const struct x86_encoding *encoding)
{
	if (!(encoding->opcode & 1))
		return 1;
	if (encoding->rex & REX_W)
		return 8;
	return encoding->has_operand_size ? 2 : 4;
}

void
x86_64_effects_fill(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
                    const struct instruction_detail *detail)
{
	bool is_string = form->class == CLASS_STRING;

	instruction->class = form->class;
	instruction->flow = flow_of(form, encoding);
	if (!is_string)
		touch_operands(instruction, form, encoding, detail);
	touch_implicit(instruction, form, encoding);
	touch_special(instruction, encoding, detail);
	if (form->traits & FLAGS_WRITE)
		instruction_add_write(instruction, REGISTER_FLAGS);
	instruction->class = class_of(instruction, form, encoding, detail);
	instruction->is_landing_pad = strncmp(detail->mnemonic, "endbr", 5) == 0;
	instruction->extends_sign = instruction->loads && strncmp(detail->mnemonic, "movsx", 5) == 0;
	instruction->is_wide = is_wide(form, encoding, detail);
	instruction->clears = is_zeroing(form, encoding, detail);
	if (is_string)
		instruction->access_size = string_bytes(encoding);
	if (!instruction->loads && !instruction->stores)
		instruction->access_size = 0;
}
