#include <errno.h>
#include <stdlib.h>

#include "emulator/model/page_map.h"

#define NODE_UNKNOWN 0

struct page_map {
	uint64_t keys[PAGE_MAP_REGIONS_MAX]; /* address >> PAGE_MAP_REGION_SHIFT, + 1; 0: free */
	void *nodes[PAGE_MAP_REGIONS_MAX];   /* NULL, or of each page uint8_t: the node + 1; 0: not known */
	void *moved[PAGE_MAP_REGIONS_MAX];   /* NULL, or of each page uint32_t: the number of the one it is, + 1; 0:
	                                        itself */
	uint32_t limit;                      /* of regions */
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
	if (least > PAGE_MAP_REGIONS_MAX)
		return PAGE_MAP_REGIONS_MAX;
	return least > 1 ? (uint32_t)least - 1 : 1;
}

struct page_map *
page_map_new(const struct machine *machine)
{
	struct page_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->limit = region_limit(machine);
	map->node_count = machine->nodes;
	map->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	map->placement = machine->placement;
	map->placement_node = machine->placement_node;
	return map;
}

void
page_map_free(struct page_map *map)
{
	if (!map)
		return;
	for (uint32_t i = 0; i < PAGE_MAP_REGIONS_MAX; i++) {
		free(map->nodes[i]);
		free(map->moved[i]);
	}
	free(map);
}

uint32_t
page_map_region(struct page_map *map, uint64_t address)
{
	uint64_t key = (address >> PAGE_MAP_REGION_SHIFT) + 1;

	for (uint32_t i = 0; i < map->limit; i++) {
		uint64_t there = __atomic_load_n(&map->keys[i], __ATOMIC_ACQUIRE);

		if (!there &&
		    __atomic_compare_exchange_n(&map->keys[i], &there, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return i;
		if (there == key)
			return i;
	}
	return (uint32_t)((key * UINT32_C(0x9e3779b1) & UINT32_MAX) * map->limit >> 32);
}

uint64_t
page_map_region_address(const struct page_map *map, uint32_t region)
{
	return (__atomic_load_n(&map->keys[region], __ATOMIC_RELAXED) - 1) << PAGE_MAP_REGION_SHIFT;
}

/* What a region has of each of its pages, `size` bytes, made when it is asked for first; NULL: no memory. */
static void *
array_of_pages(const struct page_map *map, void **array, size_t size)
{
	void *there = __atomic_load_n(array, __ATOMIC_ACQUIRE), *made;

	if (there)
		return there;
	made = calloc((size_t)1 << (PAGE_MAP_REGION_SHIFT - map->page_shift), size);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(array, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	free(made); /* somebody was first */
	return there;
}

static unsigned
first_touch(struct page_map *map, uint32_t region, uint64_t address, unsigned toucher)
{
	uint8_t *nodes = array_of_pages(map, &map->nodes[region], sizeof(*nodes));
	uint8_t *node, known;

	if (!nodes)
		return toucher;
	node = &nodes[(uint32_t)address >> map->page_shift];
	known = __atomic_load_n(node, __ATOMIC_RELAXED);
	if (known == NODE_UNKNOWN && __atomic_compare_exchange_n(node, &known, (uint8_t)(toucher + 1), false,
	                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return toucher;
	return known - 1u;
}

unsigned
page_map_node(struct page_map *map, uint32_t region, uint64_t address, unsigned toucher)
{
	if (map->node_count == 1)
		return 0;
	if (map->placement == PLACEMENT_NODE)
		return map->placement_node;
	if (map->placement == PLACEMENT_INTERLEAVE)
		return (unsigned)((address >> map->page_shift) % map->node_count);
	return first_touch(map, region, address, toucher);
}

/* What the page of `address` is; NULL: no memory. */
static uint32_t *
moved_at(struct page_map *map, uint64_t address)
{
	uint32_t *moved = array_of_pages(map, &map->moved[page_map_region(map, address)], sizeof(*moved));

	return moved ? &moved[(uint32_t)address >> map->page_shift] : NULL;
}

/* The pages change places: what was at `to` is where nobody is any more, and no two addresses have one page. */
static void
exchange(struct page_map *map, uint64_t from, uint64_t to)
{
	uint32_t *one = moved_at(map, from), *other = moved_at(map, to), first, second;

	if (!one || !other)
		return;
	first = __atomic_load_n(one, __ATOMIC_RELAXED);
	second = __atomic_load_n(other, __ATOMIC_RELAXED);
	if (!first)
		first = (uint32_t)page_map_number(page_map_region(map, from), from, map->page_shift) + 1;
	if (!second)
		second = (uint32_t)page_map_number(page_map_region(map, to), to, map->page_shift) + 1;
	__atomic_store_n(one, second, __ATOMIC_RELAXED);
	__atomic_store_n(other, first, __ATOMIC_RELAXED);
}

void
page_map_move(struct page_map *map, uint64_t from, uint64_t to, uint64_t bytes)
{
	uint64_t page = UINT64_C(1) << map->page_shift;

	if (from % page || to % page)
		return;
	for (uint64_t at = 0; at < bytes; at += page)
		exchange(map, from + at, to + at);
}

uint64_t
page_map_follow(const struct page_map *map, uint64_t number)
{
	uint32_t region = (uint32_t)(number >> PAGE_MAP_REGION_SHIFT), page;
	const uint32_t *moved = __atomic_load_n(&map->moved[region], __ATOMIC_ACQUIRE);

	if (!moved)
		return number;
	page = __atomic_load_n(&moved[(uint32_t)number >> map->page_shift], __ATOMIC_RELAXED);
	if (!page)
		return number;
	return (uint64_t)(page - 1) << map->page_shift | (number & ((UINT64_C(1) << map->page_shift) - 1));
}

void
page_map_recent_init(struct page_map_recent *recent)
{
	for (unsigned i = 0; i < PAGE_MAP_RECENT; i++)
		recent->regions[i].key = UINT64_MAX;
}
