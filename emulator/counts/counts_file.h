/*
 * counts_file.h - the file in which the counts plugin counts, and dcpix reads
 *
 * Each process and program has a file: a fork begins its own, and so does an exec. The file is mapped and shared, so it
 * holds every count up to the last however the process ends. It is sparse; all numbers are in this machine's byte
 * order.
 *
 *   record_header (emulator/process_file.h)
 *   log: images and blocks, as emulator/code_log.h has it
 *   for each virtual CPU, as many as header.vcpu_count: counts_vcpu, with a slot for each block and the edges for which
 *   the slots had no room
 *
 * How often a block ran is the sum over the blocks from which it was entered. A virtual CPU is a thread of the guest,
 * or several threads one after the other.
 * Readers trust nothing in it: the guest could have written to it.
 */
#ifndef DCPI_EMULATOR_COUNTS_FILE_H
#define DCPI_EMULATOR_COUNTS_FILE_H

#include <stdint.h>

#include "emulator/process_file.h"

#define COUNTS_MAGIC       UINT64_C(0x32746e6369706364) /* "dcpicnt2" */
#define COUNTS_PREFIX      "counts."                    /* of the file's name; process id and a number follow */
#define COUNTS_HEADER_SIZE PROCESS_FILE_HEADER_SIZE
#define COUNTS_VCPUS_MAX   PROCESS_FILE_VCPUS_MAX
#define COUNTS_EDGES_MAX   (UINT32_C(1) << 22)

/* Executions of a block, by the blocks from which it was entered; 0 is none. */
struct counts_slot {
	uint32_t from[2];
	uint64_t count[2];
};

struct counts_edge {
	uint32_t from, to;
	uint64_t count;
};

struct counts_vcpu {
	uint32_t last; /* block that runs; 0: none */
	uint32_t edge_count;
	uint8_t padding[4088];
	struct counts_slot slots[CODE_BLOCKS_MAX]; /* by block */
	struct counts_edge edges[COUNTS_EDGES_MAX];
};

#define COUNTS_VCPU_OFFSET(vcpu) (COUNTS_HEADER_SIZE + CODE_LOG_SIZE + (uint64_t)(vcpu) * sizeof(struct counts_vcpu))

#endif
