/*
 * code_read.h - read the log of code that a plugin wrote (emulator/code_log.h)
 *
 * Logs are not trusted: a log that contradicts itself is refused.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMULATED_CODE_READ_H
#define DCPI_TOOLS_EMULATED_CODE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"

struct code_read_block {
	uint64_t offset, last; /* of its first and last instruction */
	const uint8_t *sizes;  /* of its instructions */
	uint32_t image;        /* 0: none; else the session's number + 1 */
	uint32_t first;        /* number of its first instruction, through all blocks */
	uint16_t instruction_count;
	uint16_t loads, stores, branches; /* instructions of it that do */
	bool repeats;                     /* its last instruction executes itself again */
};

struct code_read {
	uint8_t *log;
	struct code_read_block *blocks; /* by number; number 0 is no block */
	size_t block_count, block_capacity;
	uint32_t *images; /* by number, from 1 */
	size_t image_count, image_capacity;
	uint32_t instruction_count; /* numbers are 1 to it */
};

/* Read all `size` bytes at `offset`; bytes behind the end of the file are zero. 0 or -errno. */
int code_read_at(int fd, void *data, size_t size, uint64_t offset);

/* Read the log of `size` bytes at `offset`. 0, -DCPI_EDAMAGED, -ENOMEM, -errno; in any case fini. */
int code_read_init(struct code_read *code, int fd, uint64_t offset, uint64_t size, struct image_table *images);
void code_read_fini(struct code_read *code); /* a zeroed one is allowed */

#endif
