#include "emulator/model/hierarchy_state.h"

/* Consecutive lines lie on controllers in turn, shifted from page to page so that no stride stays on one. */
static inline unsigned
controller_of(const struct machine *machine, uint64_t line)
{
	const uint64_t shifted = line + (line >> 6) * 7 + (line >> 13);
	const unsigned count = machine->controllers;

	return (unsigned)((count & (count - 1)) == 0 ? shifted & (count - 1) : shifted % count);
}

static uint32_t
clamp(uint64_t cycles)
{
	return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

static unsigned
node_of(const struct hierarchy *hierarchy, uint64_t line)
{
	struct page_map *pages = hierarchy->system->pages;
	const uint64_t address = page_map_address(pages, line, hierarchy->line_shift) << hierarchy->line_shift;

	return page_map_node(pages, (uint32_t)(line >> (PAGE_MAP_REGION_SHIFT - hierarchy->line_shift)), address,
	                     hierarchy->node);
}

/* Through the link between two nodes: how long that waits. */
static uint64_t
move_between(struct hierarchy *hierarchy, unsigned from, unsigned to, uint64_t now)
{
	const struct machine *machine = &hierarchy->system->machine;
	const unsigned link = from * machine->nodes + to;

	return path_move(&hierarchy->system->links[link],
	                 &hierarchy->users[machine->nodes * machine->controllers + link], now);
}

void
hierarchy_move(struct hierarchy *hierarchy, uint64_t line, uint64_t now, bool writes, const uint32_t *latencies,
               struct access_result *result)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	const unsigned node = machine->nodes == 1 ? 0 : node_of(hierarchy, line);
	const unsigned at = node * machine->controllers + controller_of(machine, line);
	struct path *path = &system->controllers[at];
	struct path_user *user = &hierarchy->users[at];
	uint64_t wait = path_move(path, user, now);

	path_count(path, user, hierarchy->core, now, &system->curve);
	result->node = (uint8_t)node;
	result->cycles = latencies[HIERARCHY_MEMORY];
	if (node != hierarchy->node) {
		result->cycles += system->remote_cycles;
		wait += move_between(hierarchy, writes ? hierarchy->node : node, writes ? node : hierarchy->node,
		                     now + wait);
	}
	result->load_cycles = user->load_cycles;
	result->wait_cycles = clamp(wait > user->load_cycles ? wait : user->load_cycles);
	hierarchy->traffic.node_bytes[node] += machine->line_bytes;
}

void
hierarchy_fill(struct hierarchy *hierarchy, uint64_t line, uint64_t now, const uint32_t *latencies,
               struct access_result *result)
{
	result->level = HIERARCHY_MEMORY;
	hierarchy_move(hierarchy, line, now, false, latencies, result);
}

void
hierarchy_write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	struct access_result nobody;

	for (; level < hierarchy->level_count; level++) {
		if (cache_mark_written(hierarchy->levels[level], line))
			return;
	}
	hierarchy_move(hierarchy, line, now, true, hierarchy->system->data_cycles, &nobody);
	hierarchy->traffic.written_back++;
}

void
hierarchy_meet(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result)
{
	const struct arrival *arrival = &hierarchy->arrivals[line % ARRIVALS];
	uint64_t late = arrival->line == line && arrival->ready > now ? arrival->ready - now : 0;

	result->used_prefetch = true;
	result->cycles = late > result->cycles ? clamp(late) : result->cycles;
	hierarchy->traffic.prefetched_used++;
}

/* Brings the line as far as the level behind `level`: when it is there. */
static uint64_t
bring(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	const uint32_t *latencies = hierarchy->system->data_cycles;
	struct access_result result;

	for (unsigned i = level + 1; i < hierarchy->level_count; i++) {
		struct cache_found found = cache_access(hierarchy->levels[i], line, false);

		if (found.what & CACHE_HIT)
			return now + latencies[i];
		if (cache_found_writes_back(found))
			hierarchy_write_back(hierarchy, found.left, i + 1, now);
	}
	hierarchy_move(hierarchy, line, now, false, latencies, &result);
	return now + result.cycles + result.wait_cycles;
}

/* A fetch of what nobody will ask for: in place of the line, and it goes nowhere. */
static void
fetch_in_vain(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	unsigned level = prefetcher->level;
	struct access_result nobody;

	if (level == 0 ? hierarchy_first_has(hierarchy, line) : cache_has(hierarchy->levels[level], line))
		return;
	prefetcher_count(prefetcher, false);
	hierarchy->traffic.prefetched++;
	while (++level < hierarchy->level_count) {
		if (cache_has(hierarchy->levels[level], line))
			return;
	}
	hierarchy_move(hierarchy, line, now, false, hierarchy->system->data_cycles, &nobody);
}

static void
fetch_ahead(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	unsigned level = prefetcher->level;
	struct cache_found found = {.what = 0};

	if (level == 0 ? !hierarchy_first_prefetch(hierarchy, line, now)
	               : (found = cache_prefetch(hierarchy->levels[level], line)).what & CACHE_HIT)
		return;
	prefetcher_count(prefetcher, true);
	hierarchy->traffic.prefetched++;
	if (cache_found_writes_back(found))
		hierarchy_write_back(hierarchy, found.left, level + 1, now);
	hierarchy->arrivals[line % ARRIVALS] = (struct arrival){line, bring(hierarchy, line, level, now)};
}

/* By itself: mostly nothing is wanted. */
static __attribute__((noinline)) void
fetch(struct hierarchy *hierarchy, struct prefetcher *prefetcher, unsigned count, uint64_t now)
{
	for (unsigned i = 0; i < count; i++) {
		if (prefetcher_next_is_right(prefetcher))
			fetch_ahead(hierarchy, prefetcher, prefetcher->lines[i], now);
		else
			fetch_in_vain(hierarchy, prefetcher, prefetcher->lines[i], now);
	}
}

void
hierarchy_prefetch(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
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
		count = prefetcher_watch(
			prefetcher, (struct prefetch_access){address, instruction, reached > level || used_prefetch});
		if (count)
			fetch(hierarchy, prefetcher, count, now);
	}
}
