/*
 * hierarchy.h - where an access is served: TLBs, caches, prefetchers, memory controllers, page placement
 *
 * One struct memory_system for the process, one struct hierarchy for each core of the target that a thread runs on.
 * Guest addresses stand for physical ones. A plain hit - the most recent way of its set, in cache and TLB alike -
 * changes nothing in an LRU order, so that returning early for it is exact; for a cache with another replacement a hit
 * changes nothing at all. Thread rule: a hierarchy belongs to the thread that runs on its core; levels that cores
 * share, and controllers, lock by themselves. Times are virtual, in cycles; those of several threads may differ by the
 * quantum.
 */
#ifndef DCPI_EMULATOR_MODEL_HIERARCHY_H
#define DCPI_EMULATOR_MODEL_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define HIERARCHY_MEMORY MACHINE_LEVELS_MAX /* level of what no cache had */

struct memory_system; /* what cores share */
struct hierarchy;     /* a core's */

struct access_result {
	uint8_t level; /* index of the level that had it; HIERARCHY_MEMORY */
	bool tlb_missed, walked;
	bool used_prefetch;   /* a prefetched line was met for the first time */
	uint8_t node;         /* of the memory, with HIERARCHY_MEMORY */
	uint32_t cycles;      /* from the load to who uses it, beyond a hit in level 1; without waiting for bandwidth */
	uint32_t wait_cycles; /* that it waits besides, because memory is busy */
	uint32_t tlb_cycles;  /* that its translation takes */
};

/* NULL and errno (ENOMEM). `parts`: SETUP_CACHES, SETUP_TLBS of emulator/setup.h. */
struct memory_system *memory_system_new(const struct machine *machine, uint32_t parts, uint64_t seed);
void memory_system_free(struct memory_system *system);

/* Core `core` of the target, from 0 on. NULL and errno. */
struct hierarchy *hierarchy_new(struct memory_system *system, unsigned core);
void hierarchy_free(struct hierarchy *hierarchy);

/* An access to a line, not a plain hit perhaps. `instruction`: who does it, for prefetchers; `now`: when. */
void hierarchy_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                    struct access_result *result);
void hierarchy_store(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                     struct access_result *result);
void hierarchy_fetch(struct hierarchy *hierarchy, uint64_t address, uint64_t now, struct access_result *result);

/*
 * The tables of plain hits, for who asks at each access: line `address >> line_shift` is a plain hit when it stands in
 * lines[line & line_mask], page `address >> page_shift` in pages[page & page_mask]. Without TLBs, pages has room and
 * page_shift is 63.
 */
struct plain_hits {
	uint64_t *lines, *pages;
	uint32_t line_mask, page_mask;
	uint8_t line_shift, page_shift;
};

void hierarchy_plain_data(struct hierarchy *hierarchy, struct plain_hits *plain);
void hierarchy_plain_code(struct hierarchy *hierarchy, struct plain_hits *plain);

#endif
