/*
 * code_file.h - the file in which a process tells what code it made, opened as that process sees it
 *
 * A jitdump that it mapped, or /tmp/perf-PID.map, PID being what the process is called in its own namespace. The path
 * is followed from the root of the process, without symbolic links, or, when it has ended, of the nearest of its
 * ancestors that lives. A file that is deleted, but that the process still holds open, is found by its descriptor.
 * Only a regular file is opened that nobody else can have written: it belongs to the process's user (or to
 * its ancestor's) or to root, is not writable by everybody, and was written since the process began - maps outlive
 * their processes, and numbers come again. Opening may wait for a disk or a network. Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_CODE_FILE_H
#define DCPI_PROCESS_CODE_FILE_H

#include "process/code_maker.h"

/*
 * A descriptor to read it, or -ENOENT: there is none, or its process and all ancestors are gone; -EACCES: not readable
 * for us; -EPERM: not the process's own; -ESTALE: an older process's; -EINVAL: no regular file; or -errno.
 */
int code_file_open(const char *procfs, const struct code_maker *maker);

/* Does it live still, the same that the maker was? */
bool code_file_lives(const char *procfs, const struct code_maker *maker);

#endif
