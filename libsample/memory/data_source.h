/*
 * data_source.h - what served an access, as the kernel's union perf_mem_data_src has it, and counts of that
 *
 * PMUs fill in what they know: Intel's PEBS the older bits of levels (mem_lvl), AMD's IBS and Arm's SPE also the newer
 * number (mem_lvl_num). Any value can be decoded. Counts follow the rules of `perf c2c report --stats`: an access may
 * count for several (memory of another node served it, and a cache there had the line), or for none.
 *
 * Thread rule: one thread for each struct; else stateless.
 */
#ifndef DCPI_MEMORY_DATA_SOURCE_H
#define DCPI_MEMORY_DATA_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/memory_profile.h"

/* ---- one access ---- */

/* Which level had the data; each access has one. */
enum data_level {
	DATA_LEVEL_L1,
	DATA_LEVEL_FILL_BUFFER, /* the line was on its way */
	DATA_LEVEL_L2,
	DATA_LEVEL_L3, /* or another cache beyond the core's own, on its node */
	DATA_LEVEL_REMOTE_CACHE,
	DATA_LEVEL_LOCAL_DRAM,
	DATA_LEVEL_REMOTE_DRAM,
	DATA_LEVEL_OTHER,   /* a device, or memory that is not cached */
	DATA_LEVEL_UNKNOWN, /* the PMU does not say */
};
#define DATA_LEVELS 9

enum data_level data_source_level(uint64_t source);
const char *data_level_text(enum data_level level); /* "L1", ... */

/* As a profile of memory has it. */
struct data_source_access {
	enum memory_level level; /* MEMORY_OWN: also of a store of which no level is known */
	bool is_remote;          /* another node's memory or cache */
	uint8_t flags;           /* MEMORY_STORE, MEMORY_TRANSFER, MEMORY_FAR, MEMORY_ATOMIC */
};

/* False: it is neither a load nor a store, or it says nothing of what served a load. */
bool data_source_access(uint64_t source, struct data_source_access *access);

/* ---- counts ---- */

enum data_count {
	DATA_SAMPLES,
	DATA_LOCKED,
	DATA_BLOCKED_DATA, /* loads that waited for a store's data */
	DATA_BLOCKED_ADDRESS,
	DATA_LOADS,
	DATA_LOAD_NO_ADDRESS,
	DATA_LOAD_UNCACHEABLE,
	DATA_LOAD_IO,
	DATA_LOAD_MISS,
	DATA_LOAD_FILL_BUFFER,
	DATA_LOAD_L1,
	DATA_LOAD_L2,
	DATA_LOAD_LLC,
	DATA_LOAD_LOCAL_HITM, /* of DATA_LOAD_LLC: another core of the node had modified the line */
	DATA_LOAD_REMOTE_HITM,
	DATA_LOAD_REMOTE_HIT, /* a cache of another node had it */
	DATA_LOAD_LOCAL_DRAM,
	DATA_LOAD_REMOTE_DRAM,
	DATA_LOAD_EXCLUSIVE, /* of those from memory: no cache had it */
	DATA_LOAD_SHARED,
	DATA_LOAD_LOCAL_PEER, /* another core had it, modified or not: all that Arm's SPE says */
	DATA_LOAD_REMOTE_PEER,
	DATA_STORES,
	DATA_STORE_NO_ADDRESS,
	DATA_STORE_UNCACHEABLE,
	DATA_STORE_L1_HIT,
	DATA_STORE_L1_MISS,
	DATA_STORE_NO_LEVEL,
	DATA_NOT_PARSED, /* neither a load nor a store */
	DATA_NO_MAPPING, /* of the data or of the instruction */
};
#define DATA_COUNTS 30

const char *data_count_key(enum data_count count); /* "load_local_hitm", ... */

struct data_level_count {
	uint64_t samples, weight;
};

struct data_source_counts {
	uint64_t counts[DATA_COUNTS];
	/* `weight`: of `perf mem report`: a sample's cycles, and 1 where it has none; a sum that is too large is the
	 * largest */
	struct data_level_count levels[DATA_LEVELS], all;
};

/* `is_mapped`: both the data's address and the instruction's are in what was mapped. */
void data_source_count(struct data_source_counts *counts, uint64_t source, uint64_t address, uint64_t weight,
                       bool is_mapped);

#endif
