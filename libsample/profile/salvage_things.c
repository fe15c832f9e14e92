/* Epochs, slices, images and contexts as they are found: see salvage_parts.h. */
#include "profile/salvage_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/records.h"

static int
judge_epoch(uint32_t id, const uint8_t *value, size_t size, uint64_t *weight)
{
	struct epoch epoch;
	int err = epoch_decode(id, value, size, &epoch);

	*weight = err ? 0 : epoch.end_ns;
	return err;
}

static int
judge_slice(uint32_t id, const uint8_t *value, size_t size, uint64_t *weight)
{
	struct slice slice;
	int err = slice_decode(id, value, size, &slice);

	*weight = 0;
	if (err)
		return err;
	for (size_t i = 0; i < slice.event_count; i++)
		*weight = add_saturating(*weight, slice.events[i].samples);
	slice_fini(&slice);
	return 0;
}

int
salvage_judge(enum table table, uint32_t id, const uint8_t *value, size_t size, uint64_t *weight)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct context_record context;
	struct image_record image;
	int count;

	*weight = 0;
	switch (table) {
	case TABLE_EPOCHS:
		return judge_epoch(id, value, size, weight);
	case TABLE_SLICES:
		return judge_slice(id, value, size, weight);
	case TABLE_IMAGES:
		return image_decode(value, size, &image);
	case TABLE_CONTEXTS:
		return context_decode(value, size, &context);
	case TABLE_COUNTS:
		count = counts_decode(value, size, pairs);
		for (int i = 0; i < count; i++)
			*weight = add_saturating(*weight, pairs[i].count);
		return count < 0 ? count : 0;
	default:
		return -DCPI_EDAMAGED;
	}
}

int
salvage_things_add(struct salvage_things *things, enum table table, enum salvage_source source,
                   const struct pages_entry *entry)
{
	struct salvage_thing thing = {.source = source, .size = entry->size};
	const MDB_val key = {entry->key_size, (void *)entry->key};
	struct salvage_thing *grown;
	int err;

	err = store_key_number(&key, &thing.id);
	if (!err)
		err = thing.id == 0 || entry->is_tree
		              ? -DCPI_EDAMAGED
		              : salvage_judge(table, thing.id, entry->value, entry->size, &thing.weight);
	if (err)
		return err;
	grown = array_grow(things->things, &things->capacity, things->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	things->things = grown;
	thing.value = malloc(thing.size);
	if (!thing.value)
		return -ENOMEM;
	memcpy(thing.value, entry->value, thing.size);
	grown[things->count++] = thing;
	return 0;
}

static int
compare_things(const void *a, const void *b)
{
	const struct salvage_thing *one = a, *other = b;

	if (one->id != other->id)
		return one->id < other->id ? -1 : 1;
	if (one->source != other->source)
		return one->source < other->source ? -1 : 1;
	if (one->weight != other->weight)
		return one->weight > other->weight ? -1 : 1;
	return 0;
}

void
salvage_things_settle(struct salvage_things *things)
{
	size_t kept = 0;

	if (things->count > 0)
		qsort(things->things, things->count, sizeof(*things->things), compare_things);
	for (size_t i = 0; i < things->count; i++) {
		if (kept > 0 && things->things[kept - 1].id == things->things[i].id)
			free(things->things[i].value);
		else
			things->things[kept++] = things->things[i];
	}
	things->count = kept;
}

struct salvage_thing *
salvage_things_find(const struct salvage_things *things, uint32_t id)
{
	size_t low = 0, high = things->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (things->things[middle].id == id)
			return &things->things[middle];
		if (things->things[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void
salvage_things_fini(struct salvage_things *things)
{
	for (size_t i = 0; i < things->count; i++)
		free(things->things[i].value);
	free(things->things);
	memset(things, 0, sizeof(*things));
}
