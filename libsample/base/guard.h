/*
 * guard.h - a last word when reading a foreign file ends in a fault
 *
 * LMDB and libelf map files; a damaged or shrinking one can fault (SIGSEGV, SIGBUS) or trip an assertion (SIGABRT) deep
 * inside them. Between guard_enter() and guard_leave() such a fault of this thread prints one line and ends the program
 * with `status`, by write(2) and _exit(2) only. Guards nest: the innermost speaks. What other threads do, and signals
 * that another process sends (a watchdog's SIGABRT), are not the file's doing and end as they would without a guard.
 * The one file of the library that prints and exits, because nobody else can then.
 * Signal handlers belong to the process. Thread rule: any thread, but one at a time inside of guards; it must not block
 * these three signals.
 */
#ifndef DCPI_BASE_GUARD_H
#define DCPI_BASE_GUARD_H

struct guard {
	const char *subject; /* the file or directory, already escaped */
	const char *claim;   /* "the database is damaged" */
	const char *advice;  /* "run 'dcpictl check'" */
	int status;          /* enum exit_status */
	struct guard *outer; /* set by guard_enter() */
};

/* Prints "dcpiprof: SUBJECT: CLAIM (REASON); ADVICE" on a fault. The guard and its texts must live until it is left. */
void guard_enter(struct guard *guard);
void guard_leave(struct guard *guard); /* the one entered last */

#endif
