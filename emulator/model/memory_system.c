#include "emulator/model/memory_system.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "emulator/setup.h"

#define NS_PER_US 1000.0
#define GB_PER_US 1000.0 /* bytes in a microsecond, of 10^9 bytes/s */

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
	struct memory_system *system = NULL;
	int err = is_sound(machine) ? 0 : -EINVAL;

	if (!err) {
		system = calloc(1, sizeof(*system));
		err = system ? 0 : -ENOMEM;
	}
	if (!err) {
		system->machine = *machine;
		system->has_caches = parts & SETUP_CACHES;
		system->has_tlbs = parts & SETUP_TLBS;
		system->seed = seed;
		pthread_mutex_init(&system->lock, NULL);
		load_curve_init(&system->curve, machine);
		set_latencies(system);
		system->pages = page_map_new(machine);
		err = system->pages ? make_paths(system, quantum_cycles) : -ENOMEM;
	}
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

int
memory_system_shared(struct memory_system *system, unsigned level, unsigned core, struct cache **cache)
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
		memory_path_begin_to_share(&system->controllers[i]);
	for (unsigned i = 0; i < system->machine.nodes * system->machine.nodes; i++)
		memory_path_begin_to_share(&system->links[i]);
}

void
memory_system_join(struct memory_system *system)
{
	if (system->hierarchy_count++ == 1)
		begin_to_share(system);
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
