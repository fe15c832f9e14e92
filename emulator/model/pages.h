/*
 * pages.h - short numbers for addresses, and which node's memory a page is in
 *
 * The guest's addresses have 64 bits, and caches keep 32 of a line. So each stretch of 4 GiB that is touched gets a
 * number, in the order in which they are. There are up to PAGES_REGIONS_MAX of them, fewer when a cache has less than
 * 64 sets; those past that share numbers, and lines there may be taken for each other. Where a line or page lies in its
 * stretch stays as it is.
 *
 * Thread rule: any thread; nothing locks.
 */
#ifndef DCPI_EMULATOR_MODEL_PAGES_H
#define DCPI_EMULATOR_MODEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

#define PAGES_REGION_SHIFT 32
#define PAGES_REGIONS_MAX  4095 /* a tag is never TAG_NONE */
#define PAGES_RECENT       16

struct pages;

/* The regions that one thread looked for last. */
struct pages_recent {
	uint64_t keys[PAGES_RECENT];
	uint32_t regions[PAGES_RECENT];
};

/* NULL and errno: ENOMEM. */
struct pages *pages_new(const struct machine *machine);
void pages_free(struct pages *pages);

/* The number of the region with `address`; the address that its number stands for. */
uint32_t pages_region(struct pages *pages, uint64_t address);
uint64_t pages_region_address(const struct pages *pages, uint32_t region);

/* The node whose memory has `address`, of `region`; touched by a core of node `toucher`. */
unsigned pages_node(struct pages *pages, uint32_t region, uint64_t address, unsigned toucher);

void pages_recent_init(struct pages_recent *recent);

/* pages_region(), for the most part without looking. */
static inline uint32_t
pages_recent_region(struct pages_recent *recent, struct pages *pages, uint64_t address)
{
	uint64_t key = address >> PAGES_REGION_SHIFT;
	unsigned at = (unsigned)(key ^ key >> 4) % PAGES_RECENT;

	if (__builtin_expect(recent->keys[at] != key, 0)) {
		recent->regions[at] = pages_region(pages, address);
		recent->keys[at] = key;
	}
	return recent->regions[at];
}

/* The number of what `address` is in, of 2^shift bytes: a line or a page. */
static inline uint64_t
pages_number(uint32_t region, uint64_t address, unsigned shift)
{
	return (uint64_t)region << (PAGES_REGION_SHIFT - shift) | (uint32_t)address >> shift;
}

/* Back again: address >> shift. */
static inline uint64_t
pages_address(const struct pages *pages, uint64_t number, unsigned shift)
{
	uint32_t region = (uint32_t)(number >> (PAGES_REGION_SHIFT - shift));
	uint64_t within = number & ((UINT64_C(1) << (PAGES_REGION_SHIFT - shift)) - 1);

	return pages_region_address(pages, region) >> shift | within;
}

#endif
