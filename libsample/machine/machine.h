/*
 * machine.h - the parts of a computer that determine its speed: cores, caches, TLBs, prefetchers, memory
 *
 * Each machine has a file, config/machines/NAME.conf, in libconfig's form; dcpi-machine.conf(5) says what each value
 * means. A value that is missing but needed, unknown, or out of range is refused with file, line and reason. A loaded
 * machine is never changed and has no pointers: any thread may read it, and it may be written to a file for another
 * process of this build. Fuzzed by tests/fuzz/machine_fuzz.c.
 */
#ifndef DCPI_MACHINE_MACHINE_H
#define DCPI_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/pipeline.h"

#define MACHINE_DIRECTORY       DCPI_MACHINE_DIRECTORY /* of the installed files: the Makefile's */
#define MACHINE_NAME_SIZE       32
#define MACHINE_TITLE_SIZE      128
#define MACHINE_CORES_MAX       1024
#define MACHINE_NODES_MAX       16
#define MACHINE_LEVELS_MAX      4 /* of caches for data */
#define MACHINE_PREFETCHERS_MAX 4
#define MACHINE_CURVE_MAX       32

enum machine_replacement {
	REPLACEMENT_LRU,
	REPLACEMENT_FIFO,
	REPLACEMENT_RANDOM, /* from a generator with a fixed seed for each cache */
};

struct machine_cache {
	uint64_t bytes;          /* lines * ways * sets; of level 1, sets are a power of two */
	unsigned ways;           /* 1 to 32 */
	unsigned latency_cycles; /* from a load that hits here to the use of its value: what a pointer chase measures */
	unsigned cores;          /* how many cores share one such cache; divides the cores of a node */
	enum machine_replacement replacement;
};

/* Translations of pages of `page_bytes`; entries 0: there is no such TLB, and nothing misses. */
struct machine_tlb {
	unsigned entries, ways; /* ways == entries: fully associative */
	unsigned miss_cycles;   /* level 1: what a hit in level 2 adds; level 2: what a page walk adds */
};

enum machine_prefetch {
	PREFETCH_NEXT_LINE, /* the line behind each line that missed, or was prefetched */
	PREFETCH_STREAM,    /* lines that follow each other, up or down, within a page */
	PREFETCH_STRIDE,    /* by instruction: addresses a constant distance apart */
};

struct machine_prefetcher {
	enum machine_prefetch kind;
	unsigned level; /* of the cache that it fills, from 1 on; it watches what reaches that level; of level 1, misses
	                 */
	unsigned entries;  /* streams, or instructions, it follows at once */
	unsigned degree;   /* lines fetched at a time */
	unsigned distance; /* how many lines ahead at most */
	double accuracy;   /* 0 to 1: the share of its fetches that are right and in time */
};

/* Latency of memory at a bandwidth of one controller; an array of them ascends by bandwidth. */
struct machine_load {
	double bandwidth_gb_s; /* 10^9 bytes/s of one controller; the last one is its limit */
	double latency_ns;     /* from the load to the use of its value, all caches included */
};

enum machine_placement {
	PLACEMENT_FIRST_TOUCH, /* on the node of the core that touches the page first */
	PLACEMENT_INTERLEAVE,  /* page by page over all nodes */
	PLACEMENT_NODE,        /* all on placement_node */
};

enum machine_predictor {
	PREDICTOR_STATIC, /* backward taken, forward not */
	PREDICTOR_BIMODAL,
	PREDICTOR_GSHARE,
};

struct machine {
	char name[MACHINE_NAME_SIZE];
	char title[MACHINE_TITLE_SIZE];
	char pipeline_name[PIPELINE_NAME_SIZE]; /* a name in config/cpus */
	double clock_mhz;
	unsigned nodes, cores; /* cores: of all nodes together, equally many in each */

	unsigned line_bytes;                             /* of all caches; a power of two, 16 to 256 */
	struct machine_cache code;                       /* level 1, of instructions */
	unsigned level_count;                            /* 1 to MACHINE_LEVELS_MAX */
	struct machine_cache levels[MACHINE_LEVELS_MAX]; /* [0]: level 1, of data; the others are of both */
	unsigned misses_in_flight; /* data misses that a core's level 1 cache can have at once (MSHRs); 1 to 64 */
	unsigned page_bytes;       /* a power of two, 4096 to 2^30 */
	struct machine_tlb code_tlb, data_tlb, shared_tlb; /* level 1, and level 2 of both */

	unsigned write_buffer_entries;
	unsigned prefetcher_count;
	struct machine_prefetcher prefetchers[MACHINE_PREFETCHERS_MAX];

	enum machine_predictor predictor;
	unsigned predictor_entries; /* counters; a power of two, up to 2^20 */
	unsigned history_bits;      /* PREDICTOR_GSHARE: up to 20 */
	unsigned return_stack;      /* entries; 0: none */
	unsigned target_entries;    /* of indirect jumps; a power of two; 0: none */

	unsigned controllers; /* of memory, in a node */
	unsigned load_count;
	struct machine_load loads[MACHINE_CURVE_MAX];
	double remote_latency_ns;     /* what access to another node's memory adds */
	double remote_bandwidth_gb_s; /* between two nodes, each way; 0: no limit of its own */
	double transfer_ns; /* a line that another core of the node has written, from the load to its use; and what
	                       a store takes that removes it from other cores; 0: as the caches they share */
	double remote_transfer_ns; /* a core of another node; 0: as memory of another node */
	enum machine_placement placement;
	unsigned placement_node;

	double call_cycles; /* of a system call that does nothing */
};

/* Read the file at `path`. 0; -errno or -DCPI_ECONFIG with a sentence in `why` that begins with the file. */
int machine_load(const char *path, struct machine *machine, char *why, size_t size);

/* machine_load() of text in memory, which messages call `file`. */
int machine_parse(const char *file, const char *text, struct machine *machine, char *why, size_t size);

/*
 * The core, from 0 on, on which a program runs that is given `used` of the machine's cores, when it is on the one that
 * it sees as `core`: equally many are of each node, and neighbours are of one node.
 */
unsigned machine_used_core(const struct machine *machine, unsigned used, unsigned core);

/*
 * The directory of the machines: $DCPI_MACHINES; else, for a program in a build folder, config/machines of its sources;
 * else MACHINE_DIRECTORY.
 */
void machine_directory(char *directory, size_t size);

/*
 * The directory of this user's machines, which is searched first: $XDG_CONFIG_HOME/dcpi/machines. 0, or -DCPI_ECONFIG
 * without a home.
 */
int machine_own_directory(char *directory, size_t size);

/*
 * Load the machine that `choice` names (a name in these two directories, or a path when it has a slash), and its
 * pipeline; the latency of level 1 and the length of lines in the pipeline become those of the machine. 0; -errno or
 * -DCPI_ECONFIG with a sentence in `why`: there is no such machine (similar names are listed), or its file is wrong.
 */
int machine_choose(const char *choice, struct machine *machine, struct pipeline *pipeline, char *why, size_t size);

#endif
