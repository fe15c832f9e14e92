#include "locality/line_set.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LINE_MASK    ((UINT64_C(1) << LINE_SET_LINE_BITS) - 1)
#define HALVINGS_MAX 32u
#define FIRST_INDEX  4096u

/* Neighbouring lines must be in the sample independently: all bits of a line decide on each bit (Stafford, 2011). */
static uint64_t
mix(uint64_t key)
{
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return key ^ key >> 31;
}

/* By its line alone: owners must agree on which lines are in the sample. */
static bool
is_sampled(uint64_t key, uint32_t halvings)
{
	return halvings == 0 || mix(key & LINE_MASK) >> (64 - halvings) == 0;
}

void
line_set_init(struct line_set *set, struct line_keys *kept, uint32_t room)
{
	kept->count = kept->halvings = 0;
	line_set_continue(set, kept, room);
}

void
line_set_continue(struct line_set *set, struct line_keys *kept, uint32_t room)
{
	*set = (struct line_set){.kept = kept, .room = room};
}

void
line_set_fini(struct line_set *set)
{
	free(set->index);
	*set = (struct line_set){.kept = NULL};
}

/* Where the key is in the index, or would be. */
static uint32_t
find_place(const struct line_set *set, uint64_t key)
{
	uint32_t at = (uint32_t)mix(key) & (set->index_size - 1);

	while (set->index[at] && set->kept->keys[set->index[at] - 1] != key)
		at = (at + 1) & (set->index_size - 1);
	return at;
}

static void
fill_index(struct line_set *set)
{
	memset(set->index, 0, set->index_size * sizeof(*set->index));
	for (uint32_t i = 0; i < set->kept->count; i++)
		set->index[find_place(set, set->kept->keys[i])] = i + 1;
}

/* At most half of the index is used. False: no memory. */
static bool
grow_index(struct line_set *set)
{
	const uint32_t size = set->index_size ? 2 * set->index_size : FIRST_INDEX;
	uint32_t *grown = calloc(size, sizeof(*grown));

	if (!grown)
		return false;
	free(set->index);
	set->index = grown;
	set->index_size = size;
	fill_index(set);
	return true;
}

uint32_t
line_keys_sample(uint64_t *keys, uint32_t count, uint32_t halvings)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (is_sampled(keys[i], halvings))
			keys[kept++] = keys[i];
	}
	return kept;
}

static void
halve(struct line_set *set)
{
	struct line_keys *kept = set->kept;

	kept->halvings += kept->halvings < HALVINGS_MAX;
	kept->count = line_keys_sample(kept->keys, kept->count, kept->halvings);
	if (set->index)
		fill_index(set);
}

static void
add_line(struct line_set *set, uint64_t key)
{
	struct line_keys *kept = set->kept;
	uint32_t place;

	if (!is_sampled(key, kept->halvings))
		return;
	if ((uint64_t)kept->count * 2 >= set->index_size && !grow_index(set)) {
		halve(set);
		if (!set->index)
			return;
	}
	place = find_place(set, key);
	if (set->index[place])
		return;
	if (kept->count >= set->room) {
		halve(set);
		if (!is_sampled(key, kept->halvings) || kept->count >= set->room)
			return;
		place = find_place(set, key);
	}
	kept->keys[kept->count] = key;
	__atomic_store_n(&kept->count, kept->count + 1, __ATOMIC_RELEASE);
	set->index[place] = kept->count;
}

void
line_set_add(struct line_set *set, uint32_t owner, uint64_t address, uint32_t bytes)
{
	const uint64_t first = address / LINE_SET_BYTES, last = (address + (bytes ? bytes - 1 : 0)) / LINE_SET_BYTES;

	for (uint64_t line = first; line <= last; line++)
		add_line(set, (uint64_t)owner << LINE_SET_LINE_BITS | (line & LINE_MASK));
}

void
line_keys_count(uint64_t *keys, size_t count, uint32_t halvings, const uint32_t *groups, size_t owner_count,
                size_t group_count, uint64_t *lines)
{
	const uint32_t shift = halvings < HALVINGS_MAX ? halvings : HALVINGS_MAX;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t owner = keys[i] >> LINE_SET_LINE_BITS;

		if (owner < owner_count && groups[owner] < group_count)
			keys[kept++] = (uint64_t)groups[owner] << LINE_SET_LINE_BITS | (keys[i] & LINE_MASK);
	}
	qsort(keys, kept, sizeof(*keys), array_compare_u64);
	for (size_t i = 0; i < kept; i++) {
		if (i == 0 || keys[i] != keys[i - 1])
			lines[keys[i] >> LINE_SET_LINE_BITS] += UINT64_C(1) << shift;
	}
}
