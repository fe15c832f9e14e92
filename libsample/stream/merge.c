#include "stream/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Space is given back to the kernel a few times per length of a ring, and at the end of the drain. */
#define BYTES_PER_PUBLISHED_RECORD 512

/*
 * Where a record stands in the stream: by time, and at the same time what changes a map before the samples that may
 * need it.
 */
typedef uint64_t merge_key;
#define KEY_TIME_MAX (UINT64_MAX >> 1)

struct source {
	struct ring *ring;
	struct record_layout layout;
	uint32_t cpu;
	bool has_head;
	size_t unpublished;   /* records */
	size_t publish_after; /* so many */
	merge_key key;        /* of the head */
	uint64_t time;        /* of the head, or of the last record that had one */
	struct record head;
};

struct merge {
	struct source **sources;
	struct source **heap; /* those with a head up to the horizon; the oldest first */
	size_t count;
	size_t capacity;
	size_t heap_count;
};

struct merge *
merge_new(void)
{
	return calloc(1, sizeof(struct merge));
}

void
merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++)
		free(merge->sources[i]);
	free(merge->sources);
	free(merge->heap);
	free(merge);
}

static int
merge_reserve(struct merge *merge)
{
	size_t capacity = merge->capacity ? 2 * merge->capacity : 8;
	struct source **pointers;

	if (merge->count < merge->capacity)
		return 0;
	pointers = reallocarray(merge->sources, capacity, sizeof(struct source *));
	if (!pointers)
		return -ENOMEM;
	merge->sources = pointers;
	pointers = reallocarray(merge->heap, capacity, sizeof(struct source *));
	if (!pointers)
		return -ENOMEM;
	merge->heap = pointers;
	merge->capacity = capacity;
	return 0;
}

int
merge_add(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu)
{
	struct source *source;
	int err;

	err = merge_reserve(merge);
	if (err)
		return err;
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	source->ring = ring;
	source->layout = *layout;
	source->cpu = cpu;
	source->publish_after = ring_size(ring) / BYTES_PER_PUBLISHED_RECORD;
	merge->sources[merge->count++] = source;
	return 0;
}

void
merge_remove(struct merge *merge, struct ring *ring)
{
	for (size_t i = 0; i < merge->count; i++) {
		struct source *source = merge->sources[i];

		if (source->ring != ring)
			continue;
		merge->count--;
		memmove(&merge->sources[i], &merge->sources[i + 1], (merge->count - i) * sizeof(merge->sources[0]));
		free(source);
		return;
	}
}

static merge_key
key_make(uint64_t time, bool is_sample)
{
	return (time < KEY_TIME_MAX ? time : KEY_TIME_MAX) << 1 | is_sample;
}

static bool
source_peek(struct source *source)
{
	source->has_head = ring_peek(source->ring, &source->layout, &source->head);
	if (!source->has_head)
		return false;
	if (source->head.time)
		source->time = source->head.time;
	source->key = key_make(source->time, source->head.type == RECORD_SAMPLE);
	return true;
}

static void
source_publish(struct source *source)
{
	source->unpublished = 0;
	ring_publish(source->ring);
}

static void
heap_push(struct merge *merge, struct source *source)
{
	struct source **heap = merge->heap;
	size_t at = merge->heap_count++;

	while (at > 0 && heap[(at - 1) / 2]->key > source->key) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = source;
}

/* Put `source` where it belongs, from the top downwards. */
static void
heap_sift(struct merge *merge, struct source *source)
{
	struct source **heap = merge->heap;
	size_t at = 0;
	size_t child;

	while ((child = 2 * at + 1) < merge->heap_count) {
		if (child + 1 < merge->heap_count && heap[child + 1]->key < heap[child]->key)
			child++;
		if (heap[child]->key >= source->key)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = source;
}

static void
heap_pop(struct merge *merge)
{
	merge->heap_count--;
	if (merge->heap_count > 0)
		heap_sift(merge, merge->heap[merge->heap_count]);
}

/* How far the top may go on before another ring's turn comes. */
static merge_key
heap_limit(const struct merge *merge, merge_key horizon)
{
	merge_key limit = horizon;

	for (size_t child = 1; child <= 2 && child < merge->heap_count; child++)
		if (merge->heap[child]->key < limit)
			limit = merge->heap[child]->key;
	return limit;
}

/* Hand over what `source` has up to `limit`, at least its head. 0, or what the sink ended it with. */
static int
source_drain(struct source *source, merge_key limit, merge_sink *sink, void *context)
{
	do {
		int result = sink(context, source->cpu, &source->head);

		if (result)
			return result;
		ring_consume(source->ring);
		if (++source->unpublished >= source->publish_after)
			source_publish(source);
	} while (source_peek(source) && source->key <= limit);
	return 0;
}

int
merge_drain(struct merge *merge, uint64_t horizon, merge_sink *sink, void *context)
{
	merge_key last = key_make(horizon, true);
	int result = 0;

	merge->heap_count = 0;
	for (size_t i = 0; i < merge->count; i++) {
		struct source *source = merge->sources[i];

		if ((source->has_head || source_peek(source)) && source->key <= last)
			heap_push(merge, source);
	}
	while (merge->heap_count > 0) {
		struct source *source = merge->heap[0];

		result = source_drain(source, heap_limit(merge, last), sink, context);
		if (result)
			break;
		if (source->has_head && source->key <= last)
			heap_sift(merge, source);
		else
			heap_pop(merge);
	}
	for (size_t i = 0; i < merge->count; i++)
		source_publish(merge->sources[i]);
	return result;
}
