/*
 * guard.h - the message when reading a file that others wrote ends in a fault
 *
 * LMDB and libelf map files; a damaged or shrinking one can fault (SIGSEGV, SIGBUS) or trip an assertion (SIGABRT) deep
 * inside them. Between guard_enter() and guard_leave() such a fault of this thread prints one line and ends the program
 * with `status`, by write(2) and _exit(2) only; or, if the guard has begins_anew, it executes the program again by
 * execve(2). Guards nest: the innermost one prints. Faults of other threads, and signals that another process sends (a
 * watchdog's SIGABRT), are not caused by the file, and end the program as they would without a guard. Only this file of
 * the library prints and exits, because after a fault no caller can. Signal handlers belong to the process. Thread
 * rule: any thread. One thread at a time may be inside of guards, together with the threads that share its guard; they
 * must not block these three signals.
 */
#ifndef DCPI_BASE_GUARD_H
#define DCPI_BASE_GUARD_H

#include <stdbool.h>

struct guard {
	const char *subject; /* the file or directory, already escaped */
	const char *claim;   /* "the database is damaged" */
	const char *advice;  /* "run 'dcpictl check'" */
	int status;          /* enum exit_status */
	bool begins_anew;    /* execute the program again, as guard_begin_anew_with() says, instead of ending it */
	struct guard *outer; /* set by guard_enter() */
};

/*
 * Another possible cause of a fault of this thread. If `applies` (async-signal-safe) returns true, `sentence` follows
 * the subject, and the program ends with `status`.
 */
struct guard_excuse {
	bool (*applies)(const void *context);
	const void *context;
	const char *sentence;
	int status;
};
void guard_set_excuse(const struct guard_excuse *excuse); /* borrowed; NULL: none */

/*
 * Prints "dcpiprof: SUBJECT: CLAIM (REASON); ADVICE" on a fault. The guard and its texts must live until guard_leave().
 */
void guard_enter(struct guard *guard);
void guard_leave(struct guard *guard); /* the one entered last */

/*
 * For a second thread that works for the thread inside of guards, while that stays inside: a fault of the second thread
 * prints the text of `guard`, which guard_innermost() returned to the first.
 */
struct guard *guard_innermost(void); /* NULL: there is none */
void guard_share(struct guard *guard);
void guard_unshare(void);

/*
 * The arguments and the environment with which a guard that begins anew executes this program; both are borrowed until
 * the next call. The process keeps its number, and blocks the signals that the faulting thread blocked. With NULL
 * arguments (the initial state) the program ends instead. Any thread.
 */
void guard_begin_anew_with(char *const *arguments, char *const *environment);

#endif
