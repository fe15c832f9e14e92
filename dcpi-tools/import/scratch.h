/*
 * scratch.h - a database of its own, in which an import grows before it is adopted as a whole
 *
 * In $TMPDIR, or /tmp; for its user only, and gone in the end.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_SCRATCH_H
#define DCPI_TOOLS_IMPORT_SCRATCH_H

#include <limits.h>

#include "profile/profile.h"

struct import_scratch {
	struct profile *profile; /* a writer's */
	char directory[PATH_MAX];
};

int scratch_open(struct import_scratch *scratch); /* 0, or an exit status after a message */
void scratch_close(struct import_scratch *scratch);

#endif
