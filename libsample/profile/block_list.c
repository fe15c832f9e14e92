#include "profile/block_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
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
	uint64_t *events; /* as sums: what those stand for; NULL: nobody asks */
	double *squares;  /* with events: sum of the squares of what each sample stands for, as far as that is known */
	uint64_t sums[];  /* [offset * event_count + event] */
};

struct block_adder *
block_adder_new(size_t event_count, bool weighs)
{
	const size_t count = event_count * COUNTS_BLOCK_SIZE;
	struct block_adder *adder = calloc(1, sizeof(*adder) + (weighs ? 2 : 1) * count * sizeof(adder->sums[0]));

	if (!adder)
		return NULL;
	adder->event_count = event_count;
	if (!weighs)
		return adder;
	adder->events = &adder->sums[count];
	adder->squares = calloc(count, sizeof(*adder->squares));
	if (adder->squares)
		return adder;
	free(adder);
	return NULL;
}

void
block_adder_free(struct block_adder *adder)
{
	if (adder)
		free(adder->squares);
	free(adder);
}

/*
 * What each of a block's numbers adds to the sum of squares. A sample of period p adds p^2. Each event of a sum that
 * samples of an idle CPU have, whose period is P: there are sum / (P - p) such samples, and each has P^2 in the place
 * of p^2, so an event adds P + p. Of other sums it is not known how they are spread over samples: they add nothing.
 */
static double
square_of(const struct event *counted, const struct event *samples)
{
	const double period = (double)samples->period, idle_period = (double)counted->encoding.config;

	if (counted == samples)
		return period * period;
	return period > 0 && idle_period > period ? idle_period + period : 0;
}

/* `worth`: events of each of `pair->count`; `square`: square_of(). */
static void
add_events(struct block_adder *adder, const struct block *block, const struct counts_pair *pair, uint64_t worth,
           double square)
{
	const size_t place = pair->offset * adder->event_count + block->event;
	uint64_t *sum = &adder->events[place], events;

	adder->squares[place] += (double)pair->count * square;

	if (__builtin_mul_overflow(pair->count, worth, &events))
		events = UINT64_MAX;
	*sum = add_saturating(*sum, events);
}

/* `period`: of the samples, or of those that are weighed. */
static void
add_selected(struct selection_event *event, uint64_t period, bool is_sum, uint64_t selected)
{
	struct selection_weights *weights = &event->weights;

	if (is_sum) {
		event->selected_events += (double)selected;
		weights->beyond += (double)selected;
		weights->varied_events += period ? 0 : (double)selected;
		return;
	}
	event->selected_taken = add_saturating(event->selected_taken, selected);
	event->selected_events += (double)selected * (double)period;
	weights->varied_samples = add_saturating(weights->varied_samples, period ? 0 : selected);
}

static int
add_block(struct block_adder *adder, const struct block *block, struct selection *selection)
{
	const struct event *events = selection->epochs[block->epoch].events;
	const bool is_sum = block->samples != block->epoch_event;
	const uint64_t worth = is_sum ? 1 : events[block->epoch_event].period;
	const double square = square_of(&events[block->epoch_event], &events[block->samples]);
	uint64_t selected = 0;
	int pairs = counts_decode(block->data, block->size, adder->pairs);

	if (pairs < 0)
		return pairs;
	for (int i = 0; i < pairs; i++) {
		const struct counts_pair *pair = &adder->pairs[i];
		uint64_t *sum = &adder->sums[pair->offset * adder->event_count + block->event];

		if (!is_sum)
			*sum = add_saturating(*sum, pair->count);
		if (adder->events)
			add_events(adder, block, pair, worth, square);
		selected = add_saturating(selected, pair->count);
		adder->touched[pair->offset / 64] |= UINT64_C(1) << pair->offset % 64;
	}
	add_selected(&selection->events[block->event], events[block->samples].period, is_sum, selected);
	return 0;
}

/*
 * Where it is not known how events are spread over the samples of a place - the kernel chose their periods - each
 * sample is taken to stand for as many: no other spread has a smaller sum of squares.
 */
static double
squares_of(double known, uint64_t events, uint64_t taken)
{
	const double least = taken ? (double)events * ((double)events / (double)taken) : 0;

	return known > least ? known : least;
}

/* Hand out the sums of one offset, and leave zeros. */
static int
take_offset(struct block_adder *adder, uint64_t offset, uint32_t image, struct selection *selection, size_t *capacity)
{
	const size_t place = (offset & (COUNTS_BLOCK_SIZE - 1)) * adder->event_count;
	uint64_t *sums = &adder->sums[place], *events = adder->events ? &adder->events[place] : sums;
	struct selection_count *counts;

	counts = array_grow(selection->counts, capacity, selection->count_count + adder->event_count, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	selection->counts = counts;
	for (size_t event = 0; event < adder->event_count; event++) {
		double *squares = adder->squares ? &adder->squares[place + event] : NULL;

		if (sums[event] == 0 && events[event] == 0)
			continue;
		counts[selection->count_count++] = (struct selection_count){
			.offset = offset,
			.count = events[event],
			.taken = sums[event],
			.squares = squares ? squares_of(*squares, events[event], sums[event]) : (double)sums[event],
			.image = image,
			.event = (uint16_t)event,
		};
		sums[event] = events[event] = 0;
		if (squares)
			*squares = 0;
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
