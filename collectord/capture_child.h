/*
 * capture_child.h - one run of dcpi-capture: a request in, a reply out
 *
 * The process always ends: when it has replied, or it is killed, after CAPTURE_CHILD_S, or when it has waited in the
 * kernel for CAPTURE_CHILD_PATIENCE_S: the file system of the file that it reads may not answer.
 * Thread rule: one thread, which waits, and which ignores SIGPIPE: the process may end before it has read its request.
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
	 * 0: `reply` holds what was captured. Otherwise nothing was: the error of the process (-ENOENT, -EACCES,
	 * -DCPI_EDAMAGED, -DCPI_EBUILDID, ...), or -ECHILD, it died; -ETIMEDOUT; -EBADMSG, its reply makes no sense;
	 * -EFBIG, its reply is too large; -ECANCELED; or why it could not be started.
	 */
	int error;
	int signal;      /* that killed it, with -ECHILD; 0: none */
	uint64_t cpu_ns; /* processor time that it used */
	struct capture_reply reply;
	uint8_t *bytes; /* that the reply points into */
	size_t size;
};

/* Where the program is: beside dcpid. 0 or -errno, with the path that was tried in any case. */
int capture_child_find(char path[PATH_MAX]);

/*
 * Run the program with the request; `stop` is a descriptor that becomes readable when it must end at once (-1: none).
 * capture_outcome_fini() the outcome.
 */
void capture_child_run(const char *program, const struct byte_writer *request, int stop,
                       struct capture_outcome *outcome);

/* As capture_child_run(); the process gets `file` as descriptor RUN_TIME_FILE. */
void capture_child_run_with_file(const char *program, const struct byte_writer *request, int file, int stop,
                                 struct capture_outcome *outcome);
void capture_outcome_fini(struct capture_outcome *outcome);

#endif
