/*
 * replica_run.h - the replica (replica/replica.h) of a process: it executes what a thread that stands still would
 *
 * Thread rule: the one that seized the thread.
 */
#ifndef DCPI_TOOLS_X_REPLICA_RUN_H
#define DCPI_TOOLS_X_REPLICA_RUN_H

#include <stddef.h>

#include "dcpi-tools/x/replica/replica.h"
#include "dcpi-tools/x/seized.h"

struct replica;

/* Where control went: `count` instructions were executed, of which places[count] is what would have come next. */
struct burst {
	size_t count;
	enum replica_end end;
	uint64_t places[REPLICA_STEPS_MAX + 1];
};

/* Start it for the process; NULL and errno (EACCES, EPERM: its memory may not be read; ENOENT: it is not installed). */
struct replica *replica_new(pid_t pid);
void replica_free(struct replica *replica); /* NULL is allowed */

/*
 * Execute at most `steps` instructions of the thread, or as many as fit into `limit_ns`. It may go on when this
 * returns. 0, also when there was none to execute; -EBUSY when the replica has not come to the end of the last burst;
 * -EPIPE when the replica is broken, or the process has another memory than when it was started: it needs a new one.
 * -errno.
 */
int replica_execute(struct replica *replica, const struct seized *seized, size_t steps, uint64_t limit_ns,
                    struct burst *burst);

#endif
