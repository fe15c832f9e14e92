/*
 * compact.h - space that nothing uses any more goes back to the file system
 *
 * LMDB uses pages again but never gives one back. A compaction writes what is in use to a new file beside the old one
 * and renames it over: whoever has the old one open keeps it as it was, and whoever is killed half-way leaves the old
 * or the new one, whole. The writer goes on with the new file.
 * Thread rule: the profile's.
 */
#ifndef DCPI_PROFILE_COMPACT_H
#define DCPI_PROFILE_COMPACT_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct compaction {
	uint64_t before_bytes; /* of data.mdb */
	uint64_t after_bytes;  /* only after success */
	uint64_t needed_bytes; /* that must be free in the file system while both files are there */
	uint64_t free_bytes;
};

/*
 * Compact a writer's profile. 0; -EINVAL for a reader's; -ENOSPC when the file system has no room for both files
 * (needed_bytes is more than free_bytes when that was known before); -EIO, -ENOMEM, -DCPI_EDAMAGED, ...: the old file
 * goes on. -ECANCELED when it was broken off: likewise. -ENODEV when the new file is in its place and could not be
 * opened: nothing can be read or written.
 */
int profile_compact(struct profile *profile, struct compaction *compaction);

/*
 * Any thread may say it: a profile_compact() that is under way, or begins later, ends within moments with -ECANCELED,
 * unless it is done. It is for good: somebody leaves.
 */
void profile_break_compaction(struct profile *profile);

/* Why it failed with `err`, for people. */
void compaction_explain(const struct compaction *compaction, int err, char *why, size_t size);

/* "48.2 MiB"; returns `text`. */
const char *compaction_size(uint64_t bytes, char *text, size_t size);

#endif
