/*
 * guard.h - a last word when reading a foreign file ends in a fault
 *
 * LMDB and libelf map files; a damaged or shrinking one can fault (SIGSEGV, SIGBUS) or trip an assertion (SIGABRT) deep
 * inside them. Between guard_enter() and guard_leave() such a fault of this thread prints one line and ends the program
 * with `status`, by write(2) and _exit(2) only; or, where a guard wants that, by execve(2) of the same program. Guards
 * nest: the innermost speaks. What other threads do, and signals that another process sends (a watchdog's SIGABRT), are
 * not the file's doing and end as they would without a guard. The one file of the library that prints and exits,
 * because nobody else can then. Signal handlers belong to the process. Thread rule: any thread, but one at a time
 * inside of guards, with those that share its guard; they must not block these three signals.
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
 * What else a fault of this thread may come from: where `applies` (async-signal-safe) says so, the sentence follows the
 * subject, and the program ends with `status`.
 */
struct guard_excuse {
	bool (*applies)(const void *context);
	const void *context;
	const char *sentence;
	int status;
};
void guard_set_excuse(const struct guard_excuse *excuse); /* borrowed; NULL: none */

/* Prints "dcpiprof: SUBJECT: CLAIM (REASON); ADVICE" on a fault. The guard and its texts must live until it is left. */
void guard_enter(struct guard *guard);
void guard_leave(struct guard *guard); /* the one entered last */

/*
 * For a further thread that works for the one inside of guards, while that stays there: a fault of it has the words of
 * `guard`, which guard_innermost() gave the other.
 */
struct guard *guard_innermost(void); /* NULL: there is none */
void guard_share(struct guard *guard);
void guard_unshare(void);

/*
 * What a guard that begins anew executes this program with; both are borrowed until it is called again. The process
 * keeps its number, and blocks the signals that the thread of the fault did. NULL arguments (as at first): the program
 * ends instead. Any thread.
 */
void guard_begin_anew_with(char *const *arguments, char *const *environment);

#endif
