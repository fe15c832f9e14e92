/*
 * measure.h - this machine: its CPUs, caches and nodes by the kernel's files, and measurements of their speed
 *
 * Speed is measured by loads that wait for each other, and by threads that read; it needs no counters. Other load can
 * only make a run longer, so the shortest of many runs is used. Thread rule: one thread, that no other measures beside;
 * loaders are threads of their own, gone when it returns.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_MEASURE_H
#define DCPI_TOOLS_EMU_CALIBRATE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/machine.h"

struct host {
	char cpu[256];                    /* as an epoch has it */
	uint32_t cpus[MACHINE_CORES_MAX]; /* one of each core that this process may use */
	unsigned cores, nodes;            /* nodes divide cores */
	unsigned line_bytes, page_bytes;
	unsigned level_count;
	struct machine_cache code, levels[MACHINE_LEVELS_MAX]; /* but for their latencies */
	uint64_t memory_bytes;
	double distance; /* of the nearest other node, the own is 1; 0: one node */
};

/*
 * By the files below `sysfs` ("/sys") and `procfs` ("/proc"). 0, or -DCPI_ECONFIG with a sentence in `why`: nothing is
 * known about caches.
 */
int host_read(const char *sysfs, const char *procfs, struct host *host, char *why, size_t size);

#define FIGURE_SURE  0.03 /* spreads up to it; and up to */
#define FIGURE_ROUGH 0.15

struct figure {
	double value;
	double spread; /* relative to value; 0: it was not measured, or cannot vary */
};

/*
 * The least of some runs, because other programs can only make a run longer; the spread is how much longer the run at
 * the lower quartile took. `runs` is sorted. No runs: zeros.
 */
struct figure figure_least(double *runs, size_t count);

/* "sure", "roughly" or "doubtful", by the spread. */
const char *figure_sureness(const struct figure *figure);

#define MEASURE_PAGES_MAX   32
#define MEASURE_THREADS_MAX 16
#define MEASURE_POINTS_MAX  512

/* How much more a load costs if its page is one of so many. */
struct measured_pages {
	unsigned pages[MEASURE_PAGES_MAX];
	double extra_cycles[MEASURE_PAGES_MAX];
	unsigned count;
};

/* The TLBs as derived from struct measured_pages. No entries: no TLB was found. */
struct measured_tlbs {
	unsigned data_entries, shared_entries;
	double hit_cycles, walk_cycles; /* that a hit of the second level adds; that a walk adds to that */
};

struct measured_bandwidth {
	unsigned threads;
	double gb_s;
};

struct measurements {
	struct figure clock_mhz;
	struct figure level_cycles[MACHINE_LEVELS_MAX], memory_cycles, memory_ns;
	bool ends_seen[MACHINE_LEVELS_MAX]; /* loads take longer where the level is said to end */
	bool in_huge_pages;                 /* what was measured of memory: no walks are in it */
	struct measured_pages pages;
	struct measured_tlbs tlbs;
	unsigned misses_in_flight;
	struct figure call_cycles;
	unsigned bandwidth_count, point_count;
	struct measured_bandwidth bandwidths[MEASURE_THREADS_MAX]; /* by threads, ascending */
	struct machine_load points[MEASURE_POINTS_MAX];            /* all that were seen, in any order; of all memory */
};

/* Measure everything, in some seconds. 0; -ENOMEM, -errno of a thread that cannot be started. */
int measure_host(const struct host *host, struct measurements *measured);

/* Derive the TLBs from the steps in the cost of many pages. */
void measure_find_tlbs(const struct measured_pages *pages, struct measured_tlbs *tlbs);

#endif
