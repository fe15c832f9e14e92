/* See address.h. Encodings: Arm Architecture Reference Manual, C4.1. */
#include "emulator/block/address.h"

#define ZERO 31u /* or the stack pointer, which is our 31: by the instruction */

static int64_t
field_signed(uint32_t word, unsigned from, unsigned bits)
{
	return (int64_t)((uint64_t)(word >> from) << (64 - bits)) >> (64 - bits);
}

static uint8_t
base_of(uint32_t word)
{
	return word >> 5 & 31;
}

static bool
is_vector(uint32_t word)
{
	return word >> 26 & 1;
}

/* Of one register: the size's logarithm. */
static unsigned
single_scale(uint32_t word)
{
	return is_vector(word) && word >> 23 & 1 ? 4 : word >> 30;
}

static unsigned
pair_scale(uint32_t word)
{
	return is_vector(word) ? 2 + (word >> 30) : 2 + (word >> 31);
}

enum index_mode {
	INDEX_OFFSET,
	INDEX_POST,
	INDEX_PRE,
};

static void
indexed(struct address_form *form, uint8_t base, int64_t offset, enum index_mode mode)
{
	address_form_set(form, base, mode == INDEX_POST ? 0 : offset);
	if (mode != INDEX_OFFSET)
		address_form_change(form, base, base, offset);
}

static void
pair_access(uint32_t word, struct address_form *form)
{
	static const enum index_mode modes[4] = {INDEX_OFFSET, INDEX_POST, INDEX_OFFSET, INDEX_PRE};

	form->is_pair = !is_vector(word);
	form->is_vector_pair = is_vector(word);
	indexed(form, base_of(word), field_signed(word, 15, 7) * (1 << pair_scale(word)), modes[word >> 23 & 3]);
}

static void
unscaled_access(uint32_t word, struct address_form *form)
{
	static const enum index_mode modes[4] = {INDEX_OFFSET, INDEX_POST, INDEX_OFFSET, INDEX_PRE};

	indexed(form, base_of(word), field_signed(word, 12, 9), modes[word >> 10 & 3]);
}

static void
register_access(uint32_t word, struct address_form *form)
{
	const bool is_whole = (word >> 13 & 3) == 3; /* lsl, sxtx */
	const uint8_t index = word >> 16 & 31;

	if (!is_whole || index == ZERO)
		return;
	address_form_set(form, base_of(word), 0);
	form->index = index;
	form->scale = (uint8_t)(word >> 12 & 1 ? 1u << single_scale(word) : 1);
}

static void
register_change(uint32_t word, uint64_t address, struct address_form *form)
{
	const uint8_t to = word & 31;

	/* add and sub with an immediate, of 64 bits */
	if ((word & 0xbf800000) == 0x91000000) {
		const int64_t amount = (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

		address_form_change(form, to, base_of(word), word >> 30 & 1 ? -amount : amount);
	}
	if ((word & 0xffe0ffe0) == 0xaa0003e0 && to != ZERO && (word >> 16 & 31) != ZERO)
		address_form_change(form, to, word >> 16 & 31, 0);
	/* adr, adrp */
	if ((word & 0x1f000000) == 0x10000000 && to != ZERO) {
		const int64_t offset = field_signed(word, 5, 19) * 4 + (word >> 29 & 3);
		const bool is_page = word >> 31;

		address_form_change(form, to, REGISTER_NONE,
		                    is_page ? (int64_t)(address & ~UINT64_C(4095)) + offset * 4096
		                            : (int64_t)address + offset);
	}
}

void
address_form_aarch64(const uint8_t *bytes, const struct instruction *instruction, struct address_form *form)
{
	uint32_t word;

	if (instruction->size != 4)
		return;
	word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	if ((word & 0x3b000000) == 0x39000000)
		address_form_set(form, base_of(word), (int64_t)(word >> 10 & 0xfff) << single_scale(word));
	else if ((word & 0x3a000000) == 0x28000000)
		pair_access(word, form);
	else if ((word & 0x3b200000) == 0x38000000)
		unscaled_access(word, form);
	else if ((word & 0x3b200c00) == 0x38200800)
		register_access(word, form);
	else if ((word & 0x3b000000) == 0x18000000)
		address_form_set(form, REGISTER_NONE, (int64_t)instruction->address + field_signed(word, 5, 19) * 4);
	else
		register_change(word, instruction->address, form);
}
