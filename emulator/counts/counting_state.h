/*
 * counting_state.h - what the parts of counting.h share: the file, its log of images and blocks, the edges
 *
 * Thread rule: that of counting.h.
 */
#ifndef DCPI_EMULATOR_COUNTING_STATE_H
#define DCPI_EMULATOR_COUNTING_STATE_H

#include "emulator/code_log.h"
#include "emulator/counts/counting.h"
#include "emulator/number_index.h"
#include "emulator/process_file.h"

struct counting {
	struct process_file file;
	struct code_log log;
	struct counts_header *header;
	struct counts_vcpu *vcpus[COUNTS_VCPUS_MAX];
	struct number_index edges[COUNTS_VCPUS_MAX]; /* by virtual CPU; numbers are places in its edges, from 1 */
	uint32_t last[COUNTS_VCPUS_MAX];             /* of each virtual CPU, before a fork */
};

/* Map header and log, or a virtual CPU, where they are mapped already or, if not yet, anywhere. 0 or -errno. */
int counting_map_beginning(struct counting *counting, int fd);
int counting_map_vcpu(struct counting *counting, int fd, unsigned vcpu);

/* Memory of nobody in the place of all that is mapped: counts go nowhere. */
void counting_leave_file(struct counting *counting);

#endif
