/*
 * compact_copy.h - the copy that a compaction makes (private to profile/)
 */
#ifndef DCPI_PROFILE_COMPACT_COPY_H
#define DCPI_PROFILE_COMPACT_COPY_H

struct profile;

/*
 * Write what is in use to DIRECTORY_COPY, which is not there yet, and sync it. 0, an error, or -ECANCELED after
 * profile_break_compaction(); the file is left.
 */
int compact_write_copy(struct profile *profile);

#endif
