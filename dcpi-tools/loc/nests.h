/*
 * nests.h - the nests of loops that records have, one for each place in a program
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_NESTS_H
#define DCPI_TOOLS_LOC_NESTS_H

#include "dcpi-tools/loc/profile.h"
#include "locality/nest.h"

struct loc_nest {
	const struct locality_record *record;
	struct locality_nest nest; /* the entry with most references */
	uint64_t most;             /* references of that */
	uint64_t references;       /* of all entries that are recorded */
};

struct loc_nests {
	struct loc_nest *nests; /* most references first */
	size_t count, room;
};

/* 0, or -ENOMEM. Call loc_nests_free() in any case. The profile is used as long as they are. */
int loc_nests_collect(const struct loc_profile *profile, struct loc_nests *nests);
void loc_nests_free(struct loc_nests *nests);

/* What the innermost loop's text says. */
const struct locality_loop *loc_nest_loop(const struct loc_nest *nest);

/* The line of the loop at a level; 0: it is not known. */
uint32_t loc_nest_line(const struct loc_nest *nest, uint32_t level);

#endif
