#include "collectord/place_table.h"

#include <stdlib.h>

#define FIRST_SIZE   1024u
#define GRANULE_BITS 6  /* 64 bytes */
#define BLOCK_BITS   12 /* CAPTURED_BLOCK_SIZE */

void
place_table_fini(struct place_table *table)
{
	free(table->slots);
	*table = (struct place_table){0};
}

/* The slot of the block, or the free one where it belongs. */
static struct place_slot *
find(const struct place_table *table, uint32_t image, uint32_t block)
{
	const uint64_t key = (uint64_t)image << 32 | block;
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (table->size - 1);

	while (table->slots[at].seen && (table->slots[at].image != image || table->slots[at].block != block))
		at = (at + 1) & (table->size - 1);
	return &table->slots[at];
}

/* Room for one more: at most two thirds are in use. */
static bool
make_room(struct place_table *table)
{
	struct place_table grown = {.size = table->size ? 2 * table->size : FIRST_SIZE, .count = table->count};

	if (table->count >= PLACE_TABLE_MAX)
		return false;
	if (3 * (table->count + 1) <= 2 * table->size)
		return true;
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < table->size; i++)
		if (table->slots[i].seen)
			*find(&grown, table->slots[i].image, table->slots[i].block) = table->slots[i];
	free(table->slots);
	*table = grown;
	return true;
}

bool
place_table_note(struct place_table *table, uint32_t image, uint64_t offset)
{
	const uint64_t block = offset >> BLOCK_BITS, granule = offset >> GRANULE_BITS & 63;
	struct place_slot *slot;

	if (block >= CAPTURED_BLOCK_NONE)
		return false;
	slot = table->size ? find(table, image, (uint32_t)block) : NULL;
	if (!slot || !slot->seen) {
		if (!make_room(table))
			return false;
		slot = find(table, image, (uint32_t)block);
		slot->image = image;
		slot->block = (uint32_t)block;
		table->count++;
	}
	slot->seen |= UINT64_C(1) << granule;
	return !(slot->asked >> granule & 1);
}

static int
compare_places(const void *a, const void *b)
{
	const struct request_place *one = a, *other = b;

	return (one->block > other->block) - (one->block < other->block);
}

size_t
place_table_ask(struct place_table *table, uint32_t image, struct request_place *places, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < table->size && count < max; i++) {
		struct place_slot *slot = &table->slots[i];

		if (slot->image != image || !(slot->seen & ~slot->asked))
			continue;
		places[count++] = (struct request_place){slot->block, slot->seen & ~slot->asked};
		slot->asked = slot->seen;
	}
	if (count)
		qsort(places, count, sizeof(*places), compare_places);
	return count;
}

void
place_table_unask(struct place_table *table, uint32_t image)
{
	for (size_t i = 0; i < table->size; i++)
		if (table->slots[i].image == image)
			table->slots[i].asked = 0;
}
