#include "emulator/model/moves.h"

/* A node's controller that has the line. */
static inline struct path_user *
user_of(struct hierarchy *hierarchy, unsigned node, uint64_t line)
{
	const unsigned count = hierarchy->system->machine.controllers;

	if (count == 1)
		return &hierarchy->users[node];
	return &hierarchy->users[node * count + moves_controller(count, line)];
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

	return path_move(&hierarchy->users[machine->nodes * machine->controllers + from * machine->nodes + to], now);
}

/* Between a node and the core: how long that waits. */
static uint64_t
move(struct hierarchy *hierarchy, struct path_user *user, unsigned node, uint64_t now, bool writes)
{
	uint64_t wait = path_move(user, now);

	path_count(user, now, &hierarchy->system->curve);
	if (node != hierarchy->node)
		wait += move_between(hierarchy, writes ? hierarchy->node : node, writes ? node : hierarchy->node,
		                     now + wait);
	return wait;
}

static __attribute__((noinline)) void
read_any(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
         struct access_result *result)
{
	const unsigned node = hierarchy->system->machine.nodes == 1 ? 0 : node_of(hierarchy, line);
	struct path_user *user = user_of(hierarchy, node, line);
	const uint64_t wait = move(hierarchy, user, node, now, false);
	const uint32_t cycles = node != hierarchy->node ? hierarchy->system->remote_cycles : 0;

	moves_came(result, user, node, latencies[HIERARCHY_MEMORY] + cycles, wait);
}

void
hierarchy_read(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
               struct access_result *result)
{
	const struct path_user *user = moves_simply(hierarchy, line, now, 1);
	uint64_t wait = 0;

	if (!user)
		user = moves_shared(hierarchy, line, now, &wait);
	if (user)
		moves_came(result, user, 0, latencies[HIERARCHY_MEMORY], wait);
	else
		read_any(hierarchy, line, latencies, now, result);
}

static __attribute__((noinline)) void
write_any(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	const unsigned node = hierarchy->system->machine.nodes == 1 ? 0 : node_of(hierarchy, line);

	move(hierarchy, user_of(hierarchy, node, line), node, now, true);
}

/* Nobody waits for it. */
void
hierarchy_write(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	hierarchy->traffic.written_back++;
	if (!moves_simply(hierarchy, line, now, 1))
		write_any(hierarchy, line, now);
}

/* A line more of the only controller, of which nobody is told yet: how long it waits. */
static inline uint64_t
move_alone(struct path_user *user, uint64_t now)
{
	user->lines++;
	return path_move(user, now);
}

__attribute__((noinline)) void
hierarchy_exchange(struct hierarchy *hierarchy, uint64_t left, uint64_t line, const uint32_t *latencies, uint64_t now,
                   struct access_result *result)
{
	struct path_user *user = hierarchy->users;

	if (hierarchy->system->lone_controllers != 1 || path_tells(user, now)) {
		if (left != CACHE_NO_LINE)
			hierarchy_write(hierarchy, left, now);
		hierarchy_read(hierarchy, line, latencies, now, result);
		return;
	}
	if (left != CACHE_NO_LINE) {
		hierarchy->traffic.written_back++;
		move_alone(user, now);
	}
	moves_came(result, user, 0, latencies[HIERARCHY_MEMORY], move_alone(user, now));
}

void
hierarchy_write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	for (; level < hierarchy->level_count; level++) {
		if (cache_mark_written(hierarchy->levels[level], line))
			return;
	}
	hierarchy_write(hierarchy, line, now);
}
