/*
 * labels_file.h - a file that lists the processes that have labels, for the dcpid that comes after this one
 *
 * The file lies beside the control socket. It is valid until the machine restarts; where the socket is in /run, the
 * file is gone then. It is text: one line has the machine's boot id and the time up to which everything is known, then
 * there is a line for each process. Fuzzed by tests/fuzz/kept_labels_fuzz.c.
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_LABELS_FILE_H
#define DCPI_COLLECTORD_LABELS_FILE_H

#include <stddef.h>

#include "process/process_labels.h"

#define BOOT_ID_SIZE     37                /* with its NUL */
#define LABELS_FILE_MAX  65536             /* processes */
#define LABELS_FILE_SIZE ((size_t)8 << 20) /* bytes at most */

/* Replace the file at `path` as a whole; without a process, remove it. 0 or -errno. */
int labels_file_write(const char *path, const struct labelled_processes *labelled);

/*
 * Read it, for labelled_processes_fini(). 0, also when it is of another run of the machine: then no process is in it.
 * -ENOENT; -EPERM for another user's file; -EINVAL for another format; -ENOMEM; other errnos.
 */
int labels_file_read(const char *path, struct labelled_processes *labelled);

/* Parse the text of such a file, of the machine's run `boot_id`. As labels_file_read(). `text` ends in a NUL behind its
 * `length` bytes. */
int labels_file_parse(const char *text, size_t length, const char *boot_id, struct labelled_processes *labelled);

#endif
