/*
 * running.h - which threads of a process run, or wait only for a CPU
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_X_RUNNING_H
#define DCPI_TOOLS_X_RUNNING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
