#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/model/first_level.h"

#define HOST_LINE   64
#define SETS_ALIGN  8  /* places: a set is on as few lines of the host as can be */
#define AT_ONCE     16 /* tags */
#define PLAIN_SHIFT 63 /* of any address: 0 */

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

static size_t
slots_of(const struct first_level *level)
{
	return ((size_t)level->set_mask + 1) * level->slots;
}

static int
make_arrays(struct first_level *level)
{
	level->tags = new_array(slots_of(level), sizeof(*level->tags));
	level->next = new_array((size_t)level->set_mask + 1, sizeof(*level->next));
	if (level->tags && level->next)
		return 0;
	first_level_fini(level);
	return -ENOMEM;
}

int
first_level_init(struct first_level *level, const struct machine_cache *model, unsigned line_bytes, uint64_t seed)
{
	const uint32_t sets = (uint32_t)(model->bytes / line_bytes / model->ways);
	int err;

	*level = (struct first_level){.ways = model->ways, .replacement = model->replacement, .set_mask = sets - 1};
	level->slots = (model->ways + 3) & ~3u;
	if (model->replacement == REPLACEMENT_LRU && level->slots <= 8)
		level->usual_slots = (uint8_t)level->slots;
	level->set_shift = (uint8_t)__builtin_ctz(sets);
	err = make_arrays(level);
	if (err)
		return err;
	memset(level->tags, 0xff, slots_of(level) * sizeof(*level->tags));
	for (uint32_t i = 0; model->replacement == REPLACEMENT_RANDOM && i < sets; i++)
		level->next[i] = (uint32_t)((seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	return 0;
}

void
first_level_init_plain(struct first_level *level)
{
	*level = (struct first_level){.slots = 0};
}

static bool
is_modelled(const struct first_level *level)
{
	return level->tags != NULL;
}

/* How pages may be asked for, if they are near. */
static void
choose_kind(struct first_level *level, bool are_near)
{
	const bool are_pages = level->unit == PLAIN_PAGE_PLACES;

	if (!are_near)
		level->usual_slots = 0;
	else if (!are_pages)
		level->entry_bits = (PLAIN_LINES - 1) << PLAIN_LINE_SHIFT;
	level->is_ordered = are_pages && are_near && level->replacement == REPLACEMENT_FIFO && level->set_mask == 0;
	level->is_recent = are_pages && are_near && level->replacement == REPLACEMENT_LRU &&
	                   level->slots == FIRST_LEVEL_RECENT && level->set_mask < PLAIN_PAGES;
}

/* Where the ordered ones are. */
static void
find_places(struct first_level *level)
{
	const uint16_t end = plain_place_to(level->plain, &level->places[(slots_of(level) - 1) * level->unit]);

	level->first_at = level->next_at = plain_place_to(level->plain, level->places);
	level->last_at = plain_place_to(level->plain, &level->places[(level->ways - 1) * level->unit]);
	choose_kind(level, end != PLAIN_NOWHERE);
}

static void
place(struct first_level *level, struct plain_hits *plain, struct plain_place *places, unsigned unit)
{
	level->plain = plain;
	level->places = places;
	level->unit = (uint8_t)unit;
	for (size_t i = 0; i < slots_of(level); i++) {
		places[i * unit].key = PLAIN_NOTHING;
		places[i * unit].stamp = i % level->slots < level->ways ? PLAIN_FIRST_USE : PLAIN_FIRST_USE << 8;
	}
	if (is_modelled(level))
		find_places(level);
}

static struct plain_hits *
new_plain(size_t bytes, struct plain_room room)
{
	if (bytes > room.bytes)
		return new_array(1, bytes);
	memset(room.at, 0, bytes);
	return room.at;
}

struct plain_hits *
first_level_join(struct first_level *lines, unsigned line_shift, struct first_level *pages, unsigned page_shift,
                 struct plain_room room)
{
	const size_t page_slots = (slots_of(pages) * PLAIN_PAGE_PLACES + SETS_ALIGN - 1) & ~(size_t)(SETS_ALIGN - 1);
	const size_t count = page_slots + slots_of(lines);
	struct plain_hits *plain = new_plain(sizeof(*plain) + count * sizeof(*plain->places), room);

	if (!plain)
		return NULL;
	plain->use = PLAIN_FIRST_USE;
	plain->line_shift = (uint8_t)(is_modelled(lines) ? line_shift : PLAIN_SHIFT);
	plain->page_shift = (uint8_t)(is_modelled(pages) ? page_shift : PLAIN_SHIFT);
	plain->nowhere.place.key = PLAIN_NOTHING;
	place(pages, plain, plain->places, PLAIN_PAGE_PLACES);
	place(lines, plain, plain->places + page_slots, 1);
	if (!is_modelled(lines))
		first_level_put_line(lines, &plain->a_line, 0, true);
	if (!is_modelled(pages))
		first_level_put_page(pages, &plain->a_page.place, 0, 0);
	return plain;
}

void
first_level_fini(struct first_level *level)
{
	free(level->tags);
	free(level->next);
	*level = (struct first_level){.slots = 0};
}

void
first_level_forget(struct first_level *level)
{
	for (size_t i = 0; i < slots_of(level); i++) {
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
		return stamps_oldest(&places->stamp, level->slots, PLAIN_STRIDE * level->unit);
	if (level->replacement == REPLACEMENT_RANDOM)
		return random_way(level, tags, &level->next[set]);
	return first_level_next(level, set);
}

struct first_found
first_level_use_any(struct first_level *level, uint64_t number, uint64_t stamp)
{
	const uint32_t set = (uint32_t)number & level->set_mask, tag = (uint32_t)(number >> level->set_shift);
	uint32_t *tags = level->tags + (size_t)set * level->slots;
	struct plain_place *places = level->places + (size_t)set * level->slots * level->unit;
	uint32_t way = find(tags, tag, level->slots);
	struct first_found found = {.hit = way < level->slots};

	if (!found.hit) {
		way = victim(level, set, tags, places);
		found.left = tags[way];
		tags[way] = tag;
	}
	found.place = places + way * level->unit;
	found.place->stamp = stamp;
	return found;
}

static void
put_anew(struct first_level *level, uint16_t at, uint64_t guest_page)
{
	level->hidden_at = level->plain->pages[guest_page % PLAIN_PAGES];
	level->plain->pages[guest_page % PLAIN_PAGES] = at;
	level->unsure_pages_later |= UINT64_C(1) << guest_page % 64;
	level->unsure_pages |= level->unsure_pages_later;
}

/* Which place has the page; PLAIN_NOWHERE. Two that share an entry may well be asked for in turn. */
static uint16_t
find_ordered(const struct first_level *level, uint64_t guest_page)
{
	if (plain_place_at(level->plain, level->hidden_at)->key == guest_page)
		return level->hidden_at;
	for (uint32_t at = level->first_at; at <= level->last_at; at += sizeof(struct plain_page)) {
		if (plain_place_at(level->plain, (uint16_t)at)->key == guest_page)
			return (uint16_t)at;
	}
	return PLAIN_NOWHERE;
}

bool
first_level_use_ordered(struct first_level *level, uint64_t guest_page, uint64_t offset)
{
	const uint16_t at = find_ordered(level, guest_page);

	if (at != PLAIN_NOWHERE) {
		put_anew(level, at, guest_page);
		return true;
	}
	level->hidden_at = level->plain->pages[guest_page % PLAIN_PAGES];
	first_level_bring_ordered(level, guest_page, offset);
	return false;
}

bool
first_level_use_recent(struct first_level *level, uint64_t guest_page, uint64_t offset)
{
	struct plain_place *place = first_level_recent_set(level, guest_page);

	for (unsigned i = 0; i < FIRST_LEVEL_RECENT; i++, place += PLAIN_PAGE_PLACES) {
		if (place->key == guest_page) {
			place->stamp = level->plain->use += PLAIN_USE;
			first_level_put_near_page(level, place, guest_page, offset);
			return true;
		}
	}
	first_level_bring_recent(level, guest_page, offset);
	return false;
}

bool
first_level_has(const struct first_level *level, uint64_t number)
{
	const uint32_t set = (uint32_t)number & level->set_mask, tag = (uint32_t)(number >> level->set_shift);

	return find(level->tags + (size_t)set * level->slots, tag, level->slots) < level->slots;
}
