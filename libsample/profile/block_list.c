#include "profile/block_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "profile/codec.h"
#include "profile/counts.h"

#define TOUCHED_WORDS (COUNTS_BLOCK_SIZE / 64)
#define AHEAD         8 /* blocks: neighbours in the list lie far apart in the file, and memory takes its time */

int
block_list_add(struct block_list *list, const struct block *block)
{
	struct block *blocks;

	if (block->size == 0)
		return -DCPI_EDAMAGED;
	blocks = array_grow(list->blocks, &list->capacity, list->count + 1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	list->blocks = blocks;
	blocks[list->count++] = *block;
	return 0;
}

void
block_list_fini(struct block_list *list)
{
	free(list->blocks);
	free(list->spare);
	memset(list, 0, sizeof(*list));
}

/* The blocks of one number: a sum for each offset and event, and which offsets have one. */
struct block_adder {
	uint64_t touched[TOUCHED_WORDS];
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	size_t event_count;
	uint64_t sums[]; /* [offset * event_count + event] */
};

struct block_adder *
block_adder_new(size_t event_count)
{
	struct block_adder *adder =
		calloc(1, sizeof(*adder) + event_count * COUNTS_BLOCK_SIZE * sizeof(adder->sums[0]));

	if (adder)
		adder->event_count = event_count;
	return adder;
}

void
block_adder_free(struct block_adder *adder)
{
	free(adder);
}

static int
add_block(struct block_adder *adder, const struct block *block, struct selection *selection)
{
	struct selection_event *event = &selection->events[block->event];
	uint64_t selected = 0;
	int pairs = counts_decode(block->data, block->size, adder->pairs);

	if (pairs < 0)
		return pairs;
	for (int i = 0; i < pairs; i++) {
		const struct counts_pair *pair = &adder->pairs[i];
		uint64_t *sum = &adder->sums[pair->offset * adder->event_count + block->event];

		*sum = add_saturating(*sum, pair->count);
		selected = add_saturating(selected, pair->count);
		adder->touched[pair->offset / 64] |= UINT64_C(1) << pair->offset % 64;
	}
	event->selected = add_saturating(event->selected, selected);
	event->selected_events +=
		(double)selected * (double)selection->epochs[block->epoch].events[block->epoch_event].period;
	return 0;
}

/* Hand out the sums of one offset, and leave zeros. */
static int
take_offset(struct block_adder *adder, uint64_t offset, uint32_t image, struct selection *selection, size_t *capacity)
{
	uint64_t *sums = &adder->sums[(offset & (COUNTS_BLOCK_SIZE - 1)) * adder->event_count];
	struct selection_count *counts;

	counts = array_grow(selection->counts, capacity, selection->count_count + adder->event_count, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	selection->counts = counts;
	for (size_t event = 0; event < adder->event_count; event++) {
		if (sums[event] == 0)
			continue;
		counts[selection->count_count++] = (struct selection_count){
			.offset = offset,
			.count = sums[event],
			.image = image,
			.event = (uint16_t)event,
		};
		sums[event] = 0;
	}
	return 0;
}

static int
take_block(struct block_adder *adder, uint32_t number, uint32_t image, struct selection *selection, size_t *capacity)
{
	const uint64_t start = (uint64_t)number << COUNTS_BLOCK_SHIFT;

	for (unsigned word = 0; word < TOUCHED_WORDS; word++) {
		while (adder->touched[word]) {
			unsigned bit = (unsigned)__builtin_ctzll(adder->touched[word]);
			int err = take_offset(adder, start | (word * 64 + bit), image, selection, capacity);

			if (err)
				return err;
			adder->touched[word] &= adder->touched[word] - 1;
		}
	}
	return 0;
}

int
block_adder_add(struct block_adder *adder, struct block_list *list, uint32_t image, struct selection *selection,
                size_t *capacity)
{
	int err = block_list_sort(list);

	for (size_t i = 0; !err && i < list->count; i++) {
		const struct block *block = &list->blocks[i];

		if (i + AHEAD < list->count)
			__builtin_prefetch(block[AHEAD].data);
		err = add_block(adder, block, selection);
		if (!err && (i + 1 == list->count || block[0].number != block[1].number))
			err = take_block(adder, block->number, image, selection, capacity);
	}
	list->count = 0;
	return err;
}
