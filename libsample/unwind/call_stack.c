#include "unwind/call_stack.h"

#include <string.h>

#define WORD_SIZE sizeof(uint64_t)

/* perf's numbers of registers (asm/perf_regs.h): x86-64 without flags and segments; aarch64's x0 to x30, sp and pc. */
#define X86_64_REGISTERS  UINT64_C(0xff01ff)
#define AARCH64_REGISTERS UINT64_C(0x1ffffffff)

uint64_t
call_stack_registers(enum unwind_machine machine)
{
	return machine == UNWIND_AARCH64 ? AARCH64_REGISTERS : X86_64_REGISTERS;
}

enum unwind_code
call_stack_code(const struct image *image)
{
	switch (image->kind) {
	case IMAGE_USER:
		if (image_is_memory_file(image)) /* code that the process wrote there, as .NET does */
			return UNWIND_CODE_FRAME_POINTER;
		return image->path[0] == '/' ? UNWIND_CODE_TABLE : UNWIND_CODE_WITHOUT_TABLE;
	case IMAGE_VDSO:
		return UNWIND_CODE_TABLE;
	case IMAGE_JIT:
	case IMAGE_ANON:
		return UNWIND_CODE_FRAME_POINTER;
	default:
		return UNWIND_CODE_WITHOUT_TABLE;
	}
}

/* A search for the code at the addresses of a stack, which notes what each is in. */
struct code_search {
	struct attribution *attribution;
	const struct attribution_moment *moment; /* NULL: now */
	const struct call_stack_tables *tables;
	struct record there;         /* the sample, at the address */
	struct chain_frames *frames; /* that are added to */
	uint32_t first, count,
		limit;    /* the frames of user mode begin there; those that were found; what there is room for */
	uint32_t context; /* of the innermost */
	int cause;        /* why the innermost has no image */
};

static enum unwind_code
find_code(void *context, uint64_t pc, const struct unwind_table **table, uint64_t *offset)
{
	struct code_search *search = context;
	struct sample_key key;
	int cause;

	search->there.sample.address = pc;
	if (search->moment)
		cause = attribution_sample_then(search->attribution, search->moment, &search->there, &key);
	else
		cause = attribution_sample(search->attribution, &search->there, &key);
	if (cause) {
		search->cause = search->count == 0 ? cause : search->cause;
		return UNWIND_CODE_NONE;
	}
	if (search->count == 0)
		search->context = key.context;
	if (search->count < search->limit)
		search->frames->nodes[search->first + search->count++] =
			(struct stack_node){.offset = key.offset, .image = key.image};
	*offset = key.offset;
	if (search->there.sample.is_32_bit) /* there are no tables of such programs, and its words are smaller */
		return UNWIND_CODE_WITHOUT_TABLE;
	return search->tables->find(search->tables->context, key.image, table);
}

static void
truncate_frames(struct chain_frames *frames, enum unwind_end end)
{
	static const enum stack_end ends[UNWIND_ENDS] = {
		[UNWIND_NO_TABLE] = STACK_END_NO_TABLES,
		[UNWIND_BEYOND_COPY] = STACK_END_COPY,
		[UNWIND_BAD_FRAME] = STACK_END_BAD_FRAME,
		[UNWIND_DEPTH_LIMIT] = STACK_END_DEPTH,
	};

	frames->is_truncated = end != UNWIND_OUTERMOST;
	frames->end = ends[end];
}

static void
unwind_user(const struct record *sample, uint64_t mask, size_t depth, struct code_search *search)
{
	const struct unwind_process process = {search->tables->machine, find_code, search};
	struct unwind_frame unwound[CALL_CHAIN_MAX];
	struct chain_frames *frames = search->frames;
	struct unwind_registers registers;
	uint64_t values[UNWIND_REGISTERS];
	const size_t count =
		sample->sample.register_count < UNWIND_REGISTERS ? sample->sample.register_count : UNWIND_REGISTERS;
	struct unwind_stack stack = {.bytes = sample->sample.stack, .size = sample->sample.stack_size};
	const unsigned sp = search->tables->machine == UNWIND_AARCH64 ? UNWIND_AARCH64_SP : UNWIND_X86_64_RSP;
	enum unwind_end end;
	size_t found;

	memcpy(values, sample->sample.registers, count * WORD_SIZE);
	unwind_registers_from_perf(search->tables->machine, mask, values, count, &registers);
	if (registers.known >> sp & 1)
		stack.address = registers.values[sp];
	else /* a recording may lack it: then it is not known where the copy lies */
		stack.size = 0;
	end = unwind_stack(&process, &registers, &stack, unwound, depth, &found);
	frames->count += (uint32_t)found;
	truncate_frames(frames, end);
	if (found == 0 && search->cause) /* as in a process that executes another program, or ends */
		frames->end = STACK_END_UNKNOWN;
}

void
call_stack_find(struct attribution *attribution, const struct call_stack_tables *tables, const struct record *sample,
                uint64_t mask, size_t depth, const struct attribution_moment *moment, struct chain_frames *frames)
{
	struct code_search search = {
		.attribution = attribution, .moment = moment, .tables = tables, .there = *sample, .frames = frames};

	frames->count = frames->context = 0;
	frames->cause = 0;
	frames->is_truncated = false;
	if (sample->sample.call_chain_count > 0) {
		call_chain_find(attribution, sample, frames);
		if (moment)
			frames->context = moment->context;
		if (!frames->cause && tables->kernel_depth > 0 && frames->count >= tables->kernel_depth)
			truncate_frames(frames, UNWIND_DEPTH_LIMIT);
		if (frames->cause || frames->is_truncated)
			return;
	}
	if (!sample->sample.registers) {
		if (frames->count == 0)
			frames->cause = 1 + UNKNOWN_MODE;
		return;
	}
	if (frames->count >= depth) {
		truncate_frames(frames, UNWIND_DEPTH_LIMIT);
		return;
	}
	search.there.mode = CPU_MODE_USER;
	search.first = frames->count;
	search.limit = (uint32_t)depth - frames->count;
	unwind_user(sample, mask, search.limit, &search);
	if (search.first > 0)
		return;
	frames->context = search.context;
	frames->cause = frames->count == 0 ? (search.cause ? search.cause : 1 + UNKNOWN_MODE) : 0;
}
