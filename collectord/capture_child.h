/*
 * capture_child.h - one run of dcpi-capture: a request in, a reply out
 *
 * Whatever the process does, it ends: when it has said all, or is killed, after CAPTURE_CHILD_S, or when it has waited
 * for CAPTURE_CHILD_PATIENCE_S in the kernel: the file that it reads may lie on what does not answer.
 * Thread rule: one thread, which waits, and which no SIGPIPE may end: a process may be gone before it has read its
 * request.
 */
#ifndef DCPI_COLLECTORD_CAPTURE_CHILD_H
#define DCPI_COLLECTORD_CAPTURE_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/protocol.h"

#define CAPTURE_CHILD_S          60
#define CAPTURE_CHILD_PATIENCE_S 2

struct capture_outcome {
	/*
	 * 0: `reply` holds what was taken. Else nothing was: what the process said (-ENOENT, -EACCES, -DCPI_EDAMAGED,
	 * -DCPI_EBUILDID, ...), or -ECHILD, it died; -ETIMEDOUT; -EBADMSG, what it said makes no sense; -EFBIG, it
	 * said too much; -ECANCELED; or why it could not be started.
	 */
	int error;
	int signal;      /* that it died of, with -ECHILD; 0: it ended by itself */
	uint64_t cpu_ns; /* processor time that it used */
	struct capture_reply reply;
	uint8_t *bytes; /* that the reply points into */
	size_t size;
};

/* Where the program is: beside dcpid. 0 or -errno, with the path that was tried in any case. */
int capture_child_find(char path[PATH_MAX]);

/* `stop` (a descriptor that becomes readable when it must end at once; -1: none). capture_outcome_fini() it. */
void capture_child_run(const char *program, const struct byte_writer *request, int stop,
                       struct capture_outcome *outcome);

/* The same, and `file` is handed over as descriptor RUN_TIME_FILE. */
void capture_child_run_with(const char *program, const struct byte_writer *request, int file, int stop,
                            struct capture_outcome *outcome);
void capture_outcome_fini(struct capture_outcome *outcome);

#endif
