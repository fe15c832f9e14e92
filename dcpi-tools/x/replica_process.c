#include "dcpi-tools/x/replica_process.h"

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

#define REPLICA_BEGIN_NS  UINT64_C(1000000000) /* limit for its start, and for ending a burst after must_end */
#define REPLICA_PAGES_MAX 512
#define REPLICA_PROGRAM   "dcpi-replica"
#define FIRST_FREE_FD     (REPLICA_SHARED + 1)
#define SPACE_MAX         (UINT64_C(64) << 20) /* more than it may copy, less than a hostile program would like */

struct replica_process {
	struct replica_shared *shared;
	int control;
	int process;       /* a pidfd: the number may belong to another process once it is dead */
	pid_t pid;         /* while it is known to live */
	bool is_busy;      /* with the last burst */
	uint64_t begin_ns; /* CLOCK_MONOTONIC: of the last burst */

	/* Where dcpix steps it: */
	uint64_t call_at;                  /* where it makes a system call, and then stops */
	uint64_t pages[REPLICA_PAGES_MAX]; /* of the process, that it has */
	size_t page_count;
};

/*
 * What differs between architectures:
 * prepare() - in the child, before it becomes the replica; 0 or -1
 * begin() - wait until it is ready for the first time; 0, -EPIPE, -ETIMEDOUT
 * execute_shared() - execute a burst into `shared`; arguments and errors as replica_process_execute() has them
 */
#if defined(__x86_64__)
/*
 * The replica of x86-64 executes bursts by itself (replica/replica_x86_64.c). Over a socket, one byte starts a
 * burst, and a byte in reply means that the burst has ended.
 */

static int
prepare(void)
{
	return 0;
}

/* Wait for the byte by which the replica reports that it is ready for the next burst. */
static int
wait_until_ready(const struct replica_process *replica, uint64_t limit_ns)
{
	struct pollfd control = {.fd = replica->control, .events = POLLIN};
	const struct timespec limit = {(time_t)(limit_ns / SECOND_NS), (long)(limit_ns % SECOND_NS)};
	char byte;
	int count;

	while ((count = ppoll(&control, 1, &limit, NULL)) < 0)
		if (errno != EINTR)
			return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	return recv(replica->control, &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EPIPE;
}

static int
begin(struct replica_process *replica)
{
	return wait_until_ready(replica, REPLICA_BEGIN_NS);
}

static int
hand_over(struct replica_process *replica, const struct stopped_thread *thread, size_t steps)
{
	struct replica_shared *shared = replica->shared;
	struct iovec part = {shared->vectors, sizeof(shared->vectors)};

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_X86_XSTATE, &part) < 0)
		return -errno;
	shared->vectors_size = (uint32_t)part.iov_len;
	shared->registers = thread->registers;
	shared->steps_max = (uint32_t)steps;
	shared->must_end = 0;
	shared->end = 0;
	shared->count = 0;
	return send(replica->control, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

/* At the time limit the burst is what was executed until then: its thread goes on, and changes memory. */
static int
execute_shared(struct replica_process *replica, const struct stopped_thread *thread, size_t steps, uint64_t limit_ns)
{
	int err;

	if (replica->is_busy && wait_until_ready(replica, 0))
		return monotonic_ns() - replica->begin_ns > REPLICA_BEGIN_NS ? -EPIPE : -EBUSY;
	replica->begin_ns = monotonic_ns();
	err = hand_over(replica, thread, steps);
	if (!err)
		err = wait_until_ready(replica, limit_ns);
	replica->is_busy = err == -ETIMEDOUT;
	if (replica->is_busy)
		__atomic_store_n(&replica->shared->must_end, 1, __ATOMIC_RELAXED);
	return replica->is_busy ? 0 : err;
}
#elif defined(__aarch64__)
/*
 * The replica of arm64 is stepped by ptrace(2). It gets a page of the thread's memory by a system call that is
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
wait_for_stop(struct replica_process *replica)
{
	int status;

	while (waitpid(replica->pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -EPIPE;
	return WIFSTOPPED(status) ? WSTOPSIG(status) : -EPIPE;
}

static int
resume(struct replica_process *replica, int how)
{
	return ptrace(how, replica->pid, NULL, NULL) < 0 ? -EPIPE : wait_for_stop(replica);
}

static int
move_registers(int how, pid_t pid, int set, void *registers, size_t size)
{
	struct iovec part = {registers, size};

	return ptrace(how, pid, (void *)(uintptr_t)set, &part) < 0 ? -errno : (int)part.iov_len;
}

static int
get_registers(const struct replica_process *replica, struct user_regs_struct *registers)
{
	return move_registers(PTRACE_GETREGSET, replica->pid, NT_PRSTATUS, registers, sizeof(*registers)) < 0 ? -EPIPE
	                                                                                                      : 0;
}

static int
set_registers(const struct replica_process *replica, struct user_regs_struct *registers)
{
	return move_registers(PTRACE_SETREGSET, replica->pid, NT_PRSTATUS, registers, sizeof(*registers)) < 0 ? -EPIPE
	                                                                                                      : 0;
}

static int
begin(struct replica_process *replica)
{
	struct user_regs_struct registers;

	if (wait_for_stop(replica) != SIGTRAP) /* at its execve(2) */
		return -EPIPE;
	if (ptrace(PTRACE_SETOPTIONS, replica->pid, NULL, PTRACE_O_EXITKILL) < 0 ||
	    resume(replica, PTRACE_CONT) != SIGTRAP || get_registers(replica, &registers))
		return -EPIPE;
	replica->call_at = registers.pc - 4;
	return 0;
}

/* What the system call returned; -EPIPE also when it could not be made. */
static int64_t
make_call(struct replica_process *replica, uint64_t number, const uint64_t arguments[6])
{
	struct user_regs_struct registers;

	if (get_registers(replica, &registers))
		return -EPIPE;
	memcpy(registers.regs, arguments, 6 * sizeof(arguments[0]));
	registers.regs[8] = number;
	registers.pc = replica->call_at;
	if (set_registers(replica, &registers) || resume(replica, PTRACE_CONT) != SIGTRAP ||
	    get_registers(replica, &registers))
		return -EPIPE;
	return (int64_t)registers.regs[0];
}

/* Is the page here? If not, bring it. Registers are others afterwards. */
static bool
bring_page(struct replica_process *replica, uint64_t address)
{
	const uint64_t page = address & ~(PAGE - 1);
	const uint64_t map[6] = {page, PAGE, PROTECTION, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0};
	const uint64_t read[6] = {REPLICA_MEMORY, page, PAGE, page};

	if (replica->page_count == REPLICA_PAGES_MAX || page >= ADDRESSES_END ||
	    (page >= REPLICA_START && page < REPLICA_END))
		return false;
	if (make_call(replica, SYS_mmap, map) != (int64_t)page || make_call(replica, SYS_pread64, read) != PAGE)
		return false;
	replica->pages[replica->page_count++] = page;
	return true;
}

static bool
has_page(const struct replica_process *replica, uint64_t address)
{
	for (size_t i = replica->page_count; i-- > 0;)
		if (replica->pages[i] == (address & ~(PAGE - 1)))
			return true;
	return false;
}

/* The pages were copied for one burst, and are out of date after it. */
static int
drop_pages(struct replica_process *replica)
{
	const uint64_t below[6] = {0, REPLICA_START}, above[6] = {REPLICA_END, ADDRESSES_END - REPLICA_END};

	replica->page_count = 0;
	/* Where addresses have 39 bits, the end is lower. */
	if (make_call(replica, SYS_munmap, below) == 0 && make_call(replica, SYS_munmap, above) == 0)
		return 0;
	return make_call(replica, SYS_munmap, (const uint64_t[6]){REPLICA_END, (UINT64_C(1) << 39) - REPLICA_END}) == 0
	               ? 0
	               : -EPIPE;
}

/* Vectors, the thread's pointer, and the keys that sign pointers where there are some. */
static int
become_thread(struct replica_process *replica, const struct stopped_thread *thread)
{
	static const int sets[] = {NT_PRFPREG, NT_ARM_TLS, POINTER_KEYS};
	struct user_regs_struct registers = thread->registers;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		int size = move_registers(PTRACE_GETREGSET, thread->tid, sets[i], replica->shared->vectors,
		                          sizeof(replica->shared->vectors));

		if (size < 0 && sets[i] == POINTER_KEYS)
			continue;
		if (size < 0)
			return size;
		if (move_registers(PTRACE_SETREGSET, replica->pid, sets[i], replica->shared->vectors, (size_t)size) < 0)
			return -EPIPE;
	}
	return set_registers(replica, &registers);
}

/* A system call or a breakpoint; and a load that a step would take the exclusiveness from. */
static bool
must_not_be_stepped(uint32_t code)
{
	return (code & 0xff000000) == 0xd4000000 || (code & 0x3f400000) == 0x08400000;
}

/* After a stop that is no step's: can it go on, with a page more? */
static bool
mend(struct replica_process *replica, int signal_number, struct user_regs_struct *registers)
{
	siginfo_t info;

	return signal_number == SIGSEGV && ptrace(PTRACE_GETSIGINFO, replica->pid, NULL, &info) == 0 &&
	       info.si_code == SEGV_MAPERR && get_registers(replica, registers) == 0 &&
	       bring_page(replica, (uint64_t)(uintptr_t)info.si_addr) && set_registers(replica, registers) == 0;
}

/* One instruction; 0, or why the burst ends here; -EPIPE. */
static int
step(struct replica_process *replica, struct user_regs_struct *registers)
{
	const uint64_t place = registers->pc;
	int stop, tries = 0;
	long code;

	if (!has_page(replica, place) && (!bring_page(replica, place) || set_registers(replica, registers)))
		return REPLICA_END_FAULT;
	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, replica->pid, (void *)place, NULL);
	if (errno || must_not_be_stepped((uint32_t)code))
		return errno ? REPLICA_END_FAULT : REPLICA_END_CALL;
	while ((stop = resume(replica, PTRACE_SINGLESTEP)) > 0 && stop != SIGTRAP)
		if (++tries > 8 || !mend(replica, stop, registers))
			return REPLICA_END_FAULT;
	if (stop < 0 || get_registers(replica, registers))
		return -EPIPE;
	return 0;
}

static int
execute_shared(struct replica_process *replica, const struct stopped_thread *thread, size_t steps, uint64_t limit_ns)
{
	const uint64_t end_ns = monotonic_ns() + limit_ns;
	struct replica_shared *shared = replica->shared;
	struct user_regs_struct registers = thread->registers;
	int end = drop_pages(replica);

	shared->count = 0;
	if (!end)
		end = become_thread(replica, thread);
	while (!end) {
		shared->places[shared->count] = registers.pc;
		if (shared->count == steps)
			end = REPLICA_END_STEPS;
		else if (monotonic_ns() >= end_ns)
			end = REPLICA_END_TIME;
		else
			end = step(replica, &registers);
		shared->count += end == 0;
	}
	shared->count++;
	shared->end = end > 0 ? (uint32_t)end : 0;
	return end > 0 ? 0 : end;
}
#endif

/* In the child: only async-signal-safe calls, since it may have a copy of a lock that is held. */
static __attribute__((noreturn)) void
become_replica_process(const char *path, pid_t parent, const int descriptors[3])
{
	char *const arguments[] = {(char[]){REPLICA_PROGRAM}, NULL}, *const environment[] = {NULL};
	const struct rlimit space = {SPACE_MAX, SPACE_MAX};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	for (int i = 0; i < 3; i++)
		if (dup2(descriptors[i], REPLICA_CONTROL + i) < 0)
			_exit(1);
	setrlimit(RLIMIT_AS, &space);
	setsid(); /* signals of the terminal are for dcpix alone */
	if (prepare() < 0)
		_exit(1);
	execve(path, arguments, environment);
	_exit(1);
}

/* A descriptor in the place of one that is below those that the replica wants; -1 when there is none. */
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
start_program(struct replica_process *replica, const int descriptors[3])
{
	const pid_t parent = getpid();
	char path[PATH_MAX];
	pid_t pid;
	int err = child_find_installed(REPLICA_PROGRAM, path);

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		become_replica_process(path, parent, descriptors);
	if (pid < 0)
		return -errno;
	replica->pid = pid;
	replica->process = (int)syscall(SYS_pidfd_open, pid, 0);
	return replica->process < 0 ? -errno : 0;
}

static int
share_memory(struct replica_process *replica, int memory)
{
	void *shared;

	if (memory < 0 || ftruncate(memory, sizeof(*replica->shared)) < 0)
		return -errno;
	shared = mmap(NULL, sizeof(*replica->shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (shared == MAP_FAILED)
		return -errno;
	replica->shared = shared;
	return 0;
}

static int
start(struct replica_process *replica, pid_t pid)
{
	int descriptors[3] = {-1, -1, -1}, control[2], err;
	char name[64];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		return -errno;
	replica->control = control[0];
	descriptors[0] = move_up(control[1]);
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	descriptors[1] = move_up(open(name, O_RDONLY | O_CLOEXEC));
	err = descriptors[1] >= 0 ? 0 : errno == ENOENT ? -ESRCH : -errno;
	descriptors[2] = move_up(memfd_create(REPLICA_PROGRAM, MFD_CLOEXEC));
	if (!err)
		err = share_memory(replica, descriptors[2]);
	if (!err)
		err = start_program(replica, descriptors);
	for (int i = 0; i < 3; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	return err ? err : begin(replica);
}

struct replica_process *
replica_process_new(pid_t pid)
{
	struct replica_process *replica = calloc(1, sizeof(*replica));
	int err;

	if (!replica)
		return NULL;
	replica->control = replica->process = -1;
	err = start(replica, pid);
	if (!err)
		return replica;
	replica_process_free(replica);
	errno = -err;
	return NULL;
}

void
replica_process_free(struct replica_process *replica)
{
	siginfo_t info;

	if (!replica)
		return;
	if (replica->process >= 0) {
		(void)syscall(SYS_pidfd_send_signal, replica->process, SIGKILL, NULL, 0);
		while (waitid((idtype_t)P_PIDFD, (id_t)replica->process, &info, WEXITED) < 0 && errno == EINTR)
			;
		close(replica->process);
	}
	if (replica->control >= 0)
		close(replica->control);
	if (replica->shared)
		munmap(replica->shared, sizeof(*replica->shared));
	free(replica);
}

/* What the replica wrote is read once: it could write again. */
static int
take_burst(const struct replica_process *replica, size_t steps, struct burst *burst)
{
	const struct replica_shared *shared = replica->shared;
	const uint32_t count = __atomic_load_n(&shared->count, __ATOMIC_ACQUIRE);
	const uint32_t end = replica->is_busy ? REPLICA_END_TIME : __atomic_load_n(&shared->end, __ATOMIC_RELAXED);

	if (count > steps + 1 || end < REPLICA_END_STEPS || end > REPLICA_END_VECTORS)
		return -EPIPE;
	burst->count = count > 0 ? count - 1 : 0;
	burst->end = (enum replica_end)end;
	memcpy(burst->places, shared->places, count * sizeof(burst->places[0]));
	return end == REPLICA_END_FAULT && burst->count == 0 ? -EPIPE : 0;
}

int
replica_process_execute(struct replica_process *replica, const struct stopped_thread *thread, size_t steps,
                        uint64_t limit_ns, struct burst *burst)
{
	int err;

	burst->count = 0;
	burst->end = REPLICA_END_TIME;
	if (steps > REPLICA_STEPS_MAX)
		steps = REPLICA_STEPS_MAX;
	err = execute_shared(replica, thread, steps, limit_ns);
	return err ? err : take_burst(replica, steps, burst);
}
