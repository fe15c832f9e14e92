/*
 * seized.h - a thread that stands still for a moment, and goes on as if nothing had been
 *
 * A thread is seized, stopped, looked at and let go; it is never stepped, nor is anything of it changed. Should its
 * tracer die meanwhile, by whatever, the kernel lets it go. A system call that was interrupted is begun again, also one
 * of those that would otherwise say EINTR, and a signal that arrived is handed on.
 * Thread rule: the tracer is the thread that calls; it must be the only one that calls waitpid(2), and SIGCHLD tells it
 * of threads that stopped late (seized_tend).
 */
#ifndef DCPI_TOOLS_X_SEIZED_H
#define DCPI_TOOLS_X_SEIZED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct seized {
	pid_t tid;
	int signal;       /* that arrived, to be handed on; 0: none */
	bool is_in_call;  /* it was in a system call, which begins again when it goes on */
	bool is_let_go;   /* or gone */
	uint64_t stop_ns; /* CLOCK_MONOTONIC: when it stood still */
	struct user_regs_struct registers;
};

/*
 * Stop the thread. 0; -ESRCH when it is gone; -EPERM when it may not be traced, or somebody else does; -EBUSY when it
 * does not stop for a while, in a driver or a file system: it is let go as soon as it does. -errno. Only after 0 there
 * is something to let go.
 */
int seized_stop(pid_t tid, struct seized *seized);
void seized_let_go(struct seized *seized);

/* Let go who stopped late, and take notice of those that ended: others wait for that. Without waiting. */
void seized_tend(void);

#endif
