#include "code/x86_64_newer.h"

#include <string.h>

#include "code/x86_64_newer_table.h"

/* 0F 01 with a register: the whole of ModRM is the opcode. */
static const char *
system_name(const struct x86_encoding *encoding)
{
	if (encoding->kind != ENCODING_LEGACY || encoding->map != MAP_0F || encoding->opcode != 0x01 ||
	    encoding->has_memory)
		return NULL;
	switch (encoding->modrm) {
	case 0xe8:
		return encoding->prefix == 0 ? "serialize" : NULL;
	case 0xee:
		return "rdpkru";
	case 0xef:
		return "wrpkru";
	case 0xfa:
		return "monitorx";
	case 0xfb:
		return "mwaitx";
	case 0xfc:
		return "clzero";
	default:
		return NULL;
	}
}

static void
name_fill(const char *pattern, const struct x86_encoding *encoding, char name[32])
{
	size_t at = 0;

	for (; *pattern && at < 31; pattern++) {
		if (*pattern != '%') {
			name[at++] = *pattern;
			continue;
		}
		name[at++] = pattern[encoding->rex & REX_W ? 2 : 1];
		pattern += 2;
	}
	name[at] = '\0';
}

static uint8_t
element_size(const struct x86_encoding *encoding)
{
	return encoding->rex & REX_W ? 8 : 4;
}

static uint8_t
memory_size(const struct x86_encoding *encoding, uint8_t tuple)
{
	uint8_t vector = (uint8_t)(16u << (encoding->length & 3));

	switch (tuple) {
	case 0:
		return encoding->broadcasts ? element_size(encoding) : vector;
	case HALF:
		return vector / 2;
	case QUARTER:
		return vector / 4;
	case EIGHTH:
		return vector / 8;
	case ELEMENT:
		return element_size(encoding);
	default:
		return tuple;
	}
}

/* EVEX counts a displacement of one byte in units of what is accessed. */
static void
memory_fill(const struct x86_encoding *encoding, uint64_t address, uint8_t size, struct instruction_operand *operand)
{
	bool is_scaled = encoding->kind == ENCODING_EVEX && encoding->displacement_size == 1;

	operand->kind = OPERAND_MEMORY;
	operand->size = size;
	operand->base = encoding->base == 0xff ? REGISTER_NONE : encoding->base;
	operand->index = encoding->index == 0xff ? REGISTER_NONE : encoding->index;
	operand->scale = encoding->scale;
	operand->value = (int64_t)encoding->displacement * (is_scaled ? size : 1);
	operand->is_pc = encoding->is_rip_relative;
	if (operand->is_pc)
		operand->value = (int64_t)(address + encoding->size + (uint64_t)operand->value);
}

static void
register_fill(uint8_t reg, uint8_t base, uint8_t size, struct instruction_operand *operand)
{
	operand->kind = OPERAND_REGISTER;
	operand->reg = base + reg % (base == REGISTER_VECTOR ? 32 : base == REGISTER_MASK ? 8 : 16);
	operand->size = size;
}

static void
operand_fill(const struct x86_encoding *encoding, uint64_t address, char letter, uint8_t vector, uint8_t tuple,
             struct instruction_operand *operand)
{
	*operand = (struct instruction_operand){.kind = OPERAND_OTHER};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	if (strchr("WQEM", letter) && encoding->has_memory) {
		memory_fill(encoding, address, memory_size(encoding, tuple), operand);
		return;
	}
	switch (letter) {
	case 'V':
		register_fill(encoding->reg, REGISTER_VECTOR, vector, operand);
		break;
	case 'H':
		register_fill(encoding->other, REGISTER_VECTOR, vector, operand);
		break;
	case 'W':
		register_fill(encoding->rm, REGISTER_VECTOR, vector, operand);
		break;
	case 'K':
		register_fill(encoding->reg, REGISTER_MASK, 8, operand);
		break;
	case 'L':
		register_fill(encoding->other, REGISTER_MASK, 8, operand);
		break;
	case 'Q':
		register_fill(encoding->rm, REGISTER_MASK, 8, operand);
		break;
	case 'G':
		register_fill(encoding->reg, 0, element_size(encoding), operand);
		break;
	case 'B':
		register_fill(encoding->other, 0, element_size(encoding), operand);
		break;
	case 'E':
		register_fill(encoding->rm, 0, element_size(encoding), operand);
		break;
	default:
		operand->kind = OPERAND_IMMEDIATE;
		operand->value = (uint8_t)encoding->immediate;
		operand->size = 1;
		break;
	}
}

static void
operands_fill(const struct x86_encoding *encoding, uint64_t address, const char *letters, uint8_t tuple,
              struct instruction_detail *detail)
{
	for (; *letters && detail->operand_count < INSTRUCTION_OPERANDS_MAX; letters++) {
		uint8_t vector = letters[1] == 'x'   ? 16
		                 : letters[1] == 'y' ? 32
		                                     : (uint8_t)(16u << (encoding->length & 3));

		operand_fill(encoding, address, *letters, vector, tuple, &detail->operands[detail->operand_count++]);
		if (letters[1] == 'x' || letters[1] == 'y')
			letters++;
	}
}

bool
x86_64_newer_detail(const struct x86_encoding *encoding, uint64_t address, struct instruction_detail *detail)
{
	const struct newer_form *row = x86_64_newer_find(encoding);
	const char *name = system_name(encoding);

	memset(detail, 0, sizeof(*detail));
	if (name) {
		name_fill(name, encoding, detail->mnemonic);
		return true;
	}
	if (row) {
		name_fill(row->name, encoding, detail->mnemonic);
		operands_fill(encoding, address, row->operands, row->tuple, detail);
		return true;
	}
	if (encoding->kind == ENCODING_LEGACY || encoding->kind == ENCODING_XOP || !encoding->has_modrm)
		return false;
	name_fill(X86_64_UNKNOWN_NAME, encoding, detail->mnemonic);
	operands_fill(encoding, address, "VHW", 0, detail);
	return true;
}
