/*
 * An x86-64 instruction out of its encoding, capstone's operands and the form of its name.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "code/decoder_internal.h"
#include "code/x86_64_newer.h"
#include "code/x86_64_parts.h"

/* Product and dividend are in ax for bytes, and in rdx:rax for all other sizes. */
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

/* The first `size` bytes, 1 to 15, of `bytes` as two numbers, with zeros behind them. */
static void
take_bytes(const uint8_t *bytes, size_t size, uint64_t words[2])
{
	uint32_t four, last_four;

	words[0] = words[1] = 0;
	if (size >= 8) {
		memcpy(&words[0], bytes, 8);
		if (size > 8) {
			memcpy(&words[1], bytes + size - 8, 8);
			words[1] >>= 8 * (16 - size);
		}
	} else if (size >= 4) {
		memcpy(&four, bytes, 4);
		memcpy(&last_four, bytes + size - 4, 4);
		words[0] = four | (uint64_t)last_four << 8 * (size - 4);
	} else {
		words[0] = bytes[0] | (uint64_t)bytes[size / 2] << 8 * (size / 2) |
		           (uint64_t)bytes[size - 1] << 8 * (size - 1);
	}
}

/*
 * The bytes without those that make no difference to what the instruction does: displacements, longer immediates, and
 * those of the first map, which choose no operation. They are behind all others; its size tells where they were.
 */
static void
memo_key(const uint8_t *bytes, const struct x86_encoding *encoding, uint64_t key[2])
{
	const bool is_first_map = encoding->map == MAP_ONE_BYTE && encoding->kind == ENCODING_LEGACY;

	take_bytes(bytes, encoding->displacement_size ? encoding->displacement_at : encoding->immediate_at, key);
	if (encoding->immediate_size == 1 && !is_first_map)
		key[1] |= (uint64_t)(uint8_t)encoding->immediate << 48;
	key[1] |= (uint64_t)encoding->size << 56;
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

void
x86_64_prefetch(struct decoder *decoder, struct encoded_instruction *encoded)
{
	if (x86_encoding_parse(encoded->bytes, encoded->length, &encoded->x86) != 0) {
		encoded->x86.size = 0;
		return;
	}
	memo_key(encoded->bytes, &encoded->x86, encoded->key);
	decoder_cache_prefetch(decoder, encoded);
}

/* Decode by capstone into a new cache entry; NULL: no instruction. Not inlined: a cache hit needs no stack for details.
 */
static __attribute__((noinline)) const struct decode_cache_entry *
decode_new(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address)
{
	const struct x86_encoding *x86 = &encoded->x86;
	struct instruction_detail detail;
	struct decode_cache_entry *memo;

	if (!identify(decoder, encoded->bytes, encoded->length, address, x86, &detail))
		return NULL;
	memo = decoder_cache_insert(encoded);
	memo->instruction.size = x86->size;
	x86_64_effects_fill(&memo->instruction, decoder_form(decoder, form_name(x86, detail.mnemonic)), x86, &detail);
	return memo;
}

size_t
x86_64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
              struct instruction *instruction)
{
	const struct decode_cache_entry *memo;

	if (!encoded->x86.size)
		return decode_bad(address, instruction);
	memo = decoder_cache_find(encoded);
	if (!memo)
		memo = decode_new(decoder, encoded, address);
	if (!memo)
		return decode_bad(address, instruction);
	*instruction = memo->instruction;
	instruction_place(instruction, address, &encoded->x86);
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
