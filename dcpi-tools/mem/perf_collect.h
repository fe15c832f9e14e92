/*
 * perf_collect.h - the memory profile of processes from records of perf, of this machine or of a recording
 *
 * Records say which processes there are, what they map, and which addresses their instructions accessed. Trackers' logs
 * (logs.h) have the objects there; without them, variables, files and mappings are the objects.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_PERF_COLLECT_H
#define DCPI_TOOLS_MEM_PERF_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/mem/source.h"
#include "memory/access_history.h"
#include "memory/data_source.h"
#include "memory/memory_profile.h"
#include "stream/record.h"

struct perf_collector;

struct perf_collector_options {
	enum access_source source;         /* SOURCE_PMU, or SOURCE_FAULTS */
	const struct node_cpus *cpus;      /* of the machine of the records; NULL: not known */
	const char *directory;             /* of logs; NULL: none */
	bool watches;                      /* with SOURCE_FAULTS: also by watchpoints (word_trials.h) */
	bool is_live;                      /* processes run on this machine, and can be asked; else it is a recording */
	uint32_t only;                     /* a process: only that, and what comes of it; 0: all */
	size_t access_max;                 /* that are kept at most */
	struct data_source_counts *counts; /* of all samples of a recording; NULL: not wanted */
};

/* `profile` must outlive it. NULL: no memory. */
struct perf_collector *perf_collector_new(struct memory_profile *profile, const struct perf_collector_options *options);
void perf_collector_free(struct perf_collector *collector); /* NULL is allowed */

/* A process that runs: what /proc says of it. 0 or -ENOMEM. */
int perf_collector_add_running(struct perf_collector *collector, uint32_t pid);

/*
 * Records in the order of their times; nothing in those of a recording is trusted. 0 or -ENOMEM; of a recording also an
 * error of perf_collector_advance(), which it calls when mappings change, and now and then.
 */
int perf_collector_take(struct perf_collector *collector, const struct record *record);

/*
 * No record earlier than `horizon` will come. Call it soon after the records were made: processes are asked where pages
 * are. 0, -ENOMEM, or -errno of the directory.
 */
int perf_collector_advance(struct perf_collector *collector, uint64_t horizon);

/*
 * Everything has ended: read the rest, name what is in the profile, and fill in its totals. The run was from `start_ns`
 * to `end_ns` (of the records' clock). Errors as above.
 */
int perf_collector_finish(struct perf_collector *collector, uint64_t start_ns, uint64_t end_ns);

/* What could not be asked of a process: 0, or the errno of asking where its pages are (EPERM). */
int perf_collector_refused(const struct perf_collector *collector);

/* How many mappings of a recording had no room: what is in them is not known. */
uint64_t perf_collector_left_out(const struct perf_collector *collector);

/*
 * The access that a sample of a PMU is. False: a load that a cache of the core's own served, or that of no known level,
 * or there is no such address.
 */
bool perf_sample_access(const struct record *record, struct access_sample *sample, bool *is_remote);

#endif
