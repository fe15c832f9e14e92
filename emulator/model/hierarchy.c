#include "emulator/model/hierarchy.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "emulator/model/cache.h"
#include "emulator/model/l1.h"
#include "emulator/model/memory_path.h"
#include "emulator/model/page_map.h"
#include "emulator/model/prefetch.h"
#include "emulator/setup.h"

#define FAR_BYTES   ((uint64_t)512 << 10)
#define CYCLES_MOST (UINT32_C(1) << 28) /* that one thing takes: THREAD_LIMIT of emulator/timing/thread.h is more */
#define ARRIVALS    64                  /* prefetched lines whose arrival is remembered; a power of two */
#define NS_PER_US   1000.0
#define GB_PER_US   1000.0 /* bytes in a microsecond, of 10^9 bytes/s */

#define INLINE static inline __attribute__((always_inline))
#define APART  static __attribute__((noinline)) /* rare: its caller has no registers to save for it */

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
	pthread_mutex_t lock; /* of what follows */
	struct cache
		*shared[MACHINE_LEVELS_MAX]; /* of a level that cores share: one for each group of them, when used */
	unsigned hierarchy_count;
	bool is_shared; /* by threads: what cores share locks */
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

/* ---- what cores share ---- */

static unsigned
controller_count(const struct machine *machine)
{
	return machine->nodes * machine->controllers;
}

static void
set_latencies(struct memory_system *system)
{
	const struct machine *machine = &system->machine;
	uint32_t data = machine->levels[0].latency_cycles, code = machine->code.latency_cycles;

	for (unsigned i = 0; i <= MACHINE_LEVELS_MAX; i++) {
		uint32_t cycles = i == HIERARCHY_MEMORY      ? system->curve.least_cycles
		                  : i < machine->level_count ? machine->levels[i].latency_cycles
		                                             : 0;

		system->data_cycles[i] = cycles > data ? cycles - data : 0;
		system->code_cycles[i] = cycles > code ? cycles - code : 0;
	}
	system->remote_cycles = (uint32_t)lround(machine->remote_latency_ns * machine->clock_mhz / NS_PER_US);
}

static int
make_paths(struct memory_system *system, uint64_t quantum)
{
	const struct machine *machine = &system->machine;
	double link = machine->remote_bandwidth_gb_s * GB_PER_US / machine->clock_mhz / machine->line_bytes;
	int err = 0;

	system->controllers = calloc(controller_count(machine), sizeof(*system->controllers));
	system->links = calloc((size_t)machine->nodes * machine->nodes, sizeof(*system->links));
	if (!system->controllers || !system->links)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < controller_count(machine); i++)
		err = memory_path_init(&system->controllers[i], system->curve.lines_per_cycle, machine->cores, quantum);
	for (unsigned i = 0; !err && machine->nodes > 1 && i < machine->nodes * machine->nodes; i++)
		err = memory_path_init(&system->links[i], link, machine->cores, quantum);
	return err;
}

static bool
is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static bool
is_sound(const struct machine *machine)
{
	for (unsigned i = 0; i < machine->prefetcher_count; i++) {
		if (machine->prefetchers[i].level < 1 || machine->prefetchers[i].level > machine->level_count)
			return false;
	}
	return is_power_of_two(machine->code.bytes / machine->line_bytes / machine->code.ways) &&
	       is_power_of_two(machine->levels[0].bytes / machine->line_bytes / machine->levels[0].ways);
}

struct memory_system *
memory_system_new(const struct machine *machine, uint32_t parts, uint64_t quantum_cycles, uint64_t seed)
{
	struct memory_system *system;
	int err;

	if (!is_sound(machine)) {
		errno = EINVAL;
		return NULL;
	}
	system = calloc(1, sizeof(*system));
	if (!system)
		return NULL;
	system->machine = *machine;
	system->has_caches = parts & SETUP_CACHES;
	system->has_tlbs = parts & SETUP_TLBS;
	system->seed = seed;
	pthread_mutex_init(&system->lock, NULL);
	load_curve_init(&system->curve, machine);
	set_latencies(system);
	system->pages = page_map_new(machine);
	err = system->pages ? make_paths(system, quantum_cycles) : -ENOMEM;
	if (!err)
		return system;
	memory_system_free(system);
	errno = -err;
	return NULL;
}

void
memory_system_free(struct memory_system *system)
{
	const struct machine *machine;

	if (!system)
		return;
	machine = &system->machine;
	for (unsigned i = 0; i < MACHINE_LEVELS_MAX; i++) {
		for (unsigned j = 0; system->shared[i] && j < machine->cores / machine->levels[i].cores; j++)
			cache_fini(&system->shared[i][j]);
		free(system->shared[i]);
	}
	for (unsigned i = 0; system->controllers && i < controller_count(machine); i++)
		memory_path_fini(&system->controllers[i]);
	for (unsigned i = 0; system->links && i < machine->nodes * machine->nodes; i++)
		memory_path_fini(&system->links[i]);
	free(system->controllers);
	free(system->links);
	page_map_free(system->pages);
	pthread_mutex_destroy(&system->lock);
	free(system);
}

/* Under the lock: the cache of `level` that the core has with others. 0 or -ENOMEM. */
static int
find_shared(struct memory_system *system, unsigned level, unsigned core, struct cache **cache)
{
	const struct machine *machine = &system->machine;
	const struct machine_cache *model = &machine->levels[level];
	unsigned group = core / model->cores;
	int err = 0;

	if (!system->shared[level])
		system->shared[level] = calloc(machine->cores / model->cores, sizeof(**cache));
	if (!system->shared[level])
		return -ENOMEM;
	*cache = &system->shared[level][group];
	if (!(*cache)->sets)
		err = cache_init(*cache, model, machine->line_bytes, system->seed + level + (uint64_t)group * 64);
	if (!err && system->is_shared)
		cache_begin_to_lock(*cache);
	return err;
}

/* Under the lock: what one core had alone until now. */
static void
begin_to_share(struct memory_system *system)
{
	if (system->is_shared)
		return;
	system->is_shared = true;
	for (unsigned i = 0; i < MACHINE_LEVELS_MAX; i++) {
		const struct machine_cache *model = &system->machine.levels[i];

		for (unsigned j = 0; system->shared[i] && j < system->machine.cores / model->cores; j++)
			cache_begin_to_lock(&system->shared[i][j]);
	}
	for (unsigned i = 0; i < controller_count(&system->machine); i++)
		system->controllers[i].is_shared = true;
	for (unsigned i = 0; i < system->machine.nodes * system->machine.nodes; i++)
		system->links[i].is_shared = true;
}

void
memory_system_share(struct memory_system *system)
{
	pthread_mutex_lock(&system->lock);
	begin_to_share(system);
	pthread_mutex_unlock(&system->lock);
}

void
memory_system_before_fork(struct memory_system *system)
{
	pthread_mutex_lock(&system->lock);
}

void
memory_system_after_fork(struct memory_system *system)
{
	pthread_mutex_unlock(&system->lock);
}

/* ---- numbers of addresses ---- */

/* The number that an address has until pages are moved. */
INLINE uint64_t
number_of(struct hierarchy *hierarchy, uint64_t address)
{
	return page_map_recent_number(&hierarchy->regions, hierarchy->system->pages, address);
}

/* What that is since pages were moved. */
INLINE uint64_t
follow(const struct hierarchy *hierarchy, uint64_t number)
{
	if (__builtin_expect(!__atomic_load_n(&hierarchy->system->moves, __ATOMIC_RELAXED), 1))
		return number;
	return page_map_follow(hierarchy->system->pages, number);
}

/* ---- memory ---- */

/* Consecutive lines lie on controllers in turn, shifted from page to page so that no stride stays on one. */
static unsigned
controller_of(unsigned count, uint64_t line)
{
	const uint64_t shifted = line + (line >> 6) * 7 + (line >> 13);

	return (unsigned)((count & (count - 1)) == 0 ? shifted & (count - 1) : shifted % count);
}

static unsigned
node_of(const struct hierarchy *hierarchy, uint64_t line)
{
	struct page_map *pages = hierarchy->system->pages;
	uint64_t address;

	if (hierarchy->system->machine.nodes == 1)
		return 0;
	address = page_map_address(pages, line, hierarchy->line_shift) << hierarchy->line_shift;
	return page_map_node(pages, (uint32_t)(line >> (PAGE_MAP_REGION_SHIFT - hierarchy->line_shift)), address,
	                     hierarchy->node);
}

/* A line goes between the core and the memory of `node`: how long that waits; *user: the core's of the controller. */
static uint64_t
transfer_line(struct hierarchy *hierarchy, uint64_t line, unsigned node, uint64_t now, bool writes,
              struct memory_path_user **user)
{
	const struct machine *machine = &hierarchy->system->machine;
	const unsigned from = writes ? hierarchy->node : node, to = writes ? node : hierarchy->node;
	uint64_t wait;

	*user = &hierarchy->users[node * machine->controllers + controller_of(machine->controllers, line)];
	wait = memory_path_transfer(*user, now);
	memory_path_count(*user, now, &hierarchy->system->curve);
	if (from != to)
		wait += memory_path_transfer(
			&hierarchy->users[machine->nodes * machine->controllers + from * machine->nodes + to],
			now + wait);
	return wait;
}

static uint32_t
clamp(uint64_t cycles)
{
	return cycles < CYCLES_MOST ? (uint32_t)cycles : CYCLES_MOST;
}

/* A line comes from memory. */
APART void
read_memory(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
            struct access_result *result)
{
	const unsigned node = node_of(hierarchy, line);
	struct memory_path_user *user;
	const uint64_t wait = transfer_line(hierarchy, line, node, now, false, &user);

	result->level = HIERARCHY_MEMORY;
	result->node = (uint8_t)node;
	result->cycles = latencies[HIERARCHY_MEMORY] + (node != hierarchy->node ? hierarchy->system->remote_cycles : 0);
	result->load_cycles = user->load_cycles;
	result->wait_cycles = clamp(wait > user->load_cycles ? wait : user->load_cycles);
}

/*
 * The level before `level` evicted a dirty line. The nearest level from `level` on that holds the line marks it dirty;
 * no level brings it in. Where none holds it, it is written to memory, which takes bandwidth, and no core waits.
 */
static void
write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	struct memory_path_user *user;

	for (; level < hierarchy->level_count; level++) {
		if (cache_mark_written(hierarchy->levels[level], line))
			return;
	}
	hierarchy->traffic.written_back++;
	transfer_line(hierarchy, line, node_of(hierarchy, line), now, true, &user);
}

/* ---- prefetchers ---- */

/* First use of a prefetched line: it may still be on its way. */
APART void
use_prefetched_line(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result)
{
	const struct arrival *arrival = &hierarchy->arrivals[line % ARRIVALS];
	const uint64_t late = arrival->line == line && arrival->ready > now ? arrival->ready - now : 0;

	result->used_prefetch = true;
	result->cycles = late > result->cycles ? clamp(late) : result->cycles;
	hierarchy->traffic.prefetched_used++;
}

/* Fill a prefetched line into level 1, which does not hold it; a dirty victim is written back. */
static void
prefetch_fill_l1(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct l1 *level = &hierarchy->data;
	const struct l1_found found = l1_use_any(level, line, level->filter->use += FILTER_USE);
	const bool was_written = found.entry->key & FILTER_WRITTEN;

	found.entry->key = FILTER_PREFETCHED;
	if (was_written)
		write_back(hierarchy, l1_victim_line(level, line, found.victim_tag), 1, now);
}

/* Fill a prefetched line into an outer level, which does not hold it; a dirty victim is written back. */
static void
prefetch_fill_outer(struct hierarchy *hierarchy, unsigned level, uint64_t line, uint64_t now)
{
	struct cache *cache = hierarchy->levels[level];
	struct cache_found found;

	if (cache->is_simple)
		found = cache_small_replace(cache, cache_small_set(cache, line), line, CACHE_WAS_PREFETCHED);
	else
		found = cache_prefetch(cache, line);
	if (cache_found_evicts_dirty(found))
		write_back(hierarchy, found.victim, level + 1, now);
}

static uint64_t
prefetch_from_memory(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct access_result result;

	read_memory(hierarchy, line, hierarchy->system->data_cycles, now, &result);
	return now + result.cycles + result.wait_cycles;
}

/* Fill a prefetched line into the levels outside `level`, up to the one that holds it: when it arrives. */
static uint64_t
prefetch_through_outer_levels(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	while (++level < hierarchy->level_count) {
		const struct cache_found found = cache_access(hierarchy->levels[level], line, false);

		if (found.flags & CACHE_HIT)
			return now + hierarchy->system->data_cycles[level];
		if (cache_found_evicts_dirty(found))
			write_back(hierarchy, found.victim, level + 1, now);
	}
	return prefetch_from_memory(hierarchy, line, now);
}

/* An inaccurate prefetch: it costs bandwidth and fills no cache. */
static void
prefetch_useless_line(struct hierarchy *hierarchy, const struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	for (unsigned level = prefetcher->level + 1; level < hierarchy->level_count; level++) {
		if (cache_has(hierarchy->levels[level], line))
			return;
	}
	prefetch_from_memory(hierarchy, line, now);
}

/* A line that the prefetcher's level does not have. */
APART void
prefetch_line(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	const bool is_accurate = prefetcher_next_is_accurate(prefetcher);

	prefetcher_count(prefetcher, is_accurate);
	hierarchy->traffic.prefetched++;
	if (!is_accurate) {
		prefetch_useless_line(hierarchy, prefetcher, line, now);
		return;
	}
	if (prefetcher->level == 0)
		prefetch_fill_l1(hierarchy, line, now);
	else
		prefetch_fill_outer(hierarchy, prefetcher->level, line, now);
	hierarchy->arrivals[line % ARRIVALS] =
		(struct arrival){line, prefetch_through_outer_levels(hierarchy, line, prefetcher->level, now)};
}

INLINE bool
is_in_level(const struct hierarchy *hierarchy, unsigned level, uint64_t line)
{
	struct cache *cache = hierarchy->levels[level];

	if (level == 0)
		return l1_has(&hierarchy->data, line);
	return cache->is_simple ? cache_small_has(cache, line) : cache_has(cache, line);
}

/* Prefetchers see an access that reached levels up to result->level, of code without `instruction`. */
static void
run_prefetchers(struct hierarchy *hierarchy, uint64_t physical, uint64_t instruction, uint64_t now,
                const struct access_result *result)
{
	const unsigned reached = result->level;
	const bool used_prefetch = result->used_prefetch;

	for (unsigned i = 0; i < hierarchy->prefetcher_count; i++) {
		struct prefetcher *prefetcher = &hierarchy->prefetchers[i];
		const unsigned level = prefetcher->level;
		unsigned count;

		if (reached < level || (level == 0 && !instruction))
			continue;
		count = prefetcher_train(prefetcher, physical, instruction, reached > level || used_prefetch);
		for (unsigned k = 0; k < count; k++) {
			const uint64_t line = prefetcher_line(prefetcher, k);

			if (!is_in_level(hierarchy, level, line))
				prefetch_line(hierarchy, prefetcher, line, now);
		}
	}
}

/* ---- an access: the filter, TLBs, level 1, the levels behind it, memory, prefetchers ---- */

/*
 * TLB lookup for a page that is not in the filter; enters it there. A new page often misses the last level too, so its
 * set is fetched into the host's cache meanwhile.
 */
APART void
translate(struct hierarchy *hierarchy, struct first_tlb *pages, uint64_t address, struct access_result *result)
{
	const uint64_t page = address >> hierarchy->page_shift, numbered = number_of(hierarchy, address);
	const uint64_t number = numbered >> hierarchy->page_shift;
	struct l1 *level = &pages->level;
	struct l1_found found;

	if (hierarchy->far)
		cache_fetch_set(hierarchy->far, numbered >> hierarchy->line_shift);
	found = l1_use(level, number, level->filter->use += FILTER_USE);
	l1_put_page(level, found.entry, page);
	if (found.hit)
		return;
	result->tlb_missed = true;
	result->walked =
		!hierarchy->system->machine.shared_tlb.entries || !tlb_access(&hierarchy->shared_tlb, (uint32_t)number);
	result->tlb_cycles = result->walked ? pages->walk_cycles : pages->second_cycles;
}

/* The host's caches do not hold the sets of a large last level: one is fetched while something else is done. */
INLINE void
fetch_far_set(const struct hierarchy *hierarchy, unsigned level, uint64_t line)
{
	if (level < hierarchy->level_count && hierarchy->levels[level] == hierarchy->far)
		cache_fetch_set(hierarchy->far, line);
}

/* A miss of level 1: look the line up in the outer levels, fill those that miss, write back their dirty victims. */
INLINE void
access_outer_levels(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                    struct access_result *result)
{
	for (unsigned level = 1; level < hierarchy->level_count; level++) {
		const struct cache_found found = cache_access(hierarchy->levels[level], line, false);

		if (found.flags & CACHE_HIT) {
			result->level = (uint8_t)level;
			result->cycles = latencies[level];
			if (__builtin_expect(found.flags & CACHE_WAS_PREFETCHED, 0))
				use_prefetched_line(hierarchy, line, now, result);
			return;
		}
		fetch_far_set(hierarchy, level + 1, line);
		if (cache_found_evicts_dirty(found))
			write_back(hierarchy, found.victim, level + 1, now);
	}
	read_memory(hierarchy, line, latencies, now, result);
}

INLINE bool
access_data(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, const bool writes,
            struct access_result *result)
{
	struct hit_filter *filter = hierarchy->data_filter;
	const uint64_t guest_line = address >> filter->line_shift;
	struct l1 *level = &hierarchy->data;
	struct l1_found found;
	uint64_t physical, line, key;

	*result = (struct access_result){.level = 0};
	if (!filter_use_page(filter, address >> filter->page_shift))
		translate(hierarchy, &hierarchy->data_tlb, address, result);
	if (filter_use_line(filter, guest_line, writes))
		return result->tlb_missed;

	physical = follow(hierarchy, number_of(hierarchy, address));
	line = physical >> hierarchy->line_shift;
	found = l1_use(level, line, filter->use += FILTER_USE);
	key = found.entry->key;
	l1_put_line(level, found.entry, guest_line, writes || (found.hit && key & FILTER_WRITTEN));
	if (found.hit && key != FILTER_PREFETCHED)
		return result->tlb_missed;
	if (found.hit) {
		use_prefetched_line(hierarchy, line, now, result);
	} else {
		if (key & FILTER_WRITTEN)
			write_back(hierarchy, l1_victim_line(level, line, found.victim_tag), 1, now);
		access_outer_levels(hierarchy, line, hierarchy->system->data_cycles, now, result);
	}
	if (hierarchy->prefetcher_count)
		run_prefetchers(hierarchy, physical, instruction, now, result);
	return result->level || result->tlb_missed || result->cycles;
}

bool
hierarchy_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
               struct access_result *result)
{
	return access_data(hierarchy, address, instruction, now, false, result);
}

bool
hierarchy_store(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                struct access_result *result)
{
	return access_data(hierarchy, address, instruction, now, true, result);
}

bool
hierarchy_fetch(struct hierarchy *hierarchy, uint64_t address, uint64_t now, struct access_result *result)
{
	struct hit_filter *filter = hierarchy->code_filter;
	const uint64_t guest_line = address >> filter->line_shift;
	struct l1_found found;
	uint64_t physical;

	*result = (struct access_result){.level = 0};
	if (!filter_use_page(filter, address >> filter->page_shift))
		translate(hierarchy, &hierarchy->code_tlb, address, result);
	if (filter_use_line(filter, guest_line, false))
		return result->tlb_missed;

	physical = follow(hierarchy, number_of(hierarchy, address));
	found = l1_use(&hierarchy->code, physical >> hierarchy->line_shift, filter->use += FILTER_USE);
	l1_put_line(&hierarchy->code, found.entry, guest_line, false);
	if (found.hit)
		return result->tlb_missed;
	access_outer_levels(hierarchy, physical >> hierarchy->line_shift, hierarchy->system->code_cycles, now, result);
	if (hierarchy->prefetcher_count)
		run_prefetchers(hierarchy, physical, 0, now, result);
	return true;
}

void
hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (!hierarchy->system->has_caches ||
	    hierarchy->data.set_mask >= 1u << (hierarchy->page_shift - hierarchy->line_shift))
		return;
	page_map_move(hierarchy->system->pages, from, to, bytes);
	__atomic_fetch_add(&hierarchy->system->moves, 1, __ATOMIC_RELEASE);
	l1_forget(&hierarchy->data);
}

/* ---- its life ---- */

static int
make_levels(struct hierarchy *hierarchy)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	const uint64_t seed = system->seed + hierarchy->core * UINT64_C(0x10001);
	const struct cache *last;
	int err = 0;

	for (unsigned i = 1; !err && i < machine->level_count; i++) {
		hierarchy->levels[i] = &hierarchy->own[i];
		if (machine->levels[i].cores > 1)
			err = find_shared(system, i, hierarchy->core, &hierarchy->levels[i]);
		else
			err = cache_init(&hierarchy->own[i], &machine->levels[i], machine->line_bytes, seed + 1 + i);
	}
	if (!err && system->has_caches)
		err = l1_init(&hierarchy->code, &machine->code, machine->line_bytes, seed);
	if (!err && system->has_caches)
		err = l1_init(&hierarchy->data, &machine->levels[0], machine->line_bytes, seed + 1);
	if (err || hierarchy->level_count < 3)
		return err;
	/* what is asked for seldom is not found in the host's caches then */
	last = hierarchy->levels[hierarchy->level_count - 1];
	if ((uint64_t)last->set_count * last->set_bytes >= FAR_BYTES)
		hierarchy->far = last;
	return 0;
}

static int
make_first_tlb(struct first_tlb *pages, const struct machine_tlb *model, const struct memory_system *system)
{
	const struct machine_tlb *shared = &system->machine.shared_tlb;
	struct machine_cache cache;

	pages->second_cycles = model->miss_cycles;
	pages->walk_cycles = model->miss_cycles + (shared->entries ? shared->miss_cycles : 0);
	if (!system->has_tlbs || !model->entries)
		return 0;
	cache = tlb_as_cache(model);
	return l1_init(&pages->level, &cache, 1, 0);
}

static int
make_users(struct hierarchy *hierarchy)
{
	struct memory_system *system = hierarchy->system;
	const unsigned controllers = controller_count(&system->machine);
	const unsigned links = system->machine.nodes * system->machine.nodes;

	hierarchy->users = calloc(controllers + links, sizeof(*hierarchy->users));
	if (!hierarchy->users)
		return -ENOMEM;
	for (unsigned i = 0; i < controllers; i++)
		memory_path_user_init(&hierarchy->users[i], &system->controllers[i], hierarchy->core);
	for (unsigned i = 0; i < links; i++)
		memory_path_user_init(&hierarchy->users[controllers + i], &system->links[i], hierarchy->core);
	return 0;
}

static int
make_parts(struct hierarchy *hierarchy)
{
	const struct machine *machine = &hierarchy->system->machine;
	int err;

	err = make_levels(hierarchy);
	if (err)
		return err;
	err = make_first_tlb(&hierarchy->data_tlb, &machine->data_tlb, hierarchy->system);
	if (err)
		return err;
	err = make_first_tlb(&hierarchy->code_tlb, &machine->code_tlb, hierarchy->system);
	if (err)
		return err;
	if (machine->shared_tlb.entries)
		err = tlb_init(&hierarchy->shared_tlb, &machine->shared_tlb);
	if (err)
		return err;
	err = make_users(hierarchy);
	if (err)
		return err;
	for (unsigned i = 0; i < machine->prefetcher_count; i++) {
		err = prefetcher_init(&hierarchy->prefetchers[hierarchy->prefetcher_count++], &machine->prefetchers[i],
		                      machine);
		if (err)
			return err;
	}
	hierarchy->data_filter = l1_join(&hierarchy->data, hierarchy->line_shift, &hierarchy->data_tlb.level,
	                                 hierarchy->page_shift, hierarchy->room);
	hierarchy->code_filter = l1_join(&hierarchy->code, hierarchy->line_shift, &hierarchy->code_tlb.level,
	                                 hierarchy->page_shift, FILTER_NO_ROOM);
	return hierarchy->data_filter && hierarchy->code_filter ? 0 : -ENOMEM;
}

struct hierarchy *
hierarchy_new(struct memory_system *system, unsigned core, struct filter_room room)
{
	const struct machine *machine = &system->machine;
	struct hierarchy *hierarchy = aligned_alloc(64, (sizeof(*hierarchy) + 63) & ~(size_t)63);
	int err = -ENOMEM;

	if (!hierarchy)
		return NULL;
	*hierarchy =
		(struct hierarchy){.system = system, .core = core, .level_count = machine->level_count, .room = room};
	hierarchy->node = core / (machine->cores / machine->nodes);
	hierarchy->line_shift = (uint8_t)__builtin_ctz(machine->line_bytes);
	hierarchy->page_shift = (uint8_t)__builtin_ctz(machine->page_bytes);
	page_map_recent_init(&hierarchy->regions);
	for (unsigned i = 0; i < ARRIVALS; i++)
		hierarchy->arrivals[i].line = CACHE_NO_LINE;
	pthread_mutex_lock(&system->lock);
	err = make_parts(hierarchy);
	if (!err && system->hierarchy_count++ == 1)
		begin_to_share(system);
	pthread_mutex_unlock(&system->lock);
	if (!err)
		return hierarchy;
	hierarchy_free(hierarchy);
	errno = -err;
	return NULL;
}

void
hierarchy_free(struct hierarchy *hierarchy)
{
	if (!hierarchy)
		return;
	for (unsigned i = 1; i < MACHINE_LEVELS_MAX; i++)
		cache_fini(&hierarchy->own[i]);
	tlb_fini(&hierarchy->shared_tlb);
	l1_fini(&hierarchy->data);
	l1_fini(&hierarchy->data_tlb.level);
	l1_fini(&hierarchy->code);
	l1_fini(&hierarchy->code_tlb.level);
	for (unsigned i = 0; i < hierarchy->prefetcher_count; i++)
		prefetcher_fini(&hierarchy->prefetchers[i]);
	if (hierarchy->data_filter != hierarchy->room.at)
		free(hierarchy->data_filter);
	free(hierarchy->code_filter);
	free(hierarchy->users);
	free(hierarchy);
}

int
hierarchy_move_filter(struct hierarchy *hierarchy, struct filter_room room)
{
	struct hit_filter *moved;

	if (!room.at && hierarchy->data_filter != hierarchy->room.at)
		return 0; /* it has memory of its own */
	moved = l1_move_filter(&hierarchy->data, &hierarchy->data_tlb.level, room);
	if (!moved)
		return -ENOMEM;
	if (hierarchy->data_filter != hierarchy->room.at)
		free(hierarchy->data_filter);
	hierarchy->data_filter = moved;
	hierarchy->room = room;
	return 0;
}

void
hierarchy_begin_thread(struct hierarchy *hierarchy, uint64_t now)
{
	const struct machine *machine = &hierarchy->system->machine;

	for (unsigned i = 0; i < ARRIVALS; i++)
		hierarchy->arrivals[i].ready = 0;
	for (unsigned i = 0; i < machine->nodes * (machine->controllers + machine->nodes); i++)
		memory_path_user_continue(&hierarchy->users[i], now);
}

struct hierarchy_traffic
hierarchy_traffic(const struct hierarchy *hierarchy)
{
	const struct machine *machine = &hierarchy->system->machine;
	struct hierarchy_traffic traffic = hierarchy->traffic;

	for (unsigned i = 0; i < machine->nodes * machine->controllers; i++)
		traffic.node_bytes[i / machine->controllers] += hierarchy->users[i].lines * machine->line_bytes;
	return traffic;
}

struct hit_filter *
hierarchy_data_filter(struct hierarchy *hierarchy)
{
	return hierarchy->data_filter;
}

struct hit_filter *
hierarchy_code_filter(struct hierarchy *hierarchy)
{
	return hierarchy->code_filter;
}
