/* See address.h. Encodings: Intel SDM volume 2, appendix A. */
#include "emulator/block/address.h"

#define RAX       0
#define RSP       4
#define RBP       5
#define WORD      8
#define FS_PREFIX 0x64
#define GS_PREFIX 0x65

static uint8_t
segment_of(const uint8_t *bytes, const struct x86_encoding *encoding)
{
	uint8_t segment = 0;

	for (unsigned i = 0; i < encoding->opcode_at; i++)
		if (bytes[i] == FS_PREFIX || bytes[i] == GS_PREFIX)
			segment = bytes[i];
	return segment;
}

static uint8_t
register_of(uint8_t reg)
{
	return reg < 16 ? reg : REGISTER_NONE;
}

/* Some elements only, by a mask or an index each, or a bit far from the address. */
static bool
is_elsewhere(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode;

	if (encoding->kind == ENCODING_EVEX || encoding->kind == ENCODING_XOP || encoding->has_address_size)
		return true;
	if (encoding->kind == ENCODING_VEX)
		return encoding->map == MAP_0F38 && ((opcode >= 0x2c && opcode <= 0x2f) || opcode == 0x8c ||
		                                     opcode == 0x8e || (opcode >= 0x90 && opcode <= 0x93));
	return encoding->map == MAP_0F && (opcode == 0xa3 || opcode == 0xab || opcode == 0xb3 || opcode == 0xbb);
}

/* FMA of one element: QEMU 7.2 loads a whole register. */
static bool
is_scalar_fma(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, order = opcode >> 4;

	return encoding->kind == ENCODING_VEX && encoding->map == MAP_0F38 && encoding->prefix == 0x66 &&
	       order >= 0x9 && order <= 0xb && (opcode & 0xf) >= 0x9 && opcode & 1;
}

/* Shifts of 256 bits by a number that 128 bits hold: QEMU 7.2 loads 256. */
static bool
is_wide_shift(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode;

	return encoding->kind == ENCODING_VEX && encoding->map == MAP_0F && encoding->prefix == 0x66 &&
	       encoding->length == 1 &&
	       ((opcode >= 0xd1 && opcode <= 0xd3) || opcode == 0xe1 || opcode == 0xe2 ||
	        (opcode >= 0xf1 && opcode <= 0xf3));
}

/* cvtdq2pd: QEMU 7.2 loads as much as it makes. */
static bool
is_widening(const struct x86_encoding *encoding)
{
	return (encoding->kind == ENCODING_LEGACY || encoding->kind == ENCODING_VEX) && encoding->map == MAP_0F &&
	       encoding->prefix == 0xf3 && encoding->opcode == 0xe6;
}

static void
modrm_access(const uint8_t *bytes, const struct instruction *instruction, const struct x86_encoding *encoding,
             struct address_form *form)
{
	if (is_elsewhere(encoding))
		return;
	address_form_set(form, register_of(encoding->base), encoding->displacement);
	form->segment = segment_of(bytes, encoding);
	if (encoding->is_rip_relative) {
		form->base = REGISTER_NONE;
		form->displacement += (int64_t)(instruction->address + instruction->size);
		return;
	}
	form->index = register_of(encoding->index);
	form->scale = encoding->scale;
}

static void
push(struct address_form *form)
{
	address_form_set(form, RSP, -WORD);
	address_form_change(form, RSP, RSP, -WORD);
}

static void
pop(struct address_form *form, uint8_t reg)
{
	address_form_set(form, RSP, 0);
	if (reg != RSP)
		address_form_change(form, RSP, RSP, WORD);
}

static bool
is_push(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, which = encoding->modrm >> 3 & 7;

	if (opcode == 0xff)
		return (which == 2 || which == 6) && !encoding->has_memory;
	return opcode >> 3 == 0xa || opcode == 0x68 || opcode == 0x6a || opcode == 0x9c || opcode == 0xe8;
}

/* Those that use the stack and other memory, and enter. */
static bool
is_in_two_places(const struct x86_encoding *encoding)
{
	const uint8_t opcode = encoding->opcode, which = encoding->modrm >> 3 & 7;

	return opcode == 0xc8 || opcode == 0x8f || (opcode == 0xff && (which == 2 || which == 3 || which == 6));
}

/* Whether it was one that uses the stack. */
static bool
stack_access(const struct x86_encoding *encoding, struct address_form *form)
{
	const uint8_t opcode = encoding->opcode;

	if (is_push(encoding)) {
		push(form);
		return true;
	}
	if (opcode >> 3 == 0xb) {
		pop(form, (opcode & 7) | (encoding->rex & REX_B ? 8 : 0));
		return true;
	}
	switch (opcode) {
	case 0x9d: /* popf */
	case 0xc3:
		pop(form, REGISTER_NONE);
		return true;
	case 0xc2: /* ret, which releases more */
		address_form_set(form, RSP, 0);
		return true;
	case 0xc9: /* leave */
		address_form_set(form, RBP, 0);
		address_form_change(form, RSP, RBP, WORD);
		return true;
	default:
		return is_in_two_places(encoding);
	}
}

/* add, sub, inc, dec, lea and mov of whole registers. */
static void
register_change(const struct instruction *instruction, const struct x86_encoding *encoding, struct address_form *form)
{
	const uint8_t which = encoding->modrm >> 3 & 7;
	const bool is_register = encoding->has_modrm && !encoding->has_memory;

	switch (encoding->opcode) {
	case 0x81:
	case 0x83:
		if (is_register && (which == 0 || which == 5))
			address_form_change(form, encoding->rm, encoding->rm,
			                    which ? -encoding->immediate : encoding->immediate);
		break;
	case 0x05:
	case 0x2d:
		address_form_change(form, RAX, RAX,
		                    encoding->opcode == 0x2d ? -encoding->immediate : encoding->immediate);
		break;
	case 0xff:
		if (is_register && which < 2)
			address_form_change(form, encoding->rm, encoding->rm, which ? -1 : 1);
		break;
	case 0x89:
		if (is_register)
			address_form_change(form, encoding->rm, encoding->reg, 0);
		break;
	case 0x8b:
		if (is_register)
			address_form_change(form, encoding->reg, encoding->rm, 0);
		break;
	case 0x8d:
		if (encoding->is_rip_relative)
			address_form_change(form, encoding->reg, REGISTER_NONE,
			                    (int64_t)(instruction->address + instruction->size) +
			                            encoding->displacement);
		else if (encoding->has_memory && register_of(encoding->index) == REGISTER_NONE)
			address_form_change(form, encoding->reg, register_of(encoding->base), encoding->displacement);
		break;
	default:
		break;
	}
}

void
address_form_x86_64(const struct encoded_instruction *encoded, const struct instruction *instruction,
                    struct address_form *form)
{
	const struct x86_encoding *encoding = &encoded->x86;

	if (encoding->size != instruction->size)
		return;
	if (encoding->kind == ENCODING_LEGACY && encoding->map == MAP_ONE_BYTE) {
		const bool is_whole = encoding->rex & REX_W && !encoding->has_address_size;

		if (encoding->has_operand_size ? is_in_two_places(encoding) : stack_access(encoding, form))
			return;
		if (is_whole)
			register_change(instruction, encoding, form);
	}
	if (!encoding->has_memory)
		return;
	form->reads_beyond = is_scalar_fma(encoding) || is_wide_shift(encoding) || is_widening(encoding);
	modrm_access(encoded->bytes, instruction, encoding, form);
}
