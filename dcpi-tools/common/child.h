/*
 * child.h - run a program to its end, in our place
 *
 * It has our standard streams, environment and process group; a signal that somebody sends to us goes to it, and its
 * end is what the caller makes of it. A signal that asks us to end, and waits already as it is blocked, goes to it,
 * too. Thread rule: one thread; signals of the process are the run's until it ends.
 */
#ifndef DCPI_TOOLS_CHILD_H
#define DCPI_TOOLS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct child {
	/* What the new process does before it becomes the program; an exit status other than 0, after a message, ends
	 * it. NULL: nothing. */
	int (*begin)(void *context);
	void *begin_context;
	void (*tick)(void *context, uint64_t elapsed_ns); /* about once a second while it runs; NULL: nobody asks */
	void *tick_context;
	bool is_quiet;        /* its output goes nowhere; what it says of errors stays */
	const sigset_t *mask; /* signals that it finds blocked; NULL: those that we have blocked */

	/* what became of it */
	int status;                /* of the program, as waitpid(2) gives it */
	uint64_t start_ns, end_ns; /* since 1970: when it was executed, when it ended */
	uint64_t cpu_ns;           /* processor time, children that it waited for included */
	int asked;                 /* the first signal that asked us to end (ending.h) until it ended; 0: none */
};

/*
 * Run `command`, found as a shell would. 0 when it ran, whatever came of it; an exit status when `begin` said so;
 * -errno when it cannot be executed.
 */
int child_run(struct child *child, char *const *command);

/* End as the program did: with its exit status, or by its signal. `failed`: with this status when it ended well. */
int child_exit_status(int status, int failed);

#endif
