/*
 * shadow_process.h - the shadow process (shadow/shadow.h) of a process: it executes instructions instead of a stopped
 * thread
 *
 * Thread rule: the thread that stopped the other thread.
 */
#ifndef DCPI_TOOLS_X_SHADOW_PROCESS_H
#define DCPI_TOOLS_X_SHADOW_PROCESS_H

#include <stddef.h>

#include "dcpi-tools/x/shadow/shadow.h"
#include "dcpi-tools/x/stopped_thread.h"

struct shadow_process;

/* Where control went: `count` instructions were executed, of which places[count] is what would have come next. */
struct burst {
	size_t count;
	enum shadow_end end;
	uint64_t places[SHADOW_STEPS_MAX + 1];
};

/* Start it for the process; NULL and errno (EACCES, EPERM: its memory may not be read; ENOENT: it is not installed). */
struct shadow_process *shadow_process_new(pid_t pid);
void shadow_process_free(struct shadow_process *shadow); /* NULL is allowed */

/*
 * Execute at most `steps` instructions of the thread, or as many as fit into `limit_ns`. It may go on when this
 * returns. 0, also when there was none to execute; -EBUSY when the shadow process has not ended the last burst;
 * -EPIPE when the shadow process is broken, or the process has another memory than when it was started: it needs a new
 * one. -errno.
 */
int shadow_process_execute(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps,
                           uint64_t limit_ns, struct burst *burst);

#endif
