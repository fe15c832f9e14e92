/*
 * worker.h - a thread beside the event loop of dcpid, with the lock and the condition that others talk to it through
 *
 * The thread runs until its owner sets `stop`. It waits on `changed`; where it waits for a process or child instead,
 * `stop_bell` ends the wait.
 * Thread rule: worker_start(), worker_stop() and worker_fini() are the owner's; the others any thread's.
 */
#ifndef DCPI_COLLECTORD_WORKER_H
#define DCPI_COLLECTORD_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct worker_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* deadlines are of CLOCK_MONOTONIC */
	bool stop;              /* with the lock held: the thread is to return */
	bool is_stopped;        /* the owner's: the thread has returned */
	int stop_bell;          /* an eventfd, readable once `stop` is set */
};

/*
 * Start `run` with all signals blocked, which are the event loop's, but for those of faults: base/guard.h is for these.
 * 0 or -errno: then nothing is left to be released.
 */
int worker_start(struct worker_thread *worker, void *(*run)(void *), void *context);

/* Set `stop` and wait until the thread returns; nothing when it has. The lock can still be used. */
void worker_stop(struct worker_thread *worker);

/* Release the lock and the rest of a stopped worker. */
void worker_fini(struct worker_thread *worker);

static inline void
worker_lock(struct worker_thread *worker)
{
	pthread_mutex_lock(&worker->lock);
}

static inline void
worker_unlock(struct worker_thread *worker)
{
	pthread_mutex_unlock(&worker->lock);
}

/* Something changed that others may wait for. */
static inline void
worker_notify(struct worker_thread *worker)
{
	pthread_cond_broadcast(&worker->changed);
}

/* With the lock held: wait for a change, without an end. */
static inline void
worker_wait(struct worker_thread *worker)
{
	pthread_cond_wait(&worker->changed, &worker->lock);
}

/* With the lock held: wait for a change, until `monotonic_ns` at most. 0 or ETIMEDOUT. */
int worker_wait_until(struct worker_thread *worker, uint64_t monotonic_ns);

#endif
