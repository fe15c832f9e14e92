/*
 * stopped_thread.h - stop a running thread of another process for a moment; it continues unchanged
 *
 * A thread is seized by ptrace(2), stopped, read and released; it is never stepped, and nothing of it is changed. If
 * the tracer dies meanwhile, the kernel releases it. A system call that was interrupted begins again, also one that
 * would otherwise return EINTR, and a signal that arrived is delivered. Thread rule: the tracer is the thread that
 * calls; it must be the only one that calls waitpid(2), and SIGCHLD tells it of threads that stopped late
 * (stopped_thread_reap()).
 */
#ifndef DCPI_TOOLS_X_STOPPED_THREAD_H
#define DCPI_TOOLS_X_STOPPED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* ---- which threads of a process run, or wait only for a CPU ---- */

struct running {
	pid_t *threads; /* of the process, what was found last */
	size_t capacity;
};

/*
 * One of the threads that run, each as likely as another; `draw` gives random numbers. 0 when none does, -ESRCH when
 * the process has ended, -errno.
 */
pid_t running_choose(struct running *running, pid_t pid, uint64_t (*draw)(void *context), void *context);
void running_fini(struct running *running);

/* The process that traces the thread; 0: none, or the thread is gone. */
pid_t running_tracer(pid_t pid, pid_t tid);

/* 'R', 'S', ... as in proc(5); '?' when the thread is gone. */
char running_state(pid_t pid, pid_t tid);

/* ---- stopping one ---- */

struct stopped_thread {
	pid_t tid;
	int signal;       /* that arrived, to be delivered at the release; 0: none */
	bool is_in_call;  /* it was in a system call, which begins again when it goes on */
	bool is_released; /* or gone */
	uint64_t stop_ns; /* CLOCK_MONOTONIC: when it stood still */
	struct user_regs_struct registers;
};

/*
 * Stop the thread. 0; -ESRCH when it is gone; -EPERM when it may not be traced, or is traced already; -EBUSY when it
 * does not stop for a while, in a driver or a file system: stopped_thread_reap() releases it later. -errno. Only after
 * 0 there is something to release.
 */
int stopped_thread_stop(pid_t tid, struct stopped_thread *thread);
void stopped_thread_release(struct stopped_thread *thread);

/* Release threads that stopped late, and reap those that ended, which their process waits for. Does not block. */
void stopped_thread_reap(void);

#endif
