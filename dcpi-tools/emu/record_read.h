/*
 * record_read.h - read the files of the timing plugin (emulator/record/record_file.h)
 *
 * Files are not trusted: a file that contradicts itself is refused. Parts of a sparse file that were never written are
 * not read.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_RECORD_READ_H
#define DCPI_TOOLS_EMU_RECORD_READ_H

#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/emulated/code_read.h"
#include "emulator/record/record_file.h"

struct record_reading {
	int fd;                      /* borrowed */
	struct record_header header; /* its comm ends */
	struct code_read code;
};

/* Header and code of the file. 0, -DCPI_EDAMAGED, -ENOMEM, -errno; in any case fini. */
int record_reading_init(struct record_reading *reading, int fd, struct image_table *images);
void record_reading_fini(struct record_reading *reading); /* a zeroed one is allowed */

/* Add the executions on all virtual CPUs to `executions`, of reading->code.block_count blocks. 0 or -errno. */
int record_read_executions(const struct record_reading *reading, uint64_t *executions);

/*
 * Add an event's samples on all virtual CPUs to `samples`, by the number of the instruction, from 1 to
 * code.instruction_count. 0 or -errno.
 */
int record_read_samples(const struct record_reading *reading, enum setup_event event, uint64_t *samples);

/*
 * Call back for each stall of each virtual CPU, until a call does not return 0. Instructions and reason are in range.
 * 0, what the call returned, -DCPI_EDAMAGED, or -errno.
 */
typedef int record_stall_visit(void *context, const struct record_stall *stall);
int record_read_stalls(const struct record_reading *reading, record_stall_visit *visit, void *context);

/* How much was executed in a run. */
struct executed {
	uint64_t instructions;  /* a string's once for each time it repeats */
	uint64_t loads, stores; /* instructions that do */
	uint64_t branches;      /* that are predicted */
};

/* Sums of all programs in the directory; those whose record is damaged are left out. 0 or -errno. */
int executed_read(const char *directory, struct executed *executed);

/*
 * ---- The present counters in the record files of a directory ----
 *
 * The counters are small and at fixed offsets, so they can be read at any time, even while the programs run. If the
 * guest has written to them, sums are wrong, but reading stays safe.
 */

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
