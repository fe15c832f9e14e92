/* Blocks of counts, an image at a time out of all slices: see selection_parts.h. */
#include "profile/selection_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "profile/block_list.h"
#include "profile/counts.h"
#include "profile/records.h"

/* The blocks of one event in one slice, which ascend by image. */
struct stream {
	struct store_walk walk;
	struct counts_key key; /* of the next block */
	uint16_t event;        /* of the selection */
	uint32_t epoch;        /* of the selection */
	struct scope_slice *slice;
};

/* Streams, a heap by the image of the next block. */
struct merge {
	struct selection_parts *parts;
	struct stream **streams;
	size_t count, capacity;
	size_t image_capacity; /* of the selection's images */
	struct block_list blocks;
	struct block_adder *adder;
};

/* To the next block: 1, 0 when the stream ends, or an error. */
static int
stream_step(struct stream *stream)
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
stream_free(struct stream *stream)
{
	store_walk_end(&stream->walk);
	free(stream);
}

/* The one that begins with the first block of slice key->slice from key->event on; *stream is NULL when there is none.
 */
static int
stream_open(const struct selection_parts *parts, const struct counts_key *key, struct stream **stream)
{
	struct stream *new = calloc(1, sizeof(*new));
	uint8_t first[COUNTS_KEY_SIZE];
	int result;

	*stream = NULL;
	if (!new)
		return -ENOMEM;
	result = store_walk_begin(parts->store, parts->txn, TABLE_COUNTS, &new->walk);
	if (result) {
		free(new);
		return result;
	}
	counts_key_encode(key, first);
	result = store_walk_seek(&new->walk, first, sizeof(first));
	if (!result)
		result = store_walk_next(&new->walk);
	if (result > 0) {
		result = counts_key_decode(new->walk.key.mv_data, new->walk.key.mv_size, &new->key);
		if (!result)
			result = new->key.slice == key->slice;
	}
	if (result <= 0) {
		stream_free(new);
		return result;
	}
	*stream = new;
	return 0;
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
open_streams(struct merge *merge, struct scope_slice *slice)
{
	const struct selection_parts *parts = merge->parts;
	const size_t epoch = selection_epoch_index(parts->selection, slice->epoch);
	const size_t event_count = parts->selection->epochs[epoch].event_count;
	struct counts_key key = {.slice = slice->id};
	struct stream *stream;
	int err;

	while (!(err = stream_open(parts, &key, &stream)) && stream) {
		if (stream->key.event < event_count) {
			key.event = (uint16_t)(stream->key.event + 1);
			stream->event = parts->event_maps[epoch].events[stream->key.event];
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

static int
take_block(struct merge *merge, struct stream *stream)
{
	const MDB_val *value = &stream->walk.value;
	const struct block block = {
		.data = value->mv_data,
		.size = (uint32_t)value->mv_size,
		.number = stream->key.block,
		.event = stream->event,
		.epoch_event = stream->key.event,
		.epoch = stream->epoch,
	};

	stream->slice->has_match = true;
	return value->mv_size > UINT32_MAX ? -DCPI_EDAMAGED : block_list_add(&merge->blocks, &block);
}

/* The blocks that a stream has of one image, in contexts that match. 1 when it goes on, 0 when it ended, or an error.
 */
static int
take_blocks(struct merge *merge, struct stream *stream)
{
	const struct context_filter *filter = &merge->parts->filter;
	const uint32_t image = stream->key.image;
	uint32_t context = stream->key.context;
	bool matches = context_filter_has(filter, context);
	int result = 1;

	while (result > 0 && stream->key.image == image) {
		if (stream->key.context != context) { /* neighbours often have the same */
			context = stream->key.context;
			matches = context_filter_has(filter, context);
		}
		result = matches ? take_block(merge, stream) : 0;
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
read_image(struct merge *merge, uint32_t number)
{
	struct selection *selection = merge->parts->selection;
	struct selection_image *images;
	struct image_record record;
	MDB_val value;
	int err;

	images = array_grow(selection->images, &merge->image_capacity, selection->image_count + 1, sizeof(*images));
	if (!images)
		return -ENOMEM;
	selection->images = images;
	err = store_get(merge->parts->store, merge->parts->txn, TABLE_IMAGES, number, &value);
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

/* All blocks of the image that comes first. */
static int
read_first_image(struct merge *merge)
{
	struct selection *selection = merge->parts->selection;
	const uint32_t image = merge->streams[0]->key.image;
	int err;

	while (merge->count > 0 && merge->streams[0]->key.image == image) {
		int result = take_blocks(merge, merge->streams[0]);

		if (result < 0)
			return result;
		settle_first(merge, result == 0);
	}
	if (merge->blocks.count == 0)
		return 0;
	err = read_image(merge, image);
	if (err)
		return err;
	return block_adder_add(merge->adder, &merge->blocks, (uint32_t)selection->image_count - 1, selection);
}

static void
merge_fini(struct merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		stream_free(merge->streams[i]);
	free(merge->streams);
	block_list_fini(&merge->blocks);
	block_adder_free(merge->adder);
}

int
selection_read_blocks(struct selection_parts *parts)
{
	struct merge merge = {.parts = parts};
	int err;

	merge.adder = block_adder_new(parts->selection->event_count);
	err = merge.adder ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < parts->scope.slice_count; i++)
		err = open_streams(&merge, &parts->scope.slices[i]);
	while (!err && merge.count > 0)
		err = read_first_image(&merge);
	merge_fini(&merge);
	return err;
}
