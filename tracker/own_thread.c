#include "tracker/own_thread.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>

#define STACK_BYTES 65536

bool
own_thread_start(own_thread_create *create, void *(*function)(void *))
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error;

	if (pthread_attr_init(&attributes))
		return false;
	sigfillset(&all); /* no signal is the program's that this thread could take */
	pthread_attr_setstacksize(&attributes, STACK_BYTES > PTHREAD_STACK_MIN ? STACK_BYTES : PTHREAD_STACK_MIN);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = create(&thread, &attributes, function, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return !error;
}
