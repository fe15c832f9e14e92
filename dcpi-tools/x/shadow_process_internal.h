/*
 * shadow_process_internal.h - the shadow process, for what differs between architectures
 */
#ifndef DCPI_TOOLS_X_SHADOW_PROCESS_INTERNAL_H
#define DCPI_TOOLS_X_SHADOW_PROCESS_INTERNAL_H

#include "dcpi-tools/x/shadow_process.h"

#define SHADOW_BEGIN_NS  UINT64_C(1000000000) /* limit for its start, and for ending a burst after must_end */
#define SHADOW_PAGES_MAX 512

struct shadow_process {
	struct shadow_shared *shared;
	int control;
	int process;       /* a pidfd: the number may belong to another process once it is dead */
	pid_t pid;         /* while it is known to live */
	bool is_busy;      /* with the last burst */
	uint64_t begin_ns; /* CLOCK_MONOTONIC: of the last burst */

	/* Where dcpix steps it: */
	uint64_t call_at;                 /* where it makes a system call, and then stops */
	uint64_t pages[SHADOW_PAGES_MAX]; /* of the process, that it has */
	size_t page_count;
};

/* In the child, before it becomes the shadow process. 0 or -1. */
int shadow_process_prepare(void);

/* Wait until it is ready for the first time. 0, -EPIPE, -ETIMEDOUT. */
int shadow_process_begin(struct shadow_process *shadow);

/* Execute a burst into `shared`; arguments and errors as shadow_process_execute() has them. */
int shadow_process_execute_shared(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps,
                                  uint64_t limit_ns);

#endif
