/*
 * An x86-64 instruction out of its encoding, capstone's operands and the form of its name. Capstone's own lists of what
 * is read and written are not used: they have gaps (masks, merges, implicit operands) that are hard to see.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "code/decoder_private.h"
#include "code/forms.h"
#include "code/x86_64_encoding.h"
#include "code/x86_64_newer.h"

#define RCX 1u
#define RSP 4u

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

static void
detail_fill(struct decoder *decoder, const struct x86_encoding *encoding, uint64_t address,
            struct instruction_detail *detail)
{
	const cs_insn *from = decoder->scratch;
	const char *name = cs_insn_name(decoder->capstone, from->id);
	const cs_x86 *x86 = &from->detail->x86;
	bool skipped = false;

	memset(detail, 0, sizeof(*detail));
	if (name)
		strncpy(detail->mnemonic, name, sizeof(detail->mnemonic) - 1);
	for (size_t i = 0; i < x86->op_count && i < INSTRUCTION_OPERANDS_MAX; i++) {
		struct instruction_operand *operand = &detail->operands[detail->operand_count];

		operand_fill(&x86->operands[i], address + from->size, operand);
		if (!skipped && is_mask_only(encoding, operand, i))
			skipped = true;
		else
			detail->operand_count++;
	}
}

struct access {
	bool reads, writes;
};

/* What becomes of operand `i`. */
static struct access
operand_access(enum operand_access access, size_t i)
{
	switch (access) {
	case ACCESS_WRITE:
	case ACCESS_LEA:
		return i == 0 ? (struct access){false, true} : (struct access){true, false};
	case ACCESS_UPDATE:
		return i == 0 ? (struct access){true, true} : (struct access){true, false};
	case ACCESS_PAIR:
		return i < 2 ? (struct access){false, true} : (struct access){true, false};
	case ACCESS_SWAP:
		return i < 2 ? (struct access){true, true} : (struct access){true, false};
	case ACCESS_SECOND:
		return i == 1 ? (struct access){false, true} : (struct access){true, false};
	case ACCESS_NONE:
		return (struct access){false, false};
	default:
		return (struct access){true, false};
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
             struct access access)
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
	instruction->access_size = operand->size;
}

static void
touch_operands(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
               const struct instruction_detail *detail)
{
	enum operand_access kind = access_of(form, encoding, detail);

	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];
		struct access access = operand_access(kind, i);

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
	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];

		if (operand->kind == OPERAND_REGISTER && operand->reg >= REGISTER_VECTOR &&
		    operand->reg < REGISTER_FLAGS && operand->size >= 32)
			return true;
	}
	return false;
}

/* Of bytes ax is product and dividend, of all others rdx:rax. */
static const char *
multiply_name(const struct x86_encoding *encoding, const char *mnemonic)
{
	uint8_t which = encoding->modrm >> 3 & 7;

	if (which < 4)
		return mnemonic;
	if (encoding->opcode == 0xf6)
		return which < 6 ? "mul-byte" : "div-byte";
	return which < 6 ? "mul" : "div";
}

static const char *
form_name(const struct x86_encoding *encoding, const char *mnemonic)
{
	if (encoding->kind != ENCODING_LEGACY || encoding->map != MAP_ONE_BYTE)
		return mnemonic;
	switch (encoding->opcode & 0xfe) {
	case 0x68: /* 69 and 6b; 68 and 6a push */
	case 0x6a:
		return encoding->has_modrm ? "imul-three" : mnemonic;
	case 0xf6:
		return multiply_name(encoding, mnemonic);
	case 0xa4:
		return "string-move";
	case 0xa6:
		return "string-compare";
	case 0xaa:
		return "string-store";
	case 0xac:
		return encoding->opcode == 0xad && !encoding->has_operand_size ? "string-load-whole" : "string-load";
	case 0xae:
		return "string-scan";
	default:
		return mnemonic;
	}
}

static void
instruction_fill(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
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
	instruction->is_wide = is_wide(form, encoding, detail);
	instruction->clears = is_zeroing(form, encoding, detail);
	if (is_string)
		instruction->access_size = detail->operand_count ? detail->operands[0].size : 0;
	if (!instruction->loads && !instruction->stores)
		instruction->access_size = 0;
}

static bool
has_target(const struct instruction *instruction)
{
	return instruction->flow == FLOW_BRANCH || instruction->flow == FLOW_JUMP || instruction->flow == FLOW_CALL;
}

static void
instruction_place(struct instruction *instruction, uint64_t address, const struct x86_encoding *encoding)
{
	instruction->address = address;
	instruction->target = 0;
	if (has_target(instruction))
		instruction->target = address + instruction->size + (uint64_t)encoding->immediate;
}

/* The bytes without those that make no difference to what the instruction does: displacements, and longer immediates.
 */
static void
memo_key(const uint8_t *bytes, const struct x86_encoding *encoding, uint8_t key[MEMO_KEY])
{
	bool is_short_jump = encoding->map == MAP_ONE_BYTE && encoding->kind == ENCODING_LEGACY &&
	                     (encoding->opcode >> 4 == 7 || encoding->opcode == 0xeb);

	memset(key, 0, MEMO_KEY);
	memcpy(key, bytes, encoding->size);
	memset(key + encoding->displacement_at, 0, encoding->displacement_size);
	if (encoding->immediate_size > 1 || is_short_jump)
		memset(key + encoding->immediate_at, 0, encoding->immediate_size);
	key[MEMO_KEY - 1] = encoding->size;
}

static size_t
decode_bad(uint64_t address, struct instruction *instruction)
{
	*instruction = (struct instruction){.address = address, .size = 1, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
	return 1;
}

/* What is at `bytes`, by capstone or the table of newer instructions, and capstone's number of it or 0; false: nothing.
 */
static bool
identify(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
         const struct x86_encoding *encoding, struct instruction_detail *detail)
{
	bool is_newer = x86_64_newer_detail(encoding, address, detail);

	/* Capstone gets EVEX's short displacements wrong. */
	if (encoding->kind == ENCODING_EVEX && is_newer && strcmp(detail->mnemonic, X86_64_UNKNOWN_NAME) != 0)
		return true;
	if (decoder_disassemble(decoder, bytes, length, address) && decoder->scratch->size == encoding->size) {
		detail_fill(decoder, encoding, address, detail);
		return true;
	}
	return x86_64_newer_detail(encoding, address, detail);
}

size_t
x86_64_decode(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
              struct instruction *instruction)
{
	struct instruction_detail detail;
	struct x86_encoding encoding;
	uint8_t key[MEMO_KEY];
	struct memo *memo;
	bool found;

	if (x86_encoding_parse(bytes, length, &encoding) != 0)
		return decode_bad(address, instruction);
	memo_key(bytes, &encoding, key);
	memo = decoder_memo(decoder, key, &found);
	if (!found) {
		if (!identify(decoder, bytes, length, address, &encoding, &detail))
			return decode_bad(address, instruction);
		memcpy(memo->key, key, sizeof(key));
		memset(&memo->instruction, 0, sizeof(memo->instruction));
		memo->instruction.size = encoding.size;
		instruction_fill(&memo->instruction, decoder_form(decoder, form_name(&encoding, detail.mnemonic)),
		                 &encoding, &detail);
	}
	*instruction = memo->instruction;
	instruction_place(instruction, address, &encoding);
	return instruction->size;
}

int
x86_64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
              struct instruction_detail *detail)
{
	struct x86_encoding encoding;

	memset(detail, 0, sizeof(*detail));
	if (x86_encoding_parse(bytes, length, &encoding) != 0)
		return -DCPI_EDAMAGED;
	if (!identify(decoder, bytes, length, address, &encoding, detail))
		return -DCPI_EDAMAGED;
	return 0;
}
