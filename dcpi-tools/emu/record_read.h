/*
 * record_read.h - a file of the timing plugin (emulator/record/record_file.h), read
 *
 * Believes nothing: what contradicts itself is refused. What was never written to - the file is sparse - costs nothing.
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

/* Add those of all virtual CPUs to `executions`, of reading->code.block_count. 0 or -errno. */
int record_read_executions(const struct record_reading *reading, uint64_t *executions);

/* The same of an event's samples to `samples`, by the number of the instruction, from 1 to code.instruction_count. */
int record_read_samples(const struct record_reading *reading, enum setup_event event, uint64_t *samples);

/*
 * Call back for each stall of each virtual CPU, whose instructions and reason are such, until it does not return 0. 0,
 * what it returned, or -errno.
 */
typedef int record_stall_visit(void *context, const struct record_stall *stall);
int record_read_stalls(const struct record_reading *reading, record_stall_visit *visit, void *context);

#endif
