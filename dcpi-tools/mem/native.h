/*
 * native.h - the memory profile of what runs on this machine: a program from its start, or a process for a while
 *
 * Thread rule: one thread; the process's signals belong to it meanwhile.
 */
#ifndef DCPI_TOOLS_MEM_NATIVE_H
#define DCPI_TOOLS_MEM_NATIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dcpi-tools/mem/source.h"
#include "memory/memory_profile.h"

struct native_request {
	enum access_source source;
	uint64_t period;     /* of a PMU's events; 0: choose */
	size_t access_max;   /* that are kept */
	bool watches;        /* also by watchpoints, with faults */
	const char *tracker; /* the library; with `command` */
	char *const *command;
	/* without a command: */
	pid_t pid;
	uint64_t duration_ns; /* 0: until the process ends, or a signal asks to end */
};

struct native_outcome {
	struct memory_profile profile;
	bool has_profile;
	int status;                /* of the program, as waitpid(2) gives it; 0 without one */
	int asked;                 /* the signal that asked to end; 0: none */
	uint64_t start_ns, end_ns; /* since 1970 */
};

/* STATUS_OK, or an exit status after a message; what was collected is in the outcome in any case. */
int native_run(const struct native_request *request, struct native_outcome *outcome);
void native_outcome_fini(struct native_outcome *outcome); /* a zeroed one is allowed */

#endif
