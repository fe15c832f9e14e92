/*
 * atomic_file.h - a file that appears whole under its name, or not at all
 *
 * It is written under a temporary name in its directory, and gets its name at the end. A process that reads
 * the old file meanwhile reads all of it, and a kill leaves the old file in place. "-" is standard output; a path that
 * is no regular file (/dev/null, a pipe) is written to directly. Thread rule: one thread per file.
 */
#ifndef DCPI_TOOLS_ATOMIC_FILE_H
#define DCPI_TOOLS_ATOMIC_FILE_H

#include <stdio.h>

struct atomic_file {
	FILE *stream;    /* to write to; not to be closed */
	char *path;      /* its final path; NULL: nothing is renamed at the end */
	char *temporary; /* in the directory of `path` */
};

/* 0 or -errno. A new file has the mode that the umask leaves of 0666. */
int atomic_file_open(struct atomic_file *file, const char *path);

/*
 * Give the file its name; or, if `err` (of what was written) is not 0, remove it. Returns `err`, or else 0 or the
 * -errno of flushing or renaming.
 */
int atomic_file_close(struct atomic_file *file, int err);

#endif
