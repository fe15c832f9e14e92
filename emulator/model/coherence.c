#include "emulator/model/coherence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "emulator/model/cache.h"
#include "emulator/model/l1.h"
#include "emulator/model/spin_lock.h"

#define NS_PER_US 1000.0

/* ---- groups of cores ---- */

static unsigned
group_of(const struct coherent_core *core)
{
	return core->core / core->coherence->cores_in_group;
}

void
coherence_lock(struct coherent_core *core)
{
	spin_lock(&core->coherence->groups[group_of(core)].lock);
}

void
coherence_unlock(struct coherent_core *core)
{
	spin_unlock(&core->coherence->groups[group_of(core)].lock);
}

static uint64_t
bit_of(const struct coherent_core *core)
{
	return UINT64_C(1) << group_of(core);
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
	const uint32_t was = cache_give_up(cache, line, demand == DEMAND_ONLY);

	if (was)
		note(copies, was & CACHE_WAS_WRITTEN, is_far);
}

/* Under the lock of its group: the caches that are its own. */
static void
ask_core(struct coherent_core *other, uint64_t line, enum demand demand, bool is_far, struct copies *copies)
{
	const struct machine *machine = other->coherence->machine;
	struct filter_entry *entry = l1_find(other->data, line);

	if (entry) {
		note(copies, entry->key & FILTER_WRITTEN, is_far);
		if (demand == DEMAND_ONLY)
			l1_remove(other->data, entry);
		else
			__atomic_store_n(&entry->key, entry->key & ~(uint64_t)FILTER_WRITTEN, __ATOMIC_RELAXED);
	}
	for (unsigned level = 1; level < machine->level_count; level++) {
		if (machine->levels[level].cores == 1)
			ask_cache(other->levels[level], line, demand, is_far, copies);
	}
}

static void
ask_owner(struct coherent_core *core, uint64_t line, unsigned number, enum demand demand, struct copies *copies)
{
	struct coherence *coherence = core->coherence;
	struct coherent_core *owner = __atomic_load_n(&coherence->owners[number], __ATOMIC_ACQUIRE);
	struct coherence_group *group;

	if (!owner || owner == core)
		return;
	group = &coherence->groups[group_of(owner)];
	spin_lock(&group->lock);
	ask_core(owner, line, demand, owner->node != core->node, copies);
	spin_unlock(&group->lock);
}

/* All cores that may have a copy. */
static void
ask_sharers(struct coherent_core *core, uint64_t line, uint64_t sharers, struct copies *copies)
{
	for (; sharers; sharers &= sharers - 1) {
		struct coherence_group *group = &core->coherence->groups[__builtin_ctzll(sharers)];

		spin_lock(&group->lock);
		for (struct coherent_core *other = group->first; other; other = other->next_in_group) {
			if (other != core)
				ask_core(other, line, DEMAND_ONLY, other->node != core->node, copies);
		}
		spin_unlock(&group->lock);
	}
}

/* Levels that groups of cores share, but for those of this core. */
static void
ask_outer_levels(struct coherent_core *core, uint64_t line, uint64_t sharers, enum demand demand, struct copies *copies)
{
	const struct coherence *coherence = core->coherence;
	const struct machine *machine = coherence->machine;
	const unsigned in_group = coherence->cores_in_group, in_node = machine->cores / machine->nodes;

	for (unsigned level = 1; level < machine->level_count; level++) {
		const unsigned cores = machine->levels[level].cores;
		struct cache *caches = __atomic_load_n(&coherence->shared[level], __ATOMIC_ACQUIRE);
		unsigned next = 0; /* the first that was not asked yet */

		for (uint64_t left = caches ? sharers : 0; left; left &= left - 1) {
			const unsigned first = (unsigned)__builtin_ctzll(left) * in_group;
			const unsigned last = first + in_group < machine->cores ? first + in_group : machine->cores;

			for (unsigned i = first / cores > next ? first / cores : next; i < (last + cores - 1) / cores;
			     i++) {
				next = i + 1;
				if (i != core->core / cores && __atomic_load_n(&caches[i].sets, __ATOMIC_ACQUIRE))
					ask_cache(&caches[i], line, demand, i * cores / in_node != core->node, copies);
			}
		}
	}
}

/* ---- what an access asks for ---- */

/* Get the line to read: the owner, if another core is, owns it no longer. */
static uint64_t
add_sharer(const struct coherent_core *core, uint64_t entry)
{
	return line_directory_with_owner(entry, entry & LINE_SHARERS ? 0 : core->number) | bit_of(core);
}

static bool
is_owner(const struct coherent_core *core, uint64_t entry)
{
	return core->number && line_directory_owner(entry) == core->number;
}

struct copies
coherence_read(struct coherent_core *core, uint64_t line, uint64_t *entry)
{
	const uint64_t sharers = *entry & LINE_SHARERS;
	struct copies copies = {.any = false};

	if (is_owner(core, *entry))
		return copies;
	if (line_directory_owner(*entry))
		ask_owner(core, line, line_directory_owner(*entry), DEMAND_CLEAN, &copies);
	if (*entry & LINE_WRITTEN && sharers & ~core->with_all_levels) {
		ask_outer_levels(core, line, sharers, DEMAND_CLEAN, &copies);
		if (!(sharers & core->with_any_level))
			*entry &= ~LINE_WRITTEN;
	}
	*entry = add_sharer(core, *entry);
	return copies;
}

struct copies
coherence_write(struct coherent_core *core, uint64_t line, uint64_t *entry)
{
	const uint64_t sharers = *entry & LINE_SHARERS;
	struct copies copies = {.any = false};

	if (!is_owner(core, *entry)) {
		if (line_directory_owner(*entry))
			ask_owner(core, line, line_directory_owner(*entry), DEMAND_ONLY, &copies);
		else
			ask_sharers(core, line, sharers, &copies);
		if (sharers & ~core->with_all_levels)
			ask_outer_levels(core, line, sharers, DEMAND_ONLY, &copies);
	}
	*entry = line_directory_with_owner(LINE_WRITTEN | bit_of(core), core->number);
	return copies;
}

void
coherence_give_up(struct coherent_core *core, uint64_t line, uint64_t *entry)
{
	coherence_write(core, line, entry);
	*entry = line_directory_with_owner(*entry, 0);
}

void
coherence_join_contention(const struct coherent_core *core, uint64_t *entry)
{
	*entry = line_directory_with_owner(*entry, 0) | bit_of(core);
}

bool
coherence_prefetch(struct coherent_core *core, uint64_t *entry)
{
	if (is_owner(core, *entry))
		return true;
	if (line_directory_owner(*entry))
		return false;
	*entry = add_sharer(core, *entry);
	return true;
}

/* ---- its life ---- */

/* The groups whose cores have the outer level `level` in common with this one. */
static uint64_t
groups_with(const struct coherent_core *core, unsigned level)
{
	const struct machine *machine = core->coherence->machine;
	const unsigned cores = machine->levels[level].cores, mine = core->core / cores;
	uint64_t groups = 0;

	for (unsigned i = mine * cores; i < (mine + 1) * cores && i < machine->cores; i++)
		groups |= UINT64_C(1) << i / core->coherence->cores_in_group;
	return groups;
}

void
coherence_join(struct coherent_core *core)
{
	struct coherence *coherence = core->coherence;
	struct coherence_group *group = &coherence->groups[group_of(core)];
	const struct machine *machine = core->coherence->machine;

	core->is_on = coherence->directory != NULL;
	core->with_all_levels = LINE_SHARERS;
	for (unsigned level = 1; level < machine->level_count; level++) {
		if (machine->levels[level].cores == 1)
			continue;
		core->with_all_levels &= groups_with(core, level);
		core->with_any_level |= groups_with(core, level);
	}
	for (unsigned i = 1; i <= LINE_OWNERS_MAX && !core->number; i++) {
		if (!coherence->owners[i])
			core->number = i;
	}
	if (core->number)
		__atomic_store_n(&coherence->owners[core->number], core, __ATOMIC_RELEASE);
	spin_lock(&group->lock);
	core->next_in_group = group->first;
	group->first = core;
	spin_unlock(&group->lock);
}

void
coherence_leave(struct coherent_core *core)
{
	struct coherence *coherence = core->coherence;
	struct coherence_group *group = &coherence->groups[group_of(core)];
	struct coherent_core **place;

	spin_lock(&group->lock);
	if (core->number)
		__atomic_store_n(&coherence->owners[core->number], NULL, __ATOMIC_RELEASE);
	for (place = &group->first; *place && *place != core;)
		place = &(*place)->next_in_group;
	if (*place)
		*place = core->next_in_group;
	spin_unlock(&group->lock);
}

/* A line of the only core: it owns it, and an outer level may have it dirty. */
static void
enter_line(void *context, uint64_t line)
{
	const struct coherent_core *core = context;
	uint64_t entry, *place = line_directory_lock(core->coherence->directory, line, &entry);

	if (place)
		line_directory_unlock(place, line_directory_with_owner(LINE_WRITTEN | bit_of(core), core->number));
}

/* From now on other cores are asked. */
static void
enter_lines(struct coherent_core *core)
{
	core->is_on = true;
	l1_each(core->data, enter_line, core);
	for (unsigned level = 1; level < core->coherence->machine->level_count; level++)
		cache_each(core->levels[level], enter_line, core);
}

int
coherence_init(struct coherence *coherence, const struct machine *machine, struct cache **shared,
               uint32_t memory_cycles, uint64_t quantum_cycles)
{
	const double cycles_per_ns = machine->clock_mhz / NS_PER_US;
	const unsigned own = machine->levels[0].latency_cycles, in_node = machine->cores / machine->nodes;
	long near = memory_cycles, far = memory_cycles + lround(machine->remote_latency_ns * cycles_per_ns);

	*coherence = (struct coherence){.machine = machine, .shared = shared, .quantum_cycles = quantum_cycles};
	coherence->cores_in_group = (machine->cores + LINE_GROUPS - 1) / LINE_GROUPS;
	for (unsigned i = machine->level_count; i-- > 1;) {
		if (machine->levels[i].cores == in_node)
			near = machine->levels[i].latency_cycles;
	}
	if (machine->transfer_ns > 0)
		near = lround(machine->transfer_ns * cycles_per_ns);
	if (machine->remote_transfer_ns > 0)
		far = lround(machine->remote_transfer_ns * cycles_per_ns);
	coherence->transfer_cycles = near > own ? (uint32_t)(near - own) : 0;
	coherence->far_transfer_cycles = far > own ? (uint32_t)(far - own) : 0;
	coherence->groups = aligned_alloc(_Alignof(struct coherence_group), LINE_GROUPS * sizeof(*coherence->groups));
	coherence->owners = calloc(LINE_OWNERS_MAX + 1, sizeof(struct coherent_core *));
	if (!coherence->groups || !coherence->owners)
		return -ENOMEM;
	for (unsigned i = 0; i < LINE_GROUPS; i++)
		coherence->groups[i] = (struct coherence_group){.first = NULL};
	return 0;
}

void
coherence_begin(struct coherence *coherence)
{
	const struct machine *machine = coherence->machine;

	coherence->contention = contention_new(machine->cores, machine->nodes, coherence->transfer_cycles,
	                                       coherence->far_transfer_cycles, coherence->quantum_cycles);
	coherence->directory = line_directory_new(machine->line_bytes);
	for (unsigned i = 0; coherence->directory && i < LINE_GROUPS; i++) {
		for (struct coherent_core *each = coherence->groups[i].first; each; each = each->next_in_group)
			enter_lines(each);
	}
}

void
coherence_fini(struct coherence *coherence)
{
	line_directory_free(coherence->directory);
	contention_free(coherence->contention);
	free(coherence->groups);
	free(coherence->owners);
}
