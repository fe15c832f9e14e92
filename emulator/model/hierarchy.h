/*
 * hierarchy.h - the memory hierarchy that serves an access: TLBs, caches, prefetchers, memory controllers, page
 * placement
 *
 * Each core of the target on which a thread runs has a struct hierarchy; a later thread of that core continues with it.
 * Guest addresses are used as physical addresses, until pages are moved. A line that missed is filled into each level
 * that did not have it, also for a store; levels are neither inclusive nor exclusive. A dirty line that is evicted is
 * written back to the nearest outer level that holds it, else to memory; this takes bandwidth, but no core waits for it
 * (write_back()). docs/emulation.md says more.
 *
 * The hit filter (hit_filter.h) knows lines in level 1 and pages in its TLB. An access to these changes only the time
 * of their last use, which the filter stamps. So returning early after a hit in the filter is exact.
 *
 * Thread rule: a hierarchy belongs to the thread that runs on its core; levels that cores share, and controllers, lock
 * by themselves. No thread may be in an access while the second hierarchy is made, or during a fork. Times are virtual,
 * in cycles; those of several threads may differ by the quantum.
 */
#ifndef DCPI_EMULATOR_MODEL_HIERARCHY_H
#define DCPI_EMULATOR_MODEL_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/hit_filter.h"
#include "machine/machine.h"
#include "memory/object_log.h"

#define HIERARCHY_MEMORY MACHINE_LEVELS_MAX /* level of a line that no cache had */

struct memory_system; /* what the cores of the target share; one per process */
struct hierarchy;     /* a core's */

/* Whether the access waited for caches of other cores, which had written the line, or which a store removed it from. */
enum transfer {
	TRANSFER_NONE,
	TRANSFER_NODE, /* within the node */
	TRANSFER_FAR,  /* another node's */
};

struct access_result {
	uint32_t cycles;      /* from the load to the use of its value, beyond a hit in level 1; without waiting for
	                         bandwidth */
	uint32_t wait_cycles; /* additional wait, from `now` on, because memory is busy */
	uint32_t load_cycles; /* part of wait_cycles that is latency under load, at any time; the rest is waiting for
	                         its turn */
	uint32_t tlb_cycles;  /* of its translation */
	uint8_t level;        /* index of the level that had the line; HIERARCHY_MEMORY */
	uint8_t node;         /* whose memory had it, with HIERARCHY_MEMORY */
	bool tlb_missed, walked;
	bool used_prefetch; /* first use of a prefetched line */
	bool first_write; /* level 1 had the line, and the store is the first to write it; only among several threads */
	enum transfer transfer;
};

/* What a core moved, in bytes and lines. */
struct hierarchy_traffic {
	uint64_t node_bytes[MACHINE_NODES_MAX]; /* between the core and each node's memory, including prefetches and
	                                           write-backs */
	uint64_t written_back;                  /* lines, to memory */
	uint64_t prefetched, prefetched_used;   /* lines */
};

/*
 * NULL and errno (ENOMEM, EINVAL: a level 1 cache whose sets are no power of two, a prefetcher of no level). `parts`:
 * SETUP_CACHES, SETUP_TLBS of emulator/setup.h. `quantum_cycles`: by how much clocks may differ; 0: no bound.
 */
struct memory_system *memory_system_new(const struct machine *machine, uint32_t parts, uint64_t quantum_cycles,
                                        uint64_t seed);
void memory_system_free(struct memory_system *system); /* after its hierarchies */

/*
 * From now on the parts that cores share lock. To be called before a second thread begins, by the thread that begins
 * it, outside of accesses. Making a second hierarchy does this, too, but the new thread may be announced when its
 * parent already continues.
 */
void memory_system_share(struct memory_system *system);

/* To be called around a fork, in the parent and in the child, so that no other thread is making a hierarchy. */
void memory_system_before_fork(struct memory_system *system);
void memory_system_after_fork(struct memory_system *system);

/*
 * From now on accesses to this object are served as if the remedy had been applied (remedy.h). Lines of it that cores
 * have stay where they are. False: there is no room for it.
 */
bool memory_system_set_remedy(struct memory_system *system, uint64_t address, uint64_t size, enum object_remedy kind);

/*
 * Make the hierarchy of core `core` of the target, from 0 on. Its data filter is in `room`, the caller's memory, if
 * that is large enough. NULL and errno.
 */
struct hierarchy *hierarchy_new(struct memory_system *system, unsigned core, struct filter_room room);
void hierarchy_free(struct hierarchy *hierarchy);

/*
 * Move the data filter to `room`, or to memory of its own if `room` is not large enough, so that another thread can
 * continue with the core's caches. 0, or -ENOMEM: nothing has changed.
 */
int hierarchy_move_filter(struct hierarchy *hierarchy, struct filter_room room);

/*
 * An access within a line, which need not be in the filter. `instruction`: its number, not 0, for prefetchers; `now`:
 * the time; `begins`: when the store leaves the write buffer, no earlier. False: nothing was missed, and the access
 * takes no longer than a hit; all of `result` is written.
 */
bool hierarchy_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                    struct access_result *result);
bool hierarchy_store(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, uint64_t begins,
                     struct access_result *result);
bool hierarchy_fetch(struct hierarchy *hierarchy, uint64_t address, uint64_t now, struct access_result *result);

/*
 * The guest moved its pages from `from` to `to`: caches keep their lines, which have other addresses now, if a way of
 * level 1 is no larger than a page. Translations are new. To be called by the thread that moved the pages. Filters of
 * other threads are not emptied, just as for memory that is unmapped; their translations are new when they miss one.
 */
void hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes);

/*
 * Another thread continues with the core at `now`, which may be before the last one ended: no prefetch is in flight any
 * more, and the core's rate of traffic is published soon.
 */
void hierarchy_begin_thread(struct hierarchy *hierarchy, uint64_t now);

/*
 * The traffic since the hierarchy was made. Another thread may call it while the core's own runs; it gets an
 * approximate value.
 */
struct hierarchy_traffic hierarchy_traffic(const struct hierarchy *hierarchy);

/*
 * Whether caches know each other (coherence.h): there are several threads. A store then hits only in a line that the
 * filter has as written, and no caller may mark it.
 */
bool hierarchy_is_coherent(const struct hierarchy *hierarchy);

/* The core of the target, from 0 on, and its node; and the node in whose memory the page of a used address is. */
unsigned hierarchy_core(const struct hierarchy *hierarchy);
unsigned hierarchy_core_node(const struct hierarchy *hierarchy);
unsigned hierarchy_page_node(struct hierarchy *hierarchy, uint64_t address);

/* The filters, which callers check before each access. The code filter has no written lines. */
struct hit_filter *hierarchy_data_filter(struct hierarchy *hierarchy);
struct hit_filter *hierarchy_code_filter(struct hierarchy *hierarchy);

#endif
