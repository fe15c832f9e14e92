#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/model/first_level.h"

#define HOST_LINE      64
#define TABLE_LEAST    512  /* entries */
#define TABLE_MOST     8192 /* a larger one would not stay in the host's first level */
#define ENTRIES_A_LINE 8    /* that is held: few lines then share an entry with another */
#define AT_ONCE        16   /* tags */

static uint32_t
table_entries(uint64_t held)
{
	uint64_t entries = TABLE_LEAST;

	while (entries < held * ENTRIES_A_LINE && entries < TABLE_MOST)
		entries *= 2;
	return (uint32_t)entries;
}

/* Zeroed, a line of the host or more. */
static void *
new_array(size_t count, size_t size)
{
	const size_t bytes = (count * size + HOST_LINE - 1) & ~(size_t)(HOST_LINE - 1);
	void *array = aligned_alloc(HOST_LINE, bytes);

	if (array)
		memset(array, 0, bytes);
	return array;
}

static int
make_arrays(struct first_level *level, uint32_t entries)
{
	const size_t slots = ((size_t)level->set_mask + 1) * level->slots;

	level->table_mask = entries - 1;
	level->tags = new_array(slots, sizeof(*level->tags));
	level->places = new_array(slots, sizeof(*level->places));
	level->table = new_array(entries, sizeof(*level->table));
	level->next = new_array((size_t)level->set_mask + 1, sizeof(*level->next));
	if (level->tags && level->places && level->table && level->next)
		return 0;
	first_level_fini(level);
	return -ENOMEM;
}

int
first_level_init(struct first_level *level, const struct machine_cache *model, unsigned line_bytes, uint64_t seed)
{
	const uint32_t sets = (uint32_t)(model->bytes / line_bytes / model->ways);
	size_t slots;
	int err;

	*level = (struct first_level){.ways = model->ways, .replacement = model->replacement, .set_mask = sets - 1};
	level->slots = (model->ways + 3) & ~3u;
	if (model->replacement == REPLACEMENT_FIFO && model->ways <= FIRST_LEVEL_ORDERED)
		level->slots = level->usual_slots = FIRST_LEVEL_ORDERED;
	if (model->replacement == REPLACEMENT_LRU && level->slots <= 8)
		level->usual_slots = (uint8_t)level->slots;
	level->set_shift = (uint8_t)__builtin_ctz(sets);
	err = make_arrays(level, table_entries((uint64_t)sets * model->ways));
	if (err)
		return err;
	slots = (size_t)sets * level->slots;
	memset(level->tags, 0xff, slots * sizeof(*level->tags));
	for (size_t i = 0; i < slots; i++) {
		level->places[i].key = PLAIN_NOTHING;
		level->places[i].stamp = i % level->slots < level->ways ? PLAIN_FIRST_USE : PLAIN_FIRST_USE << 8;
	}
	for (uint32_t i = 0; model->replacement == REPLACEMENT_RANDOM && i < sets; i++)
		level->next[i] = (uint32_t)((seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	return 0;
}

int
first_level_init_plain(struct first_level *level)
{
	int err;

	*level = (struct first_level){.slots = 4, .ways = 4, .usual_slots = 4};
	err = make_arrays(level, 1);
	if (!err)
		level->places[0].key = PLAIN_WRITTEN;
	return err;
}

void
first_level_fini(struct first_level *level)
{
	free(level->tags);
	free(level->places);
	free(level->table);
	free(level->next);
	*level = (struct first_level){.slots = 0};
}

void
first_level_forget(struct first_level *level)
{
	const size_t slots = ((size_t)level->set_mask + 1) * level->slots;

	for (size_t i = 0; i < slots; i++) {
		if (level->places[i].key != PLAIN_PREFETCHED)
			level->places[i].key |= PLAIN_NOTHING;
	}
}

/* The way with the tag; `slots`: none. */
static uint32_t
find(const uint32_t *tags, uint32_t tag, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i += AT_ONCE) {
		const uint32_t matches = tags_match(tags + i, tag, slots - i < AT_ONCE ? slots - i : AT_ONCE);

		if (matches)
			return i + (uint32_t)__builtin_ctz(matches);
	}
	return slots;
}

static uint32_t
random_way(const struct first_level *level, const uint32_t *tags, uint32_t *state)
{
	const uint32_t room = find(tags, TAG_NONE, level->slots);

	if (room < level->ways)
		return room;
	*state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
	return (uint32_t)(((uint64_t)(*state >> 8) * level->ways) >> 24);
}

static uint32_t
victim(const struct first_level *level, uint32_t set, const uint32_t *tags, struct plain_place *places)
{
	if (level->replacement == REPLACEMENT_LRU)
		return stamps_oldest(&places->stamp, level->slots);
	if (level->replacement == REPLACEMENT_RANDOM)
		return random_way(level, tags, &level->next[set]);
	return first_level_next(level, set);
}

struct first_found
first_level_use_any(struct first_level *level, uint64_t number, uint64_t stamp)
{
	const uint32_t set = (uint32_t)number & level->set_mask, tag = (uint32_t)(number >> level->set_shift);
	uint32_t *tags = level->tags + (size_t)set * level->slots;
	struct plain_place *places = level->places + (size_t)set * level->slots;
	uint32_t way = find(tags, tag, level->slots);
	struct first_found found = {.hit = way < level->slots};

	if (!found.hit) {
		way = victim(level, set, tags, places);
		found.left = tags[way];
		tags[way] = tag;
	}
	found.place = places + way;
	found.place->stamp = stamp;
	return found;
}

bool
first_level_has(const struct first_level *level, uint64_t number)
{
	const uint32_t set = (uint32_t)number & level->set_mask, tag = (uint32_t)(number >> level->set_shift);

	return find(level->tags + (size_t)set * level->slots, tag, level->slots) < level->slots;
}
