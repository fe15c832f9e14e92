#include "code/unwind_build.h"

#include <dwarf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "code/frames.h"
#include "image/call_frames.h"
#include "image/go_functions.h"
#include "unwind/table.h"

#define REMEMBERED_MAX   16   /* states that a frame description may have on its stack; compilers use one */
#define START_MAX        1024 /* bytes of instructions of a CIE, executed for each description: real ones have ten */
#define DYNAMIC_SIZE_MAX (64 << 10) /* bytes of a dynamic section: real ones have a few hundred */
#define PADDING_MAX      64         /* bytes between two functions, for their alignment */
#define ENTRY_SIZE       128 /* bytes of a program's entry without a description; those of dynamic linkers have 50 to 100 */

/* DWARF for the Arm 64-bit Architecture, 4.1 (0x2c and 0x2d): the return address is signed from here on, or no more. */
#define CFA_NEGATE_RA_STATE_WITH_PC 0x2c
#define CFA_NEGATE_RA_STATE         0x2d

/* A common information entry: what many descriptions begin with. */
struct frame_start {
	const uint8_t *instructions, *end;
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_column;
};

/* The rules of a stretch of code: a frame description, or one set of rules that apply to all of it. */
struct described_code {
	uint64_t offset; /* first, for array_compare_u64() */
	uint64_t end;
	const uint8_t *instructions, *instructions_end;
	const struct unwind_frame_rules *fixed; /* NULL: by the instructions, or as Go says */
	uint32_t go;                            /* number of the function of Go; 0: none */
	uint32_t start;                         /* index into the starts */
	bool is_signal_frame;
};

/* An expression's bytes: the stack pointer plus an offset that needs two bytes; for the CFA, what is there. */
struct saved_place {
	uint8_t bytes[4];
};

/* Rules of code that no compiler describes. */
struct fixed_rules {
	struct unwind_frame_rules entry, sigreturn;
	struct unwind_frame_rules called;  /* by a call, and nothing has changed since */
	struct unwind_frame_rules aligned; /* x86-64: and then the stack was aligned */
	struct unwind_frame_rules framed;  /* or the frame pointer was saved; aarch64: with the return address */
	struct unwind_frame_rules start,
		saved;                  /* of a PLT: how its stubs come to its start; after its first instruction */
	struct unwind_frame_rules lazy; /* stubs of x86-64 that push a number and jump to the start */
	struct saved_place places[UNWIND_REGISTERS + 1];
	uint8_t lazy_cfa[11];
};

struct build {
	const struct elf_file *file;
	struct elf_segments segments;
	const uint8_t *bytes[ELF_SEGMENTS_MAX]; /* of the executable ones; NULL: they cannot be read */
	enum unwind_machine machine;
	uint8_t pc, sp; /* DWARF numbers */
	struct frame_start *starts;
	size_t start_count, start_capacity;
	struct described_code *code;
	size_t count, capacity;
	size_t sorted; /* that many are in order, and what is added may not overlap them */
	struct go_functions go_functions;
	struct go_function *go; /* of number i + 1 */
	size_t go_count, go_capacity;
	struct unwind_writer *writer;
	struct fixed_rules fixed;
	struct frames *frames;   /* of code that nothing describes */
	bool has_frame_pointers; /* it keeps them */
};

/* ---- which code is described ---- */

static bool
is_covered(const struct build *build, uint64_t offset)
{
	const size_t behind = ARRAY_LOWER_BOUND(build->code, build->sorted, offset, offset + 1);

	return behind > 0 && offset < build->code[behind - 1].end;
}

/* The stretch of `size` bytes at an ELF virtual address, unless it is covered. NULL with *err 0 or -ENOMEM. */
static struct described_code *
add_code(struct build *build, uint64_t address, uint64_t size, int *err)
{
	const struct elf_segment *segment = elf_segments_at_address(&build->segments, address);
	struct described_code *added;
	uint64_t room;

	*err = 0;
	if (!segment || !segment->executable || size == 0)
		return NULL;
	if (is_covered(build, elf_segment_offset(segment, address)))
		return NULL;
	added = ARRAY_APPEND(build->code, build->count, build->capacity);
	if (!added) {
		*err = -ENOMEM;
		return NULL;
	}
	room = segment->size - (address - segment->address);
	*added = (struct described_code){.offset = elf_segment_offset(segment, address)};
	added->end = added->offset + (size < room ? size : room);
	return added;
}

static int
add_start(struct build *build, const Dwarf_CIE *cie)
{
	const struct frame_start *last = build->start_count ? &build->starts[build->start_count - 1] : NULL;
	struct frame_start *added;

	if (last && last->instructions == cie->initial_instructions)
		return 0;
	added = ARRAY_APPEND(build->starts, build->start_count, build->start_capacity);
	if (!added)
		return -ENOMEM;
	*added = (struct frame_start){
		.instructions = cie->initial_instructions,
		.end = cie->initial_instructions_end,
		.code_alignment = cie->code_alignment_factor,
		.data_alignment = cie->data_alignment_factor,
		.return_column = cie->return_address_register,
	};
	return 0;
}

static int
add_frame(void *context, const struct frame_description *frame)
{
	struct build *build = context;
	struct described_code *added;
	int err = add_start(build, frame->cie);

	if (err)
		return err;
	added = add_code(build, frame->address, frame->size, &err);
	if (!added)
		return err;
	added->instructions = frame->instructions;
	added->instructions_end = frame->end;
	added->start = (uint32_t)(build->start_count - 1);
	added->is_signal_frame = frame->is_signal_frame;
	return 0;
}

static void
sort_code(struct build *build)
{
	if (build->count > build->sorted)
		qsort(build->code, build->count, sizeof(*build->code), array_compare_u64);
	build->sorted = build->count;
}

/* ---- code that no compiler describes ---- */

static int
add_fixed(struct build *build, uint64_t address, uint64_t size, const struct unwind_frame_rules *rules)
{
	struct described_code *added;
	int err;

	added = add_code(build, address, size, &err);
	if (added)
		added->fixed = rules;
	return err;
}

/* The bytes of `size` at an ELF virtual address in code; NULL when they are not there. */
static const uint8_t *
code_at(const struct build *build, uint64_t address, uint64_t size)
{
	const struct elf_segment *segment = elf_segments_at_address(&build->segments, address);
	const uint8_t *bytes = segment ? build->bytes[segment - build->segments.list] : NULL;

	if (!bytes || segment->size - (address - segment->address) < size)
		return NULL;
	return bytes + (address - segment->address);
}

/*
 * A PLT begins with code that saves what its stubs found and calls the linker. aarch64: stp x16, x30, [sp, #-16]!,
 * perhaps behind bti c; x86-64: pushq. Returns its size, 0 when there is none, and in *saved_at where it has saved.
 */
static uint64_t
plt_start(const struct build *build, const uint8_t *bytes, uint64_t size, uint64_t *saved_at)
{
	static const uint8_t stp[] = {0xf0, 0x7b, 0xbf, 0xa9}, push[] = {0xff, 0x35};

	if (build->machine == UNWIND_X86_64) {
		*saved_at = 6;
		return size >= 16 && memcmp(bytes, push, sizeof(push)) == 0 ? 16 : 0;
	}
	for (*saved_at = 4; *saved_at <= 8 && size >= 32; *saved_at += 4)
		if (memcmp(bytes + *saved_at - 4, stp, sizeof(stp)) == 0)
			return 32;
	return 0;
}

/* GNU ld describes the PLT of x86-64; it does not describe that of aarch64, and lld describes none. */
static int
add_plt(struct build *build, const char *name)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct fixed_rules *fixed = &build->fixed;
	uint64_t start, saved_at;
	const uint8_t *bytes;
	GElf_Shdr header;
	int err;

	if (!elf_file_next_section(build->file, NULL, name, &header))
		return 0;
	bytes = code_at(build, header.sh_addr, header.sh_size);
	if (!bytes)
		return 0;
	start = plt_start(build, bytes, header.sh_size, &saved_at);
	if (!start)
		return add_fixed(build, header.sh_addr, header.sh_size, &fixed->called);
	err = add_fixed(build, header.sh_addr, saved_at, &fixed->start);
	if (!err)
		err = add_fixed(build, header.sh_addr + saved_at, start - saved_at, &fixed->saved);
	if (err)
		return err;
	/* the number is pushed behind endbr64 or, without it, behind a jump: 9 or 11 bytes from the stub's start */
	if (header.sh_size >= start + sizeof(endbr64) && memcmp(bytes + start, endbr64, sizeof(endbr64)) == 0)
		fixed->lazy_cfa[6] = DW_OP_lit9;
	return add_fixed(build, header.sh_addr + start, header.sh_size - start,
	                 build->machine == UNWIND_X86_64 ? &fixed->lazy : &fixed->called);
}

static int
add_plts(struct build *build)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_COUNT(names); i++)
		err = add_plt(build, names[i]);
	return err;
}

/* A function of that `size` without a description: from `begin` to `end` by `rules`, and otherwise as it is called. */
static int
add_function(struct build *build, uint64_t address, uint64_t size, uint64_t begin, uint64_t end,
             const struct unwind_frame_rules *rules)
{
	int err = add_fixed(build, address, begin, &build->fixed.called);

	if (!err)
		err = add_fixed(build, address + begin, end - begin, rules);
	return err ? err : add_fixed(build, address + end, size - end, &build->fixed.called);
}

/*
 * _init and _fini of crti.o and crtn.o (glibc: sysdeps/x86_64/crti.S, sysdeps/aarch64/crti.S): sub $8,%rsp ...
 * add $8,%rsp; ret, or stp x29, x30, [sp, #-16]! ... ldp x29, x30, [sp], #16; ret; perhaps behind endbr64, nop or bti,
 * or with the return address signed.
 */
static int
add_init(struct build *build, const char *section)
{
	static const uint8_t sub[] = {0x48, 0x83, 0xec, 8}, add_return[] = {0x48, 0x83, 0xc4, 8, 0xc3};
	static const uint8_t stp[] = {0xfd, 0x7b, 0xbf, 0xa9}, ldp[] = {0xfd, 0x7b, 0xc1, 0xa8};
	static const uint8_t return_of_arm[] = {0xc0, 3, 0x5f, 0xd6}, autiasp[] = {0xbf, 0x23, 3, 0xd5};
	const bool is_arm = build->machine == UNWIND_AARCH64;
	const uint8_t *bytes, *end;
	uint64_t begin = 4, size, behind = 1; /* bytes behind the last instruction of the frame */
	GElf_Shdr header;

	if (!elf_file_next_section(build->file, NULL, section, &header))
		return 0;
	size = header.sh_size;
	bytes = size >= 16 || (!is_arm && size >= 9) ? code_at(build, header.sh_addr, size) : NULL;
	if (!bytes)
		return 0;
	end = bytes + size;
	if (memcmp(bytes, is_arm ? stp : sub, 4) != 0)
		begin = 8;
	if (memcmp(bytes + begin - 4, is_arm ? stp : sub, 4) != 0)
		return 0;
	if (is_arm)
		behind = memcmp(end - 8, autiasp, 4) == 0 ? 8 : 4;
	if (is_arm ? memcmp(end - 4, return_of_arm, 4) != 0 || memcmp(end - behind - 4, ldp, 4) != 0
	           : memcmp(end - 5, add_return, 5) != 0)
		return 0;
	if (size < begin + 4 + behind)
		return 0;
	return add_function(build, header.sh_addr, size, begin, size - behind, &build->fixed.aligned);
}

/* ---- crtbegin.o of GCC (libgcc/crtstuff.c), which is compiled without descriptions ---- */

/* Of deregister_tm_clones() and register_tm_clones(), which come before, with their padding. */
#define CLONES_SIZE 0x70

/* Is `at` where __do_global_dtors_aux() of x86-64 tests whether it ran before? Where it saves %rbp, and its last byte.
 */
static bool
is_dtors_test(const uint8_t *at, size_t size, size_t *push, size_t *last)
{
	/* cmpb $0, completed(%rip); jne over all; push %rbp */
	if (size < 10 || at[0] != 0x80 || at[1] != 0x3d || at[6] != 0 || at[7] != 0x75 || at[9] != 0x55)
		return false;
	*push = 9;
	*last = 9 + at[8];
	return at[8] < 0x80 && *last < size && at[*last] == 0xc3;
}

/* Do both begin as they do: lea or mov of the table of clones to %rdi or %rax, to %rdi or %rsi? */
static bool
are_clones(const uint8_t *at)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x3d};

	return (memcmp(at, lea, sizeof(lea)) == 0 && memcmp(at + 0x30, lea, sizeof(lea)) == 0) ||
	       (at[0] == 0xb8 && at[0x30] == 0xbe);
}

/* __do_global_dtors_aux(), which runs destructors, is at `start`; what is around it belongs to it. */
static int
add_crtbegin(struct build *build, const struct elf_segment *segment, const uint8_t *bytes, size_t start, size_t push,
             size_t last)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const size_t dummy = (size_t)(((segment->address + last + 16) & ~UINT64_C(15)) - segment->address);
	size_t pop = last - 1;
	int err;

	while (pop > push && (bytes[pop] != 0x5d || bytes[pop + 1] != 0xc3)) /* pop %rbp; ret */
		pop--;
	if (pop == push)
		return 0;
	err = add_function(build, segment->address + start, last + 1 - start, push + 1 - start, pop + 1 - start,
	                   &build->fixed.framed);
	if (!err && start >= CLONES_SIZE && are_clones(bytes + start - CLONES_SIZE))
		err = add_fixed(build, segment->address + start - CLONES_SIZE, CLONES_SIZE, &build->fixed.called);
	/* frame_dummy() jumps to register_tm_clones(), but in static programs, where it is left out here */
	if (!err && segment->size >= dummy + 9 && memcmp(bytes + dummy, endbr64, sizeof(endbr64)) == 0 &&
	    (bytes[dummy + 4] == 0xe9 || bytes[dummy + 4] == 0xeb))
		err = add_fixed(build, segment->address + dummy, bytes[dummy + 4] == 0xe9 ? 9 : 6,
		                &build->fixed.called);
	return err;
}

static int
add_startup(struct build *build)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, cmpb[] = {0x80, 0x3d};
	int err = add_init(build, ".init");

	if (!err)
		err = add_init(build, ".fini");
	for (size_t i = 0; !err && build->machine == UNWIND_X86_64 && i < build->segments.count; i++) {
		const struct elf_segment *segment = &build->segments.list[i];
		const uint8_t *bytes = build->bytes[i], *at = bytes;

		for (; at && (at = memmem(at, segment->size - (size_t)(at - bytes), cmpb, sizeof(cmpb))); at++) {
			const size_t test = (size_t)(at - bytes);
			const bool has_endbr = test >= 4 && memcmp(at - 4, endbr64, sizeof(endbr64)) == 0;
			size_t push, last;

			/* a file has one such function */
			if (!is_covered(build, segment->offset + test) &&
			    is_dtors_test(at, segment->size - test, &push, &last))
				return add_crtbegin(build, segment, bytes, test - (has_endbr ? 4 : 0), test + push,
				                    test + last);
		}
	}
	return err;
}

/*
 * What a signal handler returns to consists of two instructions that call rt_sigreturn(). The kernel's of aarch64 is
 * not described in its vdso, because of a fault in libgcc (arch/arm64/kernel/vdso/sigreturn.S); neither is musl's.
 */
static const uint8_t x86_64_sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const uint8_t aarch64_sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

static int
add_sigreturns(struct build *build)
{
	const bool is_arm = build->machine == UNWIND_AARCH64;
	const uint8_t *pattern = is_arm ? aarch64_sigreturn : x86_64_sigreturn;
	const size_t size = is_arm ? sizeof(aarch64_sigreturn) : sizeof(x86_64_sigreturn);
	int err = 0;

	for (size_t i = 0; !err && i < build->segments.count; i++) {
		const struct elf_segment *segment = &build->segments.list[i];
		const uint8_t *bytes = build->bytes[i], *at = bytes;

		while (!err && at && (at = memmem(at, segment->size - (size_t)(at - bytes), pattern, size))) {
			/* one byte more before it: it is looked up as a return address would be */
			const uint64_t address = segment->address + (uint64_t)(at - bytes);

			err = add_fixed(build, address - (at > bytes), size + (at > bytes), &build->fixed.sigreturn);
			at += size;
		}
	}
	return err;
}

static int
add_go_function(void *context, const struct go_function *function)
{
	struct build *build = context;
	struct described_code *added;
	struct go_function *kept;
	int err;

	added = add_code(build, function->address, function->size, &err);
	if (!added)
		return err;
	kept = ARRAY_APPEND(build->go, build->go_count, build->go_capacity);
	if (!kept)
		return -ENOMEM;
	*kept = *function;
	added->go = (uint32_t)build->go_count;
	return 0;
}

static int
add_go(struct build *build)
{
	if (!go_functions_find(&build->go_functions, build->file))
		return 0;
	return go_functions_each(&build->go_functions, add_go_function, build);
}

static void
set_place(struct saved_place *place, const struct build *build, unsigned offset, bool dereference)
{
	place->bytes[0] = (uint8_t)(DW_OP_breg0 + build->sp);
	place->bytes[1] = (uint8_t)((offset & 0x7f) | 0x80);
	place->bytes[2] = (uint8_t)(offset >> 7);
	place->bytes[3] = dereference ? DW_OP_deref : DW_OP_nop;
}

/* Where the kernel saves registers in a signal's frame: struct rt_sigframe of Linux, behind the handler's return. */
static void
make_sigreturn_rules(struct build *build)
{
	/* ucontext; its uc_mcontext is at 40: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
	static const uint16_t x86_64[] = {144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168};
	struct unwind_frame_rules *rules = &build->fixed.sigreturn;
	struct saved_place *places = build->fixed.places;
	const size_t count = build->pc + 1U;

	rules->cfa_register = UNWIND_CFA_EXPRESSION;
	rules->is_signal_frame = true;
	for (size_t i = 0; i < count; i++) {
		/* siginfo (128), uc_mcontext at 176 of ucontext, regs[] at 8: x0 to x30, sp, pc */
		const unsigned offset = build->machine == UNWIND_AARCH64 ? 312 + 8 * (unsigned)i : x86_64[i];

		set_place(&places[i], build, offset, false);
		rules->registers[i] =
			(struct unwind_rule){UNWIND_AT_EXPRESSION, 0, places[i].bytes, sizeof(places[i].bytes)};
		if (i == build->sp) {
			set_place(&places[count], build, offset, true);
			rules->cfa = (struct unwind_rule){UNWIND_EXPRESSION_VALUE, 0, places[count].bytes,
			                                  sizeof(places[count].bytes)};
		}
	}
}

/* The CFA is the stack pointer plus `offset`, and the return address right below it. */
static void
make_call_rules(const struct build *build, struct unwind_frame_rules *rules, int64_t offset)
{
	rules->cfa_register = build->sp;
	rules->cfa.value = offset;
	rules->registers[build->pc] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -8};
}

static void
make_fixed_rules(struct build *build)
{
	/* rsp + 8 + ((rip & 15) >= 11) << 3, as GNU ld describes it */
	static const uint8_t lazy_cfa[] = {DW_OP_breg7, 8,        DW_OP_breg16, 0,         DW_OP_lit15, DW_OP_and,
	                                   DW_OP_lit11, DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus};
	struct fixed_rules *fixed = &build->fixed;

	fixed->entry.cfa_register = build->sp;
	fixed->entry.registers[build->pc].kind = UNWIND_UNDEFINED;
	make_sigreturn_rules(build);
	make_call_rules(build, &fixed->aligned, 16);
	fixed->framed = fixed->aligned;
	fixed->framed.registers[build->machine == UNWIND_AARCH64 ? UNWIND_AARCH64_FP : UNWIND_X86_64_RBP] =
		(struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -16};
	if (build->machine == UNWIND_AARCH64) {
		fixed->framed.registers[UNWIND_AARCH64_LR] = fixed->framed.registers[build->pc];
		fixed->aligned = fixed->framed;
		make_call_rules(build, &fixed->called, 0);
		fixed->called.registers[build->pc] =
			(struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = UNWIND_AARCH64_LR};
		fixed->start = fixed->called;
		make_call_rules(build, &fixed->saved, 16);
		fixed->saved.registers[UNWIND_AARCH64_LR] = fixed->saved.registers[build->pc];
		return;
	}
	make_call_rules(build, &fixed->called, 8);
	make_call_rules(build, &fixed->start, 16);
	make_call_rules(build, &fixed->saved, 24);
	make_call_rules(build, &fixed->lazy, 0);
	memcpy(fixed->lazy_cfa, lazy_cfa, sizeof(lazy_cfa));
	fixed->lazy.cfa_register = UNWIND_CFA_EXPRESSION;
	fixed->lazy.cfa = (struct unwind_rule){UNWIND_EXPRESSION_VALUE, 0, fixed->lazy_cfa, sizeof(fixed->lazy_cfa)};
}

/* ---- from call frame instructions to rows (DWARF 5, 6.4.2) ---- */

struct frame_state {
	struct unwind_frame_rules rules;
	bool has_cfa;
};

struct frame_run {
	struct build *build;
	const struct frame_start *start;
	struct byte_reader reader;
	struct frame_state now, initial;
	struct frame_state remembered[REMEMBERED_MAX];
	size_t depth;
	uint64_t at; /* file offset that the state is for */
	uint64_t end;
	uint64_t pushed; /* bit i: register i was saved on the stack, not below the stack pointer */
	int err;         /* of the writer */
};

/*
 * Bit i: register i was saved on the stack, and its place is now below the stack pointer. So it was popped, and has the
 * caller's value again. Compilers do not say so (DW_CFA_restore), as that value can still be read there by a debugger;
 * but a copy of the stack begins at the stack pointer. A function that calls no other may save registers below the
 * stack pointer and never above it: these have not been popped.
 */
static uint64_t
find_popped(struct frame_run *run)
{
	const struct unwind_frame_rules *rules = &run->now.rules;
	uint64_t popped = 0;

	if (!run->now.has_cfa || rules->cfa_register == UNWIND_CFA_EXPRESSION)
		return 0;
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
		if (rules->registers[i].kind != UNWIND_AT_CFA)
			continue;
		if (rules->cfa_register != run->build->sp ||
		    rules->registers[i].value >= (int64_t)(0 - (uint64_t)rules->cfa.value))
			run->pushed |= UINT64_C(1) << i;
		else
			popped |= run->pushed & UINT64_C(1) << i;
	}
	return popped;
}

/* The row without rules for registers that were popped. 0 or an error of the writer. */
static int
add_without(struct frame_run *run, uint64_t popped)
{
	const uint8_t pc = run->build->pc;
	struct unwind_frame_rules rules = run->now.rules;

	for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
		if (popped >> i & 1)
			rules.registers[i] = (struct unwind_rule){.kind = UNWIND_SAME};
	if (popped >> pc & 1) /* the return address is in its register again */
		rules.registers[pc] =
			(struct unwind_rule){UNWIND_IN_REGISTER, (int64_t)run->start->return_column, NULL, 0};
	return unwind_writer_add(run->build->writer, run->at, &rules);
}

/* A row for what is known so far. */
static void
emit(struct frame_run *run)
{
	const uint64_t column = run->start->return_column;
	const uint8_t pc = run->build->pc;
	struct unwind_frame_rules *rules = &run->now.rules;
	const uint64_t popped = find_popped(run);
	bool has_cfa = run->now.has_cfa;

	if (column != pc) {
		rules->registers[pc] = rules->registers[column];
		if (rules->registers[pc].kind == UNWIND_SAME)
			rules->registers[pc] = (struct unwind_rule){UNWIND_IN_REGISTER, (int64_t)column, NULL, 0};
	}
	if (!has_cfa && rules->registers[pc].kind == UNWIND_UNDEFINED) {
		/* there is no caller, whose stack pointer it would be */
		rules->cfa_register = run->build->sp;
		rules->cfa = (struct unwind_rule){0};
		has_cfa = true;
	}
	run->err = popped ? add_without(run, popped)
	                  : unwind_writer_add(run->build->writer, run->at, has_cfa ? rules : NULL);
}

/* False: the description ends here. */
static bool
advance(struct frame_run *run, uint64_t distance)
{
	emit(run);
	if (run->err || __builtin_mul_overflow(distance, run->start->code_alignment, &distance) ||
	    distance >= run->end - run->at) {
		run->at = run->end;
		return false;
	}
	run->at += distance;
	return true;
}

static uint64_t
read_distance(struct frame_run *run, size_t size)
{
	const uint8_t *bytes = read_bytes(&run->reader, size);
	uint32_t value = 0; /* both machines are little-endian */

	if (bytes)
		memcpy(&value, bytes, size);
	return le32toh(value);
}

/* Rules of registers that are not kept - vectors - have no effect. */
static void
set_rule(struct frame_run *run, uint64_t number, struct unwind_rule rule)
{
	if (number <= run->build->pc)
		run->now.rules.registers[number] = rule;
}

static void
set_offset_rule(struct frame_run *run, enum unwind_rule_kind kind, uint64_t number, int64_t factored)
{
	int64_t value;

	if (__builtin_mul_overflow(factored, run->start->data_alignment, &value))
		run->reader.failed = true;
	else
		set_rule(run, number, (struct unwind_rule){.kind = kind, .value = value});
}

static struct unwind_rule
read_expression(struct frame_run *run, enum unwind_rule_kind kind)
{
	const uint64_t size = read_varint(&run->reader);
	const uint8_t *bytes = read_bytes(&run->reader, size);

	return (struct unwind_rule){kind, 0, bytes, bytes ? size : 0};
}

static void
set_cfa(struct frame_run *run, uint64_t number, int64_t offset)
{
	if (number > run->build->pc)
		run->reader.failed = true;
	run->now.rules.cfa_register = (uint8_t)number;
	run->now.rules.cfa = (struct unwind_rule){.value = offset};
	run->now.has_cfa = true;
}

/* A change of the CFA's register or offset: fails when it is not one plus the other. */
static void
change_cfa(struct frame_run *run, uint64_t number, int64_t offset)
{
	if (!run->now.has_cfa || run->now.rules.cfa_register == UNWIND_CFA_EXPRESSION)
		run->reader.failed = true;
	else
		set_cfa(run, number, offset);
}

static int64_t
factored_offset(struct frame_run *run)
{
	int64_t value;

	if (__builtin_mul_overflow(read_sleb(&run->reader), run->start->data_alignment, &value))
		run->reader.failed = true;
	return value;
}

/* Instructions about the CFA; false: it is none. */
static bool
execute_cfa(struct frame_run *run, uint8_t opcode)
{
	struct unwind_frame_rules *rules = &run->now.rules;
	uint64_t number;

	switch (opcode) {
	case DW_CFA_def_cfa:
		number = read_varint(&run->reader);
		set_cfa(run, number, (int64_t)read_varint(&run->reader));
		return true;
	case DW_CFA_def_cfa_sf:
		number = read_varint(&run->reader);
		set_cfa(run, number, factored_offset(run));
		return true;
	case DW_CFA_def_cfa_register:
		change_cfa(run, read_varint(&run->reader), rules->cfa.value);
		return true;
	case DW_CFA_def_cfa_offset:
		change_cfa(run, rules->cfa_register, (int64_t)read_varint(&run->reader));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		change_cfa(run, rules->cfa_register, factored_offset(run));
		return true;
	case DW_CFA_def_cfa_expression:
		rules->cfa = read_expression(run, UNWIND_EXPRESSION_VALUE);
		rules->cfa_register = UNWIND_CFA_EXPRESSION;
		run->now.has_cfa = true;
		return true;
	default:
		return false;
	}
}

static void
restore(struct frame_run *run, uint64_t number)
{
	if (number <= run->build->pc)
		run->now.rules.registers[number] = run->initial.rules.registers[number];
}

/* Instructions about the rule of a register; false: it is none. */
static bool
execute_rule(struct frame_run *run, uint8_t opcode)
{
	struct byte_reader *reader = &run->reader;
	uint64_t number, other;

	switch (opcode) {
	case DW_CFA_offset_extended:
		number = read_varint(reader);
		set_offset_rule(run, UNWIND_AT_CFA, number, (int64_t)read_varint(reader));
		return true;
	case DW_CFA_offset_extended_sf:
		number = read_varint(reader);
		set_offset_rule(run, UNWIND_AT_CFA, number, read_sleb(reader));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		number = read_varint(reader);
		set_offset_rule(run, UNWIND_AT_CFA, number, (int64_t)-read_varint(reader));
		return true;
	case DW_CFA_val_offset:
		number = read_varint(reader);
		set_offset_rule(run, UNWIND_CFA_PLUS, number, (int64_t)read_varint(reader));
		return true;
	case DW_CFA_val_offset_sf:
		number = read_varint(reader);
		set_offset_rule(run, UNWIND_CFA_PLUS, number, read_sleb(reader));
		return true;
	case DW_CFA_restore_extended:
		restore(run, read_varint(reader));
		return true;
	case DW_CFA_undefined:
		set_rule(run, read_varint(reader), (struct unwind_rule){.kind = UNWIND_UNDEFINED});
		return true;
	case DW_CFA_same_value:
		set_rule(run, read_varint(reader), (struct unwind_rule){.kind = UNWIND_SAME});
		return true;
	case DW_CFA_register:
		number = read_varint(reader);
		other = read_varint(reader);
		set_rule(run, number, (struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = (int64_t)other});
		return true;
	case DW_CFA_expression:
		number = read_varint(reader);
		set_rule(run, number, read_expression(run, UNWIND_AT_EXPRESSION));
		return true;
	case DW_CFA_val_expression:
		number = read_varint(reader);
		set_rule(run, number, read_expression(run, UNWIND_EXPRESSION_VALUE));
		return true;
	default:
		return false;
	}
}

/* The other instructions; false: the description cannot be followed, or is at its end. */
static bool
execute_other(struct frame_run *run, uint8_t opcode)
{
	switch (opcode) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		return advance(run, read_distance(run, 1));
	case DW_CFA_advance_loc2:
		return advance(run, read_distance(run, 2));
	case DW_CFA_advance_loc4:
		return advance(run, read_distance(run, 4));
	case DW_CFA_remember_state:
		if (run->depth == REMEMBERED_MAX)
			return false;
		run->remembered[run->depth++] = run->now;
		return true;
	case DW_CFA_restore_state:
		if (run->depth == 0)
			return false;
		run->now = run->remembered[--run->depth];
		return true;
	case DW_CFA_GNU_args_size: /* for who throws an exception */
		read_varint(&run->reader);
		return true;
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC: /* a signature is removed whether there is one or not */
		return run->build->machine == UNWIND_AARCH64;
	default:
		return false;
	}
}

static bool
execute(struct frame_run *run)
{
	const uint8_t byte = read_u8(&run->reader), low = byte & 0x3f;

	switch (byte & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(run, low);
	case DW_CFA_offset:
		set_offset_rule(run, UNWIND_AT_CFA, low, (int64_t)read_varint(&run->reader));
		return true;
	case DW_CFA_restore:
		restore(run, low);
		return true;
	default:
		return execute_cfa(run, byte) || execute_rule(run, byte) || execute_other(run, byte);
	}
}

/* False: an instruction is not valid or not known; the rules from there on are not, either. */
static bool
execute_all(struct frame_run *run, const uint8_t *instructions, const uint8_t *end)
{
	reader_init(&run->reader, instructions, (size_t)(end - instructions));
	while (reader_left(&run->reader) > 0 && run->at < run->end)
		if (!execute(run) || run->reader.failed)
			return run->at == run->end;
	return true;
}

/*
 * The rules where the stack pointer is `depth` bytes below its value at the function's entry. x86-64: the return
 * address is at CFA - 8, and the compiler's functions save rbp at CFA - 16 (cmd/internal/obj/x86/obj6.go); where those
 * in assembly save it is not known. aarch64: x30 is at the stack pointer, and x29 below that
 * (cmd/internal/obj/arm64/obj7.go). For an instruction or two at a function's beginning the frame pointer is not saved
 * yet: only a caller that needs it, as runtime.nanotime1, would miss it.
 */
static void
make_go_rules(const struct build *build, const struct go_function *function, int64_t depth,
              struct unwind_frame_rules *rules)
{
	const bool is_arm = build->machine == UNWIND_AARCH64;
	const unsigned fp = is_arm ? UNWIND_AARCH64_FP : UNWIND_X86_64_RBP;
	const int64_t entry = is_arm ? 0 : 8; /* bytes above the stack pointer, at the function's entry */
	const int64_t saved_fp = is_arm ? -(depth + 8) : -16;
	struct unwind_rule *pc = &rules->registers[build->pc];

	*rules = (struct unwind_frame_rules){.cfa_register = build->sp, .cfa.value = depth + entry};
	*pc = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = is_arm ? -depth : -8};
	if (is_arm && depth == 0)
		*pc = (struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = UNWIND_AARCH64_LR};
	if (depth == 0)
		return;
	if (is_arm)
		rules->registers[UNWIND_AARCH64_LR] = *pc;
	rules->registers[fp] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = saved_fp};
	if (function->switches_stack) {
		rules->cfa_register = (uint8_t)fp;
		rules->cfa.value = -saved_fp;
	} else if (function->is_assembly) {
		rules->registers[fp] = (struct unwind_rule){.kind = UNWIND_UNDEFINED};
	}
}

/* Are the bytes between two functions only there for their alignment? */
static bool
is_padding(const struct build *build, uint64_t offset, uint64_t end)
{
	/* of x86-64's nops of all lengths, int3, and zeros: without a jump or a return, they are no function */
	static const uint8_t nops[] = {0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90, 0xcc};
	static const uint8_t arm_nop[] = {0x1f, 0x20, 0x03, 0xd5};
	const struct elf_segment *segment = elf_segments_at_offset(&build->segments, offset);
	const uint8_t *bytes = segment ? build->bytes[segment - build->segments.list] : NULL;

	if (!bytes || end - offset > PADDING_MAX || end - segment->offset > segment->size)
		return false;
	bytes += offset - segment->offset;
	for (size_t i = 0; i < end - offset; i++) {
		if (build->machine == UNWIND_X86_64 ? !memchr(nops, bytes[i], sizeof(nops))
		                                    : bytes[i] != 0 && bytes[i] != arm_nop[(offset + i) % 4])
			return false;
	}
	return true;
}

static int
write_go(const struct build *build, const struct described_code *code, uint64_t end)
{
	const struct go_function *function = &build->go[code->go - 1];
	struct unwind_frame_rules rules;
	struct go_stack stack;
	uint64_t covered = code->offset;
	int err = 0;

	if (function->begins_stack)
		return unwind_writer_add(build->writer, code->offset, &build->fixed.entry);
	go_stack_begin(&stack, &build->go_functions, function->stack);
	while (!err && covered < end && go_stack_next(&stack)) {
		make_go_rules(build, function, stack.depth, &rules);
		err = unwind_writer_add(build->writer, covered, &rules);
		covered = code->offset + stack.end;
	}
	if (!err && covered < end && !is_padding(build, covered, end))
		err = unwind_writer_add(build->writer, covered, NULL);
	return err;
}

/* The rows of one description, up to `end`; `run` is memory for it. 0 or -ENOMEM. */
static int
write_code(struct frame_run *run, const struct described_code *code, uint64_t end)
{
	struct unwind_writer *writer = run->build->writer;
	bool is_valid;

	if (code->fixed)
		return unwind_writer_add(writer, code->offset, code->fixed);
	if (code->go)
		return write_go(run->build, code, end);
	run->start = &run->build->starts[code->start];
	run->now = (struct frame_state){.rules.is_signal_frame = code->is_signal_frame};
	run->depth = 0;
	run->pushed = 0;
	run->at = code->offset;
	run->end = end;
	run->err = 0;
	is_valid = run->start->return_column <= run->build->pc &&
	           run->start->end - run->start->instructions <= START_MAX &&
	           execute_all(run, run->start->instructions, run->start->end) && run->at == code->offset;
	if (is_valid) {
		run->initial = run->now;
		is_valid = execute_all(run, code->instructions, code->instructions_end);
	}
	if (run->err)
		return run->err;
	if (run->at >= end)
		return 0;
	if (!is_valid)
		return unwind_writer_add(writer, run->at, NULL);
	emit(run);
	return run->err;
}

/* ---- code between what is described ---- */

typedef int gap_fn(struct build *build, const uint8_t *bytes, uint64_t size, uint64_t address, uint64_t offset);

/* The code of the file from `from` to `to`, by ascending offset, once. 0 or the function's error. */
static int
each_code_in(struct build *build, uint64_t from, uint64_t to, gap_fn *visit)
{
	int err = 0;

	for (uint64_t at = from, end; !err && at < to; at = end) {
		const struct elf_segment *found = NULL; /* the first that ends behind `at` */
		const uint8_t *bytes = NULL;
		uint64_t start;

		for (size_t i = 0; i < build->segments.count; i++) {
			const struct elf_segment *segment = &build->segments.list[i];

			if (!build->bytes[i] || segment->offset + segment->size <= at || segment->offset >= to ||
			    (found && segment->offset >= found->offset))
				continue;
			found = segment;
			bytes = build->bytes[i];
		}
		if (!found)
			return 0;
		start = found->offset > at ? found->offset : at;
		end = found->offset + found->size < to ? found->offset + found->size : to;
		err = visit(build, bytes + (start - found->offset), end - start,
		            found->address + (start - found->offset), start);
	}
	return err;
}

static int
look_at(struct build *build, const uint8_t *bytes, uint64_t size, uint64_t address, uint64_t offset)
{
	(void)address;
	(void)offset;
	frames_look_at(build->frames, bytes, size);
	return 0;
}

/* Does the code that nothing describes keep frame pointers? */
static bool
has_frame_pointers(struct build *build)
{
	uint64_t covered = 0;

	for (size_t i = 0; i < build->count; i++) {
		each_code_in(build, covered, build->code[i].offset, look_at);
		covered = build->code[i].end;
	}
	each_code_in(build, covered, UINT64_MAX, look_at);
	return frames_are_kept(build->frames);
}

/* What a function saves besides is somewhere below, so it is not known. */
static void
make_frame_rules(const struct build *build, const struct frame_place *place, struct unwind_frame_rules *rules)
{
	static const uint8_t kept_x86_64[] = {3, 12, 13, 14, 15}; /* rbx, r12 to r15 */
	static const uint8_t kept_aarch64[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
	const bool is_aarch64 = build->machine == UNWIND_AARCH64;
	const uint8_t fp = is_aarch64 ? UNWIND_AARCH64_FP : UNWIND_X86_64_RBP;
	const uint8_t *const registers = is_aarch64 ? kept_aarch64 : kept_x86_64;
	const size_t count = is_aarch64 ? ARRAY_COUNT(kept_aarch64) : ARRAY_COUNT(kept_x86_64);
	const struct unwind_frame_rules *called = &build->fixed.called;

	*rules = *called;
	rules->cfa_register = place->kind == FRAME_CALLED ? build->sp : fp;
	rules->cfa.value = place->depth;
	if (place->saved)
		rules->registers[fp] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -place->saved};
	if (place->saved && is_aarch64) /* with the return address */
		rules->registers[UNWIND_AARCH64_LR] = rules->registers[build->pc] =
			(struct unwind_rule){.kind = UNWIND_AT_CFA, .value = 8 - place->saved};
	if (place->kind == FRAME_LINKED)
		rules->registers[build->sp].kind = UNWIND_UNDEFINED;
	if (place->kind == FRAME_CALLED && place->depth == called->cfa.value)
		return;
	for (size_t i = 0; i < count; i++)
		rules->registers[registers[i]].kind = UNWIND_UNDEFINED;
}

struct frame_rows {
	struct build *build;
	uint64_t offset; /* in the file, of the stretch of code */
};

static int
add_frame_row(void *context, size_t offset, const struct frame_place *place)
{
	const struct frame_rows *rows = context;
	struct unwind_frame_rules rules;

	if (place->kind == FRAME_UNKNOWN)
		return unwind_writer_add(rows->build->writer, rows->offset + offset, NULL);
	make_frame_rules(rows->build, place, &rules);
	return unwind_writer_add(rows->build->writer, rows->offset + offset, &rules);
}

static int
write_frames(struct build *build, const uint8_t *bytes, uint64_t size, uint64_t address, uint64_t offset)
{
	struct frame_rows rows = {build, offset};

	return frames_each(build->frames, bytes, size, address, add_frame_row, &rows);
}

/* Between what is described. */
static int
write_gap(struct build *build, uint64_t from, uint64_t to)
{
	int err = from > 0 ? unwind_writer_add(build->writer, from, NULL) : 0;

	return err || !build->has_frame_pointers ? err : each_code_in(build, from, to, write_frames);
}

/* Rows of all code. Between two functions the rules of the first go on, if only padding is there: that saves rows. */
static int
write_all(struct build *build)
{
	struct frame_run run; /* large, and set anew for each description */
	uint64_t covered = 0;

	run.build = build;
	for (size_t i = 0, next; i < build->count; i = next) {
		const struct described_code *code = &build->code[i];
		uint64_t end = code->end;
		int err = 0;

		for (next = i + 1; next < build->count && build->code[next].offset == code->offset;)
			next++;
		if (next < build->count && build->code[next].offset < end)
			end = build->code[next].offset;
		if (covered < code->offset && (i == 0 || !is_padding(build, covered, code->offset)))
			err = write_gap(build, covered, code->offset);
		if (!err)
			err = write_code(&run, code, end);
		if (err)
			return err;
		covered = end;
	}
	return write_gap(build, covered, UINT64_MAX);
}

/*
 * Is the file's entry used? Linkers put one into some libraries, too, where their code begins: it is that of a program,
 * which names its dynamic linker, or of what needs no library, as a static program or the dynamic linker itself.
 */
static bool
is_entered(const struct build *build)
{
	const GElf_Phdr *dynamic = NULL;
	const Elf_Data *data = NULL;
	GElf_Phdr header, found;
	GElf_Dyn entry;
	size_t count;

	if (elf_getphdrnum(build->file->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(build->file->elf, (int)i, &header))
			continue;
		if (header.p_type == PT_INTERP)
			return true;
		if (header.p_type == PT_DYNAMIC && !dynamic) {
			found = header;
			dynamic = &found;
		}
	}
	if (dynamic && found.p_filesz <= DYNAMIC_SIZE_MAX)
		data = elf_getdata_rawchunk(build->file->elf, (int64_t)found.p_offset, found.p_filesz, ELF_T_DYN);
	for (int i = 0; data && gelf_getdyn((Elf_Data *)data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_NEEDED)
			return false;
	return true;
}

static int
collect(struct build *build, const struct elf_file *debug)
{
	struct call_frames frames;
	int err = 0;

	if (call_frames_find_eh_frame(&frames, build->file, &build->segments))
		err = call_frames_each(&frames, add_frame, build);
	sort_code(build);
	if (!err)
		err = add_sigreturns(build);
	sort_code(build);
	/* before .debug_frame, which Go's compiler writes, too: that knows no ends of stacks, and no frame pointers */
	if (!err)
		err = add_go(build);
	sort_code(build);
	if (!err && (call_frames_find_debug_frame(&frames, build->file) ||
	             (debug && call_frames_find_debug_frame(&frames, debug))))
		err = call_frames_each(&frames, add_frame, build);
	sort_code(build);
	if (!err)
		err = add_plts(build);
	if (!err)
		err = add_startup(build);
	/* the kernel, or the dynamic linker of a program, jumps to the entry: it has no caller */
	if (!err && build->file->header.e_entry && is_entered(build))
		err = add_fixed(build, build->file->header.e_entry, ENTRY_SIZE, &build->fixed.entry);
	sort_code(build);
	if (err)
		return err;
	build->has_frame_pointers = has_frame_pointers(build);
	return build->count || build->has_frame_pointers ? 0 : -ENOENT;
}

/* 0, or -ENOTSUP. */
static int
find_machine(struct build *build)
{
	const GElf_Ehdr *header = &build->file->header;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	switch (header->e_machine) {
	case EM_X86_64:
		build->machine = UNWIND_X86_64;
		build->pc = UNWIND_X86_64_RIP;
		build->sp = UNWIND_X86_64_RSP;
		return 0;
	case EM_AARCH64:
		build->machine = UNWIND_AARCH64;
		build->pc = UNWIND_AARCH64_PC;
		build->sp = UNWIND_AARCH64_SP;
		return 0;
	default:
		return -ENOTSUP;
	}
}

static void
read_text(struct build *build)
{
	for (size_t i = 0; i < build->segments.count; i++) {
		const struct elf_segment *segment = &build->segments.list[i];
		const Elf_Data *data = NULL;

		if (segment->executable && segment->size <= ELF_SECTION_SIZE_MAX)
			data = elf_getdata_rawchunk(build->file->elf, (int64_t)segment->offset, segment->size,
			                            ELF_T_BYTE);
		build->bytes[i] = data ? data->d_buf : NULL;
	}
}

int
unwind_build(const struct elf_file *file, const struct elf_file *debug, uint8_t **bytes, size_t *size)
{
	struct build build = {.file = file};
	int err = find_machine(&build);

	if (err)
		return err;
	err = elf_segments_read(&build.segments, file);
	if (err)
		return err;
	read_text(&build);
	make_fixed_rules(&build);
	build.writer = unwind_writer_new(build.machine);
	build.frames = frames_new(build.machine);
	err = build.writer && build.frames ? collect(&build, debug) : -ENOMEM;
	if (!err)
		err = write_all(&build);
	if (!err)
		err = unwind_writer_finish(build.writer, bytes, size);
	unwind_writer_free(build.writer);
	frames_free(build.frames);
	free(build.starts);
	free(build.code);
	free(build.go);
	return err;
}
