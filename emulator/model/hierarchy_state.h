/*
 * hierarchy_state.h - what memory_system.c makes and hierarchy.c goes through
 *
 * Inner header of emulator/model. Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_HIERARCHY_STATE_H
#define DCPI_EMULATOR_MODEL_HIERARCHY_STATE_H

#include <pthread.h>

#include "emulator/model/cache.h"
#include "emulator/model/controller.h"
#include "emulator/model/hierarchy.h"
#include "emulator/model/page_map.h"
#include "emulator/model/prefetch.h"
#include "emulator/model/tlb.h"

#define ARRIVALS 64 /* prefetched lines whose arrival is remembered; a power of two */

struct memory_system {
	struct machine machine;
	bool has_caches, has_tlbs;
	uint64_t seed;
	struct page_map *pages;
	bool has_moved;           /* pages; atomically */
	struct path *controllers; /* of each node in turn */
	struct path *links;       /* from node * nodes + to; between two nodes */
	struct load_curve curve;
	uint32_t data_cycles[MACHINE_LEVELS_MAX + 1]; /* beyond level 1; [HIERARCHY_MEMORY]: memory */
	uint32_t code_cycles[MACHINE_LEVELS_MAX + 1];
	uint32_t remote_cycles;
	pthread_mutex_t lock; /* of what follows */
	struct cache
		*shared[MACHINE_LEVELS_MAX]; /* of a level that cores share: one for each group of them, when used */
	unsigned hierarchy_count;
};

/* A prefetched line, and when it comes. */
struct arrival {
	uint64_t line, ready;
};

/* The plain hits of code or of data. */
struct plain_lines {
	struct plain_hits hits;
	bool is_filter;  /* not by set: what leaves is taken out */
	uint32_t *slots; /* with stamps: where in the tables the line of each slot stands, if it does; else NULL */
};

struct hierarchy {
	struct memory_system *system;
	unsigned core, node, level_count;
	uint8_t line_shift, page_shift;
	struct plain_lines data, code;
	bool pages_are_filters[2]; /* of data, of code */
	struct page_map_recent regions;
	uint64_t uses, ignored; /* the last stamp of level 1 and its TLBs; one that nobody looks at */
	struct cache data_cache, code_cache;
	struct cache *levels[MACHINE_LEVELS_MAX]; /* [0] is data_cache */
	struct cache own[MACHINE_LEVELS_MAX];     /* those that are not shared */
	struct tlb data_tlb, code_tlb, shared_tlb;
	unsigned prefetcher_count;
	struct prefetcher prefetchers[MACHINE_PREFETCHERS_MAX];
	struct arrival arrivals[ARRIVALS];
	struct path_user *users; /* of controllers, and then of links */
	struct hierarchy_traffic traffic;
};

/* A line is moved between memory and the core's caches: node, cycles (by `latencies`) and wait_cycles of `result`. */
void hierarchy_move(struct hierarchy *hierarchy, uint64_t line, uint64_t now, bool writes, const uint32_t *latencies,
                    struct access_result *result);

/* The line comes from memory, for who waits for it. */
void hierarchy_fill(struct hierarchy *hierarchy, uint64_t line, uint64_t now, const uint32_t *latencies,
                    struct access_result *result);

/* A line that was written leaves the level before `level`. */
void hierarchy_write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now);

/* An access reached levels up to result->level, of code without `instruction`: what is prefetched for it. */
void hierarchy_prefetch(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                        const struct access_result *result);

/* `line` came into level 1 of data and nobody used it yet, as `found` says: what is no plain hit any more. */
void hierarchy_take_plain(struct hierarchy *hierarchy, uint64_t line, struct cache_found found);

/* The line, prefetched, is met: `result` says so, and how long it still takes at least. */
void hierarchy_meet(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result);

#endif
