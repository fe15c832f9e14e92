#include "code/frame_pointers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "code/instruction.h"

#define ALIGNMENT        16   /* of functions */
#define BEGINNINGS_MIN   64   /* of functions that keep frame pointers, in code that is compiled so */
#define BYTES_A_FUNCTION 2048 /* of such code, at most, on average */
#define PADDING_MAX      64   /* bytes between two functions */

#define PROLOGUE_SIZE 4 /* push %rbp; mov %rsp,%rbp */
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* ---- what an instruction does to a frame ---- */

enum frame_effect {
	EFFECT_NONE,
	EFFECT_CALL,
	EFFECT_RETURN,
	EFFECT_BRANCH,
	EFFECT_JUMP,
	EFFECT_TRAP,  /* nothing goes on behind it */
	EFFECT_POP,   /* of %rbp; leave */
	EFFECT_STACK, /* the stack pointer has another value */
	EFFECT_PUSH,  /* of %rbp, whose value is not the frame's, therefore */
	EFFECT_LOSE,  /* %rbp gets another value */
};

#define PUSH_FRAME_POINTER 0x55
#define POP_FRAME_POINTER  0x5d
#define LEAVE              0xc9

static enum frame_effect
find_effect(const uint8_t *bytes, const struct instruction *instruction)
{
	const struct architecture_registers *registers = architecture_registers(ARCHITECTURE_X86_64);

	switch (instruction->flow) {
	case FLOW_CALL:
	case FLOW_CALL_INDIRECT:
		return EFFECT_CALL;
	case FLOW_RETURN:
		return EFFECT_RETURN;
	case FLOW_BRANCH:
		return EFFECT_BRANCH;
	case FLOW_JUMP:
	case FLOW_JUMP_INDIRECT:
		return EFFECT_JUMP;
	case FLOW_STOP:
		return EFFECT_TRAP;
	default:
		break;
	}
	switch (bytes[0]) {
	case POP_FRAME_POINTER:
	case LEAVE:
		return EFFECT_POP;
	case PUSH_FRAME_POINTER:
		return EFFECT_PUSH;
	default:
		break;
	}
	if (instruction_writes(instruction, registers->frame))
		return EFFECT_LOSE;
	return instruction_writes(instruction, registers->stack) ? EFFECT_STACK : EFFECT_NONE;
}

/* ---- where functions begin ---- */

/* Of mov, either encoding: compilers use one, and Microsoft's and V8 the other. */
static bool
is_prologue(const uint8_t *at)
{
	return at[0] == 0x55 && at[1] == 0x48 && ((at[2] == 0x89 && at[3] == 0xe5) || (at[2] == 0x8b && at[3] == 0xec));
}

/*
 * Are the bytes of a prologue none? push %r13 ends with that of %rbp. Where GCC aligns the stack, it pushes a copy of
 * the return address before (push -8(%r10)): what is above it is not at %rbp.
 */
static bool
is_misread(const uint8_t *bytes, size_t at)
{
	const uint8_t *end = bytes + at;

	if (at >= 1 && end[-1] == 0x41)
		return true;
	return at >= 4 && end[-4] == 0x41 && end[-3] == 0xff && (end[-2] & 0xf8) == 0x70 && end[-1] == 0xf8;
}

/* The next prologue from `from` on; `size` when there is none. */
static size_t
next_prologue(const uint8_t *bytes, size_t size, size_t from)
{
	static const uint8_t push_and_rex[] = {0x55, 0x48};
	const uint8_t *at = bytes + from, *end = bytes + size;

	for (; end - at >= PROLOGUE_SIZE; at++) {
		at = memmem(at, (size_t)(end - at), push_and_rex, sizeof(push_and_rex));
		if (!at || end - at < PROLOGUE_SIZE)
			break;
		if (is_prologue(at) && !is_misread(bytes, (size_t)(at - bytes)))
			return (size_t)(at - bytes);
	}
	return size;
}

/* Where the function with that prologue, or the part of it that has a frame, begins. */
static size_t
beginning_of(const uint8_t *bytes, size_t at)
{
	const bool has_endbr = at >= sizeof(endbr64) && memcmp(bytes + at - sizeof(endbr64), endbr64, 4) == 0;

	return has_endbr ? at - sizeof(endbr64) : at;
}

static bool
is_beginning(const uint8_t *bytes, size_t size)
{
	if (size >= sizeof(endbr64) && memcmp(bytes, endbr64, sizeof(endbr64)) == 0) {
		bytes += sizeof(endbr64);
		size -= sizeof(endbr64);
	}
	return size >= PROLOGUE_SIZE && is_prologue(bytes);
}

/* May an instruction behind which nothing goes on, or padding, or a call that does not return, end at `at`? */
static bool
is_behind_end(const uint8_t *bytes, size_t at)
{
	const uint8_t *end = bytes + at;

	if (at == 0 || end[-1] == 0xc3 || end[-1] == 0xcc || end[-1] == 0x90 || end[-1] == 0xf4)
		return true;
	if (at >= 2 &&
	    (end[-2] == 0xeb || (end[-2] == 0x0f && end[-1] == 0x0b) || (end[-2] == 0xff && (end[-1] & 0xf8) == 0xe0)))
		return true;
	if (at >= 3 && (end[-3] == 0xc2 || (end[-3] == 0x0f && end[-2] == 0x1f && end[-1] == 0)))
		return true;
	if (at >= 4 && end[-4] == 0x0f && end[-3] == 0x1f && end[-2] == 0x40)
		return true;
	if (at >= 5 && (end[-5] == 0xe8 || end[-5] == 0xe9))
		return true;
	if (at >= 6 && end[-6] == 0xff && (end[-5] == 0x15 || end[-5] == 0x25))
		return true;
	/* the longer nops end with the zeros of their displacement */
	return at >= 4 && end[-1] == 0 && end[-2] == 0 && (end[-3] == 0 || end[-4] == 0x1f);
}

void
frame_evidence_add(struct frame_evidence *evidence, const uint8_t *bytes, size_t size)
{
	evidence->bytes += size;
	for (size_t at = 0; (at = next_prologue(bytes, size, at)) < size; at += PROLOGUE_SIZE)
		evidence->beginnings++;
}

bool
frame_pointers_are_kept(const struct frame_evidence *evidence)
{
	return evidence->beginnings >= BEGINNINGS_MIN && evidence->beginnings >= evidence->bytes / BYTES_A_FUNCTION;
}

/* ---- from a function's beginning to its end ---- */

struct frame_row {
	size_t offset;
	enum frame_place place;
};

struct frame_walk {
	struct decoder *decoder;
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	struct frame_row *rows; /* of the function */
	size_t count, capacity;
	size_t beginning, framed, end; /* `framed`: behind the prologue */
	bool is_whole;                 /* it has its frame from its beginning on; else only a part of it has one */
	size_t reach;                  /* the farthest target of its jumps */
	size_t doubt;  /* where another function may have begun since the function last was sure; 0: nowhere */
	size_t unsure; /* the part of it that no jump reaches, maybe but a table of jumps; 0: none */
	size_t left;   /* the nearest target of its jumps ahead from where there is no frame */
	enum frame_place place;
	bool failed; /* no memory */
};

static void
set_frame_place(struct frame_walk *walk, size_t offset, enum frame_place place)
{
	struct frame_row *row = ARRAY_APPEND(walk->rows, walk->count, walk->capacity);

	walk->place = place;
	if (row)
		*row = (struct frame_row){offset, place};
	else
		walk->failed = true;
}

/* The function did not reach beyond `end`. */
static void
cut(struct frame_walk *walk, size_t end)
{
	while (walk->count > 0 && walk->rows[walk->count - 1].offset >= end)
		walk->count--;
	walk->end = end;
}

/* What there is contradicts a frame pointer: the code belongs to another function, which began where it may have. */
static void
contradict(struct frame_walk *walk)
{
	cut(walk, walk->doubt ? walk->doubt : walk->beginning);
}

static bool
is_aligned(const struct frame_walk *walk, size_t at)
{
	return (walk->address + at) % ALIGNMENT == 0;
}

/* Where padding that begins at `at` ends, if that is where a function may begin; else `at`. */
static size_t
behind_padding(const struct frame_walk *walk, size_t at)
{
	const uint8_t *bytes = walk->bytes;
	size_t end = at;

	while (end < walk->size && end - at < PADDING_MAX && bytes[end] == 0xcc)
		end++;
	while (end < walk->size && !is_aligned(walk, end)) {
		struct x86_encoding encoding;

		/* nop, with prefixes and an operand or without */
		if (x86_encoding_parse(bytes + end, walk->size - end, &encoding) != 0 ||
		    encoding.kind != ENCODING_LEGACY ||
		    !(encoding.map == MAP_0F ? encoding.opcode == 0x1f
		                             : encoding.map == MAP_ONE_BYTE && encoding.opcode == 0x90))
			break;
		end += encoding.size;
	}
	return is_aligned(walk, end) || end == walk->size ? end : at;
}

/* Nothing goes on at `next`, or a call may not return to it. False: the function ends there. */
static bool
may_go_on(struct frame_walk *walk, size_t next, bool is_call)
{
	const size_t behind = behind_padding(walk, next);
	const bool is_reached = walk->reach >= next, has_padding = behind > next;

	if (next >= walk->size)
		return false;
	if (has_padding || (is_call && is_aligned(walk, next) && !is_reached))
		walk->doubt = walk->doubt ? walk->doubt : next;
	if (is_reached)
		return true;
	if (is_call) /* it may return to nops */
		return !has_padding || walk->bytes[next] != 0xcc;
	if (!walk->is_whole || (has_padding && walk->bytes[next] == 0xcc))
		return false;
	if (!has_padding && !is_aligned(walk, next))
		return true;
	walk->doubt = walk->doubt ? walk->doubt : next;
	walk->unsure = walk->unsure ? walk->unsure : next;
	return true;
}

/* A jump to `distance` from `next`. False: the function ended. */
static bool
follow_jump(struct frame_walk *walk, size_t next, int64_t distance)
{
	const bool is_ahead = distance > 0;
	const size_t target = next + (size_t)distance;

	if (walk->place == FRAME_KEPT) {
		if (!is_ahead && (uint64_t)-distance > next - walk->framed) {
			contradict(walk);
			return false;
		}
		if (target < walk->doubt) /* what jumps into a function belongs to it */
			walk->doubt = walk->unsure = 0;
		if (target > walk->reach)
			walk->reach = target;
		return true;
	}
	if (!is_ahead && (uint64_t)-distance >= next - walk->beginning) /* it calls at its end another one, or itself */
		return true;
	if (is_ahead) {
		walk->left = target < walk->left ? target : walk->left;
		return true;
	}
	contradict(walk);
	return false;
}

/* An instruction up to `next` where the frame is not there any more. False: the function ended. */
static bool
walk_without_frame(struct frame_walk *walk, size_t next, enum frame_effect effect, int64_t distance)
{
	switch (effect) {
	case EFFECT_BRANCH:
		return follow_jump(walk, next, distance);
	case EFFECT_JUMP:
		if (distance && !follow_jump(walk, next, distance))
			return false;
		break;
	case EFFECT_RETURN:
	case EFFECT_TRAP:
		break;
	case EFFECT_STACK:
	case EFFECT_PUSH:
	case EFFECT_LOSE:
	case EFFECT_POP:
		if (walk->place != FRAME_UNKNOWN)
			set_frame_place(walk, next, FRAME_UNKNOWN);
		return true;
	default:
		return true;
	}
	walk->doubt = walk->unsure = 0;
	if (!walk->is_whole || !may_go_on(walk, next, false)) {
		walk->end = next;
		return false;
	}
	set_frame_place(walk, next, FRAME_KEPT);
	return true;
}

/* False: the function ended. */
static bool
walk_with_frame(struct frame_walk *walk, size_t next, enum frame_effect effect, int64_t distance)
{
	const bool was_in_doubt = walk->doubt > 0;
	bool goes_on = true;

	switch (effect) {
	case EFFECT_POP:
		set_frame_place(walk, next, FRAME_CALLED);
		return true;
	case EFFECT_LOSE:
		set_frame_place(walk, next, FRAME_UNKNOWN);
		return true;
	case EFFECT_PUSH:
	case EFFECT_RETURN:
		contradict(walk);
		return false;
	case EFFECT_BRANCH:
		return follow_jump(walk, next, distance);
	case EFFECT_JUMP:
		if (distance && !follow_jump(walk, next, distance))
			return false;
		goes_on = may_go_on(walk, next, false);
		break;
	case EFFECT_TRAP:
	case EFFECT_CALL:
		goes_on = may_go_on(walk, next, effect == EFFECT_CALL);
		break;
	default:
		break;
	}
	if (!goes_on)
		walk->end = next;
	/* the last jump of a function that goes on elsewhere, by a pointer */
	if (effect == EFFECT_JUMP && distance == 0 && was_in_doubt && (!goes_on || walk->unsure)) {
		contradict(walk);
		return false;
	}
	return goes_on;
}

/* The function from walk->beginning on, with its prologue at `at`. Returns where to look for the next one. */
static size_t
walk_function(struct frame_walk *walk, size_t at)
{
	bool goes_on = true, is_call = false;

	walk->count = 0;
	walk->end = walk->size;
	walk->reach = walk->doubt = walk->unsure = 0;
	walk->left = walk->size;
	walk->is_whole = is_aligned(walk, walk->beginning) && is_behind_end(walk->bytes, walk->beginning);
	set_frame_place(walk, walk->beginning, FRAME_CALLED);
	set_frame_place(walk, at + 1, FRAME_SAVED);
	at += PROLOGUE_SIZE;
	walk->framed = at;
	set_frame_place(walk, at, FRAME_KEPT);
	while (goes_on && at < walk->size && !walk->failed) {
		struct instruction instruction;
		enum frame_effect effect;
		int64_t distance;

		if (is_beginning(walk->bytes + at, walk->size - at)) {
			if (is_aligned(walk, at) && is_call && walk->reach < at)
				walk->end = at; /* the call does not return */
			else if (walk->unsure && walk->reach < at)
				cut(walk, walk->unsure);
			else
				contradict(walk);
			break;
		}
		at += decoder_decode_one(walk->decoder, walk->bytes + at, walk->size - at, walk->address + at,
		                         &instruction);
		if (instruction.class == CLASS_UNKNOWN && instruction.size == 1) {
			contradict(walk);
			break;
		}
		effect = find_effect(walk->bytes + at - instruction.size, &instruction);
		distance =
			instruction_has_target(&instruction) ? (int64_t)(instruction.target - (walk->address + at)) : 0;
		is_call = effect == EFFECT_CALL;
		goes_on = walk->place == FRAME_KEPT ? walk_with_frame(walk, at, effect, distance)
		                                    : walk_without_frame(walk, at, effect, distance);
	}
	if (walk->unsure && walk->unsure < walk->end)
		cut(walk, walk->unsure);
	/* what is reached without the frame has none */
	if (walk->left < walk->end)
		cut(walk, walk->left);
	return at;
}

int
frame_pointers_each(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address, frame_place_fn *visit,
                    void *context)
{
	struct frame_walk walk = {.decoder = decoder, .bytes = bytes, .size = size, .address = address};
	size_t from = 0, at;
	bool has_end = false; /* of a function before, which has not been visited */
	int err = 0;

	while (!err && (at = next_prologue(bytes, size, from)) < size) {
		const size_t end = walk.end;

		walk.beginning = beginning_of(bytes, at);
		if (walk.beginning < from)
			walk.beginning = at;
		from = walk_function(&walk, at);
		if (walk.failed)
			err = -ENOMEM;
		if (walk.count == 0) {
			walk.end = end;
			continue;
		}
		/* over padding, the places of the function before it go on: that saves rows */
		if (!err && has_end && walk.beginning != end && walk.beginning != behind_padding(&walk, end))
			err = visit(context, end, FRAME_UNKNOWN);
		for (size_t i = 0; !err && i < walk.count; i++)
			err = visit(context, walk.rows[i].offset, walk.rows[i].place);
		has_end = true;
	}
	if (!err && has_end)
		err = visit(context, walk.end, FRAME_UNKNOWN);
	free(walk.rows);
	return err;
}
