/*
 * replica - executes some instructions in the place of a thread; see replica.h
 *
 * It executes a stretch of them at once: up to one that decides where control goes, by a flag or what is in a register
 * or in memory. There a breakpoint is planted, into the copy that the replica has of that page. Its handler works out
 * where control goes (branch_x86_64.h) and begins the next stretch. That is an exception for each conditional branch,
 * and not one for each instruction by the trap flag, which on virtual machines costs five times as much. A page that is
 * missing is brought by the handler of SIGSEGV.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "dcpi-tools/x/replica/kernel_x86_64.h"
#include "dcpi-tools/x/replica/memory_x86_64.h"
#include "dcpi-tools/x/replica/stretch_x86_64.h"

#define STACK_SIZE     65536
#define SET_GS         0x1001
#define SET_FS         0x1002
#define SIGNALS_SIZE   8
#define FLAG_RESTORER  0x04000000
#define SOFTWARE_PART  464 /* of the vectors: what the kernel says about a signal's frame, 48 bytes */
#define HEADER_PART    512 /* of the vectors: which of their parts are there, 64 bytes */
#define SOFTWARE_MAGIC 0x46505853u

/* How the kernel tells the vectors of a signal's frame. */
struct software_part {
	uint32_t magic, extended_size;
	uint64_t parts;
	uint32_t size;
};

struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* All there is; the program begins again at replica_serve() after each burst. */
static struct {
	struct x_stretch stretch;
	bool is_running;
} state;

uint8_t replica_stack[STACK_SIZE] __attribute__((aligned(64)));
static uint8_t signal_stack[STACK_SIZE] __attribute__((aligned(64)));

void replica_main(void) __attribute__((noreturn));
void replica_serve(void) __attribute__((noreturn));
void replica_restore(void) __attribute__((visibility("hidden")));
void replica_again(void) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".globl _start\n_start:\n"
        "	lea replica_stack+65536(%rip), %rsp\n"
        "	call replica_main\n"
        ".globl replica_restore\nreplica_restore:\n"
        "	mov $15, %eax\n"
        "	syscall\n"
        ".globl replica_again\nreplica_again:\n"
        "	lea replica_stack+65536(%rip), %rsp\n"
        "	call replica_serve\n");

/* The vector registers, into what the kernel will take them from. What it says of them itself stays. */
static bool
take_vectors(ucontext_t *user)
{
	uint8_t *vectors = (uint8_t *)user->uc_mcontext.fpregs;
	const struct replica_shared *shared = state.stretch.shared;
	const struct software_part *software = (const struct software_part *)(vectors + SOFTWARE_PART);
	const uint32_t size = shared->vectors_size;
	uint64_t parts;

	copy_bytes(vectors, shared->vectors, SOFTWARE_PART);
	if (software->magic != SOFTWARE_MAGIC || size < HEADER_PART + sizeof(parts))
		return true;
	parts = *(const uint64_t *)(shared->vectors + HEADER_PART);
	copy_bytes(vectors + HEADER_PART, shared->vectors + HEADER_PART,
	           (size < software->size ? size : software->size) - HEADER_PART);
	return (parts & ~software->parts) == 0;
}

/* As the thread, when the handler of the trap by which a request begins returns. */
static enum replica_end
become_thread(ucontext_t *user)
{
	static const uint8_t names[] = {REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13,
	                                REG_R14, REG_R15, REG_RDI, REG_RSI, REG_RBP, REG_RBX,
	                                REG_RDX, REG_RAX, REG_RCX, REG_RSP, REG_RIP, REG_EFL};
	const struct user_regs_struct *from = &state.stretch.shared->registers;
	const uint64_t values[] = {from->r8,  from->r9,  from->r10, from->r11, from->r12, from->r13,
	                           from->r14, from->r15, from->rdi, from->rsi, from->rbp, from->rbx,
	                           from->rdx, from->rax, from->rcx, from->rsp, from->rip, from->eflags};

	for (size_t i = 0; i < sizeof(names); i++)
		user->uc_mcontext.gregs[names[i]] = (greg_t)values[i];
	if (!take_vectors(user))
		return REPLICA_END_VECTORS;
	kernel_call(SYS_arch_prctl, SET_FS, from->fs_base, 0, 0, 0, 0);
	kernel_call(SYS_arch_prctl, SET_GS, from->gs_base, 0, 0, 0, 0);
	return stretch_begin(&state.stretch, user);
}

/* On with the next request when the handler returns. What comes next is the last of the places. */
static void
finish(ucontext_t *user, enum replica_end end)
{
	struct replica_shared *shared = state.stretch.shared;

	shared->places[shared->count++] = (uint64_t)user->uc_mcontext.gregs[REG_RIP];
	shared->end = end;
	state.is_running = false;
	user->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)replica_again;
}

static void
handle(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;
	enum replica_end end;

	if (!state.is_running) {
		if (number != SIGTRAP)
			kernel_leave();
		state.is_running = true;
		end = become_thread(user);
	} else if (number == SIGTRAP && info->si_code == SI_KERNEL) {
		end = stretch_next(&state.stretch, user);
	} else if (number == SIGSEGV && info->si_code == SEGV_MAPERR &&
	           memory_has_page((uint64_t)(uintptr_t)info->si_addr)) {
		return; /* it begins that instruction again */
	} else {
		end = stretch_break_off(&state.stretch, user);
	}
	if (end)
		finish(user, end);
}

static void
handle_signals(void)
{
	static const int numbers[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	const struct kernel_action action = {
		.handler = handle,
		.flags = SA_SIGINFO | SA_ONSTACK | FLAG_RESTORER,
		.restorer = replica_restore,
		.mask = ~UINT64_C(0),
	};
	const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};

	if (kernel_call(SYS_sigaltstack, (uintptr_t)&stack, 0, 0, 0, 0, 0))
		kernel_leave();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (kernel_call(SYS_rt_sigaction, (uint64_t)numbers[i], (uintptr_t)&action, 0, SIGNALS_SIZE, 0, 0))
			kernel_leave();
}

void
replica_serve(void)
{
	uint8_t byte = 0;

	if (kernel_call(SYS_write, REPLICA_CONTROL, (uintptr_t)&byte, 1, 0, 0, 0) != 1)
		kernel_leave();
	memory_drop();
	if (kernel_call(SYS_read, REPLICA_CONTROL, (uintptr_t)&byte, 1, 0, 0, 0) != 1)
		kernel_leave();
	state.stretch.shared->count = 0;
	state.stretch.planted_at = 0;
	__asm__ volatile("int3" : : : "memory");
	kernel_leave();
}

void
replica_main(void)
{
	const uint64_t place = REPLICA_END - ((sizeof(struct replica_shared) + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1));

	if (kernel_call(SYS_mmap, place, REPLICA_END - place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
	                REPLICA_SHARED, 0) != (long)place)
		kernel_leave();
	state.stretch.shared = (struct replica_shared *)(uintptr_t)place;
	kernel_call(SYS_close, REPLICA_SHARED, 0, 0, 0, 0, 0);
	handle_signals();
	kernel_give_up_calls();
	replica_serve();
}
