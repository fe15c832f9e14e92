/*
 * counting.h - the counts of one process, in a file that outlives it
 *
 * The file is laid out as counts_file.h says, and keeps all counts however the process ends. After a fork the child has
 * a file of its own, with everything at zero.
 * Thread rule: each virtual CPU counts on its own; images and blocks are added by one thread at a time.
 */
#ifndef DCPI_EMULATOR_COUNTING_H
#define DCPI_EMULATOR_COUNTING_H

#include "emulator/counts/counts_file.h"

struct counting;

/* Count in a new file in `directory`, for a process with this name. NULL and errno. */
struct counting *counting_new(const char *directory, const char *comm);
void counting_free(struct counting *counting); /* the file stays; NULL is allowed */

/* The file, to add images and blocks, and to count what has no room. */
struct process_file *counting_file(struct counting *counting);

/* Before a fork, while no virtual CPU runs. */
void counting_before_fork(struct counting *counting);

/*
 * In the child of a fork, before anything is counted: from now on count in a file of its own. 0; -errno: nothing is
 * counted.
 */
int counting_fork(struct counting *counting);

/* A thread begins as, or ends on, `vcpu`: no block runs there. */
int counting_add_vcpu(struct counting *counting, unsigned vcpu); /* 0 or -errno: it will not be counted */
void counting_clear_vcpu(struct counting *counting, unsigned vcpu);

/* `vcpu` enters `block`, a number that process_file_add_block() gave. */
void counting_enter(struct counting *counting, unsigned vcpu, uint32_t block);

#endif
