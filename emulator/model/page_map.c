#include <errno.h>
#include <stdlib.h>

#include "emulator/model/page_map.h"

#define NODE_UNKNOWN 0 /* else the node + 1 */

struct page_map {
	uint64_t keys[PAGE_MAP_REGIONS_MAX]; /* address >> PAGE_MAP_REGION_SHIFT, + 1; 0: free */
	uint8_t *nodes[PAGE_MAP_REGIONS_MAX];
	uint32_t limit; /* of regions */
	unsigned node_count, page_shift;
	enum machine_placement placement;
	unsigned placement_node;
};

/* What lets a line's number, without what its set says of it, have 32 bits. */
static uint32_t
region_limit(const struct machine *machine)
{
	uint64_t least = machine->code.bytes / machine->code.ways;

	for (unsigned i = 0; i < machine->level_count; i++) {
		uint64_t bytes = machine->levels[i].bytes / machine->levels[i].ways;

		least = bytes < least ? bytes : least;
	}
	return least > PAGE_MAP_REGIONS_MAX ? PAGE_MAP_REGIONS_MAX : (uint32_t)least - 1;
}

struct page_map *
page_map_new(const struct machine *machine)
{
	struct page_map *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return NULL;
	pages->limit = region_limit(machine);
	pages->node_count = machine->nodes;
	pages->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	pages->placement = machine->placement;
	pages->placement_node = machine->placement_node;
	return pages;
}

void
page_map_free(struct page_map *pages)
{
	if (!pages)
		return;
	for (uint32_t i = 0; i < PAGE_MAP_REGIONS_MAX; i++)
		free(pages->nodes[i]);
	free(pages);
}

uint32_t
page_map_region(struct page_map *pages, uint64_t address)
{
	uint64_t key = (address >> PAGE_MAP_REGION_SHIFT) + 1;

	for (uint32_t i = 0; i < pages->limit; i++) {
		uint64_t there = __atomic_load_n(&pages->keys[i], __ATOMIC_ACQUIRE);

		if (!there && __atomic_compare_exchange_n(&pages->keys[i], &there, key, false, __ATOMIC_ACQ_REL,
		                                          __ATOMIC_ACQUIRE))
			return i;
		if (there == key)
			return i;
	}
	return (uint32_t)(key % pages->limit);
}

uint64_t
page_map_region_address(const struct page_map *pages, uint32_t region)
{
	return (__atomic_load_n(&pages->keys[region], __ATOMIC_RELAXED) - 1) << PAGE_MAP_REGION_SHIFT;
}

/* A byte for each page of the region; NULL: no memory. */
static uint8_t *
nodes_of(struct page_map *pages, uint32_t region)
{
	uint8_t *nodes = __atomic_load_n(&pages->nodes[region], __ATOMIC_ACQUIRE);
	uint8_t *made;

	if (nodes)
		return nodes;
	made = calloc((size_t)1 << (PAGE_MAP_REGION_SHIFT - pages->page_shift), 1);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(&pages->nodes[region], &nodes, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	free(made); /* somebody was first */
	return nodes;
}

static unsigned
first_touch(struct page_map *pages, uint32_t region, uint64_t address, unsigned toucher)
{
	uint8_t *nodes = nodes_of(pages, region);
	uint8_t *node, known;

	if (!nodes)
		return toucher;
	node = &nodes[(uint32_t)address >> pages->page_shift];
	known = __atomic_load_n(node, __ATOMIC_RELAXED);
	if (known == NODE_UNKNOWN && __atomic_compare_exchange_n(node, &known, (uint8_t)(toucher + 1), false,
	                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return toucher;
	return known - 1u;
}

unsigned
page_map_node(struct page_map *pages, uint32_t region, uint64_t address, unsigned toucher)
{
	if (pages->node_count == 1)
		return 0;
	if (pages->placement == PLACEMENT_NODE)
		return pages->placement_node;
	if (pages->placement == PLACEMENT_INTERLEAVE)
		return (unsigned)((address >> pages->page_shift) % pages->node_count);
	return first_touch(pages, region, address, toucher);
}

void
page_map_recent_init(struct page_map_recent *recent)
{
	for (unsigned i = 0; i < PAGE_MAP_RECENT; i++)
		recent->keys[i] = UINT64_MAX;
}
