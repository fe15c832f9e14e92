/*
 * target.h - the database that is imported into, also while a dcpid writes to it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_TARGET_H
#define DCPI_TOOLS_IMPORT_TARGET_H

#include <signal.h>

#include "profile/merge_database.h"

struct target {
	const char *directory; /* borrowed */
	struct profile *profile;
	const volatile sig_atomic_t *stop; /* borrowed; not 0: break off what is adopted */
};

/* 0, or an exit status after a message. Makes the database where there is none. */
int target_open(struct target *target, const char *directory, const volatile sig_atomic_t *stop);
void target_close(struct target *target);

/*
 * All that `from` holds becomes part of it, or nothing; `host` as in struct database_merge_options; `what` is said when
 * it takes long. As profile_merge_database(), or -EINTR when it was told to stop.
 */
int target_adopt(struct target *target, struct profile *from, const char *host, const char *what,
                 struct database_merge *adoption);

#endif
