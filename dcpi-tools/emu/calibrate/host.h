/*
 * host.h - what this machine says of itself: CPUs, caches, nodes
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_HOST_H
#define DCPI_TOOLS_EMU_CALIBRATE_HOST_H

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
 * By the files below `sysfs` ("/sys") and `procfs` ("/proc"). 0, or -DCPI_ECONFIG with a sentence in `why`: caches of
 * which nothing is said.
 */
int host_read(const char *sysfs, const char *procfs, struct host *host, char *why, size_t size);

#endif
