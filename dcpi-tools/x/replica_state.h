/*
 * replica_state.h - what replica_run.h does in the way of each architecture
 */
#ifndef DCPI_TOOLS_X_REPLICA_STATE_H
#define DCPI_TOOLS_X_REPLICA_STATE_H

#include "dcpi-tools/x/replica_run.h"

#define REPLICA_BEGIN_NS  UINT64_C(1000000000) /* until it is ready, or has ended what it was told to end */
#define REPLICA_PAGES_MAX 512

struct replica {
	struct replica_shared *shared;
	int control;
	int process;       /* descriptor of it: its number may be another's once it is dead */
	pid_t pid;         /* while it is known to live */
	bool is_busy;      /* with the last burst */
	uint64_t begin_ns; /* CLOCK_MONOTONIC: of the last burst */

	/* Where dcpix steps it: */
	uint64_t call_at;                  /* where it makes a system call, and then stops */
	uint64_t pages[REPLICA_PAGES_MAX]; /* of the process, that it has */
	size_t page_count;
};

/* In the child, before it becomes the replica. 0 or -1. */
int replica_prepare(void);

/* Wait until it is ready for the first time. 0, -EPIPE, -ETIMEDOUT. */
int replica_begin(struct replica *replica);

/* As replica_execute(), into `shared`. */
int replica_execute_shared(struct replica *replica, const struct seized *seized, size_t steps, uint64_t limit_ns);

#endif
