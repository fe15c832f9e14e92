#include "dcpi-tools/x/stopped_thread.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/proc.h"

#define SPIN_NS          (200 * UINT64_C(1000)) /* nearly all have stopped by then */
#define PATIENCE_NS      (100 * UINT64_C(1000000))
#define PAUSE_NS         50000
#define RESTART_NO_HAND  (-514) /* the kernel's: begin again, unless a handler runs */
#define RESTARTS(result) ((result) <= -512 && (result) >= -516)
#define EVENT_OF(status) ((unsigned)(status) >> 16)
#define TRACER           "TracerPid:"

/* A file of the thread in /proc. False when there is nothing in it. */
static bool
read_file(pid_t pid, pid_t tid, const char *file, char *text, size_t text_size)
{
	char name[64];
	ssize_t size;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, text_size - 1);
	close(fd);
	text[size > 0 ? (size_t)size : 0] = '\0';
	return size > 0;
}

pid_t
running_tracer(pid_t pid, pid_t tid)
{
	char text[4096];
	const char *line = read_file(pid, tid, "status", text, sizeof(text)) ? strstr(text, "\n" TRACER) : NULL;

	return line ? (pid_t)strtol(line + 1 + strlen(TRACER), NULL, 10) : 0;
}

char
running_state(pid_t pid, pid_t tid)
{
	char text[512];
	const char *end = read_file(pid, tid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;

	if (!end || end[1] != ' ')
		return '?';
	return end[2];
}

/* Threads are tried in a random order until one runs: each that runs is equally likely. */
pid_t
running_choose(struct running *running, pid_t pid, uint64_t (*draw)(void *context), void *context)
{
	const ssize_t count = proc_list_threads(pid, &running->threads, &running->capacity);
	size_t dead = 0;

	for (size_t left = count > 0 ? (size_t)count : 0; left > 0; left--) {
		const size_t chosen = draw(context) % left;
		const pid_t tid = running->threads[chosen];
		const char state = running_state(pid, tid);

		if (state == 'R')
			return tid;
		dead += state == 'Z' || state == 'X' || state == '?';
		running->threads[chosen] = running->threads[left - 1];
	}
	if (count < 0)
		return (pid_t)count;
	return dead == (size_t)count ? -ESRCH : 0;
}

void
running_fini(struct running *running)
{
	free(running->threads);
	running->threads = NULL;
}

#if defined(__x86_64__)
/* Calls that may return EINTR though no handler ran, and that have done nothing then. */
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

/*
 * Whether the thread is in a system call that has not finished. A call that our stop would end with EINTR is made to
 * begin again.
 */
static int
check_call(struct stopped_thread *thread)
{
	struct iovec part = {&thread->registers, sizeof(thread->registers)};
	const long result = (long)thread->registers.rax;

	if ((long)thread->registers.orig_rax < 0)
		return 0;
	thread->is_in_call = RESTARTS(result);
	if (result != -EINTR || !may_begin_again(thread->registers.orig_rax))
		return 0;
	thread->is_in_call = true;
	thread->registers.rax = (uint64_t)RESTART_NO_HAND;
	return ptrace(PTRACE_SETREGSET, thread->tid, (void *)NT_PRSTATUS, &part) < 0 ? -errno : 0;
}
#else
/* The kernel has already set the registers back to the beginning of the call. */
static int
check_call(struct stopped_thread *thread)
{
	uint32_t call;

	errno = 0;
	call = (uint32_t)ptrace(PTRACE_PEEKTEXT, thread->tid, (void *)thread->registers.pc, NULL);
	thread->is_in_call = errno == 0 && call == 0xd4000001;
	return 0;
}
#endif

static int
read_registers(struct stopped_thread *thread)
{
	struct iovec part = {&thread->registers, sizeof(thread->registers)};

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &part) < 0)
		return -errno;
	return part.iov_len == sizeof(thread->registers) ? check_call(thread) : -ENOEXEC; /* 32 bits */
}

/* With the status that waitpid() gave of the thread. */
static int
take_status(struct stopped_thread *thread, int status)
{
	if (!WIFSTOPPED(status)) {
		thread->is_released = true;
		return -ESRCH;
	}
	thread->stop_ns = monotonic_ns();
	if (EVENT_OF(status) == 0)
		thread->signal = WSTOPSIG(status);
	return read_registers(thread);
}

static int
wait_for_stop(struct stopped_thread *thread)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const uint64_t start_ns = monotonic_ns();
	uint64_t waited_ns = 0;
	int status;

	while (waited_ns < PATIENCE_NS) {
		const pid_t waited = waitpid(thread->tid, &status, __WALL | WNOHANG);

		if (waited == thread->tid)
			return take_status(thread, status);
		if (waited < 0 && errno != EINTR)
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
stopped_thread_stop(pid_t tid, struct stopped_thread *thread)
{
	int err;

	memset(thread, 0, sizeof(*thread));
	thread->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 && errno != ESRCH)
		return -errno;
	err = wait_for_stop(thread);
	if (err && err != -EBUSY)
		stopped_thread_release(thread);
	return err;
}

void
stopped_thread_release(struct stopped_thread *thread)
{
	if (!thread->is_released)
		(void)ptrace(PTRACE_DETACH, thread->tid, NULL, (long)thread->signal);
	thread->is_released = true;
}

void
stopped_thread_reap(void)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_DETACH, tid, NULL, EVENT_OF(status) ? 0L : (long)WSTOPSIG(status));
}
