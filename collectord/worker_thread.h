/*
 * worker_thread.h - how dcpid starts a thread beside its event loop, and what that waits on
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_WORKER_THREAD_H
#define DCPI_WORKER_THREAD_H

#include <pthread.h>

/*
 * Start `run` with all signals blocked, which are the event loop's, but for those of faults: base/guard.h is for these.
 * 0, or a positive errno as of pthread_create().
 */
int worker_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

/* Make a condition whose deadlines are of CLOCK_MONOTONIC. */
void worker_condition_init(pthread_cond_t *condition);

#endif
