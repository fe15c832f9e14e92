#include "collectord/worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

int
worker_start(struct worker_thread *worker, void *(*run)(void *), void *context)
{
	pthread_condattr_t monotonic;
	sigset_t others, before;
	int err;

	memset(worker, 0, sizeof(*worker));
	worker->stop_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->stop_bell < 0)
		return -errno;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);

	sigfillset(&others);
	sigdelset(&others, SIGSEGV);
	sigdelset(&others, SIGBUS);
	sigdelset(&others, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	err = pthread_create(&worker->thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		worker_fini(worker);
	return -err;
}

void
worker_stop(struct worker_thread *worker)
{
	const uint64_t one = 1;

	if (worker->is_stopped)
		return;
	worker_lock(worker);
	worker->stop = true;
	worker_notify(worker);
	worker_unlock(worker);
	(void)!write(worker->stop_bell, &one, sizeof(one)); /* an eventfd that is rung once has room */
	pthread_join(worker->thread, NULL);
	worker->is_stopped = true;
}

void
worker_fini(struct worker_thread *worker)
{
	pthread_mutex_destroy(&worker->lock);
	pthread_cond_destroy(&worker->changed);
	close(worker->stop_bell);
}

int
worker_wait_until(struct worker_thread *worker, uint64_t monotonic_ns)
{
	/* a time_t has room for UINT64_MAX nanoseconds, which are 500 years */
	const struct timespec at = {
		.tv_sec = (time_t)(monotonic_ns / SECOND_NS),
		.tv_nsec = (long)(monotonic_ns % SECOND_NS),
	};

	return pthread_cond_timedwait(&worker->changed, &worker->lock, &at);
}
