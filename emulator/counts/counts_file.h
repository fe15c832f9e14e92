/*
 * counts_file.h - the file in which the counts plugin counts, and dcpix reads
 *
 * One file a process and program: a fork begins one of its own, and so does an exec. It is mapped and shared, so that
 * it holds every count up to the last whatever ends the process. It is sparse; all numbers are this machine's.
 *
 *   counts_header
 *   log: images and blocks in the order in which they were seen, each record begins on 8 bytes
 *   for each virtual CPU, as many as header.vcpu_count: counts_vcpu, a slot for each block, the edges that had no room
 *   in the slots
 *
 * Blocks and images are numbered from 1 in the order of their records. A block is what the emulator translated at once:
 * instructions that follow each other; it is entered at its first. How often it ran is the sum over the blocks it was
 * entered from. A virtual CPU is a thread of the guest, or several after each other.
 * Who reads believes nothing: the guest could have written to it.
 */
#ifndef DCPI_EMULATOR_COUNTS_FILE_H
#define DCPI_EMULATOR_COUNTS_FILE_H

#include <stdint.h>

#include "stream/record.h"

#define COUNTS_MAGIC                  UINT64_C(0x31746e6369706364) /* "dcpicnt1" */
#define COUNTS_PREFIX                 "counts." /* of the file's name; process id and a number follow */
#define COUNTS_COMM_SIZE              16
#define COUNTS_HEADER_SIZE            4096
#define COUNTS_LOG_SIZE               (UINT64_C(256) << 20)
#define COUNTS_VCPUS_MAX              4096
#define COUNTS_BLOCKS_MAX             (UINT32_C(1) << 21)
#define COUNTS_EDGES_MAX              (UINT32_C(1) << 22)
#define COUNTS_BLOCK_INSTRUCTIONS_MAX 512 /* the emulator's own limit */

struct counts_header {
	uint64_t magic;
	int32_t pid;
	uint32_t vcpu_count;
	uint64_t log_size;           /* bytes of the log in use */
	uint64_t unfollowed;         /* programs that were executed without the emulator */
	uint64_t uncounted;          /* blocks entered, or translated, that found no room here */
	char comm[COUNTS_COMM_SIZE]; /* of the program, as the kernel would call it */
};

enum counts_record_type {
	COUNTS_IMAGE = 1,
	COUNTS_BLOCK = 2,
};

struct counts_image {
	uint8_t type;
	uint8_t build_id_size;
	uint16_t path_size; /* of what follows, with its NUL */
	uint32_t device_major, device_minor;
	uint32_t reserved;
	uint64_t inode, inode_generation;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t deleted;
	uint8_t padding[3];
	char path[];
};

#define COUNTS_BLOCK_REPEATS                                                                                           \
	1 /* its last instruction executes itself again, as an instruction with a rep prefix does */

struct counts_block {
	uint8_t type;
	uint8_t flags;
	uint16_t instruction_count; /* 1 to COUNTS_BLOCK_INSTRUCTIONS_MAX */
	uint32_t image;             /* 0: memory without a file, or that differs from it */
	uint64_t offset;            /* of the first instruction in the image's file */
	uint8_t sizes[];            /* of the instructions, in bytes */
};

/* A block, by the blocks it was entered from; 0 is none. */
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
	struct counts_slot slots[COUNTS_BLOCKS_MAX]; /* by block */
	struct counts_edge edges[COUNTS_EDGES_MAX];
};

#define COUNTS_VCPU_OFFSET(vcpu) (COUNTS_HEADER_SIZE + COUNTS_LOG_SIZE + (uint64_t)(vcpu) * sizeof(struct counts_vcpu))

/* Where the next record begins. */
static inline uint64_t
counts_record_end(uint64_t end)
{
	return (end + 7) & ~UINT64_C(7);
}

#endif
