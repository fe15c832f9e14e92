/*
 * source.h - samples of accesses on this machine: by its PMU, or by the faults of NUMA balancing
 *
 * A PMU that samples data addresses says which level served a load, how long it took, and whether another core had
 * modified the line: Intel's load latency and stores (PEBS), AMD's IBS, Arm's SPE (spe_live.h). Where there is none,
 * Linux's NUMA balancing takes pages away from processes, a part of their memory after the other, and sees by the fault
 * who accesses a page next; each such fault is a sample with its address, without a time.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_SOURCE_H
#define DCPI_TOOLS_MEM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "event/event.h"
#include "memory/memory_profile.h"
#include "stream/merge.h"

/* ---- the machine ---- */

#define NODE_CPUS_MAX 8192

struct node_cpus {
	unsigned nodes;              /* 1 where the kernel names none */
	unsigned node_cpus;          /* of node 0 */
	unsigned line_bytes;         /* of a cache line; 0: not known */
	uint8_t node[NODE_CPUS_MAX]; /* by CPU; MEMORY_NODE_HERE: not known */
};

/* `sysfs` is "/sys". 0 or -errno. */
int node_cpus_read(const char *sysfs, struct node_cpus *cpus);

/* ---- the source ---- */

enum access_source {
	SOURCE_CHOOSE,
	SOURCE_PMU,
	SOURCE_FAULTS,
};
#define SOURCES 3

const char *source_text(enum access_source source); /* as the user names it */

#define SOURCE_EVENTS 2

struct sample_source {
	enum access_source kind;
	size_t event_count;
	struct event_encoding encodings[SOURCE_EVENTS];
	char names[SOURCE_EVENTS][EVENT_NAME_SIZE];
	bool is_of_machine; /* the PMU cannot count for one process: all are sampled, and others left out */
	bool is_spe;        /* samples come in auxiliary areas */
	uint64_t behind_ns; /* a sample may be so much older than others that came before */
	uint8_t precise;
	uint64_t period;
	/* while it is open */
	struct sampled_cpu *cpus;
	size_t cpu_count;
	struct merge *merge;
	struct spe_live *spe; /* NULL: it is not SPE */
	uint64_t lost;        /* records for which the rings had no room, and damaged ones */
};

/*
 * Find what the machine has; `kind` is the user's choice. STATUS_OK, or an exit status after a message that says what
 * is missing, and what to do.
 */
int source_choose(enum access_source kind, const struct node_cpus *cpus, struct sample_source *source);

/*
 * Open it. `pid` 0: for what this process executes next, and all that comes of it; else for the threads that the
 * process has, and theirs. STATUS_OK, or an exit status after a message.
 */
int source_open(struct sample_source *source, pid_t pid);
void source_close(struct sample_source *source); /* one that is not open is allowed */

/* Hand on what is not later than `horizon` (CLOCK_MONOTONIC, ns). 0, or what `sink` returned. */
int source_drain(struct sample_source *source, uint64_t horizon, merge_sink *sink, void *context);

#endif
