/*
 * child.h - run a program to its end on behalf of the tool
 *
 * The program has our standard streams, environment and process group. A signal that another process sends to us is
 * passed on to the program, even an exit signal that is blocked and already pending. The caller decides what the end of
 * the program means. Thread rule: one thread; the process's signals belong to child_run() until the program has ended.
 */
#ifndef DCPI_TOOLS_CHILD_H
#define DCPI_TOOLS_CHILD_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- signals that ask a program to exit: SIGHUP, SIGINT, SIGQUIT and SIGTERM ---- */

/* Fill in the set of these signals. */
void exit_signals_fill(sigset_t *signals);

/* Block these signals, so that work in progress can be completed; *before gets the mask before. */
void exit_signals_block(sigset_t *before);

/* Accept the pending ones: returns the first that is not ignored, or 0. */
int exit_signals_take(void);

/* Restore the mask that exit_signals_block() returned: a pending signal that was not accepted terminates us. */
void exit_signals_restore(const sigset_t *before);

/* Whether it is one of these signals, and not ignored. */
bool exit_signals_include(int signal_number);

/* Terminate by the signal, with its default action and without a core dump. Returns an exit status if that fails. */
int exit_signals_raise(int signal_number);

/* ---- the program ---- */

struct child {
	/* Run in the new process before exec; a return value other than 0, after a message, is its exit status and
	 * prevents exec. NULL: nothing. */
	int (*begin)(void *context);
	void *begin_context;
	void (*tick)(void *context, uint64_t elapsed_ns); /* again and again while it runs, or NULL */
	void *tick_context;
	uint64_t tick_ns;     /* between two of them; 0: a second */
	bool is_quiet;        /* its standard output is /dev/null; standard error stays */
	const sigset_t *mask; /* its signal mask; NULL: the one that we have */

	/* results */
	int status;                /* of the program, from waitpid(2) */
	uint64_t start_ns, end_ns; /* since 1970: when it was executed, when it ended */
	uint64_t cpu_ns;           /* processor time, with that of children that it waited for */
	int asked;                 /* the first exit signal that we received until it ended; 0: none */
};

/*
 * Run `command`, which is found as by a shell. 0 when it ran, whatever its status; an exit status when `begin` returned
 * one; -errno when it cannot be executed.
 */
int child_run(struct child *child, char *const *command);

/* The program's exit status, or `failed` when that is 0; if a signal terminated it, terminate by that signal. */
int child_exit_status(int status, int failed);

/* The file `name` in ../lib/dcpi/ from our executable's folder. 0 or -errno, with the path that was tried in `path`. */
int child_find_installed(const char *name, char path[PATH_MAX]);

#endif
