/* The shadow process is stepped by ptrace(2), and has its pages brought by system calls that it is made to make. */
#if defined(__aarch64__)
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "dcpi-tools/x/shadow_process_internal.h"

#define PAGE          UINT64_C(4096)
#define ADDRESSES_END (UINT64_C(1) << 48)
#define PROTECTION    (PROT_READ | PROT_WRITE | PROT_EXEC)
#define POINTER_KEYS  0x407 /* NT_ARM_PACA_KEYS, which older headers lack */

int
shadow_process_prepare(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? -1 : 0;
}

/* The signal that it stopped at; -EPIPE when it is gone. */
static int
wait_for_stop(struct shadow_process *shadow)
{
	int status;

	while (waitpid(shadow->pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -EPIPE;
	return WIFSTOPPED(status) ? WSTOPSIG(status) : -EPIPE;
}

static int
resume(struct shadow_process *shadow, int how)
{
	return ptrace(how, shadow->pid, NULL, NULL) < 0 ? -EPIPE : wait_for_stop(shadow);
}

static int
move_registers(int how, pid_t pid, int set, void *registers, size_t size)
{
	struct iovec part = {registers, size};

	return ptrace(how, pid, (void *)(uintptr_t)set, &part) < 0 ? -errno : (int)part.iov_len;
}

static int
get_registers(const struct shadow_process *shadow, struct user_regs_struct *registers)
{
	return move_registers(PTRACE_GETREGSET, shadow->pid, NT_PRSTATUS, registers, sizeof(*registers)) < 0 ? -EPIPE
	                                                                                                     : 0;
}

static int
set_registers(const struct shadow_process *shadow, struct user_regs_struct *registers)
{
	return move_registers(PTRACE_SETREGSET, shadow->pid, NT_PRSTATUS, registers, sizeof(*registers)) < 0 ? -EPIPE
	                                                                                                     : 0;
}

int
shadow_process_begin(struct shadow_process *shadow)
{
	struct user_regs_struct registers;

	if (wait_for_stop(shadow) != SIGTRAP) /* at its execve(2) */
		return -EPIPE;
	if (ptrace(PTRACE_SETOPTIONS, shadow->pid, NULL, PTRACE_O_EXITKILL) < 0 ||
	    resume(shadow, PTRACE_CONT) != SIGTRAP || get_registers(shadow, &registers))
		return -EPIPE;
	shadow->call_at = registers.pc - 4;
	return 0;
}

/* What the system call returned; -EPIPE also when it could not be made. */
static int64_t
make_call(struct shadow_process *shadow, uint64_t number, const uint64_t arguments[6])
{
	struct user_regs_struct registers;

	if (get_registers(shadow, &registers))
		return -EPIPE;
	memcpy(registers.regs, arguments, 6 * sizeof(arguments[0]));
	registers.regs[8] = number;
	registers.pc = shadow->call_at;
	if (set_registers(shadow, &registers) || resume(shadow, PTRACE_CONT) != SIGTRAP ||
	    get_registers(shadow, &registers))
		return -EPIPE;
	return (int64_t)registers.regs[0];
}

/* Is the page here? If not, bring it. Registers are others afterwards. */
static bool
bring_page(struct shadow_process *shadow, uint64_t address)
{
	const uint64_t page = address & ~(PAGE - 1);
	const uint64_t map[6] = {page, PAGE, PROTECTION, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0};
	const uint64_t read[6] = {SHADOW_MEMORY, page, PAGE, page};

	if (shadow->page_count == SHADOW_PAGES_MAX || page >= ADDRESSES_END ||
	    (page >= SHADOW_START && page < SHADOW_END))
		return false;
	if (make_call(shadow, SYS_mmap, map) != (int64_t)page || make_call(shadow, SYS_pread64, read) != PAGE)
		return false;
	shadow->pages[shadow->page_count++] = page;
	return true;
}

static bool
has_page(const struct shadow_process *shadow, uint64_t address)
{
	for (size_t i = shadow->page_count; i-- > 0;)
		if (shadow->pages[i] == (address & ~(PAGE - 1)))
			return true;
	return false;
}

/* The pages were copied for one burst, and are out of date after it. */
static int
drop_pages(struct shadow_process *shadow)
{
	const uint64_t below[6] = {0, SHADOW_START}, above[6] = {SHADOW_END, ADDRESSES_END - SHADOW_END};

	shadow->page_count = 0;
	/* Where addresses have 39 bits, the end is lower. */
	if (make_call(shadow, SYS_munmap, below) == 0 && make_call(shadow, SYS_munmap, above) == 0)
		return 0;
	return make_call(shadow, SYS_munmap, (const uint64_t[6]){SHADOW_END, (UINT64_C(1) << 39) - SHADOW_END}) == 0
	               ? 0
	               : -EPIPE;
}

/* Vectors, the thread's pointer, and the keys that sign pointers where there are some. */
static int
become_thread(struct shadow_process *shadow, const struct stopped_thread *thread)
{
	static const int sets[] = {NT_PRFPREG, NT_ARM_TLS, POINTER_KEYS};
	struct user_regs_struct registers = thread->registers;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		int size = move_registers(PTRACE_GETREGSET, thread->tid, sets[i], shadow->shared->vectors,
		                          sizeof(shadow->shared->vectors));

		if (size < 0 && sets[i] == POINTER_KEYS)
			continue;
		if (size < 0)
			return size;
		if (move_registers(PTRACE_SETREGSET, shadow->pid, sets[i], shadow->shared->vectors, (size_t)size) < 0)
			return -EPIPE;
	}
	return set_registers(shadow, &registers);
}

/* A system call or a breakpoint; and a load that a step would take the exclusiveness from. */
static bool
must_not_be_stepped(uint32_t code)
{
	return (code & 0xff000000) == 0xd4000000 || (code & 0x3f400000) == 0x08400000;
}

/* After a stop that is no step's: can it go on, with a page more? */
static bool
mend(struct shadow_process *shadow, int signal_number, struct user_regs_struct *registers)
{
	siginfo_t info;

	return signal_number == SIGSEGV && ptrace(PTRACE_GETSIGINFO, shadow->pid, NULL, &info) == 0 &&
	       info.si_code == SEGV_MAPERR && get_registers(shadow, registers) == 0 &&
	       bring_page(shadow, (uint64_t)(uintptr_t)info.si_addr) && set_registers(shadow, registers) == 0;
}

/* One instruction; 0, or why the burst ends here; -EPIPE. */
static int
step(struct shadow_process *shadow, struct user_regs_struct *registers)
{
	const uint64_t place = registers->pc;
	int stop, tries = 0;
	long code;

	if (!has_page(shadow, place) && (!bring_page(shadow, place) || set_registers(shadow, registers)))
		return SHADOW_END_FAULT;
	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, shadow->pid, (void *)place, NULL);
	if (errno || must_not_be_stepped((uint32_t)code))
		return errno ? SHADOW_END_FAULT : SHADOW_END_CALL;
	while ((stop = resume(shadow, PTRACE_SINGLESTEP)) > 0 && stop != SIGTRAP)
		if (++tries > 8 || !mend(shadow, stop, registers))
			return SHADOW_END_FAULT;
	if (stop < 0 || get_registers(shadow, registers))
		return -EPIPE;
	return 0;
}

int
shadow_process_execute_shared(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps,
                              uint64_t limit_ns)
{
	const uint64_t end_ns = monotonic_ns() + limit_ns;
	struct shadow_shared *shared = shadow->shared;
	struct user_regs_struct registers = thread->registers;
	int end = drop_pages(shadow);

	shared->count = 0;
	if (!end)
		end = become_thread(shadow, thread);
	while (!end) {
		shared->places[shared->count] = registers.pc;
		if (shared->count == steps)
			end = SHADOW_END_STEPS;
		else if (monotonic_ns() >= end_ns)
			end = SHADOW_END_TIME;
		else
			end = step(shadow, &registers);
		shared->count += end == 0;
	}
	shared->count++;
	shared->end = end > 0 ? (uint32_t)end : 0;
	return end > 0 ? 0 : end;
}
#endif
