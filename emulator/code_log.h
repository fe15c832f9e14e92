/*
 * code_log.h - the executed code: images and blocks, in the order of their first execution
 *
 * Both plugins write the log into their file, and tools read it. Each record begins at a multiple of 8 bytes; blocks
 * and images are numbered from 1 in the order of their records. A block is the unit of translation of the emulator:
 * consecutive instructions, entered at the first. Instructions are also numbered, through all blocks, from 1. Readers
 * trust nothing in the log: the guest could have written to it.
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_EMULATOR_CODE_LOG_H
#define DCPI_EMULATOR_CODE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "emulator/id_hash.h"
#include "stream/record.h"

#define CODE_LOG_SIZE               (UINT64_C(256) << 20)
#define CODE_BLOCKS_MAX             (UINT32_C(1) << 21) /* numbers are below it */
#define CODE_BLOCK_INSTRUCTIONS_MAX 512                 /* the emulator's own limit */

enum code_record_type {
	CODE_IMAGE = 1,
	CODE_BLOCK = 2,
};

struct code_log_image {
	uint8_t type;
	uint8_t build_id_size;
	uint16_t path_size; /* of `path`, with its NUL */
	uint32_t device_major, device_minor;
	uint32_t reserved;
	uint64_t inode, inode_generation;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t deleted;
	uint8_t padding[3];
	char path[];
};

/* Its last instruction executes itself again, as an instruction with a rep prefix does. */
#define CODE_BLOCK_REPEATS 1

struct code_block {
	uint8_t type;
	uint8_t flags;
	uint16_t instruction_count; /* 1 to CODE_BLOCK_INSTRUCTIONS_MAX */
	uint32_t image;             /* 0: memory without a file, or that differs from it */
	uint64_t offset; /* of the first instruction in the image's file; without a file, any number that identifies it
	                  */
	uint16_t loads, stores; /* how many instructions do; code_log_tell_block() */
	uint16_t branches;      /* how many instructions are predicted */
	uint16_t reserved;
	uint8_t sizes[]; /* of the instructions, in bytes */
};

/* Where the next record begins. */
static inline uint64_t
code_record_end(uint64_t end)
{
	return (end + 7) & ~UINT64_C(7);
}

struct code_log {
	uint8_t *bytes; /* CODE_LOG_SIZE, the file's */
	uint64_t size;  /* in use; after a fork, the size in the file is still the parent's */
	struct id_hash blocks;
	struct code_log_place *places; /* by block */
	size_t capacity;
	uint32_t block_count, instruction_count;
	uint32_t instructions_max; /* numbers are below it */
};

void code_log_init(struct code_log *log, uint8_t *bytes, uint32_t instructions_max);
void code_log_fini(struct code_log *log);

/* 0 or -ENOSPC. `size`: the header's, which readers use. */
int code_log_add_image(struct code_log *log, uint64_t *size, const struct record_mmap *file);

/*
 * Find or add a block (`block` is without sizes). Returns its number; 0 when there is no room for it. *first becomes
 * the number of its first instruction.
 */
uint32_t code_log_add_block(struct code_log *log, uint64_t *size, const struct code_block *block, const uint8_t *sizes,
                            uint32_t *first);

/* Set what a block does at each execution, as soon as that is known: loads, stores and branches of `does`. */
void code_log_tell_block(struct code_log *log, uint32_t number, const struct code_block *does);

/* Copy the whole log into another file, at `offset`; the numbers of blocks do not change. 0 or -errno. */
int code_log_copy(const struct code_log *log, int fd, uint64_t offset);

#endif
