/*
 * source.h - the file of an image, found and opened before dcpi-capture locks itself up
 *
 * The process that was sampled may see other files than dcpid does, the path may be another file's by now, and the file
 * may have no name any more. So several ways are tried - the mapping, the path below the root of the process, its
 * program, the path below the root of the first process and below our own - and a file is accepted when its build-id,
 * or else device, inode and generation, are those of the image. Before all of them, root's file at the image's path is
 * tried: nobody who makes another file with its build-id can have that file's names taken for root's.
 * A mapping and a program lead past directories that are closed, dcpid may be root, and what it captures is shown to
 * others: a file that the user of the process could not read by path is not opened. When the process has ended its user
 * is not known: then only paths are tried, with the rights of dcpid.
 * Thread rule: stateless.
 */
#ifndef DCPI_CAPTURE_SOURCE_H
#define DCPI_CAPTURE_SOURCE_H

#include <stdbool.h>

#include "capture/protocol.h"

struct capture_source {
	int main;
	int debug;     /* the separate debug file of that build; -1: none */
	bool is_roots; /* the main one is (process/mapped_file.h) */
};

/* `procfs` is an open directory. 0; -ENOENT; -EACCES; -DCPI_EBUILDID when there were other files only. */
int capture_source_open(int procfs, const struct capture_request *request, struct capture_source *source);

#endif
