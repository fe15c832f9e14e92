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
#define DEPENDENCE_MISSING   64 /* a power of two */

/* A load that missed. */
struct missing_load {
	uint64_t ready;
	uint64_t bit;      /* of its place among the block's loads; 0: behind the 64th */
	uint32_t sequence; /* of its block */
	uint32_t reaches;  /* general registers (bit n) that are made of it behind the block */
};

struct dependence {
	uint64_t until;        /* when the last of them is ready */
	uint64_t registers;    /* that wait for one (bit n: n), before block `followed` */
	uint32_t followed;     /* sequence of the first block that was not gone through */
	uint32_t first, count; /* loads, of that and later blocks, from `first` on to `count`, which is all so far */
	uint64_t ready[DEPENDENCE_REGISTERS]; /* until when they wait */
	struct missing_load missing[DEPENDENCE_MISSING];
};

struct thread;

/* Nothing is missing, as block `sequence` begins. */
void dependence_reset(struct dependence *dependence, uint32_t sequence);

/* When all is there that the address of instruction `index`, of the block that runs, is made of; 0: before `issue`. */
uint64_t dependence_ready(struct thread *thread, unsigned index, uint64_t issue);

/* Its load missed. */
void dependence_add(struct thread *thread, unsigned index, uint64_t ready);

#endif
