#include "code/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "code/instruction.h"

#define NO_REGISTER      UINT8_MAX
#define ALIGNMENT        16   /* of functions */
#define BEGINNINGS_MIN   64   /* of functions that keep frame pointers, in code that is compiled so */
#define BYTES_A_FUNCTION 2048 /* of such code, at most, on average */
#define PADDING_MAX      64   /* bytes of nops between two functions */
#define DEPTH_MAX        32768
#define PASSES_MAX       4 /* over a function */
#define CALL             0xe8
#define CALL_SIZE        5
#define BREAKPOINT       0xcc /* linkers fill with it what is between functions, and compilers what is not reached */

#define PUSH_RBP       0x55
#define POP_RBP        0x5d
#define LEAVE          0xc9
#define FRAME_SET_SIZE 3 /* mov %rsp,%rbp */
#define PROLOGUE_SIZE  4 /* with the push before it */
#define BETWEEN_MAX    3 /* instructions between the two */
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* ---- what an instruction does to a frame ---- */

enum frame_effect {
	EFFECT_NONE,
	EFFECT_CALL,
	EFFECT_BRANCH,
	EFFECT_JUMP,
	EFFECT_RETURN,
	EFFECT_STOP,
	EFFECT_MOVE,  /* of the stack pointer, by a number of bytes */
	EFFECT_STACK, /* it gets another value */
	EFFECT_PUSH,  /* of %rbp */
	EFFECT_POP,   /* of %rbp */
	EFFECT_LEAVE, /* %rbp to %rsp, and a pop of %rbp */
	EFFECT_FRAME, /* %rsp to %rbp */
	EFFECT_LOSE,  /* %rbp gets another value */
};

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
		*down = 8;
		return true;
	case 0xff: /* from memory */
		*down = 8;
		return group == 6;
	case 0x58 ... 0x5f: /* pop */
	case 0x9d:
		*down = -8;
		return x86->opcode != 0x5c || x86->rex & REX_B; /* not of %rsp */
	case 0x8f:
		*down = -8;
		return x86->has_memory;
	case 0x81:
	case 0x83:
		*down = group == 5 ? x86->immediate : -x86->immediate; /* sub, add */
		return !x86->has_memory && x86->rm == rsp && (group == 5 || group == 0);
	case 0x8d: /* lea N(%rsp),%rsp */
		*down = -x86->displacement;
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

/* The effect of an instruction that does not jump; *down of EFFECT_MOVE. */
static enum frame_effect
effect_on_stack(const uint8_t *bytes, const struct x86_encoding *x86, const struct instruction *instruction,
                int64_t *down)
{
	const struct architecture_registers *registers = architecture_registers(ARCHITECTURE_X86_64);

	if (x86->kind == ENCODING_LEGACY && x86->map == MAP_ONE_BYTE && !x86->has_operand_size) {
		if (bytes[0] == PUSH_RBP)
			return EFFECT_PUSH;
		if (bytes[0] == POP_RBP)
			return EFFECT_POP;
		if (bytes[0] == LEAVE)
			return EFFECT_LEAVE;
		if (x86->size == FRAME_SET_SIZE && is_frame_set(bytes))
			return EFFECT_FRAME;
		if (find_move(x86, down))
			return EFFECT_MOVE;
	}
	if (instruction_writes(instruction, registers->frame))
		return EFFECT_LOSE;
	return instruction_writes(instruction, registers->stack) ? EFFECT_STACK : EFFECT_NONE;
}

static enum frame_effect
find_effect(const uint8_t *bytes, const struct x86_encoding *x86, const struct instruction *instruction, int64_t *down)
{
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
		return EFFECT_STOP;
	default:
		return effect_on_stack(bytes, x86, instruction, down);
	}
}

/* ---- where functions begin ---- */

/*
 * Does a function begin there that sets up its frame? Compilers put up to three other instructions between the two;
 * those with an opcode in [0x50, 0x80) push, pop or jump.
 */
static bool
is_beginning(const uint8_t *bytes, size_t size)
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
		if (x86_encoding_parse(bytes + at, size - at, &x86) != 0 || x86.size > size - at ||
		    (x86.map == MAP_ONE_BYTE && x86.opcode >= 0x50 && x86.opcode < 0x80))
			return false;
		at += x86.size;
	}
	return false;
}

void
frame_evidence_add(struct frame_evidence *evidence, const uint8_t *bytes, size_t size)
{
	static const uint8_t push_and_rex[] = {0x55, 0x48};
	const uint8_t *end = bytes + size;

	evidence->bytes += size;
	for (const uint8_t *at = bytes; end - at >= PROLOGUE_SIZE; at++) {
		at = memmem(at, (size_t)(end - at), push_and_rex, sizeof(push_and_rex));
		if (!at || end - at < PROLOGUE_SIZE)
			break;
		evidence->beginnings += is_frame_set(at + 1);
	}
}

bool
frame_pointers_are_kept(const struct frame_evidence *evidence)
{
	return evidence->beginnings >= BEGINNINGS_MIN && evidence->beginnings >= evidence->bytes / BYTES_A_FUNCTION;
}

/* ---- from instruction to instruction ---- */

/* How far jumps are followed: those of nearly all functions. A power of 2. */
#define REACH (1u << 16)

struct place_at {
	struct frame_place place;
	bool is_doubtful; /* it was found out while the walk was in doubt */
};

struct frame_row {
	size_t offset;
	struct frame_place place;
};

struct frame_walk {
	struct decoder *decoder;
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	frame_place_fn *visit;
	void *context;
	uint8_t *callees; /* a bit for each multiple of ALIGNMENT behind breakpoints that is called */
	int err;

	size_t at;     /* of the instruction */
	size_t pushed; /* behind the last push of %rbp */
	struct frame_place now;
	/* a ring: of instructions within REACH behind what they had, of those ahead what jumps bring there */
	struct place_at *places;

	/* of the function */
	size_t beginning;
	bool is_filled; /* breakpoints are before it, so it goes on until the next ones */
	bool is_framed; /* it began by setting up its frame, before any jump */
	bool has_branched;
	unsigned passes;    /* it was walked before */
	bool is_incomplete; /* a jump went back to where nothing was known: another pass will know */
	struct frame_row *rows;
	size_t row_count, row_capacity;
	struct frame_place written; /* before its first row */

	/* since the last instruction behind which nothing goes on */
	bool has_moved; /* the stack pointer has moved */
	/* since that, or the last call */
	size_t since;
	bool is_straight; /* the stack pointer has not moved, and no jump came that is certain */

	/* since `doubt`, what is found out is only likely: until that is decided, rows and jumps may be dropped */
	bool is_in_doubt;
	size_t doubt, doubtful_row;
	size_t *targets;
	size_t target_count, target_capacity;
};

static const struct frame_place unknown, called = {.kind = FRAME_CALLED}, kept = {.kind = FRAME_KEPT},
					 linked = {.kind = FRAME_LINKED};

static bool
is_same(const struct frame_place *a, const struct frame_place *b)
{
	return a->kind == b->kind && a->depth == b->depth && a->saved == b->saved;
}

static bool
is_at_frame(const struct frame_place *place)
{
	return place->kind == FRAME_KEPT || place->kind == FRAME_LINKED;
}

static struct place_at *
place_at(const struct frame_walk *walk, size_t offset)
{
	return &walk->places[offset % (2 * REACH)];
}

static bool
is_aligned(const struct frame_walk *walk, size_t at)
{
	return (walk->address + at) % ALIGNMENT == 0;
}

static void
add_row(struct frame_walk *walk, size_t offset, const struct frame_place *place)
{
	const struct frame_place *last = walk->row_count ? &walk->rows[walk->row_count - 1].place : &walk->written;
	struct frame_row *row;

	if (is_same(last, place))
		return;
	row = ARRAY_APPEND(walk->rows, walk->row_count, walk->row_capacity);
	if (row)
		*row = (struct frame_row){offset, *place};
	else
		walk->err = -ENOMEM;
}

static void
write_rows(struct frame_walk *walk)
{
	for (size_t i = 0; i < walk->row_count && !walk->err; i++) {
		walk->err = walk->visit(walk->context, walk->rows[i].offset, &walk->rows[i].place);
		walk->written = walk->rows[i].place;
	}
	walk->row_count = 0;
}

/* ---- doubts ---- */

static void
doubt(struct frame_walk *walk, size_t from)
{
	if (walk->is_in_doubt)
		return;
	walk->is_in_doubt = true;
	walk->doubt = from;
	walk->doubtful_row = walk->row_count;
	walk->target_count = 0;
}

/* What was likely is so. */
static void
confirm(struct frame_walk *walk)
{
	if (!walk->is_in_doubt)
		return;
	for (size_t i = 0; i < walk->target_count; i++)
		place_at(walk, walk->targets[i])->is_doubtful = false;
	walk->is_in_doubt = false;
}

/* It is not so: `place` was there since `from`, and is what the jumps have brought. */
static void
correct(struct frame_walk *walk, size_t from, const struct frame_place *place)
{
	walk->now = *place;
	walk->is_framed = false;
	if (walk->is_in_doubt) {
		for (size_t i = 0; i < walk->target_count; i++)
			if (place_at(walk, walk->targets[i])->is_doubtful)
				*place_at(walk, walk->targets[i]) = (struct place_at){.place = *place};
		walk->is_in_doubt = false;
		walk->row_count = walk->doubtful_row;
	}
	for (size_t at = walk->at - from < REACH ? from : walk->at - REACH + 1; at < walk->at; at++)
		if (place_at(walk, at)->place.kind != FRAME_UNKNOWN)
			place_at(walk, at)->place = *place;
	add_row(walk, from, place);
}

/* It is not so, or nothing shows that it is. */
static void
refute(struct frame_walk *walk)
{
	correct(walk, walk->is_in_doubt ? walk->doubt : walk->at, &unknown);
}

/* ---- jumps ---- */

static void
bring(struct frame_walk *walk, size_t target)
{
	struct place_at *there = place_at(walk, target);
	size_t *noted;

	if (there->place.kind != FRAME_UNKNOWN && !there->is_doubtful)
		return;
	*there = (struct place_at){walk->now, walk->is_in_doubt};
	if (!walk->is_in_doubt)
		return;
	noted = ARRAY_APPEND(walk->targets, walk->target_count, walk->target_capacity);
	if (noted)
		*noted = target;
	else
		walk->err = -ENOMEM;
}

/* A jump to `target`, which may be anywhere. */
static void
follow(struct frame_walk *walk, size_t target)
{
	struct place_at *there;

	if (walk->now.kind == FRAME_UNKNOWN)
		return;
	if (target - walk->at + REACH >= 2 * REACH || target >= walk->size) /* of another function, mostly */
		return;
	if (target > walk->at) {
		bring(walk, target);
		return;
	}
	there = place_at(walk, target);
	if (there->place.kind == FRAME_UNKNOWN) {
		if (target < walk->beginning || !walk->is_filled ||
		    (walk->is_in_doubt && walk->doubt != walk->beginning))
			return;
		walk->is_incomplete = true;
		if (!walk->is_in_doubt)
			*there = (struct place_at){.place = walk->now};
	} else if (walk->is_in_doubt && target < walk->doubt) {
		if (is_same(&there->place, &walk->now))
			confirm(walk); /* what jumps into a function belongs to it */
		else
			refute(walk);
	}
}

/* What jumps have brought to the instruction, which is more certain than what comes from the one before it. */
static bool
arrive(struct frame_walk *walk)
{
	const struct place_at here = *place_at(walk, walk->at);

	if (here.place.kind == FRAME_UNKNOWN)
		return false;
	if (walk->is_in_doubt && !here.is_doubtful) {
		if (is_same(&here.place, &walk->now))
			confirm(walk);
		else
			refute(walk);
	}
	walk->is_straight &= here.is_doubtful;
	walk->now = here.place;
	return true;
}

/* ---- functions ---- */

/* Breakpoints between functions are more than those in functions. */
static bool
is_behind_breakpoints(const uint8_t *bytes, size_t at)
{
	return at >= 2 && bytes[at - 1] == BREAKPOINT && bytes[at - 2] == BREAKPOINT;
}

/*
 * Note what is called of what begins behind breakpoints. The bytes of a call that are none are no matter: they would
 * have to lead to such a place.
 */
static void
find_callees(struct frame_walk *walk)
{
	const uint8_t *bytes = walk->bytes, *end = bytes + walk->size;

	for (const uint8_t *at = bytes; at && end - at > CALL_SIZE; at++) {
		int32_t distance;
		size_t target;

		at = memchr(at, CALL, (size_t)(end - at));
		if (!at || end - at <= CALL_SIZE)
			return;
		memcpy(&distance, at + 1, sizeof(distance));
		target = (size_t)(at - bytes) + CALL_SIZE + (size_t)(int64_t)distance;
		if (target < walk->size && is_aligned(walk, target) && is_behind_breakpoints(bytes, target))
			walk->callees[target / ALIGNMENT / 8] |= (uint8_t)(1u << target / ALIGNMENT % 8);
	}
}

static bool
is_callee(const struct frame_walk *walk, size_t at)
{
	return walk->callees[at / ALIGNMENT / 8] >> at / ALIGNMENT % 8 & 1;
}

/* The function that begins at `at`, with what is known of it already in the ring. */
static size_t
begin(struct frame_walk *walk, size_t at)
{
	walk->beginning = walk->at = at;
	walk->now = called;
	walk->is_filled = is_behind_breakpoints(walk->bytes, at);
	walk->is_framed = walk->has_branched = walk->has_moved = walk->is_straight = walk->is_incomplete = false;
	if (walk->passes == 0 && !is_beginning(walk->bytes + at, walk->size - at) && !is_callee(walk, at))
		doubt(walk, at);
	return at;
}

/* The function ended. Returns where to go on: at `next`, where another one begins, or once more at its own beginning.
 */
static size_t
begin_function(struct frame_walk *walk, size_t next)
{
	if (walk->is_in_doubt) {
		refute(walk);
	} else if (walk->is_incomplete && walk->passes < PASSES_MAX && next - walk->beginning < REACH) {
		walk->passes++;
		walk->row_count = 0;
		return begin(walk, walk->beginning);
	}
	write_rows(walk);
	walk->passes = 0;
	return begin(walk, next);
}

/* Behind the nops at `at`. */
static size_t
behind_nops(const struct frame_walk *walk, size_t at)
{
	const uint8_t *bytes = walk->bytes;
	size_t end = at;

	while (end < walk->size && end - at < PADDING_MAX && !is_aligned(walk, end)) {
		struct x86_encoding x86;

		if (x86_encoding_parse(bytes + end, walk->size - end, &x86) != 0 || x86.kind != ENCODING_LEGACY ||
		    !(x86.map == MAP_0F ? x86.opcode == 0x1f : x86.map == MAP_ONE_BYTE && x86.opcode == 0x90))
			break;
		end += x86.size;
	}
	return end;
}

/* Does the function end at `at`, behind an instruction that may not go on? Then the next one begins at *next. */
static bool
ends_at(const struct frame_walk *walk, size_t at, size_t *next)
{
	size_t end = at;

	while (end < walk->size && walk->bytes[end] == BREAKPOINT)
		end++;
	if (end == at)
		end = behind_nops(walk, at);
	*next = end;
	if (end == walk->size || !is_aligned(walk, end))
		return false;
	return is_behind_breakpoints(walk->bytes, end) ||
	       (is_beginning(walk->bytes + end, walk->size - end) && place_at(walk, end)->place.kind == FRAME_UNKNOWN);
}

/*
 * Nothing goes on at `at` but what jumps there, from behind or by a table. Returns where to go on, which is where the
 * next function begins when this one ends.
 */
static size_t
end_flow(struct frame_walk *walk, size_t at)
{
	size_t next;

	if (ends_at(walk, at, &next))
		return begin_function(walk, next);
	if (at < walk->size && walk->bytes[at] == BREAKPOINT)
		at = next;
	walk->has_moved = false;
	walk->is_straight = true;
	walk->since = at;
	walk->now = walk->is_framed ? kept : unknown;
	if (walk->is_framed && !walk->is_filled)
		doubt(walk, at);
	return at;
}

/* A call may not return. */
static size_t
pass_call(struct frame_walk *walk, size_t at)
{
	size_t next;

	if (ends_at(walk, at, &next))
		return begin_function(walk, next);
	if (walk->now.kind != FRAME_UNKNOWN && !walk->is_filled && (next > at || is_aligned(walk, at)))
		doubt(walk, at);
	walk->since = at;
	walk->is_straight = true;
	return at;
}

/* ---- instructions ---- */

/* %rbp gets the caller's value back. */
static void
restore(struct frame_walk *walk, enum frame_effect effect)
{
	if (walk->now.kind == FRAME_KEPT) {
		confirm(walk);
		walk->now = called;
	} else if (walk->now.kind == FRAME_LINKED) {
		walk->now = unknown;
	} else if (effect == EFFECT_POP && walk->now.saved && walk->now.saved == walk->now.depth) {
		walk->now.saved = 0;
		walk->now.depth -= 8;
	} else {
		refute(walk);
	}
}

static void
move(struct frame_walk *walk, int64_t down)
{
	const int64_t depth = walk->now.depth + down;

	if (walk->now.kind != FRAME_CALLED)
		return;
	if (depth < walk->now.saved || depth > DEPTH_MAX || depth % 8)
		refute(walk);
	else
		walk->now.depth = (uint16_t)depth;
}

static void
save(struct frame_walk *walk, size_t next)
{
	walk->pushed = next;
	move(walk, 8);
	if (walk->now.kind == FRAME_CALLED && !walk->now.saved)
		walk->now.saved = walk->now.depth;
}

/* mov %rsp,%rbp: with a push of %rbp right before it, that is where they are, whatever was before */
static void
set_frame(struct frame_walk *walk)
{
	if (walk->now.kind == FRAME_CALLED && walk->now.depth == 8 && walk->now.saved == 8) {
		walk->now = kept;
		walk->is_framed = !walk->has_branched;
	} else if (walk->now.kind == FRAME_UNKNOWN && walk->pushed == walk->at) {
		walk->now = linked;
	} else if (walk->now.kind != FRAME_CALLED || !walk->now.saved) {
		refute(walk);
	}
}

/* The instruction up to `next`. Returns where to go on. */
static size_t
step(struct frame_walk *walk, size_t next, const struct x86_encoding *x86, const struct instruction *instruction)
{
	int64_t down = 0;
	const enum frame_effect effect = find_effect(walk->bytes + walk->at, x86, instruction, &down);

	walk->has_moved |= effect >= EFFECT_MOVE;
	walk->is_straight &= effect < EFFECT_MOVE;
	if (instruction->flow == FLOW_BRANCH || instruction->flow == FLOW_JUMP)
		follow(walk, (size_t)(instruction->target - walk->address));
	switch (effect) {
	case EFFECT_CALL:
		return pass_call(walk, next);
	case EFFECT_BRANCH:
		walk->has_branched = true;
		break;
	case EFFECT_RETURN:
		if (walk->now.kind == FRAME_CALLED && walk->now.depth == 0)
			confirm(walk);
		else if (walk->now.kind != FRAME_UNKNOWN)
			refute(walk);
		walk->has_branched = true;
		return end_flow(walk, next);
	case EFFECT_JUMP:
	case EFFECT_STOP:
		walk->has_branched = true;
		return end_flow(walk, next);
	case EFFECT_MOVE:
		move(walk, down);
		break;
	case EFFECT_STACK:
		if (walk->now.kind == FRAME_CALLED)
			refute(walk);
		break;
	case EFFECT_PUSH:
		save(walk, next);
		break;
	case EFFECT_POP:
	case EFFECT_LEAVE:
		restore(walk, effect);
		break;
	case EFFECT_FRAME:
		set_frame(walk);
		break;
	case EFFECT_LOSE:
		if (is_at_frame(&walk->now))
			walk->now = unknown;
		else if (!walk->now.saved)
			refute(walk);
		break;
	default:
		break;
	}
	return next;
}

/* Does the instruction contradict what is known before it, or tell what it was? */
static void
check(struct frame_walk *walk, const struct x86_encoding *x86, const struct instruction *instruction)
{
	const bool is_return = instruction->flow == FLOW_RETURN;

	/* a function returns with the stack that it was called with, which nothing has moved since `since` */
	if (is_return && walk->is_straight && !is_same(&walk->now, &called)) {
		if (walk->is_in_doubt && walk->doubt != walk->since)
			refute(walk);
		correct(walk, walk->since, &called);
	}
	if (walk->now.kind == FRAME_KEPT && (is_return || walk->bytes[walk->at] == PUSH_RBP))
		refute(walk);
	/* a frame pointer is used that the function did not set up: it is a part of another one */
	if (walk->now.kind == FRAME_CALLED && !walk->now.saved && walk->is_in_doubt && x86->has_memory &&
	    x86->base == architecture_registers(ARCHITECTURE_X86_64)->frame)
		refute(walk);
}

/* The instruction at walk->at. Returns where to go on. */
static size_t
walk_instruction(struct frame_walk *walk)
{
	const size_t at = walk->at;
	const bool has_arrived = arrive(walk);
	struct encoded_instruction encoded;
	struct instruction instruction;
	size_t size;

	if (!has_arrived && !walk->has_moved && walk->now.kind != FRAME_CALLED &&
	    is_beginning(walk->bytes + at, walk->size - at)) {
		walk->is_incomplete = false; /* what begins without an end before it is a part of a function */
		begin_function(walk, at);
	}
	decoder_prefetch(walk->decoder, walk->bytes + at, walk->size - at, &encoded);
	size = decoder_decode_encoded(walk->decoder, &encoded, walk->address + at, &instruction);
	if (instruction.class == CLASS_UNKNOWN && instruction.size == 1) {
		refute(walk);
		add_row(walk, at, &walk->now);
		return at + size;
	}
	check(walk, &encoded.x86, &instruction);
	add_row(walk, at, &walk->now);
	*place_at(walk, at) = (struct place_at){walk->now, walk->is_in_doubt};
	return step(walk, at + size, &encoded.x86, &instruction);
}

static void
walk_all(struct frame_walk *walk)
{
	size_t cleared = REACH; /* of the ring, for what is ahead */

	find_callees(walk);
	for (size_t next = 0; next < walk->size && !walk->err;) {
		walk->at = next;
		next = walk_instruction(walk);
		for (; cleared < next + REACH; cleared++)
			place_at(walk, cleared)->place = unknown;
	}
	walk->at = walk->size;
	if (walk->is_in_doubt)
		refute(walk);
	add_row(walk, walk->size, &unknown);
	write_rows(walk);
}

int
frames_each(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address, frame_place_fn *visit,
            void *context)
{
	struct frame_walk walk = {.decoder = decoder, .bytes = bytes, .size = size, .address = address};

	walk.visit = visit;
	walk.context = context;
	walk.places = calloc(2 * REACH, sizeof(*walk.places));
	walk.callees = calloc(size / ALIGNMENT / 8 + 1, 1);
	if (walk.places && walk.callees)
		walk_all(&walk);
	else
		walk.err = -ENOMEM;
	free(walk.places);
	free(walk.callees);
	free(walk.rows);
	free(walk.targets);
	return walk.err;
}
