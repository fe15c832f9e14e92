#include <endian.h>
#include <string.h>

#include "code/frames_internal.h"

/*
 * Instructions are known by their bits (Arm Architecture Reference Manual for A-profile, C4.1): all that write the
 * stack pointer, the frame pointer x29 or the return address x30, and those that jump.
 */
#define SIZE                 4
#define FP                   29u
#define LR                   30u
#define SP                   31u
#define NOP                  0xd503201fu
#define BETWEEN_MAX          4 /* instructions between the first of a prologue and the one that writes the record */
#define IS(word, mask, bits) (((word) & (mask)) == (bits))

static uint32_t
word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return le32toh(word);
}

/* `count` bits of the word from bit `low` on, as a signed number. */
static int32_t
signed_bits(uint32_t word, unsigned low, unsigned count)
{
	return (int32_t)(word << (32 - low - count)) >> (32 - count);
}

static unsigned
register_at(uint32_t word, unsigned low)
{
	return word >> low & 31;
}

/* paciasp, autiasp, and the same with the other key: the return address is in x30, and is signed with the sp. */
static bool
is_sign(uint32_t word)
{
	return IS(word, 0xffffff3f, 0xd503233f);
}

/* bti, which marks where indirect jumps may go. */
static bool
is_landing(uint32_t word)
{
	return IS(word, 0xffffff3f, 0xd503241f);
}

/* stp x29, x30, [sp, #-N]!, and without writeback [sp, #N]. */
static bool
is_record_pushed(uint32_t word)
{
	return IS(word, 0xffe07fff, 0xa9a07bfd);
}

static bool
is_record_written(uint32_t word)
{
	return IS(word, 0xffe07fff, 0xa9007bfd);
}

/* A jump, a call, or none. */
static bool
find_jump(uint32_t word, uint64_t address, struct frame_instruction *instruction)
{
	int32_t words = 0;

	instruction->has_target = true;
	instruction->effect = EFFECT_BRANCH;
	if (IS(word, 0x7c000000, 0x14000000)) { /* b, bl */
		words = signed_bits(word, 0, 26);
		instruction->effect = word >> 31 ? EFFECT_CALL : EFFECT_JUMP;
		instruction->has_target = !(word >> 31);
	} else if (IS(word, 0xff000000, 0x54000000) || IS(word, 0x7e000000, 0x34000000)) { /* b.cond, cbz, cbnz */
		words = signed_bits(word, 5, 19);
	} else if (IS(word, 0x7e000000, 0x36000000)) { /* tbz, tbnz */
		words = signed_bits(word, 5, 14);
	} else {
		instruction->has_target = false;
		if (IS(word, 0xfe000000, 0xd6000000)) { /* br, blr, ret, with and without authentication */
			static const uint8_t effects[] = {EFFECT_JUMP, EFFECT_CALL, EFFECT_RETURN, EFFECT_STOP};

			instruction->effect = effects[word >> 21 & 3];
			return true;
		}
		instruction->effect = EFFECT_STOP; /* brk, hlt, udf */
		return IS(word, 0xffe0001f, 0xd4200000) || IS(word, 0xffe0001f, 0xd4400000) || word >> 16 == 0;
	}
	instruction->target = address + (uint64_t)((int64_t)words * SIZE);
	return true;
}

/* stp, ldp of any registers. */
static void
find_pair(uint32_t word, struct frame_instruction *instruction)
{
	const unsigned base = register_at(word, 5), first = register_at(word, 0), second = register_at(word, 10);
	const unsigned mode = word >> 23 & 3; /* 1: writeback after, 2: none, 3: before; 0: none, not to be cached */
	const bool is_load = word >> 22 & 1, is_vector = word >> 26 & 1, has_writeback = mode & 1;
	const unsigned log2 = is_vector ? 2 + (word >> 30) : word >> 31 ? 3 : 2;
	const int32_t offset = signed_bits(word, 15, 7) * (1 << log2);
	const bool is_record = !is_vector && word >> 30 == 2 && first == FP && second == LR && base == SP;
	const bool is_other_load = is_load && !is_vector && !is_record;

	instruction->uses_frame = base == FP;
	if ((is_other_load && (first == FP || second == FP)) || (base == FP && has_writeback)) {
		instruction->effect = EFFECT_LOSE;
	} else if (is_other_load && (first == LR || second == LR)) {
		instruction->effect = EFFECT_LOSE_LINK;
	} else if (base == SP && has_writeback && (mode == 1) != is_load) {
		instruction->effect = EFFECT_STACK; /* what no compiler does */
	} else if (is_record || (base == SP && has_writeback)) {
		instruction->down = has_writeback ? -offset : 0;
		instruction->at = has_writeback ? 0 : offset;
		instruction->effect = !is_record ? EFFECT_MOVE : is_load ? EFFECT_RESTORE : EFFECT_SAVE;
	}
}

/* Loads and stores of one register, and all others. */
static void
find_access(uint32_t word, struct frame_instruction *instruction)
{
	const unsigned base = register_at(word, 5), target = register_at(word, 0);
	const bool is_vector = word >> 26 & 1, is_literal = IS(word, 0x3b000000, 0x18000000);
	const bool has_writeback = IS(word, 0x3b200400, 0x38000400); /* before or after */
	const bool is_exclusive = IS(word, 0x3f000000, 0x08000000);
	/* an atomic one reads, too */
	const bool is_load =
		is_literal || IS(word, 0x3b200c00, 0x38200000) || (is_exclusive ? word >> 22 & 1 : word >> 22 & 3);

	instruction->uses_frame = base == FP && !is_literal;
	if ((is_load && !is_vector && target == FP) || (has_writeback && base == FP)) {
		instruction->effect = EFFECT_LOSE;
	} else if (is_load && !is_vector && target == LR) {
		instruction->effect = EFFECT_LOSE_LINK;
	} else if (has_writeback && base == SP) {
		instruction->effect = EFFECT_MOVE;
		instruction->down = -signed_bits(word, 12, 9);
	}
}

/* What computes. */
static void
find_computation(uint32_t word, struct frame_instruction *instruction)
{
	const unsigned target = register_at(word, 0), source = register_at(word, 5);
	const bool is_immediate = IS(word, 0x1f800000, 0x11000000);
	const int32_t number = (int32_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
	const bool is_add = !(word >> 30 & 1), sets_flags = word >> 29 & 1;
	/* add and sub of numbers and extended registers, and of numbers: and, orr, eor */
	const bool has_sp = ((is_immediate || IS(word, 0x1fe00000, 0x0b200000)) && !sets_flags) ||
	                    (IS(word, 0x1f800000, 0x12000000) && (word >> 29 & 3) != 3);

	if (target == SP && has_sp) {
		instruction->down = is_add ? -number : number;
		instruction->effect = is_immediate && source == SP ? EFFECT_MOVE : EFFECT_STACK;
	} else if (target == FP && is_immediate && is_add && !sets_flags && source == SP) {
		instruction->at = number;
		instruction->effect = EFFECT_FRAME;
	} else if (target == FP || target == LR) {
		instruction->effect = target == FP ? EFFECT_LOSE : EFFECT_LOSE_LINK;
	}
}

static void
aarch64_decode(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
               struct frame_instruction *instruction)
{
	uint32_t word;

	(void)decoder;
	*instruction = (struct frame_instruction){.size = size < SIZE ? size : SIZE, .is_unknown = size < SIZE};
	if (size < SIZE)
		return;
	word = word_at(bytes);
	if (find_jump(word, address, instruction))
		return;
	instruction->effect = is_sign(word) ? EFFECT_SIGN : EFFECT_NONE;
	if (IS(word, 0x3a000000, 0x28000000))
		find_pair(word, instruction);
	else if (IS(word, 0x0a000000, 0x08000000))
		find_access(word, instruction);
	else if (IS(word, 0x1c000000, 0x10000000) || IS(word, 0x0e000000, 0x0a000000))
		find_computation(word, instruction);
}

static bool
aarch64_is_beginning(const uint8_t *bytes, size_t size)
{
	uint32_t word;

	if (size >= SIZE && is_landing(word_at(bytes))) {
		bytes += SIZE;
		size -= SIZE;
	}
	if (size < SIZE)
		return false;
	word = word_at(bytes);
	if (IS(word, 0xffffffbf, 0xd503233f) || is_record_pushed(word)) /* paciasp, pacibsp */
		return true;
	if (!IS(word, 0xff0003ff, 0xd10003ff) && !IS(word, 0xffe0ffff, 0xcb2063ff)) /* sub sp, sp, of N or a register */
		return false;
	for (size_t at = SIZE; at <= BETWEEN_MAX * SIZE && size - at >= SIZE; at += SIZE)
		if (is_record_written(word_at(bytes + at)))
			return true;
	return false;
}

static size_t
aarch64_nop_size(const uint8_t *bytes, size_t size)
{
	return size >= SIZE && (word_at(bytes) == NOP || word_at(bytes) == 0) ? SIZE : 0;
}

/* By add x29, sp, #N, which is mov x29, sp for 0. */
static uint64_t
aarch64_count_beginnings(const uint8_t *bytes, size_t size)
{
	uint64_t count = 0;

	for (size_t at = 0; size - at >= SIZE; at += SIZE)
		count += IS(word_at(bytes + at), 0xffc003ff, 0x910003fd);
	return count;
}

const struct frame_machine frame_machine_aarch64 = {
	.alignment = SIZE,
	.has_link = true,
	.decode = aarch64_decode,
	.is_beginning = aarch64_is_beginning,
	.nop_size = aarch64_nop_size,
	.count_beginnings = aarch64_count_beginnings,
};
