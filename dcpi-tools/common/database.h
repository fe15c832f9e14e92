/*
 * database.h - how a tool opens and reads the profile database
 *
 * While it is open, a guard (base/guard.h) handles faults from damaged pages; errors are printed as sentences.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DATABASE_H
#define DCPI_TOOLS_DATABASE_H

#include "base/guard.h"
#include "profile/profile.h"
#include "profile/selection.h"

/* What to do about a damaged database. */
#define DATABASE_DAMAGE_ADVICE "'dcpictl check' says what is wrong, 'dcpictl salvage' saves what is whole"

/*
 * A guard for a database that profile_open() opened; database_open() enters it itself. `shown`: the directory, escaped.
 */
struct guard database_guard(const char *shown);

struct database {
	struct profile *profile;
	const char *directory;
	char *shown; /* the directory, escaped */
	struct guard guard;
};

/*
 * Make a dcpid that writes to the database flush its memory, waiting at most three seconds, and open the database. 0,
 * or an exit status after a message. The database must not move and `directory` must live until it is closed.
 */
int database_open(struct database *database, const char *directory);

/* 0 with *selection (the caller frees it), or an exit status after a message. */
int database_select(struct database *database, const struct selection_request *request, struct selection **selection);

/* selection_read() (profile/selection.h), during which the program cannot be stopped by ^Z. */
int database_read(struct profile *profile, const struct selection_request *request, struct selection **selection,
                  char *why, size_t size);

/* profile_snapshot() (profile/profile.h), during which the program cannot be stopped by ^Z. */
int database_snapshot(struct database *database, int fd);

/* selection_read_each(), during which the program cannot be stopped by ^Z. */
int database_read_each(struct profile *profile, const struct selection_request *const *requests, size_t count,
                       struct selection **selections);

/* Print that it cannot be read because of `err`, and what to do; returns the exit status. */
int database_cannot_read(const struct database *database, int err);

/* Print that nothing can be selected because of `err`: the sentence `why`, or if it is "", database_cannot_read(). */
int database_cannot_select(const struct database *database, int err, const char *why);

/*
 * Print that the database in `directory` cannot be written because of `err`, and what to do; returns the exit status.
 */
int database_cannot_write(const char *directory, int err);

void database_close(struct database *database);

#endif
