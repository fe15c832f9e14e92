/*
 * setup.h - what dcpiemu tells its plugin: a file in the directory that both use
 *
 * Written by the tool before the emulator starts, mapped by the plugin, also in the programs that are executed later.
 * Both are of one build: `size` and `magic` say so. Thread rule: constant once it is written.
 */
#ifndef DCPI_EMULATOR_SETUP_H
#define DCPI_EMULATOR_SETUP_H

#include <stdint.h>

#include "machine/machine.h"

#define SETUP_MAGIC UINT64_C(0x3170757465736364)
#define SETUP_NAME  "setup" /* of the file */

/* What is modelled; what is not asked for costs nothing. */
#define SETUP_COUNTS     1 /* how often each block is executed */
#define SETUP_CACHES     2 /* of code and data, with memory behind them */
#define SETUP_TLBS       4
#define SETUP_BRANCHES   8  /* the branch predictor */
#define SETUP_CLOCK      16 /* virtual time: static schedules, stalls, write buffer */
#define SETUP_SAMPLES    32
#define SETUP_TRUTH      64 /* stalls by reason and culprit */
#define SETUP_EVERYTHING 127

/* What is sampled. */
enum setup_event {
	SETUP_EVENT_CYCLES,
	SETUP_EVENT_LEVEL1_DATA, /* L1-dcache-load-misses */
	SETUP_EVENT_LEVEL1_CODE, /* L1-icache-load-misses */
	SETUP_EVENT_LEVEL2,      /* l2-misses: of loads and code that reach it */
	SETUP_EVENT_LAST_LEVEL,  /* cache-misses: that go to memory */
	SETUP_EVENT_DATA_TLB,    /* dTLB-load-misses: of the first level */
	SETUP_EVENT_CODE_TLB,    /* iTLB-load-misses */
	SETUP_EVENT_DATA_WALK,   /* dTLB-load-walks: of these, that missed the second level, too */
	SETUP_EVENT_CODE_WALK,   /* iTLB-load-walks */
	SETUP_EVENT_BRANCH,      /* branch-misses */
	SETUP_EVENT_COUNT,
};

enum setup_delay {
	DELAY_NONE, /* virtual time only */
	DELAY_REAL, /* stalls are spent as well, in proportion */
};

struct setup {
	uint64_t magic, size;                /* of this structure */
	uint32_t parts;                      /* SETUP_... */
	uint32_t threads;                    /* cores that the program sees and is put on; 1 to machine.cores */
	uint64_t periods[SETUP_EVENT_COUNT]; /* mean events a sample; 0: not sampled */
	uint64_t quantum_cycles;             /* that a thread may be ahead of the slowest; 0: no bound */
	uint64_t seed;                       /* of everything random, also what the guest asks the kernel for */
	uint32_t delay;                      /* enum setup_delay */
	uint32_t reserved;
	double dilation; /* DELAY_REAL: host time for target time; 0: by the emulator's own slow-down */
	struct machine machine;
	struct pipeline pipeline;
};

#define SETUP_PART_COUNT 7

const char *setup_part_name(unsigned bit);            /* "counts" for SETUP_COUNTS, bit 0, ...; NULL: none is so */
const char *setup_event_name(enum setup_event event); /* in a database; NULL: none is so */
uint32_t setup_event_parts(enum setup_event event);   /* what must be modelled for it to happen */
uint64_t setup_event_period(enum setup_event event);  /* unless another one is wished */
void setup_init(struct setup *setup,
                unsigned threads); /* everything but machine and pipeline, as it is unless wished */

/* Write it into the directory. 0 or -errno. */
int setup_write(const struct setup *setup, const char *directory);

#endif
