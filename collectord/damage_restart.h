/*
 * damage_restart.h - go on with a new database when the present one is damaged
 *
 * The damaged database is moved aside (profile/profile.h), the log says so, and collecting continues. Errors that LMDB
 * returns are handled where they occur, and what is in memory goes to the new database. After a fault inside LMDB
 * (base/guard.h) the process cannot be trusted: it executes dcpid anew, with a message in its environment. The new
 * dcpid moves the database aside before it opens one, and continues under that label until the end that was set. Thread
 * rule: the event loop's thread; a fault in another thread finds either the old or the new label and end.
 */
#ifndef DCPI_COLLECTORD_DAMAGE_RESTART_H
#define DCPI_COLLECTORD_DAMAGE_RESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "profile/epoch.h"

struct profile;

/*
 * Move a damaged database aside, and log it: the one that `profile` has open, or with NULL the one in `directory`,
 * which nobody has open. 0, or an error as of profile_quarantine(), which is logged as well.
 */
int damage_restart_set_aside(const char *directory, const struct profile *profile, const struct log *log);

/* What dcpid wrote into the environment before a fault executed it anew. */
struct damage_restart_message {
	char *damaged;                /* the directory of the database (to be freed); NULL: there was no fault */
	char label[EPOCH_LABEL_SIZE]; /* of the epoch */
	uint64_t end_ns;              /* CLOCK_MONOTONIC, when it was to end; 0: on request */
	bool was_leaving;             /* it is to end as soon as the database lies aside */
	int status;                   /* exit status, with was_leaving */
};

/* Take the message out of the environment; once, before damage_restart_prepare(). 0 or -ENOMEM. */
int damage_restart_read_message(struct damage_restart_message *message);

/* The environment of a dcpid that is executed anew. */
struct damage_restart {
	char **environment;
	char *directory, *end, *leaving; /* variables in it */
	char *labels[2];                 /* the variable in it, and the one that is written next */
	size_t first;                    /* index of the first variable of the message */
};

/*
 * From here on a fault over the database in `directory` executes dcpid anew with `arguments`. 0 or -ENOMEM. Until
 * damage_restart_fini(), which ends that, `restart` must not be moved, and `arguments` must stay.
 */
int damage_restart_prepare(struct damage_restart *restart, const char *directory, char *const *arguments);
void damage_restart_fini(struct damage_restart *restart); /* all zero is allowed */

/* What the new dcpid is to go on with. `restart` is prepared, and no other thread changes it. */
void damage_restart_set_label(struct damage_restart *restart, const char *label);
void damage_restart_set_end(struct damage_restart *restart, uint64_t end_ns);

/* dcpid is about to end with exit status `status`: a new one only moves the database aside, and ends with it, too. */
void damage_restart_set_exit(struct damage_restart *restart, int status);

#endif
