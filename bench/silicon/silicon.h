/*
 * silicon.h - what a block of x86-64 code takes on the CPU that runs this
 *
 * The way of Chen et al., "BHive: A Benchmark Suite and Measurement Framework for Validating x86-64 Basic Block
 * Performance Models" (IISWC 2019): copies of the block in a row run in a child process, and whatever memory they touch
 * is put there when they first do. A conditional branch at the block's end goes to the next copy either way. Nothing of
 * a block is trusted, but it must not enter the kernel. Thread rule: one thread.
 */
#ifndef DCPI_BENCH_SILICON_H
#define DCPI_BENCH_SILICON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SILICON_BLOCK_MAX 2048 /* bytes */

struct silicon_block {
	uint8_t bytes[SILICON_BLOCK_MAX];
	size_t size;
	size_t instructions;
	size_t displacement_size; /* of the branch at its end: 0 when there is none */
};

/* Machine code in pages of its own. */
struct silicon_code {
	uint8_t *bytes;
	size_t size, capacity;
	bool is_over; /* it had no room for something */
};

/* `copies` of the block, run as often as the counter says, each time from equal contents of the registers. */
void silicon_emit_row(struct silicon_code *code, const struct silicon_block *block, unsigned copies);

/* The block as the loop that it is, until its branch is not taken or the counter is 0. */
void silicon_emit_loop(struct silicon_code *code, const struct silicon_block *block);

/* What emitted code reads and writes, right before it in memory. */
struct silicon_frame {
	uint64_t stack;
	uint64_t counter;
	uint64_t general[16]; /* by their numbers in encodings */
	uint8_t vector[16][16];
};
#define SILICON_FRAME_ROOM 4096

struct silicon_result {
	int err; /* 0, or -errno: EFAULT memory that cannot be, ENOSYS an instruction that is none, ETIMEDOUT, ... */
	double cycles; /* an iteration's */
	bool goes_on;  /* its branch is taken, every time */
};

/* Pointers of a block: eight times one of them is an address, too, and so is its lower half. */
#define SILICON_POINTERS UINT64_C(0x1000000000)

/*
 * Let this process touch any memory: pages are filled in with what `seed` says. Anything else that is wrong with its
 * code ends it, with an errno as its exit status. 0 or -errno.
 */
int silicon_catch_faults(unsigned seed);

/* Measure the block, from each of several states until one lets the loop go on. 0 or -errno of the measurement itself.
 */
int silicon_measure(const struct silicon_block *block, struct silicon_result *result);

#endif
