#include "collectord/sampled_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIRST_SIZE   1024u
#define GRANULE_BITS 6  /* 64 bytes */
#define BLOCK_BITS   12 /* CAPTURED_BLOCK_SIZE */

void
sampled_blocks_fini(struct sampled_blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct sampled_blocks){0};
}

/* The slot of the block, or the free one where it belongs. */
static struct sampled_block *
find(const struct sampled_blocks *blocks, uint32_t image, uint32_t block)
{
	const uint64_t key = (uint64_t)image << 32 | block;
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (blocks->size - 1);

	while (blocks->slots[at].seen && (blocks->slots[at].image != image || blocks->slots[at].block != block))
		at = (at + 1) & (blocks->size - 1);
	return &blocks->slots[at];
}

/* Room for one more: at most two thirds are in use. */
static bool
make_room(struct sampled_blocks *blocks)
{
	struct sampled_blocks grown = {.size = blocks->size ? 2 * blocks->size : FIRST_SIZE, .count = blocks->count};

	if (blocks->count >= SAMPLED_BLOCKS_MAX)
		return false;
	if (3 * (blocks->count + 1) <= 2 * blocks->size)
		return true;
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < blocks->size; i++)
		if (blocks->slots[i].seen)
			*find(&grown, blocks->slots[i].image, blocks->slots[i].block) = blocks->slots[i];
	free(blocks->slots);
	*blocks = grown;
	return true;
}

enum sampled_granule
sampled_blocks_add(struct sampled_blocks *blocks, uint32_t image, uint64_t offset)
{
	const uint64_t block = offset >> BLOCK_BITS, granule = UINT64_C(1) << (offset >> GRANULE_BITS & 63);
	struct sampled_block *slot;

	if (block >= CAPTURED_BLOCK_UNWIND)
		return GRANULE_REQUESTED;
	slot = blocks->size ? find(blocks, image, (uint32_t)block) : NULL;
	if (!slot || !slot->seen) {
		if (!make_room(blocks))
			return GRANULE_REQUESTED;
		slot = find(blocks, image, (uint32_t)block);
		slot->image = image;
		slot->block = (uint32_t)block;
		blocks->count++;
	}
	if (slot->requested & granule)
		return GRANULE_REQUESTED;
	if (slot->seen & granule)
		return GRANULE_SEEN;
	slot->seen |= granule;
	return GRANULE_NEW;
}

size_t
sampled_blocks_request(struct sampled_blocks *blocks, uint32_t image, struct request_place *places, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < blocks->size && count < max; i++) {
		struct sampled_block *slot = &blocks->slots[i];

		if (slot->image != image || !(slot->seen & ~slot->requested))
			continue;
		places[count++] = (struct request_place){slot->block, slot->seen & ~slot->requested};
		slot->requested = slot->seen;
	}
	if (count)
		qsort(places, count, sizeof(*places), array_compare_u32); /* a place begins with its block */
	return count;
}

void
sampled_blocks_reset(struct sampled_blocks *blocks, uint32_t image)
{
	for (size_t i = 0; i < blocks->size; i++)
		if (blocks->slots[i].image == image)
			blocks->slots[i].requested = 0;
}

/* ---- the set ---- */

void
sampled_block_set_fini(struct sampled_block_set *set)
{
	free(set->blocks);
	memset(set, 0, sizeof(*set));
}

/* Move the new ones of these sorted numbers to the front, each once; how many. */
static size_t
keep_new(const struct sampled_block_set *set, uint32_t *blocks, size_t count)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		while (at < set->count && set->blocks[at] < blocks[i])
			at++;
		if ((at == set->count || set->blocks[at] != blocks[i]) && (kept == 0 || blocks[kept - 1] != blocks[i]))
			blocks[kept++] = blocks[i];
	}
	return kept;
}

long
sampled_block_set_add(struct sampled_block_set *set, uint32_t *blocks, size_t count, size_t room)
{
	size_t added, left, to;
	uint32_t *grown;

	if (count)
		qsort(blocks, count, sizeof(*blocks), array_compare_u32);
	added = keep_new(set, blocks, count);
	if (added > room)
		added = room;
	grown = array_grow(set->blocks, &set->capacity, set->count + added + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->blocks = grown;
	left = set->count;
	to = set->count + added;
	for (size_t new = added; new > 0;) { /* merge from the end */
		if (left > 0 && grown[left - 1] > blocks[new - 1])
			grown[--to] = grown[--left];
		else
			grown[--to] = blocks[--new];
	}
	set->count += added;
	return (long)added;
}
