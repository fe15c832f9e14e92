/*
 * dependence.h - which loads an address is made of, out of order: those that are still missing hold it up
 *
 * Blocks are gone through behind the program, each once, and only while something is missing that matters.
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_DEPENDENCE_H
#define DCPI_EMULATOR_TIMING_DEPENDENCE_H

#include <stdint.h>

#define DEPENDENCE_REGISTERS 32
#define DEPENDENCE_MISSING   64

#define DEPENDENCE_NOT_ONE (UINT64_C(1) << 63)

struct block_dependence;

/* A load that missed. */
struct missing_load {
	uint64_t ready;
	const struct block_dependence *load;
	uint32_t sequence; /* of its block */
};

/*
 * Mostly one load is missing, of the first block that was not gone through. Then it is known which it is, when it
 * is ready, and where the next block is; `followed`, `count` and its sequence are told by that.
 */
struct dependence {
	uint64_t until;     /* when the last of them is ready */
	uint64_t one;       /* sequence behind its block, of 33 bits; DEPENDENCE_NOT_ONE: none or several */
	uint32_t registers; /* that wait for one (bit n: n), before block `followed` */
	uint32_t followed;  /* sequence of the first block that was not gone through */
	uint32_t count;     /* loads of that and later blocks; those over DEPENDENCE_MISSING are lost */
	struct missing_load missing[DEPENDENCE_MISSING];
	uint64_t ready[DEPENDENCE_REGISTERS]; /* until when registers wait */
};

struct thread;

/* Nothing is missing, as block `sequence` begins. */
void dependence_reset(struct dependence *dependence, uint32_t sequence);

/* When all is there that the address of a load, of the block that runs, is made of; 0: before `issue`. */
uint64_t dependence_ready(struct thread *thread, const struct block_dependence *load, uint64_t issue);

/* The load, for which that was asked, missed. */
void dependence_add(struct thread *thread, const struct block_dependence *load, uint64_t ready);

#endif
