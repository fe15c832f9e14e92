/*
 * record_file.h - the file in which the timing plugin records, and dcpiemu reads
 *
 * Each process and program has a file, mapped and shared, so it holds everything up to the last cycle however the
 * process ends; a fork begins its own, and so does an exec. The file is sparse; all numbers are in this machine's byte
 * order.
 *
 *   record_header (emulator/process_file.h)
 *   log: images and blocks in the order in which they were seen, as emulator/code_log.h has it
 *   for each virtual CPU, as many as header.vcpu_count: record_vcpu
 *
 * Instructions are numbered through all blocks, from 1: those of a block are consecutive from its `first`.
 * Readers trust nothing in it: the guest could have written to it.
 */
#ifndef DCPI_EMULATOR_RECORD_RECORD_FILE_H
#define DCPI_EMULATOR_RECORD_RECORD_FILE_H

#include <stdint.h>

#include "emulator/process_file.h"
#include "emulator/setup.h"
#include "machine/machine.h"

#define RECORD_MAGIC            UINT64_C(0x3164726f63657264) /* "drecord1" */
#define RECORD_PREFIX           "record."                    /* of the file's name; process id and a number follow */
#define RECORD_HEADER_SIZE      PROCESS_FILE_HEADER_SIZE
#define RECORD_VCPUS_MAX        PROCESS_FILE_VCPUS_MAX
#define RECORD_INSTRUCTIONS_MAX (UINT32_C(1) << 23)
#define RECORD_STALLS           (UINT32_C(1) << 20) /* slots, a power of two */
#define RECORD_ACCESSES         16384               /* samples of a ring */

/* Reasons of cycles; dynamic ones are those of enum stall_cause (analysis/stalls.h) where it has one. */
enum record_reason {
	REASON_EXECUTION, /* static: the schedule; never in `stalls` */
	REASON_CODE_CACHE,
	REASON_CODE_TLB,
	REASON_DATA_CACHE,
	REASON_DATA_TLB,
	REASON_WRITE_BUFFER,
	REASON_MISPREDICT,
	REASON_TRANSFER,  /* a load, or an atomic access, of a line that another core had written, or has to give up */
	REASON_BANDWIDTH, /* additional wait of a load because memory is busy, besides the stall of the cache */
	REASON_CALL,      /* in system calls */
	REASON_BLOCKED,   /* waiting for another thread, a time or a device; not cycles of a core */
	REASON_COUNT,
};

/* A stall: instruction `stalled` waited because of `culprit`, perhaps itself. `stalled` 0: the slot is free. */
struct record_stall {
	uint32_t stalled, culprit;
	uint32_t reason; /* enum record_reason */
	uint32_t reserved;
	uint64_t times;
	uint64_t cycles;
};

/*
 * Counters of a virtual CPU, summed over all threads that had it. Occurrences that are events are counted only in
 * `events`: a reader adds them to the other counters by record_add_events().
 */
struct record_counters {
	uint64_t clock;   /* its virtual time now, cycles */
	uint64_t began;   /* when its (last) thread began */
	uint64_t threads; /* that had it */
	uint64_t cycles[REASON_COUNT];
	uint64_t loads_missed[MACHINE_LEVELS_MAX]; /* at each level of data */
	uint64_t stores_missed[MACHINE_LEVELS_MAX];
	uint64_t code_missed[MACHINE_LEVELS_MAX];
	uint64_t data_tlb_missed, data_walks, code_tlb_missed, code_walks;
	uint64_t mispredicted; /* of the branches of blocks in the log */
	uint64_t prefetched, prefetched_used;
	uint64_t transfers, far_transfers;      /* lines that came from other cores, or left them; of other nodes */
	uint64_t node_bytes[MACHINE_NODES_MAX]; /* moved between it and each node's memory */
	uint64_t calls;                         /* system calls */
	uint64_t waits, timeouts;               /* waits for slower threads; waits that gave up */
	uint64_t delayed_ns;                    /* DELAY_REAL: ns that were spent */
	uint64_t samples[SETUP_EVENT_COUNT];
	uint64_t events[SETUP_EVENT_COUNT]; /* that happened, samples or not */
};

/*
 * A sample of an access to data that left the core's own caches: the last level or memory served it, or a prefetcher
 * had fetched its line, or another core had the line; or of the first store into a line that loads had brought.
 */
struct record_access {
	uint64_t time; /* of the thread, cycles */
	uint64_t address;
	uint32_t instruction;
	uint32_t tid;
	uint32_t cycles;   /* that it took beyond a hit of level 1, hidden or not, with its translation */
	uint32_t cost;     /* of these: that the core stalled, or by which a store delayed the write buffer */
	uint32_t weight;   /* accesses that it stands for */
	uint16_t core;     /* of the target */
	uint8_t core_node; /* the core's */
	uint8_t level;     /* index of the level that had the line, or RECORD_MEMORY */
	uint8_t page_node; /* in whose memory the address is */
	uint8_t flags;     /* RECORD_ACCESS_... */
	uint8_t reserved[6];
};

#define RECORD_MEMORY            MACHINE_LEVELS_MAX
#define RECORD_ACCESS_STORE      1 /* also of an atomic access */
#define RECORD_ACCESS_PREFETCHED 2 /* first use of a prefetched line */
#define RECORD_ACCESS_TRANSFER   4 /* another core had written the line, or had to give it up */
#define RECORD_ACCESS_FAR        8 /* that core is of another node */
#define RECORD_ACCESS_ATOMIC     16

/* A ring of them. The plugin waits for its reader when it is full. */
struct record_access_head {
	uint64_t written; /* by the plugin, of all time */
	uint64_t read;    /* by the reader, of all time */
	uint64_t period;  /* the reader asks for one in so many accesses; 0: as setup.h has it */
	uint64_t counted; /* accesses, sampled or not */
	uint64_t lost;    /* samples: the reader did not come */
	uint64_t base;    /* of the guest's memory: its address 0 is there in the emulator's process */
	uint64_t is_away; /* 1: in a system call; the thread continues no earlier than the slowest that runs then */
	uint64_t reserved;
};

struct record_accesses {
	struct record_access_head head;
	struct record_access ring[RECORD_ACCESSES];
};

struct record_vcpu {
	struct record_counters counters;
	uint8_t padding[4096 - sizeof(struct record_counters)];
	uint64_t executions[CODE_BLOCKS_MAX];                         /* by block, from 1 */
	uint32_t samples[SETUP_EVENT_COUNT][RECORD_INSTRUCTIONS_MAX]; /* by instruction, from 1 */
	struct record_stall stalls[RECORD_STALLS];                    /* open addressing by stalled, culprit, reason */
	struct record_accesses accesses;                              /* nothing, without setup.access_period */
	uint8_t end[4096 - sizeof(struct record_accesses) % 4096];    /* each begins at a page */
};

/*
 * Misses of loads and code in the first two levels and in the TLBs are events, and so are mispredicted branches; misses
 * of stores are not. If the guest was killed between two counts, the event may be missing.
 */
static inline void
record_add_events(struct record_counters *counters)
{
	const uint64_t *events = counters->events, second = events[SETUP_EVENT_LEVEL2];

	counters->loads_missed[0] += events[SETUP_EVENT_LEVEL1_DATA];
	counters->loads_missed[1] += second > counters->code_missed[1] ? second - counters->code_missed[1] : 0;
	counters->code_missed[0] += events[SETUP_EVENT_LEVEL1_CODE];
	counters->data_tlb_missed += events[SETUP_EVENT_DATA_TLB];
	counters->data_walks += events[SETUP_EVENT_DATA_WALK];
	counters->code_tlb_missed += events[SETUP_EVENT_CODE_TLB];
	counters->code_walks += events[SETUP_EVENT_CODE_WALK];
	counters->mispredicted += events[SETUP_EVENT_BRANCH];
}

#define RECORD_VCPU_OFFSET(vcpu) (RECORD_HEADER_SIZE + CODE_LOG_SIZE + (uint64_t)(vcpu) * sizeof(struct record_vcpu))

#endif
