#include "code/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "code/frames_internal.h"

#define BEGINNINGS_MIN   64   /* of functions that keep frame pointers, in code that is compiled so */
#define BYTES_A_FUNCTION 2048 /* of such code, at most, on average */
#define PADDING_MAX      64   /* bytes of nops between two functions */
#define DEPTH_MAX        32768
#define RECORD_SIZE      16         /* of a frame pointer and a return address */
#define PASSES_MAX       4          /* over a function */
#define HELD_MAX         (1u << 20) /* rows and jumps of a function; no real one has as many */
#define CALL             0xe8       /* x86-64's, with the distance in the four bytes behind it */
#define CALL_SIZE        5

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
	const struct frame_machine *machine;
	struct decoder *decoder;
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	frame_place_fn *visit;
	void *context;
	uint8_t *callees; /* a bit for each multiple of the alignment behind breakpoints that is called */
	int err;

	size_t at;     /* of the instruction */
	size_t pushed; /* behind the last write of a record */
	struct frame_place now;
	/* a ring: of instructions within REACH behind what they had, of those ahead what jumps bring there */
	struct place_at *places;
	size_t repeated; /* what begins before it has one pass: code up to there had several */

	/* of the function */
	size_t beginning;
	bool is_filled;          /* breakpoints are before it, so it goes on until the next ones */
	bool is_framed;          /* it began by setting up its frame, before any jump */
	struct frame_place kept; /* where that is */
	bool has_branched;
	unsigned passes;    /* it was walked before */
	bool is_incomplete; /* a jump went back to where nothing was known: another pass will know */
	struct frame_row *rows;
	size_t row_count, row_capacity;
	struct frame_place written; /* before its first row */
	size_t lost;                /* up to there, loops have taken back what was known */

	/* since the last instruction behind which nothing goes on */
	bool has_moved; /* the stack pointer has moved */
	/* since that, or the last call */
	size_t since;
	bool is_straight; /* the stack pointer has not moved, and no jump came that is certain */

	/* since `doubt`, what is found out is only likely: until that is decided, rows and jumps may be dropped */
	bool is_in_doubt;
	bool is_slight; /* the doubt: what nothing contradicts up to the next call or end is so */
	size_t doubt;
	size_t *targets;
	size_t target_count, target_capacity;
};

static const struct frame_place unknown;

static bool
is_same(const struct frame_place *a, const struct frame_place *b)
{
	return a->kind == b->kind && a->depth == b->depth && a->saved == b->saved;
}

/* As a function was called, before its first instruction. */
static struct frame_place
called(const struct frame_walk *walk)
{
	return (struct frame_place){.kind = FRAME_CALLED, .depth = walk->machine->called_depth};
}

static bool
is_called(const struct frame_walk *walk)
{
	const struct frame_place place = called(walk);

	return is_same(&walk->now, &place);
}

static bool
is_at_frame(const struct frame_place *place)
{
	return place->kind == FRAME_KEPT || place->kind == FRAME_LINKED;
}

static bool
is_beginning(const struct frame_walk *walk, size_t at)
{
	return walk->machine->is_beginning(walk->bytes + at, walk->size - at);
}

static struct place_at *
place_at(const struct frame_walk *walk, size_t offset)
{
	return &walk->places[offset % (2 * REACH)];
}

static bool
is_aligned(const struct frame_walk *walk, size_t at)
{
	return (walk->address + at) % walk->machine->alignment == 0;
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
	walk->is_slight = false;
	if (walk->is_in_doubt)
		return;
	walk->is_in_doubt = true;
	walk->doubt = from;
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

/* A call, or the function's end, was reached without a contradiction. */
static void
end_slight_doubt(struct frame_walk *walk)
{
	if (walk->is_slight)
		confirm(walk);
}

/* Take back what was found out since `from`: the place there was `place`, also where jumps in doubt brought another. */
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
	}
	while (walk->row_count > 0 && walk->rows[walk->row_count - 1].offset >= from)
		walk->row_count--;
	for (size_t at = walk->at - from < REACH ? from : walk->at - REACH + 1; at < walk->at; at++)
		place_at(walk, at)->place = *place;
	add_row(walk, from, place);
}

/* What is in doubt is not so, or nothing shows that it is; without a doubt, nothing is known from here on. */
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
		    (walk->is_in_doubt && !walk->is_slight && walk->doubt != walk->beginning))
			return;
		walk->is_incomplete = true;
		if (!walk->is_in_doubt || walk->is_slight)
			bring(walk, target);
	} else if (walk->is_in_doubt && target < walk->doubt) {
		if (is_same(&there->place, &walk->now))
			confirm(walk); /* what jumps into a function belongs to it */
		else
			refute(walk);
	} else if (walk->now.kind == FRAME_CALLED && there->place.kind == FRAME_CALLED && target >= walk->beginning &&
	           !is_same(&there->place, &walk->now)) {
		/* a loop moves the stack pointer: nobody knows how often */
		if (walk->is_in_doubt)
			refute(walk);
		else
			correct(walk, target > walk->lost ? target : walk->lost, &unknown);
		walk->lost = walk->at;
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
		/* nothing comes from before: the jump goes over what is in doubt, which is a part of its function */
		const struct frame_place place = called(walk);
		const bool is_inside = walk->now.kind == FRAME_UNKNOWN && !is_same(&here.place, &place);

		if (is_inside || is_same(&here.place, &walk->now))
			confirm(walk);
		else
			refute(walk);
	}
	walk->is_straight &= here.is_doubtful;
	walk->now = here.place;
	return true;
}

/* ---- functions ---- */

/*
 * Linkers leave two breakpoints or more between most functions; compilers put one behind a call that does not return.
 */
static bool
is_behind_breakpoints(const struct frame_walk *walk, size_t at)
{
	const uint8_t breakpoint = walk->machine->breakpoint;

	return breakpoint && at >= 2 && walk->bytes[at - 1] == breakpoint && walk->bytes[at - 2] == breakpoint;
}

/*
 * Note what is called of what begins behind breakpoints, as on x86-64. The bytes of a call that are none do no harm:
 * they would have to lead to such a place.
 */
static void
find_callees(struct frame_walk *walk)
{
	const uint8_t *bytes = walk->bytes, *end = bytes + walk->size;
	const uint8_t alignment = walk->machine->alignment;

	for (const uint8_t *at = bytes; end - at >= CALL_SIZE; at++) {
		int32_t distance;
		size_t target;

		at = memchr(at, CALL, (size_t)(end - at));
		if (!at || end - at < CALL_SIZE)
			return;
		memcpy(&distance, at + 1, sizeof(distance));
		target = (size_t)(at - bytes) + CALL_SIZE + (size_t)(int64_t)distance;
		if (target < walk->size && is_aligned(walk, target) && is_behind_breakpoints(walk, target))
			walk->callees[target / alignment / 8] |= (uint8_t)(1u << target / alignment % 8);
	}
}

static bool
is_callee(const struct frame_walk *walk, size_t at)
{
	const uint8_t alignment = walk->machine->alignment;

	return walk->callees[at / alignment / 8] >> at / alignment % 8 & 1;
}

/* The function that begins at `at`, with what is known of it already in the ring. */
static size_t
begin(struct frame_walk *walk, size_t at)
{
	walk->beginning = walk->lost = walk->at = at;
	walk->now = walk->passes ? place_at(walk, at)->place : called(walk);
	walk->is_filled = is_behind_breakpoints(walk, at);
	walk->is_framed = walk->has_branched = walk->has_moved = walk->is_straight = walk->is_incomplete = false;
	if (walk->passes == 0 && !is_beginning(walk, at) && !is_callee(walk, at))
		doubt(walk, at);
	return at;
}

/* The function ended. Returns `next`, where another one begins, or its own beginning for another pass. */
static size_t
begin_function(struct frame_walk *walk, size_t next)
{
	end_slight_doubt(walk);
	if (walk->is_in_doubt) {
		refute(walk);
	} else if (walk->is_incomplete && walk->passes < PASSES_MAX && next - walk->beginning < REACH &&
	           (walk->passes > 0 || walk->beginning >= walk->repeated)) {
		walk->passes++;
		walk->repeated = walk->repeated > next ? walk->repeated : next;
		walk->row_count = 0;
		return begin(walk, walk->beginning);
	}
	write_rows(walk);
	walk->passes = 0;
	return begin(walk, next);
}

/* May a function without a frame begin there? Where they are padded, only at a multiple of their alignment. */
static bool
may_begin_at(const struct frame_walk *walk, size_t at)
{
	return walk->machine->is_padded && is_aligned(walk, at);
}

/* Behind the nops at `at`, which go on to where a function may begin. */
static size_t
behind_nops(const struct frame_walk *walk, size_t at)
{
	const bool is_padded = walk->machine->is_padded;
	size_t end = at, size;

	while (end < walk->size && end - at < PADDING_MAX && !(is_padded && is_aligned(walk, end)) &&
	       (size = walk->machine->nop_size(walk->bytes + end, walk->size - end)) > 0)
		end += size;
	return end;
}

/* Does the function end at `at`, behind an instruction that may not go on? Then the next one begins at *next. */
static bool
ends_at(const struct frame_walk *walk, size_t at, size_t *next)
{
	const uint8_t breakpoint = walk->machine->breakpoint;
	size_t end = at;

	while (breakpoint && end < walk->size && walk->bytes[end] == breakpoint)
		end++;
	if (end == at)
		end = behind_nops(walk, at);
	*next = end;
	if (end >= walk->size || !is_aligned(walk, end))
		return false;
	return is_behind_breakpoints(walk, end) ||
	       (is_beginning(walk, end) && place_at(walk, end)->place.kind == FRAME_UNKNOWN);
}

/*
 * Nothing goes on at `at` but what jumps there, from behind or by a table. Returns where to go on, which is where the
 * next function begins when this one ends.
 */
static size_t
end_flow(struct frame_walk *walk, size_t at)
{
	bool is_slight;
	size_t next;

	if (ends_at(walk, at, &next))
		return begin_function(walk, next);
	if (walk->machine->breakpoint && at < walk->size && walk->bytes[at] == walk->machine->breakpoint)
		at = next; /* at once: there may be many */
	walk->has_moved = false;
	walk->is_straight = true;
	walk->since = at;
	walk->now = walk->is_framed ? walk->kept : unknown;
	is_slight = walk->is_filled && !may_begin_at(walk, next);
	if (walk->is_framed && !(walk->is_in_doubt && is_slight)) {
		doubt(walk, at);
		walk->is_slight = is_slight;
	}
	return at;
}

/* A call may not return. */
static size_t
pass_call(struct frame_walk *walk, size_t at)
{
	size_t next;

	end_slight_doubt(walk);
	if (ends_at(walk, at, &next))
		return begin_function(walk, next);
	if (walk->now.kind != FRAME_UNKNOWN && !walk->is_in_doubt) {
		doubt(walk, at);
		walk->is_slight = !may_begin_at(walk, next) && (next == at || walk->is_filled);
	}
	walk->since = at;
	walk->is_straight = true;
	return at;
}

/* ---- instructions ---- */

static void
move(struct frame_walk *walk, int64_t down)
{
	const uint16_t least = walk->now.saved ? walk->now.saved : walk->machine->called_depth;
	const int64_t depth = walk->now.depth + down;

	if (walk->now.kind != FRAME_CALLED)
		return;
	if (depth < least || depth > DEPTH_MAX || depth % 8)
		refute(walk);
	else
		walk->now.depth = (uint16_t)depth;
}

static void
save(struct frame_walk *walk, const struct frame_instruction *instruction)
{
	walk->pushed = walk->at + instruction->size;
	move(walk, instruction->down);
	if (walk->now.kind != FRAME_CALLED || walk->now.saved)
		return;
	if (instruction->at < 0 || instruction->at >= walk->now.depth)
		refute(walk);
	else
		walk->now.saved = (uint16_t)(walk->now.depth - instruction->at);
}

/* The frame pointer gets the caller's value back. */
static void
restore(struct frame_walk *walk, const struct frame_instruction *instruction)
{
	const bool is_kept = walk->now.kind == FRAME_KEPT;

	if (walk->now.kind == FRAME_LINKED) {
		walk->now = unknown;
	} else if (is_kept || (instruction->effect == EFFECT_RESTORE && walk->now.saved &&
	                       walk->now.saved == walk->now.depth - instruction->at)) {
		if (is_kept)
			confirm(walk);
		/* the record is where the frame pointer points */
		walk->now = (struct frame_place){.kind = FRAME_CALLED,
		                                 .depth = (uint16_t)(walk->now.saved + instruction->at)};
		move(walk, instruction->down);
	} else {
		refute(walk);
	}
}

/* With the record right before it, it is known where the frame pointer points, whatever was before. */
static void
set_frame(struct frame_walk *walk, const struct frame_instruction *instruction)
{
	const uint16_t adjacent = walk->machine->record_saved, saved = walk->now.saved;

	if (walk->now.kind == FRAME_CALLED && saved && saved == walk->now.depth - instruction->at &&
	    (!adjacent || saved == adjacent)) {
		walk->now = walk->kept = (struct frame_place){FRAME_KEPT, saved, saved};
		walk->is_framed = !walk->has_branched;
	} else if (walk->now.kind == FRAME_UNKNOWN && walk->pushed == walk->at && instruction->at == 0) {
		walk->now = (struct frame_place){FRAME_LINKED, RECORD_SIZE, RECORD_SIZE};
	} else if (walk->now.kind != FRAME_CALLED || !saved) {
		refute(walk);
	}
}

/* Returns where to go on. */
static size_t
step(struct frame_walk *walk, const struct frame_instruction *instruction)
{
	const enum frame_effect effect = instruction->effect;
	const size_t next = walk->at + instruction->size;

	walk->has_moved |= effect >= EFFECT_MOVE;
	walk->is_straight &= effect < EFFECT_MOVE;
	if (instruction->has_target)
		follow(walk, (size_t)(instruction->target - walk->address));
	switch (effect) {
	case EFFECT_CALL:
		return pass_call(walk, next);
	case EFFECT_BRANCH:
		walk->has_branched = true;
		break;
	case EFFECT_RETURN:
		if (is_called(walk))
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
		move(walk, instruction->down);
		break;
	case EFFECT_STACK:
		if (walk->now.kind == FRAME_CALLED)
			refute(walk);
		break;
	case EFFECT_SAVE:
		save(walk, instruction);
		break;
	case EFFECT_RESTORE:
	case EFFECT_LEAVE:
		restore(walk, instruction);
		break;
	case EFFECT_FRAME:
		set_frame(walk, instruction);
		break;
	case EFFECT_LOSE:
		if (is_at_frame(&walk->now))
			walk->now = unknown;
		else if (!walk->now.saved)
			refute(walk);
		break;
	case EFFECT_LOSE_BOTH:
		refute(walk);
		break;
	case EFFECT_LOSE_LINK:
		if (walk->now.kind == FRAME_CALLED && !walk->now.saved)
			refute(walk);
		break;
	default:
		break;
	}
	return next;
}

/* Memory is addressed by the frame pointer: whose code is it? */
static void
check_use(struct frame_walk *walk)
{
	if (walk->now.kind == FRAME_CALLED && !walk->now.saved)
		refute(walk); /* it was not set up: a part of another function */
	else if (walk->now.kind == FRAME_KEPT && walk->at - walk->doubt < REACH &&
	         place_at(walk, walk->doubt)->place.kind == FRAME_KEPT)
		confirm(walk); /* it was, before the doubt */
}

/* The instruction beside what is known before it: a contradiction takes back what was likely. */
static void
check(struct frame_walk *walk, const struct frame_instruction *instruction)
{
	const enum frame_effect effect = instruction->effect;
	const bool is_return = effect == EFFECT_RETURN || effect == EFFECT_SIGN;
	const struct frame_place place = called(walk);

	/* a function returns with the stack that it was called with, which nothing has moved since `since` */
	if (is_return && walk->is_straight && !is_called(walk)) {
		if (walk->is_in_doubt && walk->doubt != walk->since)
			refute(walk);
		correct(walk, walk->since, &place);
	}
	if (walk->now.kind == FRAME_KEPT && (is_return || effect == EFFECT_SAVE))
		refute(walk);
	if (walk->is_in_doubt && instruction->uses_frame)
		check_use(walk);
	/* the register of the return address has that of the call */
	if (effect == EFFECT_CALL && walk->machine->has_link && walk->now.kind == FRAME_CALLED && !walk->now.saved)
		refute(walk);
}

/*
 * A frame is set up at walk->at. When no function is known to go on there, one began: since the last call or end, if
 * nothing moved the stack pointer since then, and otherwise there. Returns where to go on, which may be before it.
 */
static size_t
find_start(struct frame_walk *walk, bool has_arrived)
{
	const bool has_moved = is_at_frame(&walk->now) ? !walk->is_straight : walk->has_moved;
	size_t start = walk->at;

	if (is_called(walk) && walk->is_in_doubt && walk->doubt == walk->beginning)
		confirm(walk);
	if (has_arrived || (walk->since != walk->at && (has_moved || walk->now.kind == FRAME_CALLED)))
		return start;
	if (walk->since != walk->at && walk->is_in_doubt)
		refute(walk);
	if (walk->now.kind == FRAME_UNKNOWN && walk->is_straight && walk->at - walk->since < REACH) {
		start = walk->since;
		correct(walk, start, &unknown);
	}
	walk->is_incomplete = false;
	begin_function(walk, start);
	walk->has_branched = start != walk->since; /* what begins without an end before it is a part of a function */
	return start;
}

/* The instruction at walk->at. Returns where to go on. */
static size_t
walk_instruction(struct frame_walk *walk)
{
	const size_t at = walk->at;
	const bool has_arrived = arrive(walk);
	struct frame_instruction instruction;

	if (is_beginning(walk, at)) {
		const size_t start = find_start(walk, has_arrived);

		if (start < at)
			return start;
	}
	walk->machine->decode(walk->decoder, walk->bytes + at, walk->size - at, walk->address + at, &instruction);
	if (instruction.is_unknown) {
		refute(walk);
		walk->is_straight = false;
		add_row(walk, at, &walk->now);
		return at + instruction.size;
	}
	check(walk, &instruction);
	add_row(walk, at, &walk->now);
	*place_at(walk, at) = (struct place_at){walk->now, walk->is_in_doubt};
	return step(walk, &instruction);
}

/* Keep no more of what is no function: what is known at `next` is its beginning. */
static void
let_go(struct frame_walk *walk, size_t next)
{
	if (walk->is_in_doubt)
		refute(walk);
	write_rows(walk);
	walk->beginning = next;
	walk->passes = 0;
	walk->is_incomplete = walk->is_straight = false;
}

static void
walk_all(struct frame_walk *walk)
{
	size_t cleared = REACH; /* of the ring, for what is ahead */

	if (walk->machine->breakpoint)
		find_callees(walk);
	walk->is_straight = true; /* what is described ends before it */
	for (size_t next = 0; next < walk->size && !walk->err;) {
		walk->at = next;
		next = walk_instruction(walk);
		for (; cleared < next + REACH && cleared < walk->size; cleared++)
			*place_at(walk, cleared) = (struct place_at){.place = unknown};
		if (walk->row_count + (walk->is_in_doubt ? walk->target_count : 0) > HELD_MAX)
			let_go(walk, next);
	}
	walk->at = walk->size;
	if (walk->is_in_doubt)
		refute(walk);
	add_row(walk, walk->size, &unknown);
	write_rows(walk);
}

/* ---- all code of a file ---- */

struct frames {
	const struct frame_machine *machine;
	struct decoder *decoder;    /* of x86-64 */
	struct place_at *places;    /* all are unknown between two walks */
	uint64_t bytes, beginnings; /* that were looked at */
};

struct frames *
frames_new(enum unwind_machine machine)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->machine = machine == UNWIND_AARCH64 ? &frame_machine_aarch64 : &frame_machine_x86_64;
	frames->places = calloc(2 * REACH, sizeof(*frames->places));
	if (machine == UNWIND_X86_64)
		frames->decoder = decoder_new(ARCHITECTURE_X86_64);
	if (frames->places && (frames->decoder || machine == UNWIND_AARCH64))
		return frames;
	frames_free(frames);
	errno = ENOMEM;
	return NULL;
}

void
frames_free(struct frames *frames)
{
	if (!frames)
		return;
	decoder_free(frames->decoder);
	free(frames->places);
	free(frames);
}

void
frames_look_at(struct frames *frames, const uint8_t *bytes, size_t size)
{
	frames->bytes += size;
	frames->beginnings += frames->machine->count_beginnings(bytes, size);
}

bool
frames_are_kept(const struct frames *frames)
{
	return frames->beginnings >= BEGINNINGS_MIN && frames->beginnings >= frames->bytes / BYTES_A_FUNCTION;
}

int
frames_each(struct frames *frames, const uint8_t *bytes, size_t size, uint64_t address, frame_place_fn *visit,
            void *context)
{
	struct frame_walk walk = {.machine = frames->machine, .decoder = frames->decoder, .places = frames->places};

	walk.bytes = bytes;
	walk.size = size;
	walk.address = address;
	walk.visit = visit;
	walk.context = context;
	walk.callees = calloc(size / walk.machine->alignment / 8 + 1, 1);
	if (walk.callees)
		walk_all(&walk);
	else
		walk.err = -ENOMEM;
	memset(frames->places, 0, (size < 2 * REACH ? size : 2 * REACH) * sizeof(*frames->places));
	free(walk.callees);
	free(walk.rows);
	free(walk.targets);
	return walk.err;
}
