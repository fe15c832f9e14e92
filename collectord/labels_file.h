/*
 * labels_file.h - which processes have labels, in a file for the dcpid that comes after this one
 *
 * It lies beside the control socket, so that it goes when the machine is restarted where that is /run, and is good for
 * this run of the machine only. Text: a line with the machine's boot id and the moment up to which all is known, then a
 * line for each process. Fuzzed by tests/fuzz/kept_labels_fuzz.c.
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
