/*
 * database.h - how a tool opens and reads the profile database
 *
 * It is open inside a guard (base/guard.h) against damaged pages; errors are printed as sentences.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DATABASE_H
#define DCPI_TOOLS_DATABASE_H

#include "base/guard.h"
#include "profile/profile.h"
#include "profile/selection.h"

/* What to do about one that is damaged. */
#define DATABASE_DAMAGE_ADVICE "'dcpictl check' says what is wrong, 'dcpictl salvage' saves what is whole"

/* Around the use of one that is opened by profile_open(); database_open() has it. `shown` is the directory, escaped. */
struct guard database_guard(const char *shown);

struct database {
	struct profile *profile;
	const char *directory;
	char *shown; /* the directory, escaped */
	struct guard guard;
};

/*
 * Have a dcpid that writes to the database write what it has in memory, for three seconds at most, and open it. 0, or
 * an exit status after a message. The database must not move and `directory` must live until it is closed.
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

/* Print that it cannot be read, for `err`, and what to do; the exit status. */
int database_cannot_read(const struct database *database, int err);

/* Print that nothing can be selected, for `err`: `why`, a sentence, or if it is "" that the database cannot be read. */
int database_cannot_select(const struct database *database, int err, const char *why);

/* Print that the one in `directory` cannot be written, for `err`, and what to do; the exit status. */
int database_cannot_write(const char *directory, int err);

void database_close(struct database *database);

#endif
