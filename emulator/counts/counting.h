/*
 * counting.h - the counts of one process, in a file that outlives it
 *
 * The file is laid out as counts_file.h says, and holds what was counted whatever ends the process. After a fork the
 * child has a file of its own, with everything at zero.
 * Thread rule: each virtual CPU counts on its own; images and blocks are added by one thread at a time.
 */
#ifndef DCPI_EMULATOR_COUNTING_H
#define DCPI_EMULATOR_COUNTING_H

#include "emulator/counts/counts_file.h"

struct counting;

/* Count in a new file in `directory`, for the process of this name. NULL and errno. */
struct counting *counting_new(const char *directory, const char *comm);
void counting_free(struct counting *counting); /* the file stays; NULL is allowed */

/* For images and blocks, and what there is no room for. */
struct process_file *counting_file(struct counting *counting);

/* Before a fork, while no virtual CPU runs. */
void counting_before_fork(struct counting *counting);

/* In the child of a fork, before anything is counted: from now on count in a file of its own. 0; -errno: not at all. */
int counting_fork(struct counting *counting);

/* A thread begins as, or ends on, `vcpu`: no block runs there. */
int counting_add_vcpu(struct counting *counting, unsigned vcpu); /* 0 or -errno: it will not be counted */
void counting_clear_vcpu(struct counting *counting, unsigned vcpu);

/* `vcpu` enters `block`, a number that process_file_add_block() gave. */
void counting_enter(struct counting *counting, unsigned vcpu, uint32_t block);

#endif
