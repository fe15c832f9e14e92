#include "code/x86_64_encoding.h"

#include <string.h>

/*
 * What follows each opcode: "!" no instruction of 64-bit mode, "-" nothing, "M" ModRM alone. Else an immediate, and
 * ModRM before it where the letter is a capital: "b" of one byte, "w" two, "e" three, "z" four, or two where operands
 * have 16 bits, "v" as wide as the operand, "a" an address, "T" and "U" of some of group 3's instructions, "L" of
 * legacy encodings only, "X" of SSE4a's extrq and insertq, "D" of four bytes.
 * Source: Intel SDM volume 2, appendix A; AMD APM volume 3, appendix A.
 */
/* clang-format off */
static const char one_byte_opcodes[] =
	"MMMMbz!!MMMMbz!-" /* 00 */
	"MMMMbz!!MMMMbz!!" /* 10 */
	"MMMMbz-!MMMMbz-!" /* 20 */
	"MMMMbz-!MMMMbz-!" /* 30 */
	"----------------" /* 40 */
	"----------------" /* 50 */
	"!!-M----zZbB----" /* 60 */
	"bbbbbbbbbbbbbbbb" /* 70 */
	"BZ!BMMMMMMMMMMMM" /* 80 */
	"----------!-----" /* 90 */
	"aaaa----bz------" /* a0 */
	"bbbbbbbbvvvvvvvv" /* b0 */
	"BBw---BZe-w--b!-" /* c0 */
	"MMMM!!!-MMMMMMMM" /* d0 */
	"bbbbbbbbzz!b----" /* e0 */
	"------TU------MM" /* f0 */;

static const char map_0f_opcodes[] =
	"MMMM!-----!-!M-L" /* 00 */
	"MMMMMMMMMMMMMMMM" /* 10 */
	"MMMM!!!!MMMMMMMM" /* 20 */
	"------!-M!M!!!!!" /* 30 */
	"MMMMMMMMMMMMMMMM" /* 40 */
	"MMMMMMMMMMMMMMMM" /* 50 */
	"MMMMMMMMMMMMMMMM" /* 60 */
	"BBBBMMM-XMMMMMMM" /* 70 */
	"zzzzzzzzzzzzzzzz" /* 80 */
	"MMMMMMMMMMMMMMMM" /* 90 */
	"---MLMMM---MLMMM" /* a0 */
	"MMMMMMMMMMLMMMMM" /* b0 */
	"MMBMBBBM--------" /* c0 */
	"MMMMMMMMMMMMMMMM" /* d0 */
	"MMMMMMMMMMMMMMMM" /* e0 */
	"MMMMMMMMMMMMMMMM" /* f0 */;
/* clang-format on */

static char
opcode_form(const struct x86_encoding *encoding)
{
	switch (encoding->map) {
	case MAP_ONE_BYTE:
		return one_byte_opcodes[encoding->opcode];
	case MAP_0F:
		if (encoding->kind == ENCODING_LEGACY)
			return map_0f_opcodes[encoding->opcode];
		if (encoding->opcode == 0x77) /* vzeroupper */
			return '-';
		return map_0f_opcodes[encoding->opcode] == 'B' ? 'B' : 'M';
	case MAP_0F3A:
	case MAP_XOP8:
		return 'B';
	case MAP_XOPA:
		return 'D';
	default:
		return 'M';
	}
}

/* Bytes; ModRM, which tells some apart, must be there. */
static uint8_t
immediate_size(const struct x86_encoding *encoding, char form)
{
	/* An immediate of the operand's size is never more than 4 bytes long; with an operand of 2 bytes it has 2. */
	const uint8_t operand_size = encoding->has_operand_size && !(encoding->rex & REX_W) ? 2 : 4;
	const bool is_test = (encoding->modrm >> 3 & 7) < 2;

	switch (form) {
	case 'b':
	case 'B':
	case 'L':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'D':
		return 4;
	case 'z':
	case 'Z':
		return operand_size;
	case 'v':
		return encoding->rex & REX_W ? 8 : operand_size;
	case 'a':
		return encoding->has_address_size ? 4 : 8;
	case 'T':
		return is_test ? 1 : 0;
	case 'U':
		return is_test ? operand_size : 0;
	case 'X':
		return encoding->prefix == 0x66 || encoding->prefix == 0xf2 ? 2 : 0;
	default:
		return 0;
	}
}

struct cursor {
	const uint8_t *bytes;
	size_t length, at; /* length: at most of an instruction */
	bool is_over;      /* something behind the end was asked for */
};

static uint8_t
take(struct cursor *cursor)
{
	if (cursor->at >= cursor->length) {
		cursor->is_over = true;
		return 0;
	}
	return cursor->bytes[cursor->at++];
}

static int64_t
take_number(struct cursor *cursor, size_t size)
{
	const unsigned unused = 64 - 8 * (unsigned)size;
	uint64_t value = 0;

	if (!size)
		return 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)take(cursor) << (8 * i);
	return (int64_t)(value << unused) >> unused;
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
	return opcode_form(encoding) == '!' ? -1 : 0;
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
	struct cursor cursor = {.bytes = bytes, .length = length < X86_LONGEST ? length : X86_LONGEST};
	struct evex_bits fifth = {0, 0};
	char form;

	memset(encoding, 0, sizeof(*encoding));
	encoding->base = encoding->index = 0xff;
	if (take_opcode(&cursor, encoding, &fifth) != 0 || cursor.is_over)
		return -1;
	encoding->opcode_at = (uint8_t)(cursor.at - 1);
	form = opcode_form(encoding);
	if (form >= 'A' && form <= 'Z')
		take_modrm(&cursor, encoding, &fifth);
	encoding->immediate_at = (uint8_t)cursor.at;
	encoding->immediate_size = immediate_size(encoding, form);
	encoding->immediate = take_number(&cursor, encoding->immediate_size);
	encoding->size = (uint8_t)cursor.at;
	return cursor.is_over ? -1 : 0;
}
