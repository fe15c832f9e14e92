#include "code/x86_64_encoding.h"

#include <string.h>

struct cursor {
	const uint8_t *bytes;
	size_t length, at;
	bool is_over; /* something behind the end was asked for */
};

static uint8_t
take(struct cursor *cursor)
{
	if (cursor->at >= cursor->length || cursor->at >= X86_LONGEST) {
		cursor->is_over = true;
		return 0;
	}
	return cursor->bytes[cursor->at++];
}

static int64_t
take_number(struct cursor *cursor, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)take(cursor) << (8 * i);
	if (size > 0 && size < 8 && value >> (8 * size - 1))
		value |= UINT64_MAX << (8 * size);
	return (int64_t)value;
}

static bool
is_one_byte_valid(uint8_t opcode)
{
	switch (opcode) {
	case 0x06:
	case 0x07:
	case 0x0e:
	case 0x16:
	case 0x17:
	case 0x1e:
	case 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60:
	case 0x61:
	case 0x82:
	case 0x9a:
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
		return false;
	default:
		return true;
	}
}

static bool
one_byte_has_modrm(uint8_t opcode)
{
	if (opcode < 0x40)
		return (opcode & 7) < 4;
	switch (opcode) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return true;
	default:
		return (opcode >= 0x80 && opcode < 0x90) || (opcode >= 0xd0 && opcode < 0xd4) ||
		       (opcode >= 0xd8 && opcode < 0xe0);
	}
}

static bool
map_0f_has_modrm(uint8_t opcode)
{
	if ((opcode >= 0x30 && opcode < 0x38) || (opcode >= 0x80 && opcode < 0x90) || opcode >> 3 == 0xc8 >> 3)
		return false;
	switch (opcode) {
	case 0x05:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x0b:
	case 0x0e:
	case 0x77:
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa8:
	case 0xa9:
	case 0xaa:
		return false;
	default:
		return true;
	}
}

static bool
is_map_0f_valid(uint8_t opcode)
{
	switch (opcode) {
	case 0x04:
	case 0x0a:
	case 0x0c:
	case 0x24:
	case 0x25:
	case 0x26:
	case 0x27:
	case 0x36:
	case 0x39:
	case 0x3b:
	case 0x3c:
	case 0x3d:
	case 0x3e:
	case 0x3f:
		return false;
	default:
		return true;
	}
}

static bool
has_modrm(const struct x86_encoding *encoding)
{
	switch (encoding->map) {
	case MAP_ONE_BYTE:
		return one_byte_has_modrm(encoding->opcode);
	case MAP_0F:
		if (encoding->kind != ENCODING_LEGACY)
			return encoding->opcode != 0x77;
		return map_0f_has_modrm(encoding->opcode);
	default:
		return true;
	}
}

/* An immediate of the operand's size is never more than 4 bytes long; with an operand of 2 bytes it has 2. */
static uint8_t
operand_immediate(const struct x86_encoding *encoding)
{
	return encoding->has_operand_size && !(encoding->rex & REX_W) ? 2 : 4;
}

static uint8_t
one_byte_immediate(const struct x86_encoding *encoding)
{
	uint8_t opcode = encoding->opcode;

	if (opcode < 0x40)
		return (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? operand_immediate(encoding) : 0;
	if (opcode >= 0x70 && opcode < 0x80)
		return 1;
	if (opcode >= 0xa0 && opcode < 0xa4)
		return encoding->has_address_size ? 4 : 8;
	if (opcode >= 0xb0 && opcode < 0xb8)
		return 1;
	if (opcode >= 0xb8 && opcode < 0xc0)
		return encoding->rex & REX_W ? 8 : operand_immediate(encoding);
	if (opcode >= 0xe0 && opcode < 0xe8)
		return 1;
	switch (opcode) {
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xeb:
		return 1;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
	case 0xe8:
	case 0xe9:
		return operand_immediate(encoding);
	case 0xc2:
	case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0xf6:
		return (encoding->modrm >> 3 & 7) < 2 ? 1 : 0;
	case 0xf7:
		return (encoding->modrm >> 3 & 7) < 2 ? operand_immediate(encoding) : 0;
	default:
		return 0;
	}
}

static uint8_t
map_0f_immediate(const struct x86_encoding *encoding)
{
	uint8_t opcode = encoding->opcode;

	if (opcode >= 0x80 && opcode < 0x90 && encoding->kind == ENCODING_LEGACY)
		return operand_immediate(encoding);
	switch (opcode) {
	case 0x78: /* extrq and insertq of SSE4a */
		return encoding->kind == ENCODING_LEGACY && (encoding->prefix == 0x66 || encoding->prefix == 0xf2) ? 2
		                                                                                                   : 0;
	case 0x0f: /* the opcode of 3DNow! */
	case 0xa4:
	case 0xac:
	case 0xba:
		return encoding->kind == ENCODING_LEGACY ? 1 : 0;
	case 0x70:
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xc2:
	case 0xc4:
	case 0xc5:
	case 0xc6:
		return 1;
	default:
		return 0;
	}
}

static uint8_t
immediate_size(const struct x86_encoding *encoding)
{
	switch (encoding->map) {
	case MAP_ONE_BYTE:
		return one_byte_immediate(encoding);
	case MAP_0F:
		return map_0f_immediate(encoding);
	case MAP_0F3A:
	case MAP_XOP8:
		return 1;
	case MAP_XOPA:
		return 4;
	default:
		return 0;
	}
}

/* Legacy prefixes, then REX; one that is not right before the opcode counts for nothing. The byte behind them. */
static uint8_t
take_prefixes(struct cursor *cursor, struct x86_encoding *encoding)
{
	for (;;) {
		uint8_t byte = take(cursor);

		if (cursor->is_over)
			return 0;
		if ((byte & 0xf0) == 0x40) {
			encoding->rex = byte;
			continue;
		}
		switch (byte) {
		case 0xf0:
			encoding->has_lock = true;
			break;
		case 0xf2:
		case 0xf3:
			encoding->has_repne = byte == 0xf2;
			encoding->has_rep = byte == 0xf3;
			break;
		case 0x66:
			encoding->has_operand_size = true;
			break;
		case 0x67:
			encoding->has_address_size = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		default:
			return byte;
		}
		encoding->rex = 0;
	}
}

static const uint8_t prefix_of_pp[4] = {0, 0x66, 0xf3, 0xf2};

static int
take_vex(struct cursor *cursor, struct x86_encoding *encoding, uint8_t escape)
{
	uint8_t first = take(cursor), second = first;

	encoding->kind = escape == 0x8f ? ENCODING_XOP : ENCODING_VEX;
	encoding->map = MAP_0F;
	encoding->rex = first & 0x80 ? 0 : REX_R;
	if (escape != 0xc5) {
		second = take(cursor);
		encoding->map = first & 0x1f;
		encoding->rex = (uint8_t)(~first >> 5 & 7) | (second & 0x80 ? REX_W : 0);
		if (escape == 0x8f ? encoding->map > MAP_XOPA : encoding->map < MAP_0F || encoding->map > MAP_0F3A)
			return -1;
	}
	encoding->other = ~second >> 3 & 15;
	encoding->length = second >> 2 & 1;
	encoding->prefix = prefix_of_pp[second & 3];
	encoding->opcode = take(cursor);
	return 0;
}

/* The two registers' fifth bits are kept apart until ModRM says what its fields are. */
struct evex_bits {
	uint8_t reg, rm;
};

static int
take_evex(struct cursor *cursor, struct x86_encoding *encoding, struct evex_bits *fifth)
{
	uint8_t first = take(cursor), second = take(cursor), third = take(cursor);

	encoding->kind = ENCODING_EVEX;
	encoding->map = first & 7;
	if (first & 8 || !(second & 4) || encoding->map == 0 || encoding->map == 4 || encoding->map == 7)
		return -1;
	encoding->rex = (uint8_t)(~first >> 5 & 7) | (second & 0x80 ? REX_W : 0);
	fifth->reg = first & 0x10 ? 0 : 16;
	fifth->rm = first & 0x40 ? 0 : 16;
	encoding->other = (~second >> 3 & 15) | (third & 8 ? 0 : 16);
	encoding->prefix = prefix_of_pp[second & 3];
	encoding->mask = third & 7;
	encoding->clears_mask = third & 0x80;
	encoding->broadcasts = third & 0x10;
	encoding->length = third >> 5 & 3;
	encoding->opcode = take(cursor);
	return 0;
}

static void
take_legacy(struct cursor *cursor, struct x86_encoding *encoding, uint8_t byte)
{
	encoding->prefix = encoding->has_rep            ? 0xf3
	                   : encoding->has_repne        ? 0xf2
	                   : encoding->has_operand_size ? 0x66
	                                                : 0;
	encoding->opcode = byte;
	if (byte != 0x0f)
		return;
	encoding->map = MAP_0F;
	encoding->opcode = take(cursor);
	if (encoding->opcode != 0x38 && encoding->opcode != 0x3a)
		return;
	encoding->map = encoding->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	encoding->opcode = take(cursor);
}

/* VEX and EVEX may follow no REX and none of the prefixes that they replace. */
static int
take_opcode(struct cursor *cursor, struct x86_encoding *encoding, struct evex_bits *fifth)
{
	uint8_t byte = take_prefixes(cursor, encoding);
	bool may_replace = !encoding->rex && !encoding->has_lock && !encoding->has_rep && !encoding->has_repne &&
	                   !encoding->has_operand_size;
	bool is_xop = byte == 0x8f && cursor->at < cursor->length && (cursor->bytes[cursor->at] & 0x1f) >= MAP_XOP8;

	if (byte == 0x62)
		return may_replace ? take_evex(cursor, encoding, fifth) : -1;
	if (byte == 0xc4 || byte == 0xc5 || is_xop)
		return may_replace ? take_vex(cursor, encoding, byte) : -1;
	take_legacy(cursor, encoding, byte);
	if (encoding->map == MAP_ONE_BYTE && !is_one_byte_valid(encoding->opcode))
		return -1;
	return encoding->map == MAP_0F && !is_map_0f_valid(encoding->opcode) ? -1 : 0;
}

static void
take_memory(struct cursor *cursor, struct x86_encoding *encoding)
{
	uint8_t mode = encoding->modrm >> 6, low = encoding->modrm & 7;
	uint8_t size = mode == 1 ? 1 : mode == 2 ? 4 : 0;

	encoding->has_memory = true;
	encoding->base = low | (encoding->rex & REX_B ? 8 : 0);
	if (low == 4) {
		uint8_t sib = take(cursor);

		encoding->base = (sib & 7) | (encoding->rex & REX_B ? 8 : 0);
		encoding->index = (sib >> 3 & 7) | (encoding->rex & REX_X ? 8 : 0);
		encoding->scale = (uint8_t)(1u << (sib >> 6));
		if (encoding->index == 4)
			encoding->index = 0xff;
		if ((sib & 7) == 5 && mode == 0) {
			encoding->base = 0xff;
			size = 4;
		}
	} else if (low == 5 && mode == 0) {
		encoding->base = 0xff;
		encoding->is_rip_relative = true;
		size = 4;
	}
	encoding->displacement_at = (uint8_t)cursor->at;
	encoding->displacement_size = size;
	encoding->displacement = (int32_t)take_number(cursor, size);
}

/* Moves to and from control and debug registers take every ModRM for one of registers. */
static bool
is_always_register(const struct x86_encoding *encoding)
{
	return encoding->kind == ENCODING_LEGACY && encoding->map == MAP_0F && encoding->opcode >= 0x20 &&
	       encoding->opcode < 0x24;
}

static void
take_modrm(struct cursor *cursor, struct x86_encoding *encoding, const struct evex_bits *fifth)
{
	encoding->has_modrm = true;
	encoding->modrm = take(cursor);
	encoding->reg = (encoding->modrm >> 3 & 7) | (encoding->rex & REX_R ? 8 : 0) | fifth->reg;
	if (encoding->modrm >> 6 != 3 && !is_always_register(encoding)) {
		take_memory(cursor, encoding);
		return;
	}
	encoding->rm = (encoding->modrm & 7) | (encoding->rex & REX_B ? 8 : 0) | fifth->rm;
}

int
x86_encoding_parse(const uint8_t *bytes, size_t length, struct x86_encoding *encoding)
{
	struct cursor cursor = {.bytes = bytes, .length = length};
	struct evex_bits fifth = {0, 0};

	memset(encoding, 0, sizeof(*encoding));
	encoding->base = encoding->index = 0xff;
	if (take_opcode(&cursor, encoding, &fifth) != 0 || cursor.is_over)
		return -1;
	encoding->opcode_at = (uint8_t)(cursor.at - 1);
	if (has_modrm(encoding))
		take_modrm(&cursor, encoding, &fifth);
	encoding->immediate_at = (uint8_t)cursor.at;
	encoding->immediate_size = immediate_size(encoding);
	encoding->immediate = take_number(&cursor, encoding->immediate_size);
	encoding->size = (uint8_t)cursor.at;
	return cursor.is_over ? -1 : 0;
}
