#include "stream/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Space is given back to the kernel a few times per length of a ring, and at the end of the drain. */
#define BYTES_PER_PUBLISHED_RECORD 512

/*
 * Where a record stands in the stream: by time; of records with equal times, those that change a map before the samples
 * that may need it.
 */
typedef uint64_t merge_key;
#define KEY_TIME_MAX (UINT64_MAX >> 1)

struct merge_source {
	struct ring *ring;
	struct record_layout layout;
	uint32_t cpu;
	bool has_samples_only;
	bool has_head;
	size_t unpublished;   /* records */
	size_t publish_after; /* so many */
	merge_key key;        /* of the head */
	uint64_t time;        /* of the head, or of the last record that had one */
	struct record head;
};

/* Sources with a head up to the horizon; the oldest first. */
struct heap {
	struct merge_source **sources;
	size_t count;
};

struct merge {
	struct merge_source **sources;
	size_t count;
	size_t capacity; /* of the heaps, too */
	struct heap ordered;
	struct heap samples;
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
	free(merge->ordered.sources);
	free(merge->samples.sources);
	free(merge);
}

static int
grow(struct merge_source ***pointers, size_t capacity)
{
	struct merge_source **grown = reallocarray(*pointers, capacity, sizeof(struct merge_source *));

	if (!grown)
		return -ENOMEM;
	*pointers = grown;
	return 0;
}

static int
merge_reserve(struct merge *merge)
{
	size_t capacity = merge->capacity ? 2 * merge->capacity : 8;

	if (merge->count < merge->capacity)
		return 0;
	if (grow(&merge->sources, capacity) || grow(&merge->ordered.sources, capacity) ||
	    grow(&merge->samples.sources, capacity))
		return -ENOMEM;
	merge->capacity = capacity;
	return 0;
}

static int
add(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu, bool has_samples_only)
{
	struct merge_source *source;
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
	source->has_samples_only = has_samples_only;
	source->publish_after = ring_size(ring) / BYTES_PER_PUBLISHED_RECORD;
	merge->sources[merge->count++] = source;
	return 0;
}

int
merge_add(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu)
{
	return add(merge, ring, layout, cpu, false);
}

int
merge_add_samples(struct merge *merge, struct ring *ring, const struct record_layout *layout, uint32_t cpu)
{
	return add(merge, ring, layout, cpu, true);
}

void
merge_remove(struct merge *merge, struct ring *ring)
{
	for (size_t i = 0; i < merge->count; i++) {
		struct merge_source *source = merge->sources[i];

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
source_peek(struct merge_source *source)
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
source_publish(struct merge_source *source)
{
	source->unpublished = 0;
	ring_publish(source->ring);
}

static void
heap_push(struct heap *heap, struct merge_source *source)
{
	struct merge_source **sources = heap->sources;
	size_t at = heap->count++;

	while (at > 0 && sources[(at - 1) / 2]->key > source->key) {
		sources[at] = sources[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sources[at] = source;
}

/* Put `source` where it belongs, from the top downwards. */
static void
heap_sift(struct heap *heap, struct merge_source *source)
{
	struct merge_source **sources = heap->sources;
	size_t at = 0;
	size_t child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && sources[child + 1]->key < sources[child]->key)
			child++;
		if (sources[child]->key >= source->key)
			break;
		sources[at] = sources[child];
		at = child;
	}
	sources[at] = source;
}

/* How far the top may go on before another one's turn comes. */
static merge_key
heap_second(const struct heap *heap, merge_key otherwise)
{
	merge_key second = otherwise;

	for (size_t child = 1; child <= 2 && child < heap->count; child++)
		if (heap->sources[child]->key < second)
			second = heap->sources[child]->key;
	return second;
}

/* Hand over what `source` has up to `limit`, at least its head. 0, or what the sink ended it with. */
static int
source_drain(struct merge_source *source, merge_key limit, merge_sink *sink, void *context)
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

/* source_drain() of the first source of the heap, which then takes its new place. */
static int
heap_drain(struct heap *heap, merge_key limit, merge_key last, merge_sink *sink, void *context)
{
	struct merge_source *source = heap->sources[0];
	int result = source_drain(source, limit, sink, context);

	if (result)
		return result;
	if (source->has_head && source->key <= last)
		heap_sift(heap, source);
	else if (--heap->count > 0)
		heap_sift(heap, heap->sources[heap->count]);
	return 0;
}

static void
fill_heaps(struct merge *merge, merge_key last)
{
	merge->ordered.count = merge->samples.count = 0;
	for (size_t i = 0; i < merge->count; i++) {
		struct merge_source *source = merge->sources[i];

		if ((source->has_head || source_peek(source)) && source->key <= last)
			heap_push(source->has_samples_only ? &merge->samples : &merge->ordered, source);
	}
}

/* Samples are handed over ring by ring up to, `limit`, the next record that may change what they mean. */
static bool
samples_come_next(const struct merge *merge, merge_key last, merge_key *limit)
{
	*limit = last;
	if (merge->samples.count == 0 || merge->ordered.count == 0)
		return merge->samples.count > 0;
	*limit = merge->ordered.sources[0]->key - 1; /* of no use when that is the oldest there can be */
	return merge->samples.sources[0]->key < merge->ordered.sources[0]->key;
}

int
merge_drain(struct merge *merge, uint64_t horizon, merge_sink *sink, void *context)
{
	const merge_key last = key_make(horizon, true);
	int result = 0;

	fill_heaps(merge, last);
	while (!result && merge->ordered.count + merge->samples.count > 0) {
		const merge_key sample = merge->samples.count ? merge->samples.sources[0]->key : last;
		merge_key limit;

		if (samples_come_next(merge, last, &limit))
			result = heap_drain(&merge->samples, limit, last, sink, context);
		else
			result = heap_drain(&merge->ordered, heap_second(&merge->ordered, sample), last, sink, context);
	}
	for (size_t i = 0; i < merge->count; i++)
		source_publish(merge->sources[i]);
	return result;
}
