/*
 * memory_system.h - what the cores of the target share: levels of cache, memory controllers, placement of pages
 *
 * One for the process. Thread rule: constant, but for what is locked and what is atomic.
 */
#ifndef DCPI_EMULATOR_MODEL_MEMORY_SYSTEM_H
#define DCPI_EMULATOR_MODEL_MEMORY_SYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/cache.h"
#include "emulator/model/memory_path.h"
#include "emulator/model/page_map.h"
#include "machine/machine.h"

#define HIERARCHY_MEMORY MACHINE_LEVELS_MAX /* level of what no cache had */

struct memory_system {
	struct machine machine;
	bool has_caches, has_tlbs;
	uint64_t seed;
	struct page_map *pages;
	uint64_t moves;                  /* of pages; atomically */
	struct memory_path *controllers; /* of each node in turn */
	struct memory_path *links;       /* from node * nodes + to; between two nodes */
	struct load_curve curve;
	uint32_t data_cycles[MACHINE_LEVELS_MAX + 1]; /* beyond level 1; [HIERARCHY_MEMORY]: memory */
	uint32_t code_cycles[MACHINE_LEVELS_MAX + 1];
	uint32_t remote_cycles;
	pthread_mutex_t lock; /* of what follows */
	struct cache
		*shared[MACHINE_LEVELS_MAX]; /* of a level that cores share: one for each group of them, when used */
	unsigned hierarchy_count;
	bool is_shared; /* by threads: what cores share locks */
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

/* Under the lock: the cache of `level` that a core has with others (0 or -ENOMEM), and that it is one more. */
int memory_system_shared(struct memory_system *system, unsigned level, unsigned core, struct cache **cache);
void memory_system_join(struct memory_system *system);

#endif
