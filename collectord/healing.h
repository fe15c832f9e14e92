/*
 * healing.h - a damaged database makes room for a new one
 *
 * Damage does not mend itself. What is damaged is put aside (profile/aside.h), loudly, and collecting goes on. Errors
 * that LMDB returns are healed where they are met, and what is in memory goes to the new database. A fault inside LMDB
 * (base/guard.h) leaves a process that cannot be trusted: it executes dcpid anew, with what is in the environment here,
 * and that puts the database aside before it opens one.
 * Thread rule: stateless, but for healing_prepare(), which is for main().
 */
#ifndef DCPI_COLLECTORD_HEALING_H
#define DCPI_COLLECTORD_HEALING_H

#include "base/log.h"
#include "profile/aside.h"

/*
 * Put a damaged database aside, and say so: the one that `profile` has open, or with NULL the one in `directory`, that
 * nobody has. 0, or why not, as of profile_set_aside(), which the log has as well.
 */
int healing_set_aside(const char *directory, const struct profile *profile, const struct log *log);

/* The directory in which the dcpid that this was met damage (to be freed); NULL when it did not. Called once. */
char *healing_take_message(void);

/* What a dcpid that is executed anew is given. */
struct healing {
	char **environment;
	char *message; /* in it */
};

/*
 * From here on a fault over the database in `directory` executes dcpid anew with `arguments`. 0 or -ENOMEM. Until
 * healing_fini(), which takes it back, `healing` must not move nor `arguments` go.
 */
int healing_prepare(struct healing *healing, const char *directory, char *const *arguments);
void healing_fini(struct healing *healing); /* also of one that is all zero */

/* dcpid is about to end: a fault ends it. */
void healing_end(void);

#endif
