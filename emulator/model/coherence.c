#include "emulator/model/coherence.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "emulator/model/hierarchy_internal.h"

#define SPINS_MAX 200 /* failed attempts before sched_yield() */
#define NS_PER_US 1000.0

/* ---- groups of cores ---- */

static unsigned
group_of(const struct hierarchy *hierarchy)
{
	return hierarchy->core / hierarchy->system->coherence.cores_in_group;
}

static void
lock_group(struct coherence_group *group)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&group->lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
}

static void
unlock_group(struct coherence_group *group)
{
	__atomic_store_n(&group->lock, 0, __ATOMIC_RELEASE);
}

void
coherence_lock(struct hierarchy *hierarchy)
{
	lock_group(&hierarchy->system->coherence.groups[group_of(hierarchy)]);
}

void
coherence_unlock(struct hierarchy *hierarchy)
{
	unlock_group(&hierarchy->system->coherence.groups[group_of(hierarchy)]);
}

static uint64_t
bit_of(const struct hierarchy *hierarchy)
{
	return UINT64_C(1) << group_of(hierarchy);
}

/* ---- one cache of another core, or of other cores ---- */

enum demand {
	DEMAND_CLEAN, /* it may keep a copy that is not written */
	DEMAND_ONLY,  /* it may keep none */
};

static void
note(struct copies *copies, bool is_dirty, bool is_far)
{
	if (is_dirty)
		copies->far = is_far;
	else if (!copies->dirty)
		copies->far |= is_far;
	copies->any = true;
	copies->dirty |= is_dirty;
}

static void
ask_cache(struct cache *cache, uint64_t line, enum demand demand, bool is_far, struct copies *copies)
{
	const uint32_t was = demand == DEMAND_ONLY ? cache_remove(cache, line) : cache_clean(cache, line);

	if (was)
		note(copies, was & CACHE_WAS_WRITTEN, is_far);
}

/* Under the lock of its group: the caches that are its own. */
static void
ask_hierarchy(struct hierarchy *other, uint64_t line, enum demand demand, bool is_far, struct copies *copies)
{
	struct filter_entry *entry = l1_find(&other->data, line);

	if (entry) {
		note(copies, entry->key & FILTER_WRITTEN, is_far);
		if (demand == DEMAND_ONLY)
			l1_remove(&other->data, entry);
		else
			__atomic_store_n(&entry->key, entry->key & ~(uint64_t)FILTER_WRITTEN, __ATOMIC_RELAXED);
	}
	for (unsigned level = 1; level < other->level_count; level++) {
		if (other->levels[level] == &other->own[level])
			ask_cache(other->levels[level], line, demand, is_far, copies);
	}
}

static void
ask_owner(struct hierarchy *hierarchy, uint64_t line, unsigned number, enum demand demand, struct copies *copies)
{
	struct coherence *coherence = &hierarchy->system->coherence;
	struct hierarchy *owner = __atomic_load_n(&coherence->owners[number], __ATOMIC_ACQUIRE);
	struct coherence_group *group;

	if (!owner || owner == hierarchy)
		return;
	group = &coherence->groups[group_of(owner)];
	lock_group(group);
	ask_hierarchy(owner, line, demand, owner->node != hierarchy->node, copies);
	unlock_group(group);
}

/* All cores that may have a copy. */
static void
ask_sharers(struct hierarchy *hierarchy, uint64_t line, uint64_t sharers, struct copies *copies)
{
	for (; sharers; sharers &= sharers - 1) {
		struct coherence_group *group = &hierarchy->system->coherence.groups[__builtin_ctzll(sharers)];

		lock_group(group);
		for (struct hierarchy *other = group->first; other; other = other->next_in_group) {
			if (other != hierarchy)
				ask_hierarchy(other, line, DEMAND_ONLY, other->node != hierarchy->node, copies);
		}
		unlock_group(group);
	}
}

/* Levels that groups of cores share, but for those of this core. */
static void
ask_outer_levels(struct hierarchy *hierarchy, uint64_t line, uint64_t sharers, enum demand demand,
                 struct copies *copies)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	const unsigned in_group = system->coherence.cores_in_group, in_node = machine->cores / machine->nodes;

	for (unsigned level = 1; level < machine->level_count; level++) {
		const unsigned cores = machine->levels[level].cores;
		struct cache *caches = __atomic_load_n(&system->shared[level], __ATOMIC_ACQUIRE);
		unsigned next = 0; /* the first that was not asked yet */

		for (uint64_t left = caches ? sharers : 0; left; left &= left - 1) {
			const unsigned first = (unsigned)__builtin_ctzll(left) * in_group;
			const unsigned last = first + in_group < machine->cores ? first + in_group : machine->cores;

			for (unsigned i = first / cores > next ? first / cores : next; i < (last + cores - 1) / cores;
			     i++) {
				next = i + 1;
				if (i != hierarchy->core / cores && __atomic_load_n(&caches[i].sets, __ATOMIC_ACQUIRE))
					ask_cache(&caches[i], line, demand, i * cores / in_node != hierarchy->node,
					          copies);
			}
		}
	}
}

/* ---- what an access asks for ---- */

/* Get the line to read: the owner, if another core is, owns it no longer. */
static uint64_t
add_sharer(const struct hierarchy *hierarchy, uint64_t entry)
{
	return directory_with_owner(entry, entry & DIRECTORY_SHARERS ? 0 : hierarchy->number) | bit_of(hierarchy);
}

static bool
is_owner(const struct hierarchy *hierarchy, uint64_t entry)
{
	return hierarchy->number && directory_owner(entry) == hierarchy->number;
}

struct copies
coherence_read(struct hierarchy *hierarchy, uint64_t line, uint64_t *entry)
{
	const uint64_t sharers = *entry & DIRECTORY_SHARERS;
	struct copies copies = {.any = false};

	if (is_owner(hierarchy, *entry))
		return copies;
	if (directory_owner(*entry))
		ask_owner(hierarchy, line, directory_owner(*entry), DEMAND_CLEAN, &copies);
	if (*entry & DIRECTORY_WRITTEN && sharers & ~hierarchy->with_all_levels) {
		ask_outer_levels(hierarchy, line, sharers, DEMAND_CLEAN, &copies);
		if (!(sharers & hierarchy->with_any_level))
			*entry &= ~DIRECTORY_WRITTEN;
	}
	*entry = add_sharer(hierarchy, *entry);
	return copies;
}

struct copies
coherence_write(struct hierarchy *hierarchy, uint64_t line, uint64_t *entry)
{
	const uint64_t sharers = *entry & DIRECTORY_SHARERS;
	struct copies copies = {.any = false};

	if (!is_owner(hierarchy, *entry)) {
		if (directory_owner(*entry))
			ask_owner(hierarchy, line, directory_owner(*entry), DEMAND_ONLY, &copies);
		else
			ask_sharers(hierarchy, line, sharers, &copies);
		if (sharers & ~hierarchy->with_all_levels)
			ask_outer_levels(hierarchy, line, sharers, DEMAND_ONLY, &copies);
	}
	*entry = directory_with_owner(DIRECTORY_WRITTEN | bit_of(hierarchy), hierarchy->number);
	return copies;
}

void
coherence_give_up(struct hierarchy *hierarchy, uint64_t line, uint64_t *entry)
{
	coherence_write(hierarchy, line, entry);
	*entry = directory_with_owner(*entry, 0);
}

void
coherence_join_contention(const struct hierarchy *hierarchy, uint64_t *entry)
{
	*entry = directory_with_owner(*entry, 0) | bit_of(hierarchy);
}

bool
coherence_prefetch(struct hierarchy *hierarchy, uint64_t *entry)
{
	if (is_owner(hierarchy, *entry))
		return true;
	if (directory_owner(*entry))
		return false;
	*entry = add_sharer(hierarchy, *entry);
	return true;
}

/* ---- its life ---- */

/* The groups whose cores have the outer level `level` in common with this one. */
static uint64_t
groups_with(const struct hierarchy *hierarchy, unsigned level)
{
	const struct machine *machine = &hierarchy->system->machine;
	const unsigned cores = machine->levels[level].cores, mine = hierarchy->core / cores;
	uint64_t groups = 0;

	for (unsigned core = mine * cores; core < (mine + 1) * cores && core < machine->cores; core++)
		groups |= UINT64_C(1) << core / hierarchy->system->coherence.cores_in_group;
	return groups;
}

void
coherence_join(struct hierarchy *hierarchy)
{
	struct coherence *coherence = &hierarchy->system->coherence;
	struct coherence_group *group = &coherence->groups[group_of(hierarchy)];
	const struct machine *machine = &hierarchy->system->machine;

	hierarchy->with_all_levels = DIRECTORY_SHARERS;
	for (unsigned level = 1; level < machine->level_count; level++) {
		if (machine->levels[level].cores == 1)
			continue;
		hierarchy->with_all_levels &= groups_with(hierarchy, level);
		hierarchy->with_any_level |= groups_with(hierarchy, level);
	}
	for (unsigned i = 1; i <= DIRECTORY_OWNERS_MAX && !hierarchy->number; i++) {
		if (!coherence->owners[i])
			hierarchy->number = i;
	}
	if (hierarchy->number)
		__atomic_store_n(&coherence->owners[hierarchy->number], hierarchy, __ATOMIC_RELEASE);
	lock_group(group);
	hierarchy->next_in_group = group->first;
	group->first = hierarchy;
	unlock_group(group);
}

void
coherence_leave(struct hierarchy *hierarchy)
{
	struct coherence *coherence = &hierarchy->system->coherence;
	struct coherence_group *group = &coherence->groups[group_of(hierarchy)];
	struct hierarchy **place;

	lock_group(group);
	if (hierarchy->number)
		__atomic_store_n(&coherence->owners[hierarchy->number], NULL, __ATOMIC_RELEASE);
	for (place = &group->first; *place && *place != hierarchy;)
		place = &(*place)->next_in_group;
	if (*place)
		*place = hierarchy->next_in_group;
	unlock_group(group);
}

/* A line of the only hierarchy: it owns it, and an outer level may have it dirty. */
static void
enter_line(void *context, uint64_t line)
{
	const struct hierarchy *hierarchy = context;
	uint64_t entry, *place = directory_lock(hierarchy->system->coherence.directory, line, &entry);

	if (place)
		directory_unlock(place, directory_with_owner(DIRECTORY_WRITTEN | bit_of(hierarchy), hierarchy->number));
}

static void
enter_lines(struct hierarchy *hierarchy)
{
	l1_each(&hierarchy->data, enter_line, hierarchy);
	for (unsigned level = 1; level < hierarchy->level_count; level++)
		cache_each(hierarchy->levels[level], enter_line, hierarchy);
}

int
coherence_init(struct memory_system *system)
{
	const struct machine *machine = &system->machine;
	struct coherence *coherence = &system->coherence;
	const double cycles_per_ns = machine->clock_mhz / NS_PER_US;
	const unsigned own = machine->levels[0].latency_cycles, in_node = machine->cores / machine->nodes;
	unsigned near = system->curve.least_cycles, far;

	coherence->cores_in_group = (machine->cores + DIRECTORY_GROUPS - 1) / DIRECTORY_GROUPS;
	for (unsigned i = machine->level_count; i-- > 1;) {
		if (machine->levels[i].cores == in_node)
			near = machine->levels[i].latency_cycles;
	}
	if (machine->transfer_ns > 0)
		near = (unsigned)lround(machine->transfer_ns * cycles_per_ns);
	far = system->curve.least_cycles + system->remote_cycles;
	if (machine->remote_transfer_ns > 0)
		far = (unsigned)lround(machine->remote_transfer_ns * cycles_per_ns);
	coherence->transfer_cycles = near > own ? near - own : 0;
	coherence->far_transfer_cycles = far > own ? far - own : 0;
	coherence->groups =
		aligned_alloc(_Alignof(struct coherence_group), DIRECTORY_GROUPS * sizeof(*coherence->groups));
	coherence->owners = calloc(DIRECTORY_OWNERS_MAX + 1, sizeof(struct hierarchy *));
	if (!coherence->groups || !coherence->owners)
		return -ENOMEM;
	for (unsigned i = 0; i < DIRECTORY_GROUPS; i++)
		coherence->groups[i] = (struct coherence_group){.first = NULL};
	return 0;
}

void
coherence_begin(struct memory_system *system)
{
	struct coherence *coherence = &system->coherence;

	if (!system->has_caches)
		return;
	coherence->contention = contention_new(system->machine.cores, system->machine.nodes, coherence->transfer_cycles,
	                                       coherence->far_transfer_cycles, system->quantum_cycles);
	coherence->directory = directory_new(system->machine.line_bytes);
	for (unsigned i = 0; coherence->directory && i < DIRECTORY_GROUPS; i++) {
		for (struct hierarchy *each = coherence->groups[i].first; each; each = each->next_in_group)
			enter_lines(each);
	}
}

void
coherence_fini(struct memory_system *system)
{
	directory_free(system->coherence.directory);
	contention_free(system->coherence.contention);
	free(system->coherence.groups);
	free(system->coherence.owners);
}
