/*
 * counters.h - what the timing plugin has counted up to now: the counters in the record files of a directory
 *
 * The counters are small and at fixed offsets, so that they can be read at any time, also while the programs run. The
 * guest can have written to them: then sums are wrong, but reading stays safe.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_COUNTERS_H
#define DCPI_TOOLS_EMU_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "emulator/record/record_file.h"

/* A program: a process from its start, or from an exec, to its end, or the next exec. */
struct counters_program {
	int32_t pid, parent;
	unsigned number; /* of the process' programs, from 0 on */
	char comm[COMM_SIZE];
	uint64_t start_cycles, unfollowed, unrecorded;
	struct record_counters sum; /* of its virtual CPUs; clock: the last one's, began: the first one's */
	struct record_counters *vcpus;
	size_t vcpu_count;
};

struct counters {
	struct counters_program *programs; /* in the order in which they began */
	size_t count;
	size_t damaged;             /* files that are no record */
	size_t running;             /* processes that have not ended */
	struct record_counters sum; /* of all */
	uint64_t elapsed_cycles;    /* from the first one's start to the last one's end */
	uint64_t busy_cycles;       /* of all cores together: not blocked */
};

/* 0, -errno; in both cases counters_fini() comes after it. */
int counters_read(const char *directory, struct counters *counters);
void counters_fini(struct counters *counters);

/* Only the time that has passed, in cycles of the target; 0 when nothing has begun yet. */
uint64_t counters_elapsed(const char *directory);

/* Cycles in which a core was in use: of all reasons but blocked. */
uint64_t counters_busy(const struct record_counters *counters);

#endif
