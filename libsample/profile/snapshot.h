/*
 * snapshot.h - a copy of a database as it is now
 *
 * Thread rule: the profile's.
 */
#ifndef DCPI_PROFILE_SNAPSHOT_H
#define DCPI_PROFILE_SNAPSHOT_H

#include "profile/profile.h"

/*
 * Write what is in use to `fd`, as a data.mdb without free pages. Beside a running dcpid it is one of its flushes,
 * whole; the same database gives the same bytes. While it is written, no page that it has can be used again. 0 or an
 * error.
 */
int profile_snapshot(struct profile *profile, int fd);

#endif
