/* Blocks of counts, an image at a time from all slices, added up for several selections at once: see
 * selection_internal.h. */
#include "profile/selection_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/ids.h"

#define SKIP_STEPS    4 /* blocks; seeking a key takes at least as long as so many steps */
#define DIGITS        4 /* bytes of a number */
#define DIGIT_COUNT   256
#define TOUCHED_WORDS (COUNTS_BLOCK_SIZE / 64)
#define AHEAD         8 /* blocks to prefetch: neighbours in the list lie far apart in the file */

/* The blocks of one event in one slice, in the order of their keys. */
struct block_stream {
	struct store_walk walk;
	struct counts_key key; /* of the current block */
	uint16_t event;        /* of the selection */
	uint16_t samples;      /* of the epoch: the event whose samples this one weighs, or key.event */
	uint32_t epoch;        /* of the selection */
	size_t slice;          /* of the scope */
};

/* To the next block: 1, 0 when the stream ends, or an error. */
static int
block_stream_step(struct block_stream *stream)
{
	const uint32_t slice = stream->key.slice;
	const uint16_t event = stream->key.event;
	int result = store_walk_next(&stream->walk);

	if (result <= 0)
		return result;
	result = counts_key_decode(stream->walk.key.mv_data, stream->walk.key.mv_size, &stream->key);
	return result ? result : stream->key.slice == slice && stream->key.event == event;
}

static void
block_stream_free(struct block_stream *stream)
{
	store_walk_end(&stream->walk);
	free(stream);
}

/* A stream from the first block of slice key->slice with an event >= key->event; *stream is NULL when there is none. */
static int
block_stream_open(const struct store *store, MDB_txn *txn, const struct counts_key *key, struct block_stream **stream)
{
	struct block_stream *new = calloc(1, sizeof(*new));
	uint8_t first[COUNTS_KEY_SIZE];
	int result;

	*stream = NULL;
	if (!new)
		return -ENOMEM;
	counts_key_encode(key, first);
	store_walk_begin(store, txn, TABLE_COUNTS, &new->walk);
	store_walk_seek(&new->walk, first, sizeof(first));
	result = store_walk_next(&new->walk);
	if (result > 0) {
		result = counts_key_decode(new->walk.key.mv_data, new->walk.key.mv_size, &new->key);
		if (!result)
			result = new->key.slice == key->slice;
	}
	if (result <= 0) {
		block_stream_free(new);
		return result;
	}
	*stream = new;
	return 0;
}

/* To the first block that is not below `context` in `image`, which lies ahead. As block_stream_step(). */
static int
block_stream_skip(struct block_stream *stream, uint32_t image, uint32_t context)
{
	struct counts_key key = {
		.slice = stream->key.slice, .event = stream->key.event, .image = image, .context = context};
	uint8_t first[COUNTS_KEY_SIZE];
	int result = 1;

	for (int i = 0; i < SKIP_STEPS && result > 0; i++) {
		result = block_stream_step(stream);
		if (result > 0 &&
		    (stream->key.image > image || (stream->key.image == image && stream->key.context >= context)))
			return result;
	}
	if (result <= 0)
		return result;
	counts_key_encode(&key, first);
	store_walk_seek(&stream->walk, first, sizeof(first));
	return block_stream_step(stream);
}

/* ---- lists of blocks ---- */

static unsigned
digit_of(const struct counts_block *block, unsigned digit)
{
	return block->number >> 8 * digit & (DIGIT_COUNT - 1);
}

/* Stable, from one array to the other. */
static void
move_by_digit(const struct counts_block *from, struct counts_block *to, size_t count, unsigned digit,
              const size_t counts[DIGIT_COUNT])
{
	size_t next[DIGIT_COUNT], sum = 0;

	for (unsigned value = 0; value < DIGIT_COUNT; value++) {
		next[value] = sum;
		sum += counts[value];
	}
	for (size_t i = 0; i < count; i++)
		to[next[digit_of(&from[i], digit)]++] = from[i];
}

/*
 * Sort by number; blocks of one number keep their order. 0 or -ENOMEM. Radix sort, from the lowest byte: in most images
 * all numbers agree in two of the four bytes, whose passes are skipped, and two passes are faster than comparisons.
 */
static int
block_list_sort(struct block_list *list)
{
	size_t histogram[DIGITS][DIGIT_COUNT] = {0}; /* how often each value of each digit occurs */
	struct counts_block *spare;

	if (list->count < 2)
		return 0;
	spare = array_grow(list->spare, &list->spare_capacity, list->count, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	list->spare = spare;
	for (size_t i = 0; i < list->count; i++)
		for (unsigned digit = 0; digit < DIGITS; digit++)
			histogram[digit][digit_of(&list->blocks[i], digit)]++;
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		const size_t *counts = histogram[digit];
		const struct block_list before = *list;

		if (counts[digit_of(&list->blocks[0], digit)] == list->count)
			continue;
		move_by_digit(list->blocks, list->spare, list->count, digit, counts);
		list->blocks = before.spare;
		list->capacity = before.spare_capacity;
		list->spare = before.blocks;
		list->spare_capacity = before.capacity;
	}
	return 0;
}

void
selection_block_list_fini(struct block_list *list)
{
	free(list->blocks);
	free(list->spare);
	memset(list, 0, sizeof(*list));
}

/* Adds up blocks of one number: a sum for each offset and event, and a bitmap of offsets that have one. */
struct block_adder {
	uint64_t touched[TOUCHED_WORDS];
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	size_t event_count;
	uint64_t *events; /* indexed as sums: the events that the samples stand for; NULL: not wanted */
	double *squares;  /* with events: sum of the squares of the events of each sample, as far as known */
	uint64_t sums[];  /* [offset * event_count + event] */
};

/* `weighs`: add up events, too. NULL when memory ends. */
static struct block_adder *
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

/*
 * What one unit of a block's counts adds to the sum of squares. A sample of period p adds p^2. A sum of events of idle
 * CPUs, sampled with a larger period P: there are sum / (P - p) such samples, and each has P^2 instead of p^2, so an
 * event of the sum adds P + p. How other sums are spread over samples is not known: they add nothing.
 */
static double
square_of(const struct event *counted, const struct event *samples)
{
	const double period = (double)samples->period, idle_period = (double)counted->encoding.config;

	if (counted == samples)
		return period * period;
	return period > 0 && idle_period > period ? idle_period + period : 0;
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
add_block(struct block_adder *adder, const struct counts_block *block, struct selection *selection)
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
		const size_t place = pair->offset * adder->event_count + block->event;
		uint64_t stands_for;

		if (!is_sum)
			adder->sums[place] = add_saturating(adder->sums[place], pair->count);
		if (adder->events) {
			if (__builtin_mul_overflow(pair->count, worth, &stands_for))
				stands_for = UINT64_MAX;
			adder->events[place] = add_saturating(adder->events[place], stands_for);
			adder->squares[place] += (double)pair->count * square;
		}
		selected = add_saturating(selected, pair->count);
		adder->touched[pair->offset / 64] |= UINT64_C(1) << pair->offset % 64;
	}
	add_selected(&selection->events[block->event], events[block->samples].period, is_sum, selected);
	return 0;
}

/*
 * When it is not known how events are spread over the samples of an offset - the kernel chose their periods - the lower
 * bound: each sample stands for an equal number of events.
 */
static double
squares_of(double known, uint64_t events, uint64_t taken)
{
	const double least = taken ? (double)events * ((double)events / (double)taken) : 0;

	return known > least ? known : least;
}

/* Append the sums of one offset to the counts, and reset them. */
static int
take_offset_sums(struct block_adder *adder, uint64_t offset, uint32_t image, struct selection *selection,
                 size_t *capacity)
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
take_sums(struct block_adder *adder, uint32_t number, uint32_t image, struct selection *selection, size_t *capacity)
{
	const uint64_t start = (uint64_t)number << COUNTS_BLOCK_SHIFT;

	for (unsigned word = 0; word < TOUCHED_WORDS; word++) {
		while (adder->touched[word]) {
			unsigned bit = (unsigned)__builtin_ctzll(adder->touched[word]);
			int err = take_offset_sums(adder, start | (word * 64 + bit), image, selection, capacity);

			if (err)
				return err;
			adder->touched[word] &= adder->touched[word] - 1;
		}
	}
	return 0;
}

/*
 * Sort the list, add it up into counts of `image`, which are appended to selection->counts, and empty it.
 * selection->events[].selected_taken, selected_events and weights grow by what was added. A count's `taken` is its
 * samples, `count` the events that they stand for, and `squares` the sum of squares of that, for weigh(). *capacity is
 * that of selection->counts: 0 at first. 0, -ENOMEM, -DCPI_EDAMAGED.
 */
static int
block_adder_add(struct block_adder *adder, struct block_list *list, uint32_t image, struct selection *selection,
                size_t *capacity)
{
	int err = block_list_sort(list);

	for (size_t i = 0; !err && i < list->count; i++) {
		const struct counts_block *block = &list->blocks[i];

		if (i + AHEAD < list->count)
			__builtin_prefetch(block[AHEAD].data);
		err = add_block(adder, block, selection);
		if (!err && (i + 1 == list->count || block[0].number != block[1].number))
			err = take_sums(adder, block->number, image, selection, capacity);
	}
	list->count = 0;
	return err;
}

/* ---- all slices, merged by image ---- */

/* A context, and the selection that wants its samples. */
struct wanted_context {
	uint32_t context; /* first, for array_compare_u32() */
	uint32_t builder;
};

/* Streams, a heap by the image of the next block. */
struct stream_merge {
	struct selection_builder *builders;
	size_t builder_count;
	const struct selection_builder *lead; /* one of them, for epochs, slices and events, which are equal in all */
	struct wanted_context *wanted;        /* ascending by context */
	size_t wanted_count;
	bool is_whole; /* some selection wants all contexts: none can be skipped */
	struct block_stream **streams;
	size_t count, capacity;
	struct block_adder *adder;
};

static int
list_wanted(struct stream_merge *merge)
{
	size_t capacity = 0;

	for (size_t i = 0; i < merge->builder_count; i++) {
		const struct selection_builder *builder = &merge->builders[i];
		struct wanted_context *wanted;

		if (builder->is_skipped)
			continue;
		merge->is_whole |= builder->filter.all;
		wanted = array_grow(merge->wanted, &capacity, merge->wanted_count + builder->filter.count + 1,
		                    sizeof(*wanted));
		if (!wanted)
			return -ENOMEM;
		merge->wanted = wanted;
		for (size_t j = 0; j < builder->filter.count; j++)
			wanted[merge->wanted_count++] =
				(struct wanted_context){.context = builder->filter.numbers[j], .builder = (uint32_t)i};
	}
	if (merge->wanted_count > 0)
		qsort(merge->wanted, merge->wanted_count, sizeof(*merge->wanted), array_compare_u32);
	return 0;
}

/* The index of the first wanted context that is >= `context`; wanted_count when there is none. */
static size_t
find_wanted(const struct stream_merge *merge, uint32_t context)
{
	return ARRAY_LOWER_BOUND(merge->wanted, merge->wanted_count, context, context);
}

static int
merge_add(struct stream_merge *merge, struct block_stream *stream)
{
	struct block_stream **streams =
		array_grow(merge->streams, &merge->capacity, merge->count + 1, sizeof(struct block_stream *));
	size_t at = merge->count;

	if (!streams)
		return -ENOMEM;
	merge->streams = streams;
	for (; at > 0 && streams[(at - 1) / 2]->key.image > stream->key.image; at = (at - 1) / 2)
		streams[at] = streams[(at - 1) / 2];
	streams[at] = stream;
	merge->count++;
	return 0;
}

static int
open_streams(struct stream_merge *merge, size_t slice)
{
	const struct selection_builder *lead = merge->lead;
	const size_t epoch = selection_epoch_index(lead->selection, lead->scope->slices[slice].epoch);
	const size_t event_count = lead->selection->epochs[epoch].event_count;
	struct counts_key key = {.slice = lead->scope->slices[slice].id};
	struct block_stream *stream;
	int err;

	while (!(err = block_stream_open(lead->store, lead->txn, &key, &stream)) && stream) {
		if (stream->key.event < event_count) {
			key.event = (uint16_t)(stream->key.event + 1);
			stream->event = lead->event_maps[epoch].events[stream->key.event];
			stream->samples = lead->event_maps[epoch].samples[stream->key.event];
			stream->epoch = (uint32_t)epoch;
			stream->slice = slice;
			if (lead->selection->events[stream->event].is_hidden) {
				block_stream_free(stream);
				continue;
			}
			err = merge_add(merge, stream);
		} else {
			err = -DCPI_EDAMAGED;
		}
		if (err) {
			block_stream_free(stream);
			return err;
		}
	}
	return err;
}

/* The first stream has advanced, or `ended` and is removed: restore the heap order. */
static void
restore_heap(struct stream_merge *merge, bool ended)
{
	struct block_stream *moved = merge->streams[0];
	size_t at = 0, child;

	if (ended) {
		block_stream_free(moved);
		moved = merge->streams[--merge->count];
	}
	while ((child = 2 * at + 1) < merge->count) {
		if (child + 1 < merge->count && merge->streams[child + 1]->key.image < merge->streams[child]->key.image)
			child++;
		if (merge->streams[child]->key.image >= moved->key.image)
			break;
		merge->streams[at] = merge->streams[child];
		at = child;
	}
	if (merge->count > 0)
		merge->streams[at] = moved;
}

static bool
is_wanted(const struct stream_merge *merge, size_t wanted, uint32_t context)
{
	return merge->wanted && wanted < merge->wanted_count && merge->wanted[wanted].context == context;
}

/* 0, -ENOMEM, or -DCPI_EDAMAGED for an empty block. */
static int
add_block_to(struct selection_builder *builder, const struct block_stream *stream)
{
	const MDB_val *value = &stream->walk.value;
	struct block_list *list = &builder->blocks;
	struct counts_block *block;

	builder->matched[stream->slice] = true;
	if (value->mv_size == 0 || value->mv_size > UINT32_MAX)
		return -DCPI_EDAMAGED;
	block = ARRAY_APPEND(list->blocks, list->count, list->capacity);
	if (!block)
		return -ENOMEM;
	*block = (struct counts_block){
		.data = value->mv_data,
		.size = (uint32_t)value->mv_size,
		.number = stream->key.block,
		.event = stream->event,
		.samples = stream->samples,
		.epoch_event = stream->key.event,
		.epoch = stream->epoch,
	};
	return 0;
}

/* Add the block to all selections that want its context; `wanted` is the index of the first, if there is one. */
static int
share_block(struct stream_merge *merge, const struct block_stream *stream, size_t wanted)
{
	int err = 0;

	for (; !err && is_wanted(merge, wanted, stream->key.context); wanted++)
		err = add_block_to(&merge->builders[merge->wanted[wanted].builder], stream);
	for (size_t i = 0; !err && merge->is_whole && i < merge->builder_count; i++)
		if (merge->builders[i].filter.all && !merge->builders[i].is_skipped)
			err = add_block_to(&merge->builders[i], stream);
	return err;
}

/* To the next block that a selection wants, or to one before it. As block_stream_step(). */
static int
skip_unwanted(const struct stream_merge *merge, struct block_stream *stream, size_t wanted)
{
	if (wanted < merge->wanted_count)
		return block_stream_skip(stream, stream->key.image, merge->wanted[wanted].context);
	if (merge->wanted_count == 0 || stream->key.image == UINT32_MAX)
		return 0;
	return block_stream_skip(stream, stream->key.image + 1, merge->wanted[0].context);
}

/* The blocks that a stream has of one image, in contexts that match. 1 when it goes on, 0 when it ended, or an error.
 */
static int
read_blocks(struct stream_merge *merge, struct block_stream *stream)
{
	const uint32_t image = stream->key.image;
	uint32_t context = stream->key.context;
	size_t wanted = find_wanted(merge, context);
	int result = 1;

	while (result > 0 && stream->key.image == image) {
		if (stream->key.context != context) { /* neighbours often have one context */
			context = stream->key.context;
			wanted = find_wanted(merge, context);
		}
		if (!merge->is_whole && !is_wanted(merge, wanted, context)) {
			result = skip_unwanted(merge, stream, wanted);
			continue;
		}
		result = share_block(merge, stream, wanted);
		if (!result)
			result = block_stream_step(stream);
	}
	return result;
}

static int
read_image(struct selection_builder *builder, uint32_t number)
{
	struct selection *selection = builder->selection;
	struct selection_image *added;
	struct image_record record;
	struct image *copy;
	size_t path_size;
	int err;

	err = ids_read_image(builder->store, builder->txn, number, &record);
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	/* a copy in one piece, path and all */
	path_size = strlen(record.image.path) + 1;
	copy = malloc(sizeof(*copy) + path_size);
	added = copy ? ARRAY_APPEND(selection->images, selection->image_count, builder->image_capacity) : NULL;
	if (!added) {
		free(copy);
		return -ENOMEM;
	}
	*copy = record.image;
	copy->path = memcpy(copy + 1, record.image.path, path_size);
	added->number = number;
	added->image = copy;
	return 0;
}

/* All blocks of the image that comes first. */
static int
read_first_image(struct stream_merge *merge)
{
	const uint32_t image = merge->streams[0]->key.image;
	int err = 0;

	while (merge->count > 0 && merge->streams[0]->key.image == image) {
		int result = read_blocks(merge, merge->streams[0]);

		if (result < 0)
			return result;
		restore_heap(merge, result == 0);
	}
	for (size_t i = 0; !err && i < merge->builder_count; i++) {
		struct selection_builder *builder = &merge->builders[i];

		if (builder->blocks.count == 0)
			continue;
		err = read_image(builder, image);
		if (!err)
			err = block_adder_add(merge->adder, &builder->blocks,
			                      (uint32_t)builder->selection->image_count - 1, builder->selection,
			                      &builder->count_capacity);
	}
	return err;
}

int
selection_read_counts(struct selection_builder *builders, size_t count)
{
	struct stream_merge merge = {.builders = builders, .builder_count = count};
	int err;

	for (size_t i = count; i-- > 0;)
		if (!builders[i].is_skipped)
			merge.lead = &builders[i];
	if (!merge.lead)
		return 0;
	merge.adder = block_adder_new(merge.lead->selection->event_count, selection_has_weights(merge.lead->selection));
	err = merge.adder ? list_wanted(&merge) : -ENOMEM;
	for (size_t i = 0; !err && i < merge.lead->scope->slice_count; i++)
		err = open_streams(&merge, i);
	while (!err && merge.count > 0)
		err = read_first_image(&merge);
	for (size_t i = 0; i < merge.count; i++)
		block_stream_free(merge.streams[i]);
	free(merge.streams);
	free(merge.wanted);
	if (merge.adder)
		free(merge.adder->squares);
	free(merge.adder);
	return err;
}

/* ---- nodes of stacks ---- */

/* Replace the numbers of nodes in the counts by their indices, and note in `used` these nodes and their callers. */
static int
find_nodes(struct selection *selection, bool *used)
{
	for (size_t i = 0; i < selection->count_count; i++) {
		struct selection_count *count = &selection->counts[i];
		uint32_t node = stack_nodes_find(&selection->stacks, count->offset);

		if (!node)
			return -DCPI_EDAMAGED;
		count->offset = node;
		for (; node && !used[node]; node = selection->stacks.nodes[node].caller)
			used[node] = true;
	}
	return 0;
}

/* From the database's number of an image to its index in the selection. */
struct image_index {
	uint32_t number; /* first, for array_compare_u32() */
	uint32_t index;
};

/* Read the images of used nodes. `found` has room for each node, and gets the images, ascending. */
static int
read_node_images(struct selection_builder *builder, const bool *used, struct image_index *found, size_t *count)
{
	const struct stack_nodes *nodes = &builder->selection->stacks;
	size_t numbers = 0;

	*count = 0;
	for (uint32_t i = 1; i < nodes->count; i++)
		if (used[i] && nodes->nodes[i].image != STACK_NO_IMAGE)
			found[numbers++].number = nodes->nodes[i].image;
	if (numbers > 0)
		qsort(found, numbers, sizeof(*found), array_compare_u32);
	for (size_t i = 0; i < numbers; i++) {
		int err;

		if (*count > 0 && found[*count - 1].number == found[i].number)
			continue;
		err = read_image(builder, found[i].number);
		if (err)
			return err;
		found[*count].number = found[i].number;
		found[(*count)++].index = (uint32_t)builder->selection->image_count - 1;
	}
	return 0;
}

int
selection_read_stacks(struct selection_builder *builder)
{
	struct selection *selection = builder->selection;
	struct stack_nodes *nodes = &selection->stacks;
	struct image_index *images = NULL;
	bool *used = NULL;
	size_t count;
	int err = stacks_read_all(builder->store, builder->txn, nodes);

	if (err || selection->count_count == 0)
		return err;
	used = calloc((size_t)nodes->count + 1, sizeof(*used));
	images = calloc((size_t)nodes->count + 1, sizeof(*images));
	err = used && images ? find_nodes(selection, used) : -ENOMEM;
	if (!err)
		err = read_node_images(builder, used, images, &count);
	for (uint32_t i = 1; !err && i < nodes->count; i++)
		if (used[i] && nodes->nodes[i].image != STACK_NO_IMAGE)
			nodes->nodes[i].image =
				images[ARRAY_LOWER_BOUND(images, count, number, nodes->nodes[i].image)].index;
	free(images);
	free(used);
	return err;
}
