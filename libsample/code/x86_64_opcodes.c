#include "code/x86_64_opcodes.h"

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

bool
x86_opcode_is_valid(const struct x86_encoding *encoding)
{
	switch (encoding->map) {
	case MAP_ONE_BYTE:
		return is_one_byte_valid(encoding->opcode);
	case MAP_0F:
		return is_map_0f_valid(encoding->opcode);
	default:
		return true;
	}
}

bool
x86_opcode_has_modrm(const struct x86_encoding *encoding)
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

uint8_t
x86_opcode_immediate_size(const struct x86_encoding *encoding)
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
