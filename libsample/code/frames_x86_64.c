#include <string.h>

#include "code/frames_internal.h"

#define PUSH_RBP       0x55
#define POP_RBP        0x5d
#define LEAVE          0xc9
#define FRAME_SET_SIZE 3 /* mov %rsp,%rbp */
#define PROLOGUE_SIZE  4 /* with the push before it */
#define BETWEEN_MAX    3 /* instructions between the two */
#define WORD           8
#define NO_REGISTER    UINT8_MAX
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* By how many bytes the stack grows with an instruction of the first map of opcodes; false when it is none of those. */
static bool
find_move(const struct x86_encoding *x86, int64_t *down)
{
	const uint8_t rsp = architecture_registers(ARCHITECTURE_X86_64)->stack;
	const uint8_t group = x86->modrm >> 3 & 7; /* which instruction of those with this opcode */

	switch (x86->opcode) {
	case 0x50 ... 0x57: /* push of a register, of numbers, the flags */
	case 0x68:
	case 0x6a:
	case 0x9c:
		*down = WORD;
		return true;
	case 0xff: /* from memory */
		*down = WORD;
		return group == 6;
	case 0x58 ... 0x5f: /* pop */
	case 0x9d:
		*down = -WORD;
		return x86->opcode != 0x5c || x86->rex & REX_B; /* not of %rsp */
	case 0x8f:
		*down = -WORD;
		return x86->has_memory;
	case 0x81:
	case 0x83:
		*down = group == 5 ? x86->immediate : -x86->immediate; /* sub, add */
		return !x86->has_memory && x86->rm == rsp && (group == 5 || group == 0);
	case 0x8d: /* lea N(%rsp),%rsp */
		*down = -(int64_t)x86->displacement;
		return x86->reg == rsp && x86->base == rsp && x86->index == NO_REGISTER;
	default:
		return false;
	}
}

/* mov %rsp,%rbp, in either encoding: compilers use one or the other. */
static bool
is_frame_set(const uint8_t *at)
{
	return at[0] == 0x48 && ((at[1] == 0x89 && at[2] == 0xe5) || (at[1] == 0x8b && at[2] == 0xec));
}

/* The effect of an instruction that does not jump. */
static enum frame_effect
find_effect(const uint8_t *bytes, const struct x86_encoding *x86, const struct instruction *decoded,
            struct frame_instruction *instruction)
{
	const struct architecture_registers *registers = architecture_registers(ARCHITECTURE_X86_64);

	if (x86->kind == ENCODING_LEGACY && x86->map == MAP_ONE_BYTE && !x86->has_operand_size) {
		instruction->down = x86->opcode == PUSH_RBP ? WORD : -WORD;
		if (x86->opcode == PUSH_RBP && !(x86->rex & REX_B))
			return EFFECT_SAVE;
		if (x86->opcode == POP_RBP && !(x86->rex & REX_B))
			return EFFECT_RESTORE;
		if (x86->opcode == LEAVE)
			return EFFECT_LEAVE;
		if (x86->size == FRAME_SET_SIZE && is_frame_set(bytes))
			return EFFECT_FRAME;
		if (find_move(x86, &instruction->down))
			return EFFECT_MOVE;
	}
	if (instruction_writes(decoded, registers->frame))
		return instruction_writes(decoded, registers->stack) ? EFFECT_LOSE_BOTH : EFFECT_LOSE;
	return instruction_writes(decoded, registers->stack) ? EFFECT_STACK : EFFECT_NONE;
}

static void
x86_64_decode(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
              struct frame_instruction *instruction)
{
	static const uint8_t effects[] = {
		[FLOW_BRANCH] = EFFECT_BRANCH, [FLOW_JUMP] = EFFECT_JUMP,     [FLOW_JUMP_INDIRECT] = EFFECT_JUMP,
		[FLOW_CALL] = EFFECT_CALL,     [FLOW_RETURN] = EFFECT_RETURN, [FLOW_CALL_INDIRECT] = EFFECT_CALL,
		[FLOW_STOP] = EFFECT_STOP,
	};
	struct encoded_instruction encoded;
	struct instruction decoded;

	decoder_prefetch(decoder, bytes, size, &encoded);
	*instruction = (struct frame_instruction){.size = decoder_decode_encoded(decoder, &encoded, address, &decoded)};
	if (decoded.class == CLASS_UNKNOWN && decoded.size == 1) {
		instruction->is_unknown = true;
		return;
	}
	instruction->has_target = decoded.flow == FLOW_BRANCH || decoded.flow == FLOW_JUMP;
	instruction->target = decoded.target;
	instruction->uses_frame =
		encoded.x86.has_memory && encoded.x86.base == architecture_registers(ARCHITECTURE_X86_64)->frame;
	instruction->effect = decoded.flow == FLOW_NEXT ? find_effect(bytes, &encoded.x86, &decoded, instruction)
	                                                : effects[decoded.flow];
}

/* May it be between the two instructions of a prologue? Not what pushes, pops, calls, returns or jumps. */
static bool
is_between(const struct x86_encoding *x86)
{
	if (x86->map == MAP_0F)
		return (x86->opcode & 0xf0) != 0x80;
	return x86->map != MAP_ONE_BYTE ||
	       ((x86->opcode & 0xf0) != 0x50 && (x86->opcode & 0xf0) != 0x70 && (x86->opcode & 0xf8) != 0xe8 &&
	        (x86->opcode & 0xfe) != 0xc2 && x86->opcode != 0x68 && x86->opcode != 0x6a && x86->opcode != 0xff);
}

/* Compilers put up to three other instructions into the prologue. */
static bool
x86_64_is_beginning(const uint8_t *bytes, size_t size)
{
	size_t at = 1;

	if (size >= sizeof(endbr64) && memcmp(bytes, endbr64, sizeof(endbr64)) == 0) {
		bytes += sizeof(endbr64);
		size -= sizeof(endbr64);
	}
	if (size < PROLOGUE_SIZE || bytes[0] != PUSH_RBP)
		return false;
	for (unsigned between = 0; between <= BETWEEN_MAX && size - at >= FRAME_SET_SIZE; between++) {
		struct x86_encoding x86;

		if (is_frame_set(bytes + at))
			return true;
		if (x86_encoding_parse(bytes + at, size - at, &x86) != 0 || x86.size > size - at || !is_between(&x86))
			return false;
		at += x86.size;
	}
	return false;
}

static size_t
x86_64_nop_size(const uint8_t *bytes, size_t size)
{
	struct x86_encoding x86;

	if (x86_encoding_parse(bytes, size, &x86) != 0 || x86.kind != ENCODING_LEGACY)
		return 0;
	return (x86.map == MAP_0F ? x86.opcode == 0x1f : x86.map == MAP_ONE_BYTE && x86.opcode == 0x90) ? x86.size : 0;
}

static uint64_t
x86_64_count_beginnings(const uint8_t *bytes, size_t size)
{
	static const uint8_t push_and_rex[] = {PUSH_RBP, 0x48};
	const uint8_t *end = bytes + size;
	uint64_t count = 0;

	for (const uint8_t *at = bytes; end - at >= PROLOGUE_SIZE; at++) {
		at = memmem(at, (size_t)(end - at), push_and_rex, sizeof(push_and_rex));
		if (!at || end - at < PROLOGUE_SIZE)
			break;
		count += is_frame_set(at + 1);
	}
	return count;
}

const struct frame_machine frame_machine_x86_64 = {
	.called_depth = WORD,
	.record_saved = 2 * WORD,
	.alignment = 16,
	.is_padded = true,
	.breakpoint = 0xcc,
	.decode = x86_64_decode,
	.is_beginning = x86_64_is_beginning,
	.nop_size = x86_64_nop_size,
	.count_beginnings = x86_64_count_beginnings,
};
