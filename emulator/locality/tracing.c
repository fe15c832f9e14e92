#include "emulator/locality/tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/locality/trace_file.h"
#include "emulator/process_file.h"

#define OWN_VARIABLES (UINT64_C(1) << 20) /* bytes below the thread pointer in which the library's variables are */
#define OFFSETS_MAX   32                  /* of the library's variables */
#define FRAME         UINT64_C(4096)      /* bytes of a function's frame in which registers are saved */
#define PAGE          4096
#define INSTRUCTION   16 /* bytes: more than any has */
#define CUTS          2  /* before an instruction that reaches into the next page, and behind it */
#define SETTLED       8  /* references behind which an instruction's addresses differ, if they do */
#define TRIES         64 /* of an instruction's references: whether it reads such an offset */

enum trace_phase {
	PHASE_EXACT, /* reuse distances are exact */
	PHASE_PASS,  /* they are not looked at */
	PHASE_BURST,
};

/* What a thread referred to lately. */
struct trace_thread {
	struct trace_vcpu *part; /* of the file */
	struct locality_window *window;
	struct line_set lines;
	enum trace_phase phase;
	uint64_t left; /* references until the phase ends */
	struct locality_score burst;
	uint64_t last_store; /* address */
	/* the run-time library */
	bool is_inside;           /* it, or what it calls, is executing */
	uint32_t last_own;        /* the last block of the program */
	uint32_t last_call;       /* likewise, and ended with a call */
	uint32_t since_call;      /* own blocks after that */
	uint32_t cuts[CUTS];      /* blocks that the last own one continues, the last first; 0: none */
	uint32_t call_cuts[CUTS]; /* likewise, the last call's */
	uint32_t way_call;        /* the own block before it, which leads nowhere else; 0: there is none */
	bool has_returned;        /* the last own block continues behind a call of the library */
	uint64_t pushed;          /* the address to which its last call stored where it returns to */
	uint64_t thread_pointer;
};

struct tracing {
	struct process_file file;
	uint64_t exact;
	struct trace_thread *threads[TRACE_VCPUS_MAX];
	uint64_t offsets[OFFSETS_MAX]; /* of the library's variables, from the thread pointer */
	uint32_t offset_count;
	struct trace_block *blocks; /* [CODE_BLOCKS_MAX], by number; threads read them while others are added */
};

/* ---- the process ---- */

struct tracing *
tracing_new(const char *directory, const char *comm, uint64_t exact)
{
	static const struct process_file_kind kind = {TRACE_PREFIX, TRACE_MAGIC, sizeof(struct trace_vcpu),
	                                              TRACE_INSTRUCTIONS_MAX};
	struct tracing *tracing = calloc(1, sizeof(*tracing));
	int err;

	if (!tracing)
		return NULL;
	tracing->exact = exact;
	tracing->blocks = calloc(CODE_BLOCKS_MAX, sizeof(*tracing->blocks));
	err = tracing->blocks ? process_file_init(&tracing->file, directory, &kind, comm, 0) : -ENOMEM;
	if (err) {
		free(tracing->blocks);
		free(tracing);
		errno = -err;
		return NULL;
	}
	return tracing;
}

struct process_file *
tracing_file(struct tracing *tracing)
{
	return &tracing->file;
}

static void
free_thread(struct trace_thread *thread)
{
	locality_window_free(thread->window);
	line_set_fini(&thread->lines);
	free(thread);
}

void
tracing_free(struct tracing *tracing)
{
	if (!tracing)
		return;
	for (unsigned i = 0; i < TRACE_VCPUS_MAX; i++)
		tracing_end_thread(tracing, i);
	process_file_fini(&tracing->file);
	free(tracing->blocks);
	free(tracing);
}

/* ---- threads ---- */

static void
begin_sequence(const struct tracing *tracing, struct trace_thread *thread)
{
	locality_window_begin(thread->window, true);
	thread->phase = tracing->exact ? PHASE_EXACT : PHASE_BURST;
	thread->left = tracing->exact ? tracing->exact : TRACE_BURST;
}

/* A part that an earlier thread had keeps what is in it. */
static struct trace_thread *
make_thread(const struct tracing *tracing, struct trace_vcpu *part, uint64_t thread_pointer)
{
	struct trace_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->window = locality_window_new();
	if (!thread->window) {
		free(thread);
		return NULL;
	}
	thread->part = part;
	thread->thread_pointer = thread_pointer;
	line_set_continue(&thread->lines, (struct line_keys *)part->lines, TRACE_LINES_MAX);
	begin_sequence(tracing, thread);
	return thread;
}

int
tracing_begin_thread(struct tracing *tracing, unsigned vcpu, uint64_t thread_pointer)
{
	int err = 0;

	if (vcpu >= TRACE_VCPUS_MAX)
		return -ENOSPC;
	tracing_end_thread(tracing, vcpu);
	if (!tracing->file.vcpus[vcpu])
		err = process_file_add_vcpu(&tracing->file, vcpu);
	if (err)
		return err;
	tracing->threads[vcpu] = make_thread(tracing, tracing->file.vcpus[vcpu], thread_pointer);
	return tracing->threads[vcpu] ? 0 : -ENOMEM;
}

static struct trace_thread *
find_thread(const struct tracing *tracing, unsigned vcpu)
{
	return vcpu < TRACE_VCPUS_MAX ? tracing->threads[vcpu] : NULL;
}

void
tracing_set_thread_pointer(struct tracing *tracing, unsigned vcpu, uint64_t thread_pointer)
{
	struct trace_thread *thread = find_thread(tracing, vcpu);

	if (thread)
		thread->thread_pointer = thread_pointer;
}

void
tracing_end_thread(struct tracing *tracing, unsigned vcpu)
{
	struct trace_thread *thread = find_thread(tracing, vcpu);

	if (!thread)
		return;
	tracing->threads[vcpu] = NULL;
	free_thread(thread);
}

int
tracing_fork(struct tracing *tracing)
{
	int err = process_file_fork(&tracing->file, 0);

	for (unsigned i = 0; i < TRACE_VCPUS_MAX; i++) {
		struct trace_thread *thread = tracing->threads[i];

		if (!thread)
			continue;
		line_set_fini(&thread->lines);
		line_set_continue(&thread->lines, (struct line_keys *)thread->part->lines, TRACE_LINES_MAX);
		memset(&thread->burst, 0, sizeof(thread->burst));
		begin_sequence(tracing, thread);
	}
	return err;
}

/* ---- what is the run-time library's ---- */

void
tracing_describe(struct tracing *tracing, uint32_t block, const struct trace_block *described)
{
	if (block < CODE_BLOCKS_MAX)
		tracing->blocks[block] = *described;
}

static void
leave_out(struct trace_thread *thread, struct trace_instruction *instruction)
{
	thread->part->left_out += instruction->exact.references + instruction->sampled.references;
	*instruction = (struct trace_instruction){.kind = TRACE_RECORDING};
}

/*
 * A block that calls the library, or continues behind that, saves and restores registers in its frame. It may have
 * references of the program, too: these are elsewhere, or move within the frame.
 */
static void
leave_out_frame(const struct tracing *tracing, struct trace_thread *thread, uint32_t block)
{
	const struct trace_block *left = &tracing->blocks[block];

	for (uint16_t i = 0; i < left->count; i++) {
		struct trace_instruction *instruction = &thread->part->instructions[left->first + i];

		if (instruction->kind == TRACE_DATA && instruction->low == instruction->high &&
		    instruction->low - thread->pushed < FRAME &&
		    instruction->exact.references + instruction->sampled.references >= SETTLED)
			leave_out(thread, instruction);
	}
}

/*
 * Whether a block behind one that continues behind a call of the library does nothing but restore registers from its
 * frame, and jumps back to what the loop always does.
 */
static bool
restores_only(const struct tracing *tracing, const struct trace_thread *thread, uint32_t block)
{
	const struct trace_block *entered = &tracing->blocks[block];

	for (uint16_t i = 0; i < entered->count && entered->jumps; i++) {
		const struct trace_instruction *instruction = &thread->part->instructions[entered->first + i];

		if (instruction->kind == TRACE_DATA && instruction->low &&
		    (instruction->stores || instruction->low != instruction->high ||
		     instruction->low - thread->pushed >= FRAME))
			return false;
	}
	return entered->jumps;
}

/* The last instruction of a block, which pushes where its call returns to; or all of one of the linkage table. */
static void
leave_out_from(const struct tracing *tracing, struct trace_thread *thread, uint32_t block, bool is_whole)
{
	const struct trace_block *left = &tracing->blocks[block];

	for (uint32_t i = is_whole ? 0 : left->count - 1U; i < left->count; i++) {
		struct trace_instruction *instruction = &thread->part->instructions[left->first + i];

		if (instruction->kind == TRACE_DATA)
			leave_out(thread, instruction);
	}
}

/*
 * The library is entered by its first block, from the linkage table's, from the one that called it. The dynamic linker
 * comes between when a function is called for the first time.
 */
void
tracing_enter_library(struct tracing *tracing, unsigned vcpu)
{
	struct trace_thread *thread = find_thread(tracing, vcpu);

	if (!thread || thread->is_inside)
		return;
	thread->is_inside = true;
	if (!thread->last_call || thread->since_call > 1)
		return; /* the dynamic linker initialises it, or a signal's handler returns to it */
	thread->pushed = thread->last_store;
	leave_out_from(tracing, thread, thread->last_call, false);
	leave_out_frame(tracing, thread, thread->last_call);
	for (unsigned i = 0; i < CUTS; i++)
		leave_out_frame(tracing, thread, thread->call_cuts[i]);
	leave_out_frame(tracing, thread, thread->way_call);
	if (thread->last_own != thread->last_call)
		leave_out_from(tracing, thread, thread->last_own, true);
}

/* The emulator ends blocks at pages: before an instruction that reaches into the next one, or behind it. */
static bool
is_cut(const struct tracing *tracing, uint32_t before, uint32_t block)
{
	const struct trace_block *one = &tracing->blocks[before], *other = &tracing->blocks[block];

	return before && one->image == other->image && one->end == other->offset &&
	       (other->offset + INSTRUCTION) % PAGE < 2 * INSTRUCTION;
}

/*
 * The library is left when a block of the program begins. A signal's handler leaves it, too; the library's next block
 * enters it again.
 */
void
tracing_enter(struct tracing *tracing, unsigned vcpu, uint32_t block)
{
	struct trace_thread *thread = find_thread(tracing, vcpu);
	const struct trace_block *entered = &tracing->blocks[block];
	bool cut, returns;

	if (!thread)
		return;
	if (entered->code != TRACE_PROGRAM)
		return;
	cut = is_cut(tracing, thread->last_own, block);
	returns = thread->is_inside || (cut && thread->has_returned);
	if (returns || (thread->has_returned && restores_only(tracing, thread, block)))
		leave_out_frame(tracing, thread, block);
	thread->cuts[1] = cut ? thread->cuts[0] : 0;
	thread->cuts[0] = cut ? thread->last_own : 0;
	thread->is_inside = false;
	thread->has_returned = returns;
	thread->since_call++;
	if (entered->calls) {
		thread->since_call = 0;
		memcpy(thread->call_cuts, thread->cuts, sizeof(thread->cuts));
		thread->way_call = tracing->blocks[thread->last_own].jumps ? thread->last_own : 0;
		thread->last_call = block;
	}
	thread->last_own = block;
}

static bool
is_offset(const struct tracing *tracing, uint64_t offset)
{
	for (uint32_t i = 0; i < tracing->offset_count; i++) {
		if (tracing->offsets[i] == offset)
			return true;
	}
	return false;
}

/* Those of the first thread: below another's are its stack's frames. Others have their variables at equal offsets. */
void
tracing_library_stores(struct tracing *tracing, unsigned vcpu, uint64_t address)
{
	const struct trace_thread *thread = find_thread(tracing, vcpu);
	uint64_t offset;

	if (vcpu != 0 || !thread || !thread->thread_pointer)
		return;
	offset = address - thread->thread_pointer;
	if (offset < -OWN_VARIABLES || is_offset(tracing, offset) || tracing->offset_count == OFFSETS_MAX)
		return;
	tracing->offsets[tracing->offset_count++] = offset;
}

/*
 * The countdown is a variable of the library's, of which the program knows the offset from the thread pointer. That is
 * read from the program's table of offsets.
 */
static bool
is_countdown(const struct tracing *tracing, const struct trace_thread *thread,
             const struct trace_instruction *instruction, const struct traced_access *access)
{
	const uint64_t offset = access->address - thread->thread_pointer;
	uint64_t value;

	if (offset >= -OWN_VARIABLES)
		return is_offset(tracing, offset);
	if (access->bytes != sizeof(value) || access->is_store ||
	    instruction->exact.references + instruction->sampled.references >= TRIES ||
	    (instruction->low && instruction->low != access->address))
		return false;
	memcpy(&value, access->host, sizeof(value));
	return value >= -OWN_VARIABLES && is_offset(tracing, value);
}

/* ---- references ---- */

static void
end_burst(struct trace_thread *thread)
{
	struct trace_bursts *bursts = &thread->part->bursts;
	const double judged = (double)thread->burst.judged, temporal = thread->burst.temporal;

	if (judged > 0) {
		bursts->count++;
		bursts->judged += judged;
		bursts->temporal += temporal;
		bursts->judged_squares += judged * judged;
		bursts->temporal_squares += temporal * temporal;
		bursts->products += judged * temporal;
	}
	thread->burst = (struct locality_score){0};
}

static void
end_phase(struct trace_thread *thread)
{
	if (thread->phase == PHASE_BURST)
		end_burst(thread);
	thread->phase = thread->phase == PHASE_PASS ? PHASE_BURST : PHASE_PASS;
	thread->left = thread->phase == PHASE_BURST ? TRACE_BURST : TRACE_BURST * (TRACE_PART - 1);
	if (thread->phase == PHASE_BURST)
		locality_window_begin(thread->window, false);
}

static void
add_score(struct trace_thread *thread, struct trace_instruction *instruction, uint64_t address)
{
	struct locality_score *sampled = &instruction->sampled;
	struct locality_score before;

	switch (thread->phase) {
	case PHASE_EXACT:
		locality_window_add(thread->window, address, &instruction->exact);
		break;
	case PHASE_PASS:
		locality_window_pass(thread->window, address, sampled);
		break;
	case PHASE_BURST:
		before = *sampled;
		locality_window_add(thread->window, address, sampled);
		thread->burst.judged += sampled->judged - before.judged;
		thread->burst.temporal += sampled->temporal - before.temporal;
		break;
	}
	if (--thread->left == 0)
		end_phase(thread);
}

static void
add_lines(struct trace_thread *thread, uint32_t number, struct trace_instruction *instruction,
          const struct traced_access *access)
{
	const uint64_t line = access->address / LINE_SET_BYTES + 1,
		       last = (access->address + access->bytes - 1) / LINE_SET_BYTES + 1;

	if (instruction->line == line && line == last)
		return;
	instruction->line = last;
	line_set_add(&thread->lines, number, access->address, access->bytes);
}

void
tracing_refer(struct tracing *tracing, unsigned vcpu, uint32_t number, const struct traced_access *access)
{
	struct trace_thread *thread = find_thread(tracing, vcpu);
	struct trace_instruction *instruction;

	if (!thread) {
		process_file_count_unrecorded(&tracing->file);
		return;
	}
	if (thread->is_inside)
		return;
	if (access->is_store)
		thread->last_store = access->address;
	instruction = &thread->part->instructions[number];
	if (instruction->kind == TRACE_RECORDING) {
		thread->part->left_out++;
		return;
	}
	if (tracing->offset_count && thread->thread_pointer && is_countdown(tracing, thread, instruction, access)) {
		leave_out(thread, instruction);
		thread->part->left_out++;
		return;
	}
	add_lines(thread, number, instruction, access);
	if (!instruction->low || access->address < instruction->low)
		instruction->low = access->address;
	if (access->address > instruction->high)
		instruction->high = access->address;
	if (access->bytes > instruction->bytes)
		instruction->bytes = access->bytes;
	instruction->stores |= access->is_store;
	/* as scores.h has it: a wider access is one to each of its words */
	for (uint32_t at = 0; at < access->bytes; at += LOCALITY_WORD_BYTES)
		add_score(thread, instruction, access->address + at);
}
