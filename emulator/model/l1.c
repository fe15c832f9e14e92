#include "emulator/model/l1.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOST_LINE    64
#define SETS_ALIGN   8  /* entries: a set is on as few lines of the host as can be */
#define AT_ONCE      16 /* tags */
#define ABSENT_SHIFT 63 /* of any address: 0 */

#define TLB_LRU_WAYS 32 /* at most */
#define TLB_LRU_SETS 8  /* at least */

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
slots_of(const struct l1 *level)
{
	return ((size_t)level->set_mask + 1) * level->slots;
}

int
l1_init(struct l1 *level, const struct machine_cache *model, unsigned line_bytes, uint64_t seed)
{
	const uint32_t sets = (uint32_t)(model->bytes / line_bytes / model->ways);

	*level = (struct l1){.ways = model->ways, .replacement = model->replacement, .set_mask = sets - 1};
	level->slots = (model->ways + 3) & ~3u;
	if (model->replacement == REPLACEMENT_LRU && level->slots <= 8)
		level->lru_slots = (uint8_t)level->slots;
	level->set_shift = (uint8_t)__builtin_ctz(sets);
	level->tags = new_array(slots_of(level), sizeof(*level->tags));
	level->next = new_array(sets, sizeof(*level->next));
	if (!level->tags || !level->next) {
		l1_fini(level);
		return -ENOMEM;
	}
	memset(level->tags, 0xff, slots_of(level) * sizeof(*level->tags));
	for (uint32_t i = 0; model->replacement == REPLACEMENT_RANDOM && i < sets; i++)
		level->next[i] = (uint32_t)((seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	return 0;
}

static bool
is_modelled(const struct l1 *level)
{
	return level->tags != NULL;
}

static void
set_entries(struct l1 *level, struct hit_filter *filter, struct filter_entry *entries)
{
	level->filter = filter;
	level->entries = entries;
	for (size_t i = 0; i < slots_of(level); i++) {
		entries[i].key = FILTER_NOTHING;
		entries[i].stamp = i % level->slots < level->ways ? FILTER_FIRST_USE : FILTER_FIRST_USE << 8;
	}
}

static struct hit_filter *
new_filter(size_t bytes, struct filter_room room)
{
	if (!room.at || bytes > room.bytes)
		return new_array(1, bytes);
	memset(room.at, 0, bytes);
	return room.at;
}

/* Entries of pages, so many that those of lines begin where a line of the host does. */
static size_t
page_entries(const struct l1 *pages)
{
	return (slots_of(pages) + SETS_ALIGN - 1) & ~(size_t)(SETS_ALIGN - 1);
}

static size_t
filter_bytes(const struct l1 *lines, const struct l1 *pages)
{
	return sizeof(struct hit_filter) + (page_entries(pages) + slots_of(lines)) * sizeof(struct filter_entry);
}

struct hit_filter *
l1_join(struct l1 *lines, unsigned line_shift, struct l1 *pages, unsigned page_shift, struct filter_room room)
{
	struct hit_filter *filter = new_filter(filter_bytes(lines, pages), room);

	if (!filter)
		return NULL;
	filter->use = FILTER_FIRST_USE;
	filter->line_shift = (uint8_t)(is_modelled(lines) ? line_shift : ABSENT_SHIFT);
	filter->page_shift = (uint8_t)(is_modelled(pages) ? page_shift : ABSENT_SHIFT);
	filter->nowhere.key = FILTER_NOTHING;
	set_entries(pages, filter, filter->entries);
	set_entries(lines, filter, filter->entries + page_entries(pages));
	if (!is_modelled(lines))
		l1_put_line(lines, &filter->a_line, 0, true);
	if (!is_modelled(pages))
		l1_put_page(pages, &filter->a_page, 0);
	return filter;
}

struct hit_filter *
l1_move_filter(struct l1 *lines, struct l1 *pages, struct filter_room room)
{
	const size_t bytes = filter_bytes(lines, pages);
	struct hit_filter *filter = new_filter(bytes, room);

	if (!filter)
		return NULL;
	memcpy(filter, lines->filter, bytes); /* its tables have offsets, not addresses */
	pages->filter = lines->filter = filter;
	pages->entries = filter->entries;
	lines->entries = filter->entries + page_entries(pages);
	return filter;
}

void
l1_fini(struct l1 *level)
{
	free(level->tags);
	free(level->next);
	*level = (struct l1){.slots = 0};
}

void
l1_each(const struct l1 *level, void (*function)(void *context, uint64_t number), void *context)
{
	for (size_t i = 0; level->tags && i < slots_of(level); i++) {
		if (level->tags[i] != TAG_NONE)
			function(context, (uint64_t)level->tags[i] << level->set_shift | i / level->slots);
	}
}

void
l1_forget(struct l1 *level)
{
	for (size_t i = 0; i < slots_of(level); i++) {
		if (level->entries[i].key != FILTER_PREFETCHED)
			level->entries[i].key |= FILTER_NOTHING;
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
victim_way(const struct l1 *level, uint32_t set, const uint32_t *tags, struct filter_entry *entries)
{
	uint32_t *next = &level->next[set], way = *next;

	if (level->replacement == REPLACEMENT_LRU)
		return lru_oldest_stamp(&entries->stamp, level->slots, FILTER_STRIDE);
	if (level->replacement == REPLACEMENT_FIFO) {
		*next = way + 1 < level->ways ? way + 1 : 0;
		return way;
	}
	way = find(tags, TAG_NONE, level->slots);
	if (way < level->ways)
		return way; /* there is room */
	*next = *next * UINT32_C(1664525) + UINT32_C(1013904223);
	return (uint32_t)(((uint64_t)(*next >> 8) * level->ways) >> 24);
}

struct l1_found
l1_use_any(struct l1 *level, uint64_t number, uint64_t stamp)
{
	const uint32_t set = (uint32_t)number & level->set_mask, tag = (uint32_t)(number >> level->set_shift);
	uint32_t *tags = level->tags + (size_t)set * level->slots;
	struct filter_entry *entries = level->entries + (size_t)set * level->slots;
	uint32_t way = find(tags, tag, level->slots);
	struct l1_found found = {.hit = way < level->slots};

	if (!found.hit) {
		way = victim_way(level, set, tags, entries);
		found.victim_tag = tags[way];
		tags[way] = tag;
	}
	found.entry = entries + way;
	found.entry->stamp = stamp;
	return found;
}

struct filter_entry *
l1_find(const struct l1 *level, uint64_t number)
{
	const uint32_t set = (uint32_t)number & level->set_mask, tag = (uint32_t)(number >> level->set_shift);
	const uint32_t way = find(level->tags + (size_t)set * level->slots, tag, level->slots);

	return way < level->slots ? level->entries + (size_t)set * level->slots + way : NULL;
}

bool
l1_has(const struct l1 *level, uint64_t number)
{
	return l1_find(level, number) != NULL;
}

void
l1_remove(struct l1 *level, struct filter_entry *entry)
{
	level->tags[entry - level->entries] = TAG_NONE;
	__atomic_store_n(&entry->key, FILTER_NOTHING, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->stamp, FILTER_FIRST_USE, __ATOMIC_RELAXED);
}

struct machine_cache
tlb_as_cache(const struct machine_tlb *model)
{
	bool is_lru = model->ways <= TLB_LRU_WAYS && model->entries / model->ways >= TLB_LRU_SETS;

	return (struct machine_cache){.bytes = model->entries,
	                              .ways = model->ways,
	                              .replacement = is_lru ? REPLACEMENT_LRU : REPLACEMENT_FIFO};
}

int
tlb_init(struct tlb *tlb, const struct machine_tlb *model)
{
	const struct machine_cache cache = tlb_as_cache(model);
	struct l1 no_lines = {.slots = 0};
	int err = l1_init(&tlb->pages, &cache, 1, 0);

	tlb->filter = err ? NULL : l1_join(&no_lines, 0, &tlb->pages, 0, FILTER_NO_ROOM);
	if (!err && !tlb->filter)
		l1_fini(&tlb->pages);
	return err || tlb->filter ? err : -ENOMEM;
}

void
tlb_fini(struct tlb *tlb)
{
	l1_fini(&tlb->pages);
	free(tlb->filter);
	tlb->filter = NULL;
}
