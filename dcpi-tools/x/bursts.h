/*
 * bursts.h - dcpix --bursts: sample control transfers of a running process
 *
 * At random times a running thread, chosen at random, is stopped (stopped_thread.h), and a replica executes its
 * next few hundred instructions instead (replica_process.h). The time for which threads are stopped, in all bursts
 * together, and our own CPU time meanwhile, stay below a share of the elapsed time. Thread rule: one thread; the
 * process's signals belong to bursts_run() until it returns.
 */
#ifndef DCPI_TOOLS_X_BURSTS_H
#define DCPI_TOOLS_X_BURSTS_H

#include <sys/types.h>

#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/x/replica/replica.h"

#define BURSTS_BUDGET_PERCENT 5
#define BURSTS_SECONDS        10
#define BURSTS_STEPS          1000 /* few long bursts say more than many short ones: docs/analysis.md */

struct bursts_request {
	pid_t pid;
	double budget_percent; /* above 0, at most 50 */
	double seconds;
	const char *label; /* "" for none */
};

struct bursts_summary {
	char comm[COMM_SIZE];
	uint64_t moments; /* at which a burst was to begin: one of these, or what follows */
	uint64_t asleep;  /* no thread was running */
	uint64_t in_call; /* the thread had just begun a system call */
	uint64_t bursts, steps;
	uint64_t ends[REPLICA_END_COUNT]; /* how many bursts ended so */
	uint64_t stopped_ns;              /* of single threads, all bursts */
	uint64_t own_ns;                  /* of a CPU, by us while no thread stood still */
	uint64_t start_ns, end_ns;        /* since 1970 */
	uint64_t elapsed_ns;
	bool has_ended; /* the process, before its time */
};

/* STATUS_OK, or an exit status after a message. */
int bursts_run(const struct bursts_request *request, struct counted *counted, struct bursts_summary *summary);

#endif
