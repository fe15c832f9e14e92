/*
 * source.h - find and open the file of an image, before dcpi-capture enters its jail
 *
 * The sampled process may see other files than dcpid does, the path may belong to another file by now, or the file may
 * have no name any more. So several ways are tried: the mapping, the path below the root of the process, its program,
 * the path below the root of the first process and below our own root. A file is accepted if its build-id, or else
 * device, inode and generation, are those of the image. Before all of these, root's file at the image's path is tried:
 * so a user who makes another file with root's build-id cannot have its names taken for those of root's file.
 * A mapping or a program can be opened through directories that are closed to a user, dcpid may be root, and other
 * users can read what it captures. So a file that the user of the process could not read by path is not opened. If the
 * process has ended, its user is not known: then only paths are tried, with the rights of dcpid.
 * Thread rule: stateless.
 */
#ifndef DCPI_CAPTURE_SOURCE_H
#define DCPI_CAPTURE_SOURCE_H

#include <stdbool.h>

#include "capture/protocol.h"

struct capture_source {
	int main;
	int debug;     /* the separate debug file of that build; -1: none */
	bool is_roots; /* `main` belongs to root (process/mapped_file.h) */
};

/* `procfs` is an open directory. 0; -ENOENT; -EACCES; -DCPI_EBUILDID when there were only files of other builds. */
int capture_source_open(int procfs, const struct capture_request *request, struct capture_source *source);

#endif
