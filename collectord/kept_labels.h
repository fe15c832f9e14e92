/*
 * kept_labels.h - which processes have labels, kept in a file for the dcpid that comes after this one
 *
 * It lies beside the control socket, so that it goes when the machine is restarted where that is /run, and is good for
 * this run of the machine only. Text: a line with the machine's boot id and the moment up to which all is known, then a
 * line for each process. Fuzzed by tests/fuzz/kept_labels_fuzz.c.
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_KEPT_LABELS_H
#define DCPI_COLLECTORD_KEPT_LABELS_H

#include <stddef.h>

#include "process/process_labels.h"

#define BOOT_ID_SIZE    37                /* with its NUL */
#define KEPT_LABELS_MAX 65536             /* processes */
#define KEPT_BYTES_MAX  ((size_t)8 << 20) /* of the file */

/* Replace the file at `path` as a whole; without a process, remove it. 0 or -errno. */
int kept_labels_write(const char *path, const struct labelled_processes *labelled);

/*
 * Read it, for labelled_processes_fini(). 0, also when it is of another run of the machine: then nobody is in it.
 * -ENOENT; -EPERM for somebody else's; -EINVAL for what is no such file; -ENOMEM; other errnos.
 */
int kept_labels_read(const char *path, struct labelled_processes *labelled);

/* The same of its text, for the machine's run `boot_id`. `text` ends in a NUL behind its `length` bytes. */
int kept_labels_parse(const char *text, size_t length, const char *boot_id, struct labelled_processes *labelled);

#endif
