#include "profile/block_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "base/grow.h"

#define TOUCHED_WORDS (COUNTS_BLOCK_SIZE / 64)

int
block_list_add(struct block_list *list, uint32_t image, uint32_t number, uint16_t event, const void *data, size_t size)
{
	struct block *blocks;

	if (size == 0 || size > UINT32_MAX)
		return -DCPI_EDAMAGED;
	blocks = array_grow(list->blocks, &list->capacity, list->count + 1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	list->blocks = blocks;
	blocks[list->count] = (struct block){image, number, event, (uint32_t)size, list->bytes.size};
	write_bytes(&list->bytes, data, size);
	list->count++;
	return list->bytes.failed ? -ENOMEM : 0;
}

void
block_list_fini(struct block_list *list)
{
	free(list->blocks);
	writer_fini(&list->bytes);
	memset(list, 0, sizeof(*list));
}

static bool
is_same_place(const struct block *a, const struct block *b)
{
	return a->image == b->image && a->number == b->number;
}

/* The blocks of one place: a sum for each offset and event, and which offsets have one. */
struct adder {
	uint64_t touched[TOUCHED_WORDS];
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	size_t event_count;
	uint64_t *selected;
	struct selection_count *counts;
	size_t count, capacity;
	uint64_t sums[]; /* [offset * event_count + event] */
};

static int
add_block(struct adder *adder, const struct block *block, const uint8_t *bytes)
{
	uint64_t selected = adder->selected[block->event];
	int pairs = counts_decode(bytes + block->at, block->size, adder->pairs);

	if (pairs < 0)
		return pairs;
	for (int i = 0; i < pairs; i++) {
		const struct counts_pair *pair = &adder->pairs[i];
		uint64_t *sum = &adder->sums[pair->offset * adder->event_count + block->event];

		*sum = add_saturating(*sum, pair->count);
		selected = add_saturating(selected, pair->count);
		adder->touched[pair->offset / 64] |= UINT64_C(1) << pair->offset % 64;
	}
	adder->selected[block->event] = selected;
	return 0;
}

/* Hand out the sums of one offset, and leave zeros. */
static int
take_offset(struct adder *adder, const struct block *place, unsigned offset)
{
	uint64_t *sums = &adder->sums[offset * adder->event_count];
	struct selection_count *counts;

	counts = array_grow(adder->counts, &adder->capacity, adder->count + adder->event_count, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	adder->counts = counts;
	for (size_t event = 0; event < adder->event_count; event++) {
		if (sums[event] == 0)
			continue;
		counts[adder->count++] = (struct selection_count){
			.offset = (uint64_t)place->number << COUNTS_BLOCK_SHIFT | offset,
			.count = sums[event],
			.image = place->image,
			.event = (uint16_t)event,
		};
		sums[event] = 0;
	}
	return 0;
}

static int
take_place(struct adder *adder, const struct block *place)
{
	for (unsigned word = 0; word < TOUCHED_WORDS; word++) {
		while (adder->touched[word]) {
			unsigned bit = (unsigned)__builtin_ctzll(adder->touched[word]);
			int err = take_offset(adder, place, word * 64 + bit);

			if (err)
				return err;
			adder->touched[word] &= adder->touched[word] - 1;
		}
	}
	return 0;
}

static int
add_all(struct adder *adder, const struct block_list *list)
{
	int err = 0;

	for (size_t i = 0; !err && i < list->count; i++) {
		err = add_block(adder, &list->blocks[i], list->bytes.data);
		if (!err && (i + 1 == list->count || !is_same_place(&list->blocks[i], &list->blocks[i + 1])))
			err = take_place(adder, &list->blocks[i]);
	}
	return err;
}

int
block_list_sum(struct block_list *list, size_t event_count, struct selection_count **counts, size_t *count,
               uint64_t *selected)
{
	struct adder *adder;
	int err;

	*counts = NULL;
	*count = 0;
	adder = calloc(1, sizeof(*adder) + event_count * COUNTS_BLOCK_SIZE * sizeof(adder->sums[0]));
	if (!adder)
		return -ENOMEM;
	adder->event_count = event_count;
	adder->selected = selected;
	err = block_list_sort(list);
	if (!err)
		err = add_all(adder, list);
	*counts = adder->counts;
	*count = adder->count;
	free(adder);
	return err;
}
