/*
 * hierarchy_state.h - what memory_system.c and hierarchy_new.c make, and others go through
 *
 * Inner header of emulator/model. Thread rule: hierarchy.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_HIERARCHY_STATE_H
#define DCPI_EMULATOR_MODEL_HIERARCHY_STATE_H

#include <pthread.h>

#include "emulator/model/cache.h"
#include "emulator/model/controller.h"
#include "emulator/model/first_level.h"
#include "emulator/model/hierarchy.h"
#include "emulator/model/page_map.h"
#include "emulator/model/prefetch.h"
#include "emulator/model/tlb.h"

#define HIERARCHY_LINE_SHIFT 6 /* of the usual lines and pages */
#define HIERARCHY_PAGE_SHIFT 12

#define ARRIVALS 64 /* prefetched lines whose arrival is remembered; a power of two */

struct memory_system {
	struct machine machine;
	bool has_caches, has_tlbs;
	uint64_t seed;
	struct page_map *pages;
	uint64_t moves;              /* of pages; atomically */
	struct path *controllers;    /* of each node in turn */
	struct path *links;          /* from node * nodes + to; between two nodes */
	unsigned lone_controllers;   /* how many, of one node that one core has alone; else 0 */
	unsigned common_controllers; /* that cores share; else 0 */
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

/* How the first TLB is, where what is in it can be told straight on, and the second is asked in the order of LRU. */
enum first_pages_kind {
	FIRST_PAGES_ANY,
	FIRST_PAGES_ORDERED, /* as of struct first_level */
	FIRST_PAGES_RECENT,
};

/* The first TLB, of data or code. */
struct first_pages {
	struct first_level level;
	uint32_t cycles[TRANSLATION_WALKED + 1]; /* of enum hierarchy_translation */
	enum first_pages_kind kind;
};

struct hierarchy {
	struct memory_system *system;
	unsigned core, node, level_count;
	uint8_t line_shift, page_shift;
	uint8_t simple_slots;      /* of level 1, 4 or 8, when loads may be simple (simple.h); else 0 */
	uint8_t simple_code_slots; /* the same of code */
	struct first_level data, code;
	struct first_pages data_pages, code_pages;
	struct plain_hits *plain_data, *plain_code;
	struct plain_room room; /* for plain_data */
	struct page_map_recent regions;
	uint64_t moves;                           /* of pages, that those which the first TLBs have are known after */
	struct cache *levels[MACHINE_LEVELS_MAX]; /* but for the first */
	struct cache own[MACHINE_LEVELS_MAX];     /* those that are not shared */
	const struct cache *far;                  /* the last, when it is larger than the host's caches; else NULL */
	struct tlb shared_tlb;
	/* An access reached levels up to result->level, of code without `instruction`: what it fetches; NULL */
	void (*prefetch)(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
	                 const struct access_result *result);
	unsigned prefetcher_count;
	struct prefetcher prefetchers[MACHINE_PREFETCHERS_MAX];
	struct arrival arrivals[ARRIVALS];
	struct path_user *users;          /* of controllers, and then of links */
	struct hierarchy_traffic traffic; /* but for node_bytes, which users know */
};

/* Under the system's lock: the cache of `level` that a core has with others (0 or -ENOMEM), and that it is one more. */
int memory_system_shared(struct memory_system *system, unsigned level, unsigned core, struct cache **cache);
void memory_system_join(struct memory_system *system);

/* A page that is no plain hit, of which a line has the number `line` until pages are moved: it is one then. */
enum hierarchy_translation hierarchy_translate(struct hierarchy *hierarchy, struct first_pages *pages, uint64_t page,
                                               uint64_t line);

/* Pages were moved, perhaps: what is known of those that the first TLBs have is so again. */
void hierarchy_follow_moves(struct hierarchy *hierarchy);

/* A line that level 1 does not have, nor level 2 if it is simple: from where it comes, with `latencies`. */
void hierarchy_look_further(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                            struct access_result *result);

/* The same of a load that is simple (simple.h): `left`, unless it is CACHE_NO_LINE, was written and has left level 1.
 */
void hierarchy_load_beyond(struct hierarchy *hierarchy, uint64_t line, uint64_t left, uint64_t now,
                           struct access_result *result);

/*
 * The same of a line that level 2 made room for: it comes from level 3, of whatever kind, or further. `left`, unless it
 * is CACHE_NO_LINE, was written and has left level 2.
 */
void hierarchy_look_in_third(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies,
                             uint64_t now, struct access_result *result);

/* A line comes from memory: node, cycles (by `latencies`), wait_cycles and load_cycles of `result`. */
void hierarchy_read(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                    struct access_result *result);

/* A line goes to memory. */
void hierarchy_write(struct hierarchy *hierarchy, uint64_t line, uint64_t now);

/* `left`, if it is not CACHE_NO_LINE, goes to memory, and a line comes from there, as of hierarchy_read(). */
void hierarchy_exchange(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies,
                        uint64_t now, struct access_result *result);

/* A line that was written leaves the level before `level`. */
void hierarchy_write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now);

/*
 * hierarchy->prefetch: with any prefetchers; with the usual two of level 2, of strides and then of streams. That they
 * are those.
 */
void hierarchy_prefetch_any(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                            const struct access_result *result);
void hierarchy_prefetch_usual(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                              const struct access_result *result);
bool hierarchy_has_usual_prefetchers(const struct hierarchy *hierarchy);

/* Fetches a line that the prefetcher wants, and its level does not have. */
void hierarchy_prefetch_line(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now);

/* Brings a line that is fetched as far as the level behind `level`: when it is there. */
uint64_t hierarchy_prefetch_bring(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now);

/* Level 1 of data has the line; it had not and it is brought there, but that what was written goes back. */
bool hierarchy_first_has(const struct hierarchy *hierarchy, uint64_t line);
void hierarchy_first_prefetch(struct hierarchy *hierarchy, uint64_t line, uint64_t now);

/* The line, prefetched, is met: `result` says so, and how long it still takes at least. */
void hierarchy_meet(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result);

/* Where it is known when the line comes, if it was prefetched lately. */
static inline struct arrival *
hierarchy_arrival(struct hierarchy *hierarchy, uint64_t line)
{
	return &hierarchy->arrivals[line % ARRIVALS];
}

/* Pages were moved, of any guest's thread. */
static inline bool
hierarchy_has_moved(const struct hierarchy *hierarchy)
{
	return __atomic_load_n(&hierarchy->system->moves, __ATOMIC_RELAXED) != 0;
}

/*
 * The number that an address has until pages are moved, and what it is known by since: then level 1 has a line,
 * perhaps, that came with another address.
 */
static inline uint64_t
hierarchy_number(struct hierarchy *hierarchy, uint64_t address)
{
	return page_map_recent_number(&hierarchy->regions, hierarchy->system->pages, address);
}

static inline uint64_t
hierarchy_follow(struct hierarchy *hierarchy, uint64_t number)
{
	if (__builtin_expect(!hierarchy_has_moved(hierarchy), 1))
		return number;
	first_level_doubt_entries(&hierarchy->data);
	return page_map_follow(hierarchy->system->pages, number);
}

/* Of an access that missed nothing else than translations. */
static inline __attribute__((always_inline)) struct access_result
hierarchy_result_of(const struct first_pages *pages, enum hierarchy_translation translation)
{
	return (struct access_result){
		.tlb_cycles = pages->cycles[translation],
		.tlb_missed = translation != TRANSLATION_FIRST,
		.walked = translation == TRANSLATION_WALKED,
	};
}

/* Of a result: more cycles than that are as many. */
static inline uint32_t
hierarchy_clamp(uint64_t cycles)
{
	return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

#endif
