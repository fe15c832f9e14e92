/*
 * code_file.h - the file in which a process tells what code it made, found as that process sees it
 *
 * A jitdump that it mapped, or /tmp/perf-PID.map, PID being what the process is called in its own namespace. The path
 * is followed from the root of the process, without symbolic links, or, when it has ended, of the nearest of its
 * ancestors that lives. A file that is deleted, but that the process still holds open, is found by its descriptor.
 * Only a regular file counts that we may read and nobody else can have written: it belongs to the process's user (or to
 * its ancestor's) or to root, is not writable by everybody, and was written since the process began - maps outlive
 * their processes, and numbers come again.
 * Finding it may wait for as long as a file system does not answer: only for a process that may hang. What was found is
 * an O_PATH descriptor: it keeps the file as an open one does, also when its name and its mount have gone, but who
 * closes it, or ends with it, asks the file system nothing. Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_CODE_FILE_H
#define DCPI_PROCESS_CODE_FILE_H

#include "process/code_maker.h"
#include "process/mapped_file.h"

/*
 * An O_PATH descriptor of it, for mapped_file_reopen(), or -ENOENT: there is none, or its process and all ancestors are
 * gone; -EACCES: not readable for us; -EPERM: not the process's own; -ESTALE: an older process's; -EINVAL: no regular
 * file; or -errno. `step` (NULL: nothing) is given each directory on the way, and the file, before it is asked
 * anything; it may say -EBUSY: what lies there is not known.
 */
int code_file_find(const char *procfs, const struct code_maker *maker, mapped_file_step *step, void *context);

/* Does it live still, the same that the maker was? */
bool code_file_lives(const char *procfs, const struct code_maker *maker);

#endif
