/*
 * replica_process.h - the replica (replica/replica.h) of a process: it executes instructions instead of a stopped
 * thread
 *
 * Thread rule: the thread that stopped the other thread.
 */
#ifndef DCPI_TOOLS_X_REPLICA_PROCESS_H
#define DCPI_TOOLS_X_REPLICA_PROCESS_H

#include <stddef.h>

#include "dcpi-tools/x/replica/replica.h"
#include "dcpi-tools/x/stopped_thread.h"

struct replica_process;

/* Where control went: `count` instructions were executed, of which places[count] is what would have come next. */
struct burst {
	size_t count;
	enum replica_end end;
	uint64_t places[REPLICA_STEPS_MAX + 1];
};

/* Start it for the process; NULL and errno (EACCES, EPERM: its memory may not be read; ENOENT: it is not installed). */
struct replica_process *replica_process_new(pid_t pid);
void replica_process_free(struct replica_process *replica); /* NULL is allowed */

/*
 * Execute at most `steps` instructions of the thread, or as many as fit into `limit_ns`. It may go on when this
 * returns. 0, also when there was none to execute; -EBUSY when the replica has not ended the last burst;
 * -EPIPE when the replica is broken, or the process has another memory than when it was started: it needs a new
 * one. -errno.
 */
int replica_process_execute(struct replica_process *replica, const struct stopped_thread *thread, size_t steps,
                            uint64_t limit_ns, struct burst *burst);

#endif
