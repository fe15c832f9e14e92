/*
 * page_map.h - short numbers for addresses, and which node's memory a page is in
 *
 * The guest's addresses have 64 bits, and caches keep 32 of a line. So each stretch of 4 GiB that is touched gets a
 * number, in the order in which they are. There are up to PAGE_MAP_REGIONS_MAX of them, fewer when a cache has less
 * than 64 sets; those past that share numbers, and lines there may be taken for each other. Where a line or page lies
 * in its stretch stays as it is.
 *
 * Pages that the guest moves (mremap) keep their numbers, as what a cache has of them stays in it.
 *
 * Thread rule: any thread; nothing locks. Who moves pages that others move at that moment gets any of the results.
 */
#ifndef DCPI_EMULATOR_MODEL_PAGE_MAP_H
#define DCPI_EMULATOR_MODEL_PAGE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PAGE_MAP_REGION_SHIFT 32
#define PAGE_MAP_REGIONS_MAX  4095 /* a tag is never TAG_NONE */
#define PAGE_MAP_RECENT       256

struct page_map;

/* The regions that one thread looked for last: of each, by its lowest bits, the address >> PAGE_MAP_REGION_SHIFT. */
struct page_map_recent {
	struct {
		uint64_t key, offset; /* offset: of the region's numbers from its addresses */
	} regions[PAGE_MAP_RECENT];
};

/* NULL and errno: ENOMEM. */
struct page_map *page_map_new(const struct machine *machine);
void page_map_free(struct page_map *map);

/* The number of the region with `address`; the address that its number stands for. */
uint32_t page_map_region(struct page_map *map, uint64_t address);
uint64_t page_map_region_address(const struct page_map *map, uint32_t region);

/* The node whose memory has `address`, of `region`; touched by a core of node `toucher`. */
unsigned page_map_node(struct page_map *map, uint32_t region, uint64_t address, unsigned toucher);

/* The pages from `from` on are at `to` from now on. */
void page_map_move(struct page_map *map, uint64_t from, uint64_t to, uint64_t bytes);

/* What a number of an address, of its region, is since pages were moved. */
uint64_t page_map_follow(const struct page_map *map, uint64_t number);

void page_map_recent_init(struct page_map_recent *recent);

/* The number of an address, of its region; for the most part without looking. */
static inline uint64_t
page_map_recent_number(struct page_map_recent *recent, struct page_map *map, uint64_t address)
{
	const uint64_t key = address >> PAGE_MAP_REGION_SHIFT, at = key % PAGE_MAP_RECENT;

	if (__builtin_expect(recent->regions[at].key != key, 0)) {
		recent->regions[at].offset = ((uint64_t)page_map_region(map, address) - key) << PAGE_MAP_REGION_SHIFT;
		recent->regions[at].key = key;
	}
	return address + recent->regions[at].offset;
}

/* The number of what `address` is in, of 2^shift bytes: a line or a page. */
static inline uint64_t
page_map_number(uint32_t region, uint64_t address, unsigned shift)
{
	return (uint64_t)region << (PAGE_MAP_REGION_SHIFT - shift) | (uint32_t)address >> shift;
}

/* Back again: address >> shift. */
static inline uint64_t
page_map_address(const struct page_map *map, uint64_t number, unsigned shift)
{
	uint32_t region = (uint32_t)(number >> (PAGE_MAP_REGION_SHIFT - shift));
	uint64_t within = number & ((UINT64_C(1) << (PAGE_MAP_REGION_SHIFT - shift)) - 1);

	return page_map_region_address(map, region) >> shift | within;
}

#endif
