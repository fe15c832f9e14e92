#include "dcpi-tools/x/shadow_process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dcpi-tools/common/child.h"

#define SHADOW_BEGIN_NS  UINT64_C(1000000000) /* limit for its start, and for ending a burst after must_end */
#define SHADOW_PAGES_MAX 512
#define SHADOW_PROGRAM   "dcpi-replica"
#define FIRST_FREE_FD    (SHADOW_SHARED + 1)
#define SPACE_MAX        (UINT64_C(64) << 20) /* more than it may copy, less than a hostile program would like */

struct shadow_process {
	struct shadow_shared *shared;
	int control;
	int process;       /* a pidfd: the number may belong to another process once it is dead */
	pid_t pid;         /* while it is known to live */
	bool is_busy;      /* with the last burst */
	uint64_t begin_ns; /* CLOCK_MONOTONIC: of the last burst */

	/* Where dcpix steps it: */
	uint64_t call_at;                 /* where it makes a system call, and then stops */
	uint64_t pages[SHADOW_PAGES_MAX]; /* of the process, that it has */
	size_t page_count;
};

/*
 * What differs between architectures:
 * prepare() - in the child, before it becomes the shadow process; 0 or -1
 * begin() - wait until it is ready for the first time; 0, -EPIPE, -ETIMEDOUT
 * execute_shared() - execute a burst into `shared`; arguments and errors as shadow_process_execute() has them
 */
#if defined(__x86_64__)
/*
 * The shadow process of x86-64 executes bursts by itself (shadow/shadow_x86_64.c). Over a socket, one byte starts a
 * burst, and a byte in reply means that the burst has ended.
 */

static int
prepare(void)
{
	return 0;
}

/* Wait for the byte by which the shadow process reports that it is ready for the next burst. */
static int
wait_until_ready(const struct shadow_process *shadow, uint64_t limit_ns)
{
	struct pollfd control = {.fd = shadow->control, .events = POLLIN};
	const struct timespec limit = {(time_t)(limit_ns / SECOND_NS), (long)(limit_ns % SECOND_NS)};
	char byte;
	int count;

	while ((count = ppoll(&control, 1, &limit, NULL)) < 0)
		if (errno != EINTR)
			return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	return recv(shadow->control, &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EPIPE;
}

static int
begin(struct shadow_process *shadow)
{
	return wait_until_ready(shadow, SHADOW_BEGIN_NS);
}

static int
hand_over(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps)
{
	struct shadow_shared *shared = shadow->shared;
	struct iovec part = {shared->vectors, sizeof(shared->vectors)};

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_X86_XSTATE, &part) < 0)
		return -errno;
	shared->vectors_size = (uint32_t)part.iov_len;
	shared->registers = thread->registers;
	shared->steps_max = (uint32_t)steps;
	shared->must_end = 0;
	shared->end = 0;
	shared->count = 0;
	return send(shadow->control, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

/* At the time limit the burst is what was executed until then: its thread goes on, and changes memory. */
static int
execute_shared(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps, uint64_t limit_ns)
{
	int err;

	if (shadow->is_busy && wait_until_ready(shadow, 0))
		return monotonic_ns() - shadow->begin_ns > SHADOW_BEGIN_NS ? -EPIPE : -EBUSY;
	shadow->begin_ns = monotonic_ns();
	err = hand_over(shadow, thread, steps);
	if (!err)
		err = wait_until_ready(shadow, limit_ns);
	shadow->is_busy = err == -ETIMEDOUT;
	if (shadow->is_busy)
		__atomic_store_n(&shadow->shared->must_end, 1, __ATOMIC_RELAXED);
	return shadow->is_busy ? 0 : err;
}
#elif defined(__aarch64__)
/*
 * The shadow process of arm64 is stepped by ptrace(2). It gets a page of the thread's memory by a system call that is
 * injected into it.
 */

#define PAGE          UINT64_C(4096)
#define ADDRESSES_END (UINT64_C(1) << 48)
#define PROTECTION    (PROT_READ | PROT_WRITE | PROT_EXEC)
#define POINTER_KEYS  0x407 /* NT_ARM_PACA_KEYS, which older headers lack */

static int
prepare(void)
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

static int
begin(struct shadow_process *shadow)
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

static int
execute_shared(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps, uint64_t limit_ns)
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

/* In the child: only async-signal-safe calls, since it may have a copy of a lock that is held. */
static __attribute__((noreturn)) void
become_shadow_process(const char *path, pid_t parent, const int descriptors[3])
{
	char *const arguments[] = {(char[]){SHADOW_PROGRAM}, NULL}, *const environment[] = {NULL};
	const struct rlimit space = {SPACE_MAX, SPACE_MAX};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	for (int i = 0; i < 3; i++)
		if (dup2(descriptors[i], SHADOW_CONTROL + i) < 0)
			_exit(1);
	setrlimit(RLIMIT_AS, &space);
	setsid(); /* signals of the terminal are for dcpix alone */
	if (prepare() < 0)
		_exit(1);
	execve(path, arguments, environment);
	_exit(1);
}

/* A descriptor in the place of one that is below those that the shadow process wants; -1 when there is none. */
static int
move_up(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

	if (fd >= 0 && moved < 0)
		errno = EMFILE;
	if (fd >= 0)
		close(fd);
	return moved;
}

static int
start_program(struct shadow_process *shadow, const int descriptors[3])
{
	const pid_t parent = getpid();
	char path[PATH_MAX];
	pid_t pid;
	int err = child_find_installed(SHADOW_PROGRAM, path);

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		become_shadow_process(path, parent, descriptors);
	if (pid < 0)
		return -errno;
	shadow->pid = pid;
	shadow->process = (int)syscall(SYS_pidfd_open, pid, 0);
	return shadow->process < 0 ? -errno : 0;
}

static int
share_memory(struct shadow_process *shadow, int memory)
{
	void *shared;

	if (memory < 0 || ftruncate(memory, sizeof(*shadow->shared)) < 0)
		return -errno;
	shared = mmap(NULL, sizeof(*shadow->shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (shared == MAP_FAILED)
		return -errno;
	shadow->shared = shared;
	return 0;
}

static int
start(struct shadow_process *shadow, pid_t pid)
{
	int descriptors[3] = {-1, -1, -1}, control[2], err;
	char name[64];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		return -errno;
	shadow->control = control[0];
	descriptors[0] = move_up(control[1]);
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	descriptors[1] = move_up(open(name, O_RDONLY | O_CLOEXEC));
	err = descriptors[1] >= 0 ? 0 : errno == ENOENT ? -ESRCH : -errno;
	descriptors[2] = move_up(memfd_create(SHADOW_PROGRAM, MFD_CLOEXEC));
	if (!err)
		err = share_memory(shadow, descriptors[2]);
	if (!err)
		err = start_program(shadow, descriptors);
	for (int i = 0; i < 3; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	return err ? err : begin(shadow);
}

struct shadow_process *
shadow_process_new(pid_t pid)
{
	struct shadow_process *shadow = calloc(1, sizeof(*shadow));
	int err;

	if (!shadow)
		return NULL;
	shadow->control = shadow->process = -1;
	err = start(shadow, pid);
	if (!err)
		return shadow;
	shadow_process_free(shadow);
	errno = -err;
	return NULL;
}

void
shadow_process_free(struct shadow_process *shadow)
{
	siginfo_t info;

	if (!shadow)
		return;
	if (shadow->process >= 0) {
		(void)syscall(SYS_pidfd_send_signal, shadow->process, SIGKILL, NULL, 0);
		while (waitid((idtype_t)P_PIDFD, (id_t)shadow->process, &info, WEXITED) < 0 && errno == EINTR)
			;
		close(shadow->process);
	}
	if (shadow->control >= 0)
		close(shadow->control);
	if (shadow->shared)
		munmap(shadow->shared, sizeof(*shadow->shared));
	free(shadow);
}

/* What the shadow process wrote is read once: it could write again. */
static int
take_burst(const struct shadow_process *shadow, size_t steps, struct burst *burst)
{
	const struct shadow_shared *shared = shadow->shared;
	const uint32_t count = __atomic_load_n(&shared->count, __ATOMIC_ACQUIRE);
	const uint32_t end = shadow->is_busy ? SHADOW_END_TIME : __atomic_load_n(&shared->end, __ATOMIC_RELAXED);

	if (count > steps + 1 || end < SHADOW_END_STEPS || end > SHADOW_END_VECTORS)
		return -EPIPE;
	burst->count = count > 0 ? count - 1 : 0;
	burst->end = (enum shadow_end)end;
	memcpy(burst->places, shared->places, count * sizeof(burst->places[0]));
	return end == SHADOW_END_FAULT && burst->count == 0 ? -EPIPE : 0;
}

int
shadow_process_execute(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps,
                       uint64_t limit_ns, struct burst *burst)
{
	int err;

	burst->count = 0;
	burst->end = SHADOW_END_TIME;
	if (steps > SHADOW_STEPS_MAX)
		steps = SHADOW_STEPS_MAX;
	err = execute_shared(shadow, thread, steps, limit_ns);
	return err ? err : take_burst(shadow, steps, burst);
}
