/*
 * machine.h - one instruction, run by this CPU on registers and memory of one's choice
 *
 * A child that is traced and stepped: whatever the instruction does - faults, jumps into nowhere - harms nobody. x86-64
 * only.
 */
#ifndef DCPI_TESTS_CODE_MACHINE_H
#define DCPI_TESTS_CODE_MACHINE_H

#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MACHINE_VECTOR   64 /* bytes of a register */
#define MACHINE_MEMORY   8192
#define ARITHMETIC_FLAGS 0x8d5u
#define STEPS_MAX        64 /* of a repeated string instruction */

struct machine_state {
	uint64_t general[16];
	uint64_t flags; /* the arithmetic ones */
	uint64_t pc;    /* set by the run */
	uint8_t vector[32][MACHINE_VECTOR];
	uint64_t mask[8];
	uint8_t x87[8][16];
	uint8_t memory[MACHINE_MEMORY];
};

/* Where the parts of registers are in the area that XSAVE and ptrace share; 0: this CPU has none. */
struct machine_layout {
	uint32_t high128, mask, high256, high16, size;
};

struct traced_machine {
	pid_t child;
	uint8_t *code, *memory;
	struct machine_layout layout;
};

static inline uint32_t
machine_component(uint32_t number)
{
	uint32_t size, offset, c, d;

	if (!__get_cpuid_count(0xd, number, &size, &offset, &c, &d) || size == 0)
		return 0;
	return offset;
}

static inline void
machine_child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(1);
}

static inline void
machine_free(struct traced_machine *machine)
{
	if (machine->child > 0) {
		kill(machine->child, SIGKILL);
		waitpid(machine->child, NULL, 0);
	}
	munmap(machine->code, 4096);
	munmap(machine->memory, MACHINE_MEMORY);
	free(machine);
}

/* NULL when the kernel does not let us trace, or has no executable memory for us. */
static inline struct traced_machine *
machine_new(void)
{
	struct traced_machine *machine = calloc(1, sizeof(*machine));
	int status, protection = PROT_READ | PROT_WRITE;

	if (!machine)
		return NULL;
	machine->layout = (struct machine_layout){machine_component(2), machine_component(5), machine_component(6),
	                                          machine_component(7), 0};
	machine->code = mmap(NULL, 4096, protection | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	machine->memory = mmap(NULL, MACHINE_MEMORY, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (machine->code == MAP_FAILED || machine->memory == MAP_FAILED)
		return NULL;
	machine->child = fork();
	if (machine->child == 0)
		machine_child();
	if (machine->child > 0 && waitpid(machine->child, &status, 0) == machine->child && WIFSTOPPED(status))
		return machine;
	machine_free(machine);
	return NULL;
}

/* Between the struct and the area of XSAVE, in one direction or the other. */
static inline void
machine_copy(void *state, uint8_t *area, size_t size, bool to_area)
{
	if (to_area)
		memcpy(area, state, size);
	else
		memcpy(state, area, size);
}

static inline void
machine_vectors(const struct machine_layout *layout, struct machine_state *state, uint8_t *area, bool to_area)
{
	for (size_t i = 0; i < 8; i++) {
		machine_copy(state->x87[i], area + 32 + 16 * i, 10, to_area);
		if (layout->mask)
			machine_copy(&state->mask[i], area + layout->mask + 8 * i, 8, to_area);
	}
	for (size_t i = 0; i < 16; i++) {
		machine_copy(state->vector[i], area + 160 + 16 * i, 16, to_area);
		if (layout->high128)
			machine_copy(state->vector[i] + 16, area + layout->high128 + 16 * i, 16, to_area);
		if (layout->high256)
			machine_copy(state->vector[i] + 32, area + layout->high256 + 32 * i, 32, to_area);
		if (layout->high16)
			machine_copy(state->vector[16 + i], area + layout->high16 + 64 * i, 64, to_area);
	}
}

/* Parts of registers that this CPU does not have are zero, before and after. */
static inline void
machine_clip(const struct traced_machine *machine, struct machine_state *state)
{
	const struct machine_layout *layout = &machine->layout;

	for (size_t i = 0; i < 16; i++) {
		if (!layout->high128)
			memset(state->vector[i] + 16, 0, 16);
		if (!layout->high256)
			memset(state->vector[i] + 32, 0, 32);
		if (!layout->high16)
			memset(state->vector[16 + i], 0, MACHINE_VECTOR);
	}
	if (!layout->mask)
		memset(state->mask, 0, sizeof(state->mask));
}

static inline void
machine_general(struct machine_state *state, struct user_regs_struct *regs, bool to_regs)
{
	unsigned long long *const places[16] = {&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx, &regs->rsp, &regs->rbp,
	                                        &regs->rsi, &regs->rdi, &regs->r8,  &regs->r9,  &regs->r10, &regs->r11,
	                                        &regs->r12, &regs->r13, &regs->r14, &regs->r15};

	for (size_t i = 0; i < 16; i++) {
		if (to_regs)
			*places[i] = state->general[i];
		else
			state->general[i] = *places[i];
	}
}

static inline int
machine_load(struct traced_machine *machine, struct machine_state *state)
{
	static const uint64_t enabled = 0xe7; /* x87, SSE, AVX, masks, both parts of AVX-512 */
	static uint8_t area[16384];
	struct iovec part = {area, sizeof(area)};
	struct user_regs_struct regs;
	uint64_t present;

	memcpy(machine->memory, state->memory, MACHINE_MEMORY);
	if (ptrace(PTRACE_GETREGS, machine->child, NULL, &regs) != 0)
		return -1;
	machine_general(state, &regs, true);
	regs.rip = (uint64_t)(uintptr_t)machine->code;
	regs.orig_rax = UINT64_MAX;
	regs.eflags = (regs.eflags & ~(unsigned long long)(ARITHMETIC_FLAGS | 0x500)) | state->flags;
	if (ptrace(PTRACE_SETREGS, machine->child, NULL, &regs) != 0)
		return -1;
	if (ptrace(PTRACE_GETREGSET, machine->child, (void *)NT_X86_XSTATE, &part) != 0)
		return -1;
	machine_vectors(&machine->layout, state, area, true);
	memcpy(area, "\x7f\x03\x00\x00\xff", 5); /* the x87: its control word, top 0, no register empty */
	memcpy(area + 24, "\x80\x1f\x00\x00", 4);
	memcpy(&present, area + 464, sizeof(present)); /* what the kernel enabled stands in the part for software */
	present &= enabled;
	memcpy(area + 512, &present, sizeof(present));
	return (int)ptrace(PTRACE_SETREGSET, machine->child, (void *)NT_X86_XSTATE, &part);
}

static inline int
machine_store(struct traced_machine *machine, struct machine_state *state)
{
	static uint8_t area[16384];
	struct iovec part = {area, sizeof(area)};
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, machine->child, NULL, &regs) != 0)
		return -1;
	if (ptrace(PTRACE_GETREGSET, machine->child, (void *)NT_X86_XSTATE, &part) != 0)
		return -1;
	machine_general(state, &regs, false);
	machine_vectors(&machine->layout, state, area, false);
	state->flags = regs.eflags & ARITHMETIC_FLAGS;
	state->pc = regs.rip;
	memcpy(state->memory, machine->memory, MACHINE_MEMORY);
	return 0;
}

/* Run the instruction on *state, which becomes what it left. 0, the signal that it got instead, or -1. */
static inline int
machine_run(struct traced_machine *machine, const uint8_t *bytes, size_t size, struct machine_state *state)
{
	uint64_t start = (uint64_t)(uintptr_t)machine->code;
	int status;

	memset(machine->code, 0x90, 32);
	memcpy(machine->code, bytes, size);
	if (machine_load(machine, state) != 0)
		return -1;
	for (size_t i = 0; i < STEPS_MAX; i++) {
		if (ptrace(PTRACE_SINGLESTEP, machine->child, NULL, NULL) != 0)
			return -1;
		if (waitpid(machine->child, &status, 0) != machine->child || !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) != SIGTRAP)
			return WSTOPSIG(status);
		if (machine_store(machine, state) != 0)
			return -1;
		if (state->pc != start)
			return 0;
	}
	return SIGXCPU;
}

#endif
