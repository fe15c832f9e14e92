/*
 * page_map.h - short numbers for addresses, and which node's memory a page is in
 *
 * The guest's addresses have 64 bits, but caches keep 32 bits of a line. So each region of 4 GiB gets a number when it
 * is first touched, in this order. There are up to PAGE_MAP_REGIONS_MAX numbers, fewer if a cache has less than 64
 * sets; regions past that share numbers, and lines there may be taken for each other. The offset of a line or page in
 * its region does not change.
 *
 * Pages that the guest moves (mremap) keep their numbers, because their lines stay in the caches.
 *
 * Thread rule: any thread; nothing locks. If two threads move one page at once, the result is that of either.
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

/* The regions that one thread used last, indexed by the lowest bits of the key, address >> PAGE_MAP_REGION_SHIFT. */
struct page_map_recent {
	struct {
		uint64_t key, offset; /* offset: the region's numbers minus its addresses */
	} regions[PAGE_MAP_RECENT];
};

/* NULL and errno: ENOMEM. */
struct page_map *page_map_new(const struct machine *machine);
void page_map_free(struct page_map *map);

/* The number of the region of `address`; and the address of a region's number. */
uint32_t page_map_region(struct page_map *map, uint64_t address);
uint64_t page_map_region_address(const struct page_map *map, uint32_t region);

/* The node whose memory has `address`, of `region`, which a core of node `toucher` accesses. */
unsigned page_map_node(struct page_map *map, uint32_t region, uint64_t address, unsigned toucher);

/* Move the pages at `from` to `to`. */
void page_map_move(struct page_map *map, uint64_t from, uint64_t to, uint64_t bytes);

/* The present number of an address, from `number` by its region: another one if its page was moved. */
uint64_t page_map_follow(const struct page_map *map, uint64_t number);

void page_map_recent_init(struct page_map_recent *recent);

/* The number of an address by its region; mostly without a look-up. */
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

/* The number of the line or page, of 2^shift bytes, that contains `address`. */
static inline uint64_t
page_map_number(uint32_t region, uint64_t address, unsigned shift)
{
	return (uint64_t)region << (PAGE_MAP_REGION_SHIFT - shift) | (uint32_t)address >> shift;
}

/* The inverse of page_map_number(): address >> shift. */
static inline uint64_t
page_map_address(const struct page_map *map, uint64_t number, unsigned shift)
{
	uint32_t region = (uint32_t)(number >> (PAGE_MAP_REGION_SHIFT - shift));
	uint64_t within = number & ((UINT64_C(1) << (PAGE_MAP_REGION_SHIFT - shift)) - 1);

	return page_map_region_address(map, region) >> shift | within;
}

#endif
