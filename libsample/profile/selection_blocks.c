/* Blocks of counts, an image at a time out of all slices, for several selections at once: see selection_parts.h. */
#include "profile/selection_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/counts.h"
#include "profile/records.h"
#include "profile/selection_stream.h"

/* A context, and which selection is to have its samples. */
struct wanted {
	uint32_t context;
	uint32_t part;
};

/* Streams, a heap by the image of the next block. */
struct merge {
	struct selection_parts *parts;
	size_t part_count;
	const struct selection_parts *lead; /* one of them: epochs, slices and events are the same for all */
	struct wanted *wanted;              /* ascending by context */
	size_t wanted_count;
	bool is_whole; /* some selection is to have all contexts: none can be skipped */
	struct stream **streams;
	size_t count, capacity;
	struct block_adder *adder;
};

static int
compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return (a->context > b->context) - (a->context < b->context);
}

static int
list_wanted(struct merge *merge)
{
	size_t capacity = 0;

	for (size_t i = 0; i < merge->part_count; i++) {
		const struct selection_parts *parts = &merge->parts[i];
		struct wanted *wanted;

		if (parts->is_passed)
			continue;
		merge->is_whole |= parts->filter.all;
		wanted = array_grow(merge->wanted, &capacity, merge->wanted_count + parts->filter.count + 1,
		                    sizeof(*wanted));
		if (!wanted)
			return -ENOMEM;
		merge->wanted = wanted;
		for (size_t j = 0; j < parts->filter.count; j++)
			wanted[merge->wanted_count++] =
				(struct wanted){.context = parts->filter.numbers[j], .part = (uint32_t)i};
	}
	if (merge->wanted_count > 0)
		qsort(merge->wanted, merge->wanted_count, sizeof(*merge->wanted), compare_wanted);
	return 0;
}

/* The first that is wanted of those from `context` on: an index, wanted_count when there is none. */
static size_t
find_wanted(const struct merge *merge, uint32_t context)
{
	size_t low = 0, high = merge->wanted_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (merge->wanted[middle].context < context)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
merge_add(struct merge *merge, struct stream *stream)
{
	struct stream **streams =
		array_grow(merge->streams, &merge->capacity, merge->count + 1, sizeof(struct stream *));
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
open_streams(struct merge *merge, size_t slice)
{
	const struct selection_parts *lead = merge->lead;
	const size_t epoch = selection_epoch_index(lead->selection, lead->scope->slices[slice].epoch);
	const size_t event_count = lead->selection->epochs[epoch].event_count;
	struct counts_key key = {.slice = lead->scope->slices[slice].id};
	struct stream *stream;
	int err;

	while (!(err = stream_open(lead->store, lead->txn, &key, &stream)) && stream) {
		if (stream->key.event < event_count) {
			key.event = (uint16_t)(stream->key.event + 1);
			stream->event = lead->event_maps[epoch].events[stream->key.event];
			stream->samples = lead->event_maps[epoch].samples[stream->key.event];
			stream->epoch = (uint32_t)epoch;
			stream->slice = slice;
			err = merge_add(merge, stream);
		} else {
			err = -DCPI_EDAMAGED;
		}
		if (err) {
			stream_free(stream);
			return err;
		}
	}
	return err;
}

/* The first stream has gone on: put it where it belongs, or out when it `ended`. */
static void
settle_first(struct merge *merge, bool ended)
{
	struct stream *moved = merge->streams[0];
	size_t at = 0, child;

	if (ended) {
		stream_free(moved);
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
is_wanted(const struct merge *merge, size_t wanted, uint32_t context)
{
	return merge->wanted && wanted < merge->wanted_count && merge->wanted[wanted].context == context;
}

static int
take_block(struct selection_parts *parts, const struct stream *stream)
{
	const MDB_val *value = &stream->walk.value;
	const struct block block = {
		.data = value->mv_data,
		.size = (uint32_t)value->mv_size,
		.number = stream->key.block,
		.event = stream->event,
		.samples = stream->samples,
		.epoch_event = stream->key.event,
		.epoch = stream->epoch,
	};

	parts->matched[stream->slice] = true;
	return value->mv_size > UINT32_MAX ? -DCPI_EDAMAGED : block_list_add(&parts->blocks, &block);
}

/* The block goes to all that want its context; `wanted` is the first of them, if there is one. */
static int
share_block(struct merge *merge, const struct stream *stream, size_t wanted)
{
	int err = 0;

	for (; !err && is_wanted(merge, wanted, stream->key.context); wanted++)
		err = take_block(&merge->parts[merge->wanted[wanted].part], stream);
	for (size_t i = 0; !err && merge->is_whole && i < merge->part_count; i++)
		if (merge->parts[i].filter.all && !merge->parts[i].is_passed)
			err = take_block(&merge->parts[i], stream);
	return err;
}

/* To the next block that somebody wants, or to one before it. As stream_step(). */
static int
skip_unwanted(const struct merge *merge, struct stream *stream, size_t wanted)
{
	if (wanted < merge->wanted_count)
		return stream_skip(stream, stream->key.image, merge->wanted[wanted].context);
	if (merge->wanted_count == 0 || stream->key.image == UINT32_MAX)
		return 0;
	return stream_skip(stream, stream->key.image + 1, merge->wanted[0].context);
}

/* The blocks that a stream has of one image, in contexts that match. 1 when it goes on, 0 when it ended, or an error.
 */
static int
take_blocks(struct merge *merge, struct stream *stream)
{
	const uint32_t image = stream->key.image;
	uint32_t context = stream->key.context;
	size_t wanted = find_wanted(merge, context);
	int result = 1;

	while (result > 0 && stream->key.image == image) {
		if (stream->key.context != context) { /* neighbours often have the same */
			context = stream->key.context;
			wanted = find_wanted(merge, context);
		}
		if (!merge->is_whole && !is_wanted(merge, wanted, context)) {
			result = skip_unwanted(merge, stream, wanted);
			continue;
		}
		result = share_block(merge, stream, wanted);
		if (!result)
			result = stream_step(stream);
	}
	return result;
}

/* A copy in one piece, path and all; NULL when memory ends. */
static struct image *
copy_image(const struct image *image)
{
	size_t path_size = strlen(image->path) + 1;
	struct image *copy = malloc(sizeof(*copy) + path_size);

	if (!copy)
		return NULL;
	*copy = *image;
	copy->path = memcpy(copy + 1, image->path, path_size);
	return copy;
}

static int
read_image(struct selection_parts *parts, uint32_t number)
{
	struct selection *selection = parts->selection;
	struct selection_image *images;
	struct image_record record;
	MDB_val value;
	int err;

	images = array_grow(selection->images, &parts->image_capacity, selection->image_count + 1, sizeof(*images));
	if (!images)
		return -ENOMEM;
	selection->images = images;
	err = store_get(parts->store, parts->txn, TABLE_IMAGES, number, &value);
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	err = image_decode(value.mv_data, value.mv_size, &record);
	if (err)
		return err;
	images += selection->image_count;
	*images = (struct selection_image){number, copy_image(&record.image)};
	if (!images->image)
		return -ENOMEM;
	selection->image_count++;
	return 0;
}

static int
add_up(struct merge *merge, struct selection_parts *parts, uint32_t image)
{
	int err;

	if (parts->blocks.count == 0)
		return 0;
	err = read_image(parts, image);
	if (err)
		return err;
	return block_adder_add(merge->adder, &parts->blocks, (uint32_t)parts->selection->image_count - 1,
	                       parts->selection, &parts->count_capacity);
}

/* All blocks of the image that comes first. */
static int
read_first_image(struct merge *merge)
{
	const uint32_t image = merge->streams[0]->key.image;
	int err = 0;

	while (merge->count > 0 && merge->streams[0]->key.image == image) {
		int result = take_blocks(merge, merge->streams[0]);

		if (result < 0)
			return result;
		settle_first(merge, result == 0);
	}
	for (size_t i = 0; !err && i < merge->part_count; i++)
		err = add_up(merge, &merge->parts[i], image);
	return err;
}

static void
merge_fini(struct merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		stream_free(merge->streams[i]);
	free(merge->streams);
	free(merge->wanted);
	block_adder_free(merge->adder);
}

int
selection_read_blocks(struct selection_parts *parts, size_t count)
{
	struct merge merge = {.parts = parts, .part_count = count};
	int err;

	for (size_t i = count; i-- > 0;)
		if (!parts[i].is_passed)
			merge.lead = &parts[i];
	if (!merge.lead)
		return 0;
	merge.adder = block_adder_new(merge.lead->selection->event_count, selection_has_weights(merge.lead->selection));
	err = merge.adder ? list_wanted(&merge) : -ENOMEM;
	for (size_t i = 0; !err && i < merge.lead->scope->slice_count; i++)
		err = open_streams(&merge, i);
	while (!err && merge.count > 0)
		err = read_first_image(&merge);
	merge_fini(&merge);
	return err;
}
