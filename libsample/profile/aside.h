/*
 * aside.h - a damaged database is put aside, so that another can begin in its place
 *
 * Its files go as they are to a directory of their own inside the database's, damaged-2026-11-21T09:43:00Z (UTC), where
 * `dcpictl salvage` reads them. At most two are kept, the first and the latest: a third takes the place of the second.
 * What somebody else's files are, or those of a newer dcpi, is for the caller to know: they are not damaged.
 * Thread rule: the profile's, for the one that has a profile; else stateless.
 */
#ifndef DCPI_PROFILE_ASIDE_H
#define DCPI_PROFILE_ASIDE_H

#include <stdint.h>

#include "profile/profile.h"

#define ASIDE_NAME_SIZE 32
#define ASIDE_PAUSE_S   60

struct aside {
	char name[ASIDE_NAME_SIZE]; /* of its directory */
	uint64_t bytes;             /* of data.mdb */
};

/*
 * Put the database that a writer has open aside; profile_recover() then begins another. 0 with `name` set; -EAGAIN
 * when one was put aside less than ASIDE_PAUSE_S ago: what is damaged again so soon does not lie on a sound machine;
 * -ENOENT when there is nothing any more; or -errno, with everything where it was.
 */
int profile_set_aside(const struct profile *profile, char name[ASIDE_NAME_SIZE]);

/* The same for one that nobody has open: also -DCPI_ERUNNING. */
int profile_set_aside_at(const char *directory, char name[ASIDE_NAME_SIZE]);

/* The latest that is kept in `directory`: 1 with *aside filled, 0 when there is none, or -errno. */
int profile_find_aside(const char *directory, struct aside *aside);

#endif
