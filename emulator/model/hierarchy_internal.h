/*
 * hierarchy_internal.h - the parts of a hierarchy, for its own sources: making it (hierarchy.c), an access through it
 * (access.c), and what that asks of the caches of other cores (coherence.c)
 */
#ifndef DCPI_EMULATOR_MODEL_HIERARCHY_INTERNAL_H
#define DCPI_EMULATOR_MODEL_HIERARCHY_INTERNAL_H

#include <pthread.h>

#include "emulator/model/cache.h"
#include "emulator/model/coherence.h"
#include "emulator/model/hierarchy.h"
#include "emulator/model/l1.h"
#include "emulator/model/memory_path.h"
#include "emulator/model/page_map.h"
#include "emulator/model/prefetch.h"
#include "emulator/model/remedy.h"

#define ARRIVALS 64 /* prefetched lines whose arrival is remembered; a power of two */

/* What the cores of the target share. One for the process; constant, but for what is locked and what is atomic. */
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
	struct coherence coherence;
	struct remedies *remedies; /* NULL: there was none yet; atomically */
	pthread_mutex_t lock;      /* of what follows */
	struct cache
		*shared[MACHINE_LEVELS_MAX]; /* of a level that cores share: one for each group of them, when used */
	unsigned hierarchy_count;
	bool keeps_node; /* OBJECT_REMEDY_PIN: threads begin on the node of the first one */
	bool is_shared;  /* by threads: what cores share locks */
};

/* The first TLB, of data or code, and what it takes when it misses. */
struct first_tlb {
	struct l1 level;
	uint32_t second_cycles; /* the second TLB had the page */
	uint32_t walk_cycles;
};

/* A prefetched line, and when it comes. */
struct arrival {
	uint64_t line, ready;
};

struct hierarchy {
	struct memory_system *system;
	struct coherent_core coherent;
	unsigned core, node, level_count;
	uint8_t line_shift, page_shift;
	struct l1 data, code;
	struct first_tlb data_tlb, code_tlb;
	struct hit_filter *data_filter, *code_filter;
	struct filter_room room; /* for data_filter */
	struct page_map_recent regions;
	struct cache *levels[MACHINE_LEVELS_MAX]; /* but for the first */
	struct cache own[MACHINE_LEVELS_MAX];     /* those that are not shared */
	const struct cache *far;                  /* the last, when it is larger than the host's caches; else NULL */
	struct tlb shared_tlb;
	unsigned prefetcher_count;
	struct prefetcher prefetchers[MACHINE_PREFETCHERS_MAX];
	struct arrival arrivals[ARRIVALS];
	struct memory_path_user *users;   /* of controllers, and then of links */
	struct hierarchy_traffic traffic; /* but for node_bytes, which users know */
};

#endif
