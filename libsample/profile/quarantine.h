/*
 * quarantine.h - a damaged database is moved away, so that a new one can be made in its place
 *
 * Its files are renamed into a directory of their own inside the database's, damaged-2026-11-21T09:43:00Z (UTC), where
 * `dcpictl salvage` reads them. At most two are kept, the first and the latest: a third replaces the second.
 * The caller must know that the files are damaged, and not those of another program or of a newer dcpi.
 * Thread rule: the profile's, for the one that has a profile; else stateless.
 */
#ifndef DCPI_PROFILE_QUARANTINE_H
#define DCPI_PROFILE_QUARANTINE_H

#include <stdint.h>

#include "profile/profile.h"

#define QUARANTINE_NAME_SIZE 32
#define QUARANTINE_PAUSE_S   60

struct quarantined {
	char name[QUARANTINE_NAME_SIZE]; /* of its directory */
	uint64_t bytes;                  /* of data.mdb */
};

/*
 * Quarantine the database that a writer has open; profile_recover() then makes another. 0 with `name` set; -EAGAIN when
 * the last quarantine was less than QUARANTINE_PAUSE_S ago: damage that returns so soon has its cause in the machine;
 * -ENOENT when the files are gone; or -errno, and nothing was moved.
 */
int profile_quarantine(const struct profile *profile, char name[QUARANTINE_NAME_SIZE]);

/* Quarantine a database that is not open: also -DCPI_ERUNNING. */
int profile_quarantine_at(const char *directory, char name[QUARANTINE_NAME_SIZE]);

/* The latest that is kept in `directory`: 1 with *quarantined filled, 0 when there is none, or -errno. */
int profile_find_quarantined(const char *directory, struct quarantined *quarantined);

#endif
