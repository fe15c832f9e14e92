#include "emulator/model/hierarchy_state.h"

/* Consecutive lines lie on controllers in turn, shifted from page to page so that no stride stays on one. */
static unsigned
controller_of(const struct machine *machine, uint64_t line)
{
	if (machine->controllers == 1)
		return 0;
	return (unsigned)((line + (line >> 6) * 7 + (line >> 13)) % machine->controllers);
}

static uint32_t
clamp(uint64_t cycles)
{
	return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

bool
hierarchy_move(struct hierarchy *hierarchy, const struct move *move, const uint32_t *latencies,
               struct access_result *result)
{
	struct memory_system *system = hierarchy->system;
	const struct machine *machine = &system->machine;
	uint64_t address = page_map_address(system->pages, move->line, hierarchy->line_shift) << hierarchy->line_shift;
	uint32_t region = (uint32_t)(move->line >> (PAGE_MAP_REGION_SHIFT - hierarchy->line_shift));
	unsigned node = page_map_node(system->pages, region, address, hierarchy->node);
	unsigned path = node * machine->controllers + controller_of(machine, move->line);
	struct path_user *user = &hierarchy->users[path];
	uint64_t wait = path_move(&system->controllers[path], user, move->now, move->patience);

	if (wait == UINT64_MAX)
		return false;
	path_count(&system->controllers[path], user, hierarchy->core, move->now, &system->curve);
	result->node = (uint8_t)node;
	result->cycles = latencies[HIERARCHY_MEMORY];
	if (node != hierarchy->node) {
		unsigned from = move->writes ? hierarchy->node : node, to = move->writes ? node : hierarchy->node;
		unsigned link = from * machine->nodes + to;
		struct path_user *through = &hierarchy->users[machine->nodes * machine->controllers + link];

		result->cycles += system->remote_cycles;
		wait += path_move(&system->links[link], through, move->now + wait, UINT64_MAX);
	}
	result->wait_cycles = clamp(wait + user->load_cycles);
	hierarchy->traffic.node_bytes[node] += machine->line_bytes;
	return true;
}

void
hierarchy_write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	const struct move move = {.line = line, .now = now, .patience = UINT64_MAX, .writes = true};
	struct access_result nobody;

	for (; level < hierarchy->level_count; level++) {
		if (cache_mark_written(hierarchy->levels[level], line))
			return;
	}
	hierarchy_move(hierarchy, &move, hierarchy->system->data_cycles, &nobody);
	hierarchy->traffic.written_back++;
}

uint64_t
hierarchy_lateness(const struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	const struct arrival *arrival = &hierarchy->arrivals[line % ARRIVALS];

	return arrival->line == line && arrival->ready > now ? arrival->ready - now : 0;
}

/* Brings the line as far as the level behind `level`: when it is there; false: it would have to wait for too long. */
static bool
bring(struct hierarchy *hierarchy, uint64_t line, unsigned level, bool keeps, uint64_t now, uint64_t *ready)
{
	const uint32_t *latencies = hierarchy->system->data_cycles;
	struct move move = {.line = line, .now = now, .patience = (uint64_t)latencies[HIERARCHY_MEMORY] * 2};
	struct access_result result;
	struct cache_found found;
	unsigned from = level + 1;

	while (from < hierarchy->level_count && !cache_has(hierarchy->levels[from], line))
		from++;
	*ready = now + latencies[from < hierarchy->level_count ? from : HIERARCHY_MEMORY];
	if (from == hierarchy->level_count) {
		if (!hierarchy_move(hierarchy, &move, latencies, &result))
			return false;
		*ready = now + result.cycles + result.wait_cycles;
	}
	for (unsigned i = level + 1; keeps && i < hierarchy->level_count; i++) {
		cache_access(hierarchy->levels[i], line, false, &found);
		if (found.hit)
			break;
		if (found.was_written && found.left != CACHE_NO_LINE)
			hierarchy_write_back(hierarchy, found.left, i + 1, now);
	}
	return true;
}

static void
fetch_ahead(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	unsigned level = prefetcher->model.level;
	struct cache_found found;
	uint64_t ready;
	bool is_right;

	if (cache_has(hierarchy->levels[level], line))
		return;
	is_right = prefetcher_is_right(prefetcher);
	if (!bring(hierarchy, line, level, is_right, now, &ready))
		return;
	hierarchy->traffic.prefetched++;
	if (!is_right)
		return;
	cache_prefetch(hierarchy->levels[level], line, &found);
	if (found.was_written && found.left != CACHE_NO_LINE)
		hierarchy_write_back(hierarchy, found.left, level + 1, now);
	hierarchy->arrivals[line % ARRIVALS] = (struct arrival){line, ready};
}

void
hierarchy_prefetch(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
                   const struct access_result *result)
{
	uint64_t lines[PREFETCH_LINES_MAX];

	for (unsigned i = 0; i < hierarchy->prefetcher_count; i++) {
		struct prefetcher *prefetcher = &hierarchy->prefetchers[i];
		unsigned level = prefetcher->model.level;
		const struct prefetch_access access = {address, instruction,
		                                       result->level > level ||
		                                               (result->level == level && result->used_prefetch)};
		unsigned count;

		if (result->level < level)
			continue;
		count = prefetcher_watch(prefetcher, &access, lines);
		for (unsigned j = 0; j < count; j++)
			fetch_ahead(hierarchy, prefetcher, lines[j], now);
	}
}
