#include "dcpi-tools/x/seized.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

#define SPIN_NS          (200 * UINT64_C(1000)) /* nearly all have stopped by then */
#define PATIENCE_NS      (100 * UINT64_C(1000000))
#define PAUSE_NS         50000
#define RESTART_NO_HAND  (-514) /* the kernel's: begin again, unless a handler runs */
#define RESTARTS(result) ((result) <= -512 && (result) >= -516)
#define EVENT_OF(status) ((unsigned)(status) >> 16)

#if defined(__x86_64__)
/* Calls that say EINTR also when no handler ran, and that did nothing when they say it. */
static bool
may_begin_again(uint64_t number)
{
	static const uint16_t calls[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		SYS_rt_sigtimedwait,
		SYS_semop,
		SYS_semtimedop,
		SYS_io_getevents,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_accept,
		SYS_accept4,
		441 /* epoll_pwait2 */,
		SYS_sendto,
		SYS_sendmsg,
		333 /* io_pgetevents */,
		426 /* io_uring_enter */,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == number)
			return true;
	return false;
}

/* In a system call that is not over? One that would be by our doing is made to begin again. */
static int
look_at_call(struct seized *seized)
{
	struct iovec part = {&seized->registers, sizeof(seized->registers)};
	const long result = (long)seized->registers.rax;

	if ((long)seized->registers.orig_rax < 0)
		return 0;
	seized->is_in_call = RESTARTS(result);
	if (result != -EINTR || !may_begin_again(seized->registers.orig_rax))
		return 0;
	seized->is_in_call = true;
	seized->registers.rax = (uint64_t)RESTART_NO_HAND;
	return ptrace(PTRACE_SETREGSET, seized->tid, (void *)NT_PRSTATUS, &part) < 0 ? -errno : 0;
}
#else
/* The kernel has put the registers to the beginning of the call already. */
static int
look_at_call(struct seized *seized)
{
	uint32_t call;

	errno = 0;
	call = (uint32_t)ptrace(PTRACE_PEEKTEXT, seized->tid, (void *)seized->registers.pc, NULL);
	seized->is_in_call = errno == 0 && call == 0xd4000001;
	return 0;
}
#endif

static int
read_registers(struct seized *seized)
{
	struct iovec part = {&seized->registers, sizeof(seized->registers)};

	if (ptrace(PTRACE_GETREGSET, seized->tid, (void *)NT_PRSTATUS, &part) < 0)
		return -errno;
	return part.iov_len == sizeof(seized->registers) ? look_at_call(seized) : -ENOEXEC; /* 32 bits */
}

/* What waitpid() told of the thread. */
static int
take_status(struct seized *seized, int status)
{
	if (!WIFSTOPPED(status)) {
		seized->is_let_go = true;
		return -ESRCH;
	}
	seized->stop_ns = monotonic_ns();
	if (EVENT_OF(status) == 0)
		seized->signal = WSTOPSIG(status);
	return read_registers(seized);
}

static int
wait_for_stop(struct seized *seized)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const uint64_t start_ns = monotonic_ns();
	uint64_t waited_ns = 0;
	int status;

	while (waited_ns < PATIENCE_NS) {
		const pid_t told = waitpid(seized->tid, &status, __WALL | WNOHANG);

		if (told == seized->tid)
			return take_status(seized, status);
		if (told < 0 && errno != EINTR)
			return -errno;
		if (waited_ns < SPIN_NS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
		waited_ns = monotonic_ns() - start_ns;
	}
	return -EBUSY;
}

int
seized_stop(pid_t tid, struct seized *seized)
{
	int err;

	memset(seized, 0, sizeof(*seized));
	seized->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 && errno != ESRCH)
		return -errno;
	err = wait_for_stop(seized);
	if (err && err != -EBUSY)
		seized_let_go(seized);
	return err;
}

void
seized_let_go(struct seized *seized)
{
	if (!seized->is_let_go)
		(void)ptrace(PTRACE_DETACH, seized->tid, NULL, (long)seized->signal);
	seized->is_let_go = true;
}

void
seized_tend(void)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_DETACH, tid, NULL, EVENT_OF(status) ? 0L : (long)WSTOPSIG(status));
}
