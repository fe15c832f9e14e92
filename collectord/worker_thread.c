#include "collectord/worker_thread.h"

#include <signal.h>
#include <time.h>

int
worker_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t others, before;
	int err;

	sigfillset(&others);
	sigdelset(&others, SIGSEGV);
	sigdelset(&others, SIGBUS);
	sigdelset(&others, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	err = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

void
worker_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}
