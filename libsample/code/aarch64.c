/*
 * An aarch64 instruction out of its word, capstone's operands and the form of its name. Where capstone does not know
 * the word, aarch64_newer.c may.
 */
#include <string.h>

#include "base/error.h"
#include "code/aarch64_newer.h"
#include "code/aarch64_parts.h"
#include "code/decoder_private.h"

#define SIZE 4u

static uint32_t
word_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static int64_t
field_signed(uint32_t word, unsigned int from, unsigned int bits)
{
	return (int64_t)((uint64_t)(word >> from) << (64 - bits)) >> (64 - bits);
}

static void
instruction_place(struct instruction *instruction, uint64_t address, uint32_t word)
{
	int64_t words = 0;

	instruction->address = address;
	instruction->target = 0;
	if ((word & 0x7c000000) == 0x14000000)
		words = field_signed(word, 0, 26);
	else if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		words = field_signed(word, 5, 19);
	else if ((word & 0x7e000000) == 0x36000000)
		words = field_signed(word, 5, 14);
	else
		return;
	instruction->target = address + 4 * (uint64_t)words;
}

/* The word without those bits that make no difference: of displacements, offsets, and other immediates. */
static uint32_t
canonical(uint32_t word)
{
	if ((word & 0x7c000000) == 0x14000000)
		return word & 0xfc000000;
	if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		return word & 0xff00001f;
	if ((word & 0x7e000000) == 0x36000000)
		return word & 0x7f00001f;
	if ((word & 0x1f000000) == 0x10000000)
		return word & 0x9f00001f;
	if ((word & 0x3b000000) == 0x39000000)
		return word & 0xffc003ff;
	if ((word & 0x3a000000) == 0x28000000)
		return word & 0xffc07fff;
	/* add of 0 is a move */
	if ((word & 0x1f800000) == 0x11000000 && word >> 10 & 0xfff)
		return (word & 0xff8003ff) | 0x400;
	return word;
}

/*
 * SVE, SME, memory tagging and copying: newer than the tables of effects. Capstone 4 does not know them, and of those
 * that 5 knows it does not tell all that they write: they are unknown under both.
 */
static bool
is_beyond_tables(uint32_t word)
{
	const bool is_scalable = (word >> 25 & 0xf) == 2 || (word >> 25 & 0xf) == 0;
	const bool is_tag = (word & 0xff200000) == 0xd9200000 || (word & 0xffe0f800) == 0x9ac01000;
	const bool is_copy = (word & 0x3b200c00) == 0x19000400;
	const bool is_matrix_start =
		(word & 0xfffff0ff) == 0xd503407f && (word & 0xf00) >= 0x200 && (word & 0xf00) <= 0x700;

	return is_scalable || is_tag || is_copy || is_matrix_start;
}

static bool
identify(struct decoder *decoder, const uint8_t *bytes, uint64_t address, struct instruction_detail *detail)
{
	uint32_t word = word_at(bytes);

	if (aarch64_newer_detail(word, address, detail))
		return true;
	if (is_beyond_tables(word) || !decoder_disassemble(decoder, bytes, SIZE, address))
		return false;
	aarch64_operands_fill(decoder->scratch, word, detail);
	return true;
}

static size_t
decode_bad(size_t length, uint64_t address, struct instruction *instruction)
{
	*instruction = (struct instruction){.address = address, .class = CLASS_UNKNOWN, .flow = FLOW_NEXT};
	instruction->size = length < SIZE ? (uint8_t)length : SIZE;
	return instruction->size;
}

void
aarch64_look_at(struct decoder *decoder, struct encoded_instruction *encoded)
{
	if (encoded->length < SIZE)
		return;
	encoded->key[0] = canonical(word_at(encoded->bytes));
	encoded->key[1] = 0;
	decoder_find_memos(decoder, encoded);
}

size_t
aarch64_decode(struct decoder *decoder, const struct encoded_instruction *encoded, uint64_t address,
               struct instruction *instruction)
{
	struct instruction_detail detail;
	const struct memo *memo;
	struct memo *new;
	uint32_t word;

	if (encoded->length < SIZE)
		return decode_bad(encoded->length, address, instruction);
	word = word_at(encoded->bytes);
	memo = decoder_memo(encoded);
	if (!memo) {
		if (!identify(decoder, encoded->bytes, address, &detail))
			return decode_bad(encoded->length, address, instruction);
		memo = new = decoder_new_memo(encoded);
		new->instruction.size = SIZE;
		aarch64_effects_fill(&new->instruction, decoder_form(decoder, detail.mnemonic), word, &detail);
	}
	*instruction = memo->instruction;
	instruction_place(instruction, address, word);
	return SIZE;
}

int
aarch64_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
               struct instruction_detail *detail)
{
	memset(detail, 0, sizeof(*detail));
	if (length < SIZE || !identify(decoder, bytes, address, detail))
		return -DCPI_EDAMAGED;
	return 0;
}
