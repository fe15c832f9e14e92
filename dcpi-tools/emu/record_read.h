/*
 * record_read.h - the files of the timing plugin (emulator/record/record_file.h), read
 *
 * A file is not trusted: one that contradicts itself is refused. Parts of a sparse file that were never written are not
 * read.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_RECORD_READ_H
#define DCPI_TOOLS_EMU_RECORD_READ_H

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

#endif
