/*
 * An x86-64 instruction out of its encoding, capstone's operands and the form of its name.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "code/decoder_private.h"
#include "code/x86_64_newer.h"
#include "code/x86_64_parts.h"

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

/*
 * The bytes without those that make no difference to what the instruction does: displacements, longer immediates, and
 * those of the first map, which choose no operation.
 */
static void
memo_key(const uint8_t *bytes, const struct x86_encoding *encoding, uint8_t key[MEMO_KEY])
{
	const bool is_first_map = encoding->map == MAP_ONE_BYTE && encoding->kind == ENCODING_LEGACY;

	memset(key, 0, MEMO_KEY);
	memcpy(key, bytes, encoding->size);
	memset(key + encoding->displacement_at, 0, encoding->displacement_size);
	if (encoding->immediate_size > 1 || is_first_map)
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
	/* Capstone gets EVEX's short displacements wrong. */
	if (encoding->kind == ENCODING_EVEX && x86_64_newer_detail(encoding, address, detail) &&
	    strcmp(detail->mnemonic, X86_64_UNKNOWN_NAME) != 0)
		return true;
	if (decoder_disassemble(decoder, bytes, length, address) && decoder->scratch->size == encoding->size) {
		x86_64_operands_fill(decoder, encoding, address, detail);
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
		x86_64_effects_fill(&memo->instruction, decoder_form(decoder, form_name(&encoding, detail.mnemonic)),
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
