/*
 * guard.h - a last word when reading a foreign file ends in a fault
 *
 * LMDB and libelf map files; a damaged or shrinking one can fault (SIGSEGV, SIGBUS) or trip an assertion (SIGABRT) deep
 * inside them. Between guard_enter() and guard_leave() such a fault prints one line and ends the program with `status`,
 * by write(2) and _exit(2) only. Guards nest: the innermost speaks.
 * Signal handlers belong to the process, and so does the state behind this file. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_GUARD_H
#define DCPI_TOOLS_GUARD_H

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
