/*
 * dcpi-replica - executes some instructions in the place of a thread; see replica.h
 *
 * A freestanding program, without a library. It executes a trace natively: instructions up to one whose successor
 * depends on a flag, a register or memory. There it plants a breakpoint, into its copy of that page. The handler of the
 * breakpoint works out where control goes (branch_x86_64.h) and begins the next trace. That costs an exception for each
 * conditional branch, and not one for each instruction as the trap flag would, which on virtual machines is five times
 * slower. A page that is missing is brought by the handler of SIGSEGV.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "dcpi-tools/x/replica/branch_x86_64.h"
#include "dcpi-tools/x/replica/call_filter.h"
#include "dcpi-tools/x/replica/replica.h"

#define MEMORY_PAGE    UINT64_C(4096)
#define ADDRESSES_END  UINT64_C(0x7ffffffff000)
#define PAGES_MAX      512
#define PROTECTION     (PROT_READ | PROT_WRITE | PROT_EXEC)
#define BREAKPOINT     0xcc
#define STACK_SIZE     65536
#define SET_GS         0x1001
#define SET_FS         0x1002
#define SIGNALS_SIZE   8
#define FLAG_RESTORER  0x04000000
#define SOFTWARE_PART  464 /* of the vectors: what the kernel says about a signal's frame, 48 bytes */
#define HEADER_PART    512 /* of the vectors: which of their parts are there, 64 bytes */
#define SOFTWARE_MAGIC 0x46505853u

static long
kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
}

static void
copy_bytes(void *to, const void *from, uint64_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void *memset(void *to, int byte, size_t size);

/* Not static: the compiler may call it. */
void *
memset(void *to, int byte, size_t size)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
	return to;
}

static __attribute__((noreturn)) void
kernel_leave(void)
{
	for (;;)
		kernel_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
}

/*
 * What is executed here is another program's code: from now on only the calls that bring pages, those between dcpix and
 * us, and exit_group() are allowed. Ends if that cannot be set.
 */
static void
kernel_give_up_calls(void)
{
	/* clang-format off */
	static const struct sock_filter filter[] = {
		LOAD(arch),
		UNLESS(AUDIT_ARCH_X86_64, 23), /* to KILL */
		LOAD(nr),
		UNLESS(SYS_rt_sigreturn, 1), ALLOW,
		UNLESS(SYS_mmap, 1), ALLOW,
		UNLESS(SYS_munmap, 1), ALLOW,
		UNLESS(SYS_arch_prctl, 1), ALLOW,
		UNLESS(SYS_exit_group, 1), ALLOW,
		UNLESS(SYS_pread64, 3), LOAD(args[0]), UNLESS(REPLICA_MEMORY, 9), ALLOW,
		UNLESS(SYS_read, 3), LOAD(args[0]), UNLESS(REPLICA_CONTROL, 5), ALLOW,
		UNLESS(SYS_write, 3), LOAD(args[0]), UNLESS(REPLICA_CONTROL, 1), ALLOW,
		KILL,
	};
	/* clang-format on */
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), (void *)(uintptr_t)filter};

	if (kernel_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) ||
	    kernel_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (uintptr_t)&program, 0, 0, 0))
		kernel_leave();
}

/* Copies of the pages of the process, each from when it was first touched in a burst. */
static struct {
	uint64_t pages[PAGES_MAX];
	size_t count;
} copied;

/* Is the page at this address here? If not, bring it; false when it cannot be had. */
static bool
memory_has_page(uint64_t address)
{
	const uint64_t page = address & ~(MEMORY_PAGE - 1);

	for (size_t i = copied.count; i-- > 0;)
		if (copied.pages[i] == page)
			return true;
	if (copied.count == PAGES_MAX || (page >= REPLICA_START && page < REPLICA_END) || page >= ADDRESSES_END)
		return false;
	if (kernel_call(SYS_mmap, page, MEMORY_PAGE, PROTECTION, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1,
	                0) != (long)page)
		return false;
	if (kernel_call(SYS_pread64, REPLICA_MEMORY, page, MEMORY_PAGE, page, 0, 0) != (long)MEMORY_PAGE) {
		kernel_call(SYS_munmap, page, MEMORY_PAGE, 0, 0, 0, 0);
		return false;
	}
	copied.pages[copied.count++] = page;
	return true;
}

static bool
has_pages(uint64_t address, uint64_t size)
{
	return memory_has_page(address) && memory_has_page(address + size - 1);
}

static bool
memory_read(uint64_t address, uint64_t *value)
{
	if (!has_pages(address, sizeof(*value)))
		return false;
	copy_bytes(value, (const void *)(uintptr_t)address, sizeof(*value));
	return true;
}

static bool
memory_write(uint64_t address, uint64_t value)
{
	if (!has_pages(address, sizeof(value)))
		return false;
	copy_bytes((void *)(uintptr_t)address, &value, sizeof(value));
	return true;
}

/* The pages were copied for one burst, and are out of date after it. */
static void
memory_drop(void)
{
	copied.count = 0;
	kernel_call(SYS_munmap, 0, REPLICA_START, 0, 0, 0, 0);
	kernel_call(SYS_munmap, REPLICA_END, ADDRESSES_END - REPLICA_END, 0, 0, 0, 0);
}

/* Instructions that are executed natively at one go, up to one that decides where control goes. */
struct replica_trace {
	struct replica_shared *shared;
	uint32_t begin;      /* in shared->places: what is being executed */
	uint64_t planted_at; /* 0: nowhere */
	uint8_t planted_over;
};

static bool
read_instruction(uint64_t place, struct x86_encoding *encoding)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)place;
	const uint64_t left = MEMORY_PAGE - (place & (MEMORY_PAGE - 1));

	if (!memory_has_page(place))
		return false;
	if (x86_encoding_parse(code, left < X86_LONGEST ? left : X86_LONGEST, encoding) == 0)
		return true;
	return left < X86_LONGEST && memory_has_page(place + left) &&
	       x86_encoding_parse(code, X86_LONGEST, encoding) == 0;
}

static bool
is_complete(const struct replica_shared *shared)
{
	return shared->count >= shared->steps_max || shared->count >= REPLICA_STEPS_MAX;
}

/*
 * Note the instructions that will certainly be executed from here on. Direct jumps forward are followed, so that no
 * instruction occurs twice. Returns where the next one is no longer certain: there the breakpoint goes.
 */
static uint64_t
note_certain(struct replica_trace *trace, uint64_t place)
{
	struct replica_shared *shared = trace->shared;
	struct x86_encoding encoding;

	trace->begin = shared->count;
	while (!is_complete(shared) && read_instruction(place, &encoding)) {
		const enum branch_kind kind = branch_kind_of(&encoding);
		const uint64_t next = kind == BRANCH_DIRECT ? branch_target(&encoding, place) : place + encoding.size;

		if (kind == BRANCH_DECIDED || kind == BRANCH_LEAVES || next <= place || !memory_has_page(next))
			break;
		shared->places[shared->count++] = place;
		place = next;
	}
	return place;
}

/* At the end of a trace: work out where control goes. */
static enum replica_end
decide(struct replica_trace *trace, ucontext_t *user)
{
	struct replica_shared *shared = trace->shared;
	const struct branch_memory memory = {memory_read, memory_write, shared->registers.fs_base,
	                                     shared->registers.gs_base};
	const uint64_t place = (uint64_t)user->uc_mcontext.gregs[REG_RIP];
	const uint8_t *code = (const uint8_t *)(uintptr_t)place;
	struct x86_encoding encoding;
	enum branch_kind kind;

	if (is_complete(shared))
		return REPLICA_END_STEPS;
	if (__atomic_load_n(&shared->must_end, __ATOMIC_RELAXED))
		return REPLICA_END_TIME;
	if (!read_instruction(place, &encoding))
		return REPLICA_END_FAULT;
	kind = branch_kind_of(&encoding);
	if (kind == BRANCH_LEAVES)
		return REPLICA_END_CALL;
	if (kind == BRANCH_NONE || !branch_take(code, &encoding, user->uc_mcontext.gregs, &memory))
		return REPLICA_END_FAULT;
	shared->places[shared->count++] = place;
	return 0;
}

/*
 * trace_begin(), trace_abort() and trace_continue() run in the handler of a signal and set the registers for its
 * return. 0, or the end of the burst; then the registers are those of the instruction that would have come next.
 */
static enum replica_end
trace_begin(struct replica_trace *trace, ucontext_t *user)
{
	enum replica_end end;
	uint64_t place;

	do {
		place = note_certain(trace, (uint64_t)user->uc_mcontext.gregs[REG_RIP]);
		if (place != (uint64_t)user->uc_mcontext.gregs[REG_RIP]) {
			uint8_t *code = (uint8_t *)(uintptr_t)place;

			trace->planted_at = place;
			trace->planted_over = *code;
			*code = BREAKPOINT;
			return 0;
		}
		end = decide(trace, user);
	} while (!end);
	return end;
}

/* At a fault: instructions of the trace from this address on were not executed, and are not noted. */
static enum replica_end
trace_abort(struct replica_trace *trace, ucontext_t *user)
{
	struct replica_shared *shared = trace->shared;
	uint32_t at = trace->begin;

	while (at < shared->count && shared->places[at] != (uint64_t)user->uc_mcontext.gregs[REG_RIP])
		at++;
	shared->count = at < shared->count ? at : trace->begin;
	return REPLICA_END_FAULT;
}

static enum replica_end
trace_continue(struct replica_trace *trace, ucontext_t *user)
{
	const uint64_t place = (uint64_t)user->uc_mcontext.gregs[REG_RIP] - 1;

	if (place != trace->planted_at) /* a breakpoint that the program itself has just written */
		return trace_abort(trace, user);
	*(uint8_t *)(uintptr_t)place = trace->planted_over;
	user->uc_mcontext.gregs[REG_RIP] = (greg_t)place;
	return trace_begin(trace, user);
}

/* The kernel's description of the vectors in a signal's frame. */
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

/* The whole state; the program begins again at replica_serve() after each burst. */
static struct {
	struct replica_trace trace;
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

/* The vector registers, into the signal's frame that the kernel restores. Its description of the frame stays. */
static bool
take_vectors(ucontext_t *user)
{
	uint8_t *vectors = (uint8_t *)user->uc_mcontext.fpregs;
	const struct replica_shared *shared = state.trace.shared;
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

/* At the trap by which a request begins: when its handler returns, the registers are the thread's. */
static enum replica_end
become_thread(ucontext_t *user)
{
	static const uint8_t names[] = {REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13,
	                                REG_R14, REG_R15, REG_RDI, REG_RSI, REG_RBP, REG_RBX,
	                                REG_RDX, REG_RAX, REG_RCX, REG_RSP, REG_RIP, REG_EFL};
	const struct user_regs_struct *from = &state.trace.shared->registers;
	const uint64_t values[] = {from->r8,  from->r9,  from->r10, from->r11, from->r12, from->r13,
	                           from->r14, from->r15, from->rdi, from->rsi, from->rbp, from->rbx,
	                           from->rdx, from->rax, from->rcx, from->rsp, from->rip, from->eflags};

	for (size_t i = 0; i < sizeof(names); i++)
		user->uc_mcontext.gregs[names[i]] = (greg_t)values[i];
	if (!take_vectors(user))
		return REPLICA_END_VECTORS;
	kernel_call(SYS_arch_prctl, SET_FS, from->fs_base, 0, 0, 0, 0);
	kernel_call(SYS_arch_prctl, SET_GS, from->gs_base, 0, 0, 0, 0);
	return trace_begin(&state.trace, user);
}

/* End the burst: when the handler returns, the next request is served. The last of the places was not executed. */
static void
finish(ucontext_t *user, enum replica_end end)
{
	struct replica_shared *shared = state.trace.shared;

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
		end = trace_continue(&state.trace, user);
	} else if (number == SIGSEGV && info->si_code == SEGV_MAPERR &&
	           memory_has_page((uint64_t)(uintptr_t)info->si_addr)) {
		return; /* the instruction is executed again */
	} else {
		end = trace_abort(&state.trace, user);
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
	state.trace.shared->count = 0;
	state.trace.planted_at = 0;
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
	state.trace.shared = (struct replica_shared *)(uintptr_t)place;
	kernel_call(SYS_close, REPLICA_SHARED, 0, 0, 0, 0, 0);
	handle_signals();
	kernel_give_up_calls();
	replica_serve();
}
