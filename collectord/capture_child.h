/*
 * capture_child.h - a process of dcpi-capture: a request in, a reply out
 *
 * The process always ends: when it has replied, or when it is killed. It is killed after CAPTURE_CHILD_S, or when it
 * has waited in the kernel for CAPTURE_CHILD_PATIENCE_S, because the file system of the file that it reads may not
 * answer.
 * One thread may have several processes; it waits for all of them at once, never for one alone.
 * Thread rule: one thread, which ignores SIGPIPE: the process may end before it has read its request.
 */
#ifndef DCPI_COLLECTORD_CAPTURE_CHILD_H
#define DCPI_COLLECTORD_CAPTURE_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/protocol.h"

#define CAPTURE_CHILD_S          60
#define CAPTURE_CHILD_PATIENCE_S 2
#define CAPTURE_CHILDREN_MAX     3 /* that one call waits for */

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

struct capture_child {
	bool has_ended;  /* the outcome is whole, and nothing of the process is left but one that hangs in the kernel */
	uint64_t own_ns; /* processor time of the thread that it took to start the process and to serve it */

	/* of capture_child.c */
	struct capture_outcome *outcome;
	const struct byte_writer *request;
	size_t written, capacity;
	pid_t pid;
	int in, out;                /* our ends of its pipes; -1: closed */
	int end;                    /* a pidfd that is readable when it has ended; -1: none */
	bool is_ending, was_killed; /* its output is closed */
	uint64_t deadline_ns;       /* of the reply; when it is ending, of its end */
	uint64_t cpu_ns, moved_ns;  /* processor time that it had used, and when it was seen to move last */
};

/* Where the program is: beside dcpid. 0 or -errno, with the path that was tried in any case. */
int capture_child_find(char path[PATH_MAX]);

/*
 * Start the program with the request; the process gets `file` (-1: none) as descriptor RUN_TIME_FILE. The request and
 * the outcome, which is capture_outcome_fini()'s, are borrowed until it has ended. A program that cannot be started has
 * ended.
 */
void capture_child_start(struct capture_child *child, const char *program, const struct byte_writer *request, int file,
                         struct capture_outcome *outcome);

/*
 * Wait until there is something to do for one of `count` children, until `monotonic_ns` and half a second at most, and
 * do it; those that have ended are left alone. `stop` is a descriptor that becomes readable when all must end at once
 * (-1: none).
 */
void capture_children_serve(struct capture_child *const *children, size_t count, int stop, uint64_t monotonic_ns);

/* Start the program without a file, and serve it until it has ended: for callers that have nothing else to wait for
 * (bench/, tests/). */
void capture_child_run(const char *program, const struct byte_writer *request, int stop,
                       struct capture_outcome *outcome);

void capture_outcome_fini(struct capture_outcome *outcome);

#endif
