/*
 * compact.h - free pages go back to the file system
 *
 * LMDB reuses free pages but never shrinks its file. A compaction writes the pages in use to a new file and renames it
 * over the old one: a process that has the old one open keeps it unchanged, and a kill leaves either the old or the new
 * file, complete. The writer continues with the new file.
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
 * (needed_bytes is more than free_bytes when that was known before); -EIO, -ENOMEM, -DCPI_EDAMAGED, ..., or -ECANCELED
 * after profile_break_compaction(): the old file stays in use. -ENODEV when the new file has replaced it and could not
 * be opened: nothing can be read or written.
 */
int profile_compact(struct profile *profile, struct compaction *compaction);

/*
 * For any thread: a profile_compact() that is under way, or begins later, soon ends with -ECANCELED, unless it is done.
 * It cannot be undone: for a process that ends.
 */
void profile_break_compaction(struct profile *profile);

/* Why it failed with `err`, for people. */
void compaction_explain(const struct compaction *compaction, int err, char *why, size_t size);

/* "48.2 MiB"; returns `text`. */
const char *compaction_size(uint64_t bytes, char *text, size_t size);

#endif
