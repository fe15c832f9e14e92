/*
 * hierarchy.h - where an access is served: TLBs, caches, prefetchers, memory controllers, page placement
 *
 * One struct hierarchy for each core of the target that a thread runs on, which a later thread of that core goes on
 * with. Guest addresses stand for physical ones, until pages are moved. What misses is brought into each level that did
 * not have it, also for a store; levels neither include nor exclude each other. A dirty line that is evicted is written
 * back to the nearest outer level that holds it, else to memory, which takes bandwidth, and no core waits
 * (write_back()). docs/emulation.md says more.
 *
 * The filter of hits (hit_filter.h) knows of lines that are in level 1 and of pages that its TLB has. What it knows
 * changes nothing but when they were used last, which is stamped: returning early for it is exact.
 *
 * Thread rule: a hierarchy belongs to the thread that runs on its core; levels that cores share, and controllers, lock
 * by themselves. Nobody is in an access while the second hierarchy is made, nor in a fork. Times are virtual, in
 * cycles; those of several threads may differ by the quantum.
 */
#ifndef DCPI_EMULATOR_MODEL_HIERARCHY_H
#define DCPI_EMULATOR_MODEL_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/hit_filter.h"
#include "machine/machine.h"

#define HIERARCHY_MEMORY MACHINE_LEVELS_MAX /* level of what no cache had */

struct memory_system; /* what the cores of the target share; one to a process */
struct hierarchy;     /* a core's */

struct access_result {
	uint32_t cycles;      /* from the load to who uses it, beyond a hit in level 1; without waiting for bandwidth */
	uint32_t wait_cycles; /* that it waits besides, from `now` on, because memory is busy */
	uint32_t load_cycles; /* of these: what it takes longer whenever it is asked for; the others are until its turn
	                       */
	uint32_t tlb_cycles;  /* that its translation takes */
	uint8_t level;        /* index of the level that had it; HIERARCHY_MEMORY */
	uint8_t node;         /* of the memory, with HIERARCHY_MEMORY */
	bool tlb_missed, walked;
	bool used_prefetch; /* first use of a prefetched line */
};

/* What a core moved, in bytes and lines. */
struct hierarchy_traffic {
	uint64_t node_bytes[MACHINE_NODES_MAX]; /* between it and each node's memory, prefetched and written too */
	uint64_t written_back;                  /* lines, to memory */
	uint64_t prefetched, prefetched_used;   /* lines */
};

/*
 * NULL and errno (ENOMEM, EINVAL: a level 1 cache whose sets are no power of two, a prefetcher of no level). `parts`:
 * SETUP_CACHES, SETUP_TLBS of emulator/setup.h. `quantum_cycles`: what clocks may differ by; 0: by anything.
 */
struct memory_system *memory_system_new(const struct machine *machine, uint32_t parts, uint64_t quantum_cycles,
                                        uint64_t seed);
void memory_system_free(struct memory_system *system); /* after its hierarchies */

/*
 * Before a second thread begins, by the one that begins it, which is in no access: from now on what cores share locks.
 * A second hierarchy does that, too, but its thread may be announced when the other one goes on already.
 */
void memory_system_share(struct memory_system *system);

/* Around a fork, in the parent and in the child: so that no other thread is making a hierarchy. */
void memory_system_before_fork(struct memory_system *system);
void memory_system_after_fork(struct memory_system *system);

/*
 * Core `core` of the target, from 0 on; its filter of data is in `room`, the caller's, when that is enough for it. NULL
 * and errno.
 */
struct hierarchy *hierarchy_new(struct memory_system *system, unsigned core, struct filter_room room);
void hierarchy_free(struct hierarchy *hierarchy);

/*
 * Its filter of data is in `room` from now on, or in memory of its own when that is not enough; so that another thread
 * can go on with the core's caches. 0 or -ENOMEM: nothing has changed.
 */
int hierarchy_move_filter(struct hierarchy *hierarchy, struct filter_room room);

/*
 * An access within a line, that the filter does not know perhaps. `instruction`: its number, not 0, for prefetchers;
 * `now`: when. False: nothing was missed, and it takes no longer than a hit; all of `result` is written.
 */
bool hierarchy_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                    struct access_result *result);
bool hierarchy_store(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                     struct access_result *result);
bool hierarchy_fetch(struct hierarchy *hierarchy, uint64_t address, uint64_t now, struct access_result *result);

/*
 * The guest moved its pages from `from` to `to`: caches have what they had of them, though its address is another now,
 * where a way of level 1 is no larger than a page. Translations are new. By the thread that did it; other threads'
 * filters are not emptied, as little as they are for memory that is gone, and their translations are new when they miss
 * one.
 */
void hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes);

/*
 * Another thread goes on with the core at `now`, which may be before the last one ended: no prefetched line is on its
 * way any more, and what the core moves is published soon.
 */
void hierarchy_begin_thread(struct hierarchy *hierarchy, uint64_t now);

/* The traffic since it was made. Another thread may ask while the core's own runs, and sees about what there is. */
struct hierarchy_traffic hierarchy_traffic(const struct hierarchy *hierarchy);

/* The filters, which are asked at each access before. Of code no line is written. */
struct hit_filter *hierarchy_data_filter(struct hierarchy *hierarchy);
struct hit_filter *hierarchy_code_filter(struct hierarchy *hierarchy);

#endif
