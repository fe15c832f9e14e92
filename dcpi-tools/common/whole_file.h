/*
 * whole_file.h - a file that is there whole, or not at all
 *
 * It is written beside its name, which it takes at the end; whoever reads the old one meanwhile reads all of it, and a
 * kill leaves the old one. "-" is standard output, and what is no ordinary file (/dev/null, a pipe) is written to as it
 * is. Thread rule: one thread per file.
 */
#ifndef DCPI_TOOLS_WHOLE_FILE_H
#define DCPI_TOOLS_WHOLE_FILE_H

#include <stdio.h>

struct whole_file {
	FILE *stream;    /* to write to; not to be closed */
	char *path;      /* that it will have; NULL: it is not replaced at the end */
	char *temporary; /* beside it */
};

/* 0 or -errno. A new file has the mode that the umask leaves of 0666. */
int whole_file_open(struct whole_file *file, const char *path);

/* With `err`, that of whoever wrote, the file is forgotten. `err`, or else 0 or -errno of what went wrong only now. */
int whole_file_close(struct whole_file *file, int err);

#endif
