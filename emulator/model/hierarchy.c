#include "emulator/model/hierarchy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "emulator/model/coherence.h"
#include "emulator/model/hierarchy_internal.h"
#include "emulator/setup.h"

#define FAR_BYTES ((uint64_t)512 << 10)
#define NS_PER_US 1000.0
#define GB_PER_US 1000.0 /* bytes in a microsecond, of 10^9 bytes/s */

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
		err = coherence_init(&system->coherence, &system->machine, system->shared, system->curve.least_cycles,
		                     quantum_cycles);
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
	coherence_fini(&system->coherence);
	free(system->controllers);
	free(system->links);
	page_map_free(system->pages);
	remedies_free(system->remedies);
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
	struct cache made;
	uint8_t *sets;
	int err;

	if (!system->shared[level])
		__atomic_store_n(&system->shared[level], calloc(machine->cores / model->cores, sizeof(**cache)),
		                 __ATOMIC_RELEASE);
	if (!system->shared[level])
		return -ENOMEM;
	*cache = &system->shared[level][group];
	if ((*cache)->sets)
		return 0;
	err = cache_init(&made, model, machine->line_bytes, system->seed + level + (uint64_t)group * 64);
	if (err)
		return err;
	if (system->is_shared)
		cache_begin_to_lock(&made);
	sets = made.sets;
	made.sets = NULL;
	**cache = made;
	__atomic_store_n(&(*cache)->sets, sets, __ATOMIC_RELEASE); /* others look without the lock */
	return 0;
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
	if (system->has_caches)
		coherence_begin(&system->coherence);
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

/* Other cores may ask for its lines from now on. */
static void
join(struct hierarchy *hierarchy)
{
	struct coherent_core *coherent = &hierarchy->coherent;

	coherent->core = hierarchy->core;
	coherent->node = hierarchy->node;
	coherent->data = &hierarchy->data;
	for (unsigned i = 1; i < hierarchy->level_count; i++)
		coherent->levels[i] = hierarchy->levels[i];
	coherence_join(coherent);
}

struct hierarchy *
hierarchy_new(struct memory_system *system, unsigned core, struct filter_room room)
{
	const struct machine *machine = &system->machine;
	const unsigned node_cores = machine->cores / machine->nodes;
	struct hierarchy *hierarchy = aligned_alloc(64, (sizeof(*hierarchy) + 63) & ~(size_t)63);
	int err = -ENOMEM;

	if (!hierarchy)
		return NULL;
	pthread_mutex_lock(&system->lock);
	if (system->keeps_node)
		core = system->hierarchy_count % node_cores;
	*hierarchy = (struct hierarchy){.system = system,
	                                .coherent = {.coherence = &system->coherence},
	                                .core = core,
	                                .level_count = machine->level_count,
	                                .room = room};
	hierarchy->node = core / node_cores;
	hierarchy->line_shift = (uint8_t)__builtin_ctz(machine->line_bytes);
	hierarchy->page_shift = (uint8_t)__builtin_ctz(machine->page_bytes);
	page_map_recent_init(&hierarchy->regions);
	for (unsigned i = 0; i < ARRIVALS; i++)
		hierarchy->arrivals[i].line = CACHE_NO_LINE;
	err = make_parts(hierarchy);
	if (!err && system->hierarchy_count++ == 1)
		begin_to_share(system);
	if (!err)
		join(hierarchy);
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
	pthread_mutex_lock(&hierarchy->system->lock);
	coherence_leave(&hierarchy->coherent);
	pthread_mutex_unlock(&hierarchy->system->lock);
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
		return 0;              /* it has memory of its own */
	if (hierarchy->coherent.is_on) /* other cores may be about to ask for its lines */
		coherence_lock(&hierarchy->coherent);
	moved = l1_move_filter(&hierarchy->data, &hierarchy->data_tlb.level, room);
	if (hierarchy->coherent.is_on)
		coherence_unlock(&hierarchy->coherent);
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

bool
memory_system_set_remedy(struct memory_system *system, uint64_t address, uint64_t size, enum object_remedy kind)
{
	struct remedies *remedies;

	pthread_mutex_lock(&system->lock);
	system->keeps_node |= kind == OBJECT_REMEDY_PIN;
	remedies = system->remedies;
	if (!remedies && kind != OBJECT_REMEDY_NONE && kind != OBJECT_REMEDY_PIN) {
		remedies = remedies_new(system->machine.nodes, (unsigned)__builtin_ctz(system->machine.page_bytes),
		                        (unsigned)__builtin_ctz(system->machine.line_bytes));
		__atomic_store_n(&system->remedies, remedies, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&system->lock);
	if (kind == OBJECT_REMEDY_PIN || (!remedies && kind == OBJECT_REMEDY_NONE))
		return true;
	return remedies && remedies_set(remedies, address, size, kind);
}

unsigned
hierarchy_core(const struct hierarchy *hierarchy)
{
	return hierarchy->core;
}

unsigned
hierarchy_core_node(const struct hierarchy *hierarchy)
{
	return hierarchy->node;
}

bool
hierarchy_is_coherent(const struct hierarchy *hierarchy)
{
	return hierarchy->coherent.is_on;
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
