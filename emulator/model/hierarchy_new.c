#include <errno.h>
#include <stdlib.h>

#include "emulator/model/hierarchy_state.h"
#include "emulator/setup.h"

#define FAR_BYTES ((uint64_t)512 << 10)

static int
make_levels(struct hierarchy *hierarchy)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	uint64_t seed = system->seed + hierarchy->core * UINT64_C(0x10001);
	int err = 0;

	hierarchy->levels[1] = &hierarchy->own[1]; /* is asked what it is, and may be none */
	for (unsigned i = 1; !err && i < machine->level_count; i++) {
		hierarchy->levels[i] = &hierarchy->own[i];
		if (machine->levels[i].cores > 1)
			err = memory_system_shared(system, i, hierarchy->core, &hierarchy->levels[i]);
		else
			err = cache_init(&hierarchy->own[i], &machine->levels[i], machine->line_bytes, seed + 1 + i);
	}
	return err;
}

/* What is asked for seldom and not found in the host's caches then. */
static const struct cache *
far_level(const struct hierarchy *hierarchy)
{
	const struct cache *last = hierarchy->levels[hierarchy->level_count - 1];

	if (hierarchy->level_count < 3 || (uint64_t)last->set_count * last->set_bytes < FAR_BYTES)
		return NULL;
	return last;
}

static int
make_first_lines(struct hierarchy *hierarchy)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	uint64_t seed = system->seed + hierarchy->core * UINT64_C(0x10001);
	int err;

	if (!system->has_caches) {
		first_level_init_plain(&hierarchy->code);
		first_level_init_plain(&hierarchy->data);
		return 0;
	}
	err = first_level_init(&hierarchy->code, &machine->code, machine->line_bytes, seed);
	return err ? err : first_level_init(&hierarchy->data, &machine->levels[0], machine->line_bytes, seed + 1);
}

static int
make_pages(struct first_pages *pages, const struct machine_tlb *model, const struct machine_tlb *shared, bool is_used)
{
	struct machine_cache cache;

	pages->cycles[TRANSLATION_SECOND] = model->miss_cycles;
	pages->cycles[TRANSLATION_WALKED] = model->miss_cycles + (shared->entries ? shared->miss_cycles : 0);
	if (!is_used || !model->entries) {
		first_level_init_plain(&pages->level);
		return 0;
	}
	cache = tlb_as_cache(model);
	return first_level_init(&pages->level, &cache, 1, 0);
}

static int
make_users(struct hierarchy *hierarchy)
{
	struct memory_system *system = hierarchy->system;
	const unsigned controllers = system->machine.nodes * system->machine.controllers;
	const unsigned links = system->machine.nodes * system->machine.nodes;

	hierarchy->users = calloc(controllers + links, sizeof(*hierarchy->users));
	if (!hierarchy->users)
		return -ENOMEM;
	for (unsigned i = 0; i < controllers; i++)
		path_user_init(&hierarchy->users[i], &system->controllers[i], hierarchy->core);
	for (unsigned i = 0; i < links; i++)
		path_user_init(&hierarchy->users[controllers + i], &system->links[i], hierarchy->core);
	return 0;
}

static int
make_rest(struct hierarchy *hierarchy)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	int err = make_first_lines(hierarchy);

	if (!err)
		err = make_pages(&hierarchy->data_pages, &machine->data_tlb, &machine->shared_tlb, system->has_tlbs);
	if (!err)
		err = make_pages(&hierarchy->code_pages, &machine->code_tlb, &machine->shared_tlb, system->has_tlbs);
	if (!err && machine->shared_tlb.entries)
		err = tlb_init(&hierarchy->shared_tlb, &machine->shared_tlb);
	if (!err)
		err = make_users(hierarchy);
	for (unsigned i = 0; !err && i < machine->prefetcher_count; i++) {
		err = prefetcher_init(&hierarchy->prefetchers[hierarchy->prefetcher_count++], &machine->prefetchers[i],
		                      machine);
	}
	return err;
}

static void
choose_prefetch(struct hierarchy *hierarchy)
{
	if (hierarchy_has_usual_prefetchers(hierarchy))
		hierarchy->prefetch = hierarchy_prefetch_usual;
	else if (hierarchy->prefetcher_count)
		hierarchy->prefetch = hierarchy_prefetch_any;
}

/* All is of the usual kind, and nobody else has level 2: of level 1, the slots of a set; else 0. */
static uint8_t
simple_slots(const struct hierarchy *hierarchy, const struct first_level *level)
{
	const struct plain_hits *plain = level->plain;

	if (plain->line_shift != HIERARCHY_LINE_SHIFT || plain->page_shift != HIERARCHY_PAGE_SHIFT ||
	    hierarchy->levels[1] != &hierarchy->own[1] || !hierarchy->own[1].is_simple ||
	    level->replacement != REPLACEMENT_LRU)
		return 0;
	return level->usual_slots;
}

static bool
prefetches_into_first(const struct machine *machine)
{
	for (unsigned i = 0; i < machine->prefetcher_count; i++) {
		if (machine->prefetchers[i].level == 1)
			return true;
	}
	return false;
}

/* Lines and pages are of the usual size, too. */
static enum first_pages_kind
pages_kind(const struct hierarchy *hierarchy, const struct first_level *level)
{
	if (hierarchy->line_shift != HIERARCHY_LINE_SHIFT || hierarchy->page_shift != HIERARCHY_PAGE_SHIFT ||
	    !hierarchy->shared_tlb.sets)
		return FIRST_PAGES_ANY;
	if (level->is_ordered)
		return FIRST_PAGES_ORDERED;
	return level->is_recent ? FIRST_PAGES_RECENT : FIRST_PAGES_ANY;
}

static int
fill(struct hierarchy *hierarchy)
{
	int err = make_levels(hierarchy);

	if (!err)
		err = make_rest(hierarchy);
	if (err)
		return err;
	hierarchy->far = far_level(hierarchy);
	hierarchy->plain_data = first_level_join(&hierarchy->data, hierarchy->line_shift, &hierarchy->data_pages.level,
	                                         hierarchy->page_shift, hierarchy->room);
	hierarchy->plain_code = first_level_join(&hierarchy->code, hierarchy->line_shift, &hierarchy->code_pages.level,
	                                         hierarchy->page_shift, PLAIN_NO_ROOM);
	if (!hierarchy->plain_data || !hierarchy->plain_code)
		return -ENOMEM;
	choose_prefetch(hierarchy);
	if (!prefetches_into_first(&hierarchy->system->machine))
		hierarchy->simple_slots = simple_slots(hierarchy, &hierarchy->data);
	hierarchy->simple_code_slots = simple_slots(hierarchy, &hierarchy->code);
	hierarchy->data_pages.kind = pages_kind(hierarchy, &hierarchy->data_pages.level);
	hierarchy->code_pages.kind = pages_kind(hierarchy, &hierarchy->code_pages.level);
	return 0;
}

struct hierarchy *
hierarchy_new(struct memory_system *system, unsigned core, struct plain_room room)
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
	err = fill(hierarchy);
	if (!err)
		memory_system_join(system);
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
	first_level_fini(&hierarchy->data);
	first_level_fini(&hierarchy->data_pages.level);
	first_level_fini(&hierarchy->code);
	first_level_fini(&hierarchy->code_pages.level);
	for (unsigned i = 0; i < hierarchy->prefetcher_count; i++)
		prefetcher_fini(&hierarchy->prefetchers[i]);
	if (hierarchy->plain_data != hierarchy->room.at)
		free(hierarchy->plain_data);
	free(hierarchy->plain_code);
	free(hierarchy->users);
	free(hierarchy);
}

const struct hierarchy_traffic *
hierarchy_traffic(struct hierarchy *hierarchy)
{
	const struct machine *machine = &hierarchy->system->machine;

	for (unsigned i = 0; i < machine->nodes; i++) {
		uint64_t lines = 0;

		for (unsigned j = 0; j < machine->controllers; j++)
			lines += hierarchy->users[i * machine->controllers + j].lines;
		hierarchy->traffic.node_bytes[i] = lines * machine->line_bytes;
	}
	return &hierarchy->traffic;
}

struct plain_hits *
hierarchy_plain_data(struct hierarchy *hierarchy)
{
	return hierarchy->plain_data;
}

struct plain_hits *
hierarchy_plain_code(struct hierarchy *hierarchy)
{
	return hierarchy->plain_code;
}
