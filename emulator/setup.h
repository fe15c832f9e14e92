/*
 * setup.h - what dcpiemu passes to its plugin: a file in the directory of the run
 *
 * The tool writes it before the emulator starts; the plugin maps it, also in programs that are executed later. Both
 * must be of one build, which `size` and `magic` check. Thread rule: constant once it is written.
 */
#ifndef DCPI_EMULATOR_SETUP_H
#define DCPI_EMULATOR_SETUP_H

#include <stdint.h>

#include "machine/machine.h"

#define SETUP_MAGIC UINT64_C(0x3170757465736364)
#define SETUP_NAME  "setup" /* of the file */

/* The parts that are modelled; others cost nothing. */
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
	SETUP_EVENT_DATA_WALK,   /* dTLB-load-walks: those of them that missed the second level, too */
	SETUP_EVENT_CODE_WALK,   /* iTLB-load-walks */
	SETUP_EVENT_BRANCH,      /* branch-misses */
	SETUP_EVENT_TRANSFER, /* hitm: loads, and atomic accesses, of lines that another core had to give up or clean */
	SETUP_EVENT_COUNT,
};

enum setup_delay {
	DELAY_NONE, /* virtual time only */
	DELAY_REAL, /* stalls also delay the program on the host, in proportion */
};

struct setup {
	uint64_t magic, size;                /* of this structure */
	uint32_t parts;                      /* SETUP_... */
	uint32_t threads;                    /* cores that the program sees and runs on; 1 to machine.cores */
	uint64_t periods[SETUP_EVENT_COUNT]; /* mean events a sample; 0: not sampled */
	uint64_t access_period;              /* mean accesses a sample (record_file.h); 0: none */
	uint64_t quantum_cycles;             /* how far a thread may be ahead of the slowest; 0: no bound */
	uint64_t seed;                       /* of all random numbers, also of those that the kernel gives the guest */
	uint32_t delay;                      /* enum setup_delay */
	uint32_t reserved;
	double dilation; /* DELAY_REAL: host time / target time; 0: the emulator's own slow-down */
	struct machine machine;
	struct pipeline pipeline;
};

#define SETUP_PART_COUNT 7

const char *setup_part_name(unsigned bit);            /* "counts" for SETUP_COUNTS, bit 0, ...; NULL: no such part */
const char *setup_event_name(enum setup_event event); /* in a database; NULL: no such event */
uint32_t setup_event_parts(enum setup_event event);   /* parts that must be modelled for it to happen */
uint64_t setup_event_period(enum setup_event event);  /* by default */
void setup_init(struct setup *setup,
                unsigned threads); /* give everything except machine and pipeline its default value */

/* Write it into the directory. 0 or -errno. */
int setup_write(const struct setup *setup, const char *directory);

#endif
