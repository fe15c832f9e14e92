/*
 * healing.h - a damaged database makes room for a new one
 *
 * Damage does not mend itself. What is damaged is put aside (profile/aside.h), loudly, and collecting goes on. Errors
 * that LMDB returns are healed where they are met, and what is in memory goes to the new database. A fault inside LMDB
 * (base/guard.h) leaves a process that cannot be trusted: it executes dcpid anew, with what is in the environment here,
 * and that puts the database aside before it opens one, and goes on under the same label until the same time.
 * Thread rule: the event loop's thread; a fault in another finds the one or the other of what is kept.
 */
#ifndef DCPI_COLLECTORD_HEALING_H
#define DCPI_COLLECTORD_HEALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "profile/epoch.h"
#include "profile/quarantine.h"

/*
 * Put a damaged database aside, and say so: the one that `profile` has open, or with NULL the one in `directory`, that
 * nobody has. 0, or why not, as of profile_quarantine(), which the log has as well.
 */
int healing_set_aside(const char *directory, const struct profile *profile, const struct log *log);

/* What the dcpid that this was before a fault left to be done, and to go on with. */
struct healing_message {
	char *damaged;                /* the directory of the database (to be freed); NULL: there was no fault */
	char label[EPOCH_LABEL_SIZE]; /* of the epoch */
	uint64_t end_ns;              /* CLOCK_MONOTONIC, when it was to end; 0: when told to */
	bool was_leaving;             /* with exit status `status`, as soon as what is damaged lies aside */
	int status;
};

/* Called once, before healing_prepare(). 0 or -ENOMEM. */
int healing_take_message(struct healing_message *message);

/* What a dcpid that is executed anew is given. */
struct healing {
	char **environment;
	char *directory, *end, *leaving; /* in it */
	char *labels[2];                 /* the one that is in it, and the one that is written next */
	size_t first;                    /* index of ours */
};

/*
 * From here on a fault over the database in `directory` executes dcpid anew with `arguments`. 0 or -ENOMEM. Until
 * healing_fini(), which takes it back, `healing` must not move nor `arguments` go.
 */
int healing_prepare(struct healing *healing, const char *directory, char *const *arguments);
void healing_fini(struct healing *healing); /* also of one that is all zero */

/* What the new one is to go on with; of a `healing` that is prepared, while no other thread changes it. */
void healing_keep_label(struct healing *healing, const char *label);
void healing_keep_end(struct healing *healing, uint64_t end_ns);

/* dcpid is about to end with exit status `status`: the new one only puts the database aside, and does the same. */
void healing_end(struct healing *healing, int status);

#endif
