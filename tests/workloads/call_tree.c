/*
 * call_tree - eleven ways to be called, each for an eleventh of the processor time
 *
 * call_tree SECONDS LIBRARY: work below recursion, a chain of tail calls, a signal's handler, a handler on a stack of
 * its own, a thread, a function of LIBRARY (libburn_a.so) that is loaded for it, a frame of 58,000 bytes, which dcpid's
 * copy of the stack (60 KiB) still holds, one of 80 KiB, which it does not, and C++ exceptions
 * (call_tree_exceptions.cc). The functions are called work_in_WAY, and what calls them in_WAY.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burn.h"
#include "call_tree_exceptions.h"

#define WAYS       11
#define DEPTH      20
#define LARGE_SIZE 58000
#define HUGE_SIZE  81920
#define NOT_INLINE __attribute__((noinline, noclone))

static double seconds_each;
static volatile int sink; /* what follows a call keeps it from being a tail call */

#define WORK(way, seed)                                                                                                \
	static NOT_INLINE void work_in_##way(void)                                                                     \
	{                                                                                                              \
		burn(seconds_each, seed);                                                                              \
		sink++;                                                                                                \
	}
WORK(recursion, 2)
WORK(tail_call, 3)
WORK(handler, 4)
WORK(other_stack, 5)
WORK(thread, 6)
WORK(large_frame, 7)
WORK(huge_frame, 8)

static NOT_INLINE void
in_recursion(int depth)
{
	if (depth == 1)
		work_in_recursion();
	else
		in_recursion(depth - 1);
	sink++;
}

/* A jump: no frame of it is left. */
static NOT_INLINE void
gone_in_tail_call(void)
{
	work_in_tail_call();
}

static NOT_INLINE void
in_tail_call(void)
{
	gone_in_tail_call();
	sink++;
}

static void
on_signal(int number)
{
	if (number == SIGUSR1)
		work_in_handler();
	else
		work_in_other_stack();
	sink++;
}

static NOT_INLINE void
in_handler(void)
{
	raise(SIGUSR1);
	sink++;
}

static NOT_INLINE void
in_other_stack(void)
{
	raise(SIGUSR2);
	sink++;
}

static NOT_INLINE void *
in_thread(void *context)
{
	work_in_thread();
	sink++;
	return context;
}

static NOT_INLINE void
in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*work)(double) = NULL;

	if (library)
		*(void **)&work = dlsym(library, "burn_a");
	if (!work) {
		fprintf(stderr, "call_tree: %s\n", dlerror());
		exit(1);
	}
	work(seconds_each);
	sink++;
}

#define FRAME(way, size)                                                                                               \
	static NOT_INLINE void in_##way(void)                                                                          \
	{                                                                                                              \
		volatile char frame[size];                                                                             \
                                                                                                                       \
		memset((char *)frame, sink, sizeof(frame));                                                            \
		work_in_##way();                                                                                       \
		sink += frame[sink % (size)];                                                                          \
	}
FRAME(large_frame, LARGE_SIZE)
FRAME(huge_frame, HUGE_SIZE)

int
main(int argc, char **argv)
{
	static char stack[65536];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t thread;

	if (argc != 3)
		return 2;
	seconds_each = strtod(argv[1], NULL) / WAYS;
	sigaction(SIGUSR1, &action, NULL);
	sigaltstack(&other, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	in_recursion(DEPTH);
	in_tail_call();
	in_handler();
	in_other_stack();
	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	in_library(argv[2]);
	in_large_frame();
	in_huge_frame();
	in_handler_of_exception(seconds_each);
	in_cleanup(seconds_each);
	in_throw(seconds_each);
	return 0;
}
