#include <errno.h>
#include <stdlib.h>

#include "emulator/model/lru.h"
#include "emulator/model/prefetch.h"

#define NEAR_LINES 4 /* that the first ones of a stream are apart at most */
#define NO_KEY     UINT64_MAX
#define HOST_LINE  64

#define PREFETCH_WAYS LRU_WAYS

/* A line of the host's cache. */
struct prefetch_entry {
	uint64_t key;  /* page, or instruction */
	uint64_t last; /* where it was last */
	struct prefetch_course course;
	uint64_t *order;    /* of its set, */
	struct lru_use use; /* and what a use makes of it */
	uint64_t unused;
};

struct prefetch_set {
	uint32_t tags[PREFETCH_WAYS]; /* of each the lower half of its key */
	uint64_t order;
	uint64_t unused[3];
	struct prefetch_entry entries[PREFETCH_WAYS];
};

static inline struct prefetch_set *
prefetch_set_of(const struct prefetcher *prefetcher, uint64_t key)
{
	return &prefetcher->sets[(uint32_t)key & prefetcher->set_mask];
}

/* The entry that may be the key's: it is, if it has it. */
static inline struct prefetch_entry *
prefetch_recent(const struct prefetcher *prefetcher, uint64_t key)
{
	return prefetcher->recent[key % PREFETCH_RECENT];
}

/* The key's, if the set has one; else NULL. */
static inline struct prefetch_entry *
prefetch_find(struct prefetch_set *set, uint64_t key)
{
	for (uint32_t left = tags_match(set->tags, (uint32_t)key, PREFETCH_WAYS); left; left &= left - 1) {
		struct prefetch_entry *entry = &set->entries[__builtin_ctz(left)];

		if (entry->key == key)
			return entry;
	}
	return NULL;
}

static inline void
prefetch_use_in(uint64_t *order, const struct prefetch_entry *entry)
{
	*order = (*order | entry->use.row) & entry->use.others;
}

static inline void
prefetch_use(struct prefetch_entry *entry)
{
	prefetch_use_in(entry->order, entry);
}

/* Who was not needed for the longest time makes room for the key, which begins at `at`; it is used. */
static inline struct prefetch_entry *
prefetch_replace(const struct prefetcher *prefetcher, struct prefetch_set *set, uint64_t key, uint64_t at)
{
	const size_t way = lru_oldest(set->order, prefetcher->present);
	struct prefetch_entry *entry = &set->entries[way];

	prefetch_use_in(&set->order, entry);
	set->tags[way] = (uint32_t)key;
	entry->key = key;
	entry->last = at;
	entry->course = prefetcher->initial;
	return entry;
}

/* An instruction goes to `at`, and nothing is wanted for that. False: something may be, and nothing was done. */
static inline bool
prefetch_step(const struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at)
{
	const uint64_t moved = at - entry->last;

	if (entry->course.step != moved && moved) {
		entry->course.step = moved;
		entry->course.ahead = 0;
	} else if (moved + prefetcher->page_mask <= 2 * prefetcher->page_mask && moved) {
		return false;
	}
	entry->last = at;
	prefetch_use(entry);
	return true;
}

/* How far it is to the end of the page; `down`: all bits, if it goes down. */
static inline uint64_t
prefetch_rest_of_page(const struct prefetcher *prefetcher, uint64_t at, uint64_t down)
{
	return (at ^ ~down) & prefetcher->page_mask;
}

/* What is left of `ahead` behind `apart` of it. */
static inline uint32_t
prefetch_still_ahead(uint32_t ahead, uint64_t apart)
{
	return (ahead - (uint32_t)apart) & -(uint32_t)(ahead > apart);
}

/* Lines from `ahead` on, at most `degree` of them, in the page and in reach. */
static inline unsigned
prefetch_ask_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint32_t ahead)
{
	const uint64_t step = entry->course.step, in_page = prefetch_rest_of_page(prefetcher, at, -(step >> 63));
	const uint64_t reach = prefetcher->model.distance, most = in_page < reach ? in_page : reach;
	const uint64_t left = most > ahead ? most - ahead : 0;
	const unsigned count = left < prefetcher->degree ? (unsigned)left : prefetcher->degree;

	prefetcher->first = at + step * (ahead + UINT64_C(1));
	prefetcher->stride = step;
	entry->course.ahead = ahead + count;
	return count;
}

/* It does not go on as it did: perhaps the other way. */
static inline void
prefetch_turn_stream(const struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t moved)
{
	const uint64_t down = -(moved >> 63), apart = (moved ^ down) - down;

	const uint64_t step = apart <= entry->course.most ? down | 1 : 0;

	entry->course = prefetcher->initial;
	entry->course.step = step;
}

/*
 * A stream goes by `moved`, not 0, to line `at`: how many lines are wanted. Whether it goes on, turns or begins anew
 * nobody can foresee: the host has one branch for it.
 */
static inline unsigned
prefetch_follow_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint64_t moved)
{
	const uint64_t apart =
		moved * entry->course.step; /* in its direction; against it, or without one, it is no stream */

	entry->last = at;
	if (apart - 1 >= entry->course.most) {
		prefetch_turn_stream(prefetcher, entry, moved);
		return 0;
	}
	entry->course.most = prefetcher->model.distance;
	return prefetch_ask_stream(prefetcher, entry, at, prefetch_still_ahead(entry->course.ahead, apart));
}

_Static_assert(sizeof(struct prefetch_entry) == HOST_LINE && sizeof(struct prefetch_set) % HOST_LINE == 0,
               "an entry is a line of the host's cache");

static void
clear(struct prefetch_set *set, unsigned ways)
{
	set->order = lru_first(ways);
	for (uint32_t i = 0; i < PREFETCH_WAYS; i++) {
		set->tags[i] = TAG_NONE;
		set->entries[i] = (struct prefetch_entry){.key = NO_KEY, .order = &set->order, .use = lru_use_of(i)};
	}
}

static int
make_sets(struct prefetcher *prefetcher, unsigned entries)
{
	const unsigned ways = entries < PREFETCH_WAYS ? entries : PREFETCH_WAYS;
	uint32_t sets = 1;

	while (sets * 2 * PREFETCH_WAYS <= entries)
		sets *= 2;
	prefetcher->set_mask = sets - 1;
	prefetcher->present = lru_present(ways);
	prefetcher->sets = aligned_alloc(HOST_LINE, sets * sizeof(*prefetcher->sets));
	if (!prefetcher->sets)
		return -ENOMEM;
	for (uint32_t i = 0; i < sets; i++)
		clear(&prefetcher->sets[i], ways);
	for (unsigned i = 0; i < PREFETCH_RECENT; i++)
		prefetcher->recent[i] = prefetcher->sets->entries;
	return 0;
}

int
prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model, const struct machine *machine)
{
	const unsigned line_shift = (unsigned)__builtin_ctz(machine->line_bytes);
	const bool is_stream = model->kind == PREFETCH_STREAM;

	*prefetcher = (struct prefetcher){.model = *model, .level = model->level - 1};
	prefetcher->degree = model->degree < PREFETCH_LINES_MAX ? model->degree : PREFETCH_LINES_MAX;
	prefetcher->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	prefetcher->line_shift = line_shift;
	prefetcher->unit_shift = is_stream ? 0 : line_shift;
	prefetcher->page_mask = (machine->page_bytes >> (is_stream ? line_shift : 0)) - 1;
	prefetcher->initial.most = model->distance < NEAR_LINES ? model->distance : NEAR_LINES;
	if (model->kind == PREFETCH_NEXT_LINE)
		return 0;
	return make_sets(prefetcher, model->entries);
}

void
prefetcher_fini(struct prefetcher *prefetcher)
{
	free(prefetcher->sets);
	prefetcher->sets = NULL;
}

/* The key's entry; if there was none it begins at `at`. */
static struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_set *set = prefetch_set_of(prefetcher, key);
	struct prefetch_entry *entry = prefetch_recent(prefetcher, key);

	if (entry->key == key)
		return entry;
	entry = prefetch_find(set, key);
	if (!entry)
		entry = prefetch_replace(prefetcher, set, key, at);
	prefetcher->recent[key % PREFETCH_RECENT] = entry;
	return entry;
}

/* Places from `ahead` on, each `step` from the last and `most` ahead at most: lines, but for the one at `at`. */
static unsigned
ask(struct prefetcher *prefetcher, uint64_t at, uint64_t step, uint64_t most, uint32_t *ahead)
{
	const uint64_t down = -(step >> 63), width = (step ^ down) - down;
	uint64_t place = at + ((*ahead ^ down) - down);
	unsigned count = 0;

	prefetcher->stride = step;
	while (count < prefetcher->degree && *ahead + width <= most) {
		place += step;
		*ahead += (uint32_t)width;
		if ((place ^ at) >> prefetcher->line_shift && !count++)
			prefetcher->first = place;
	}
	return count;
}

/* The instruction goes to `at` once more as far: how many lines are wanted. */
static unsigned
prefetch_steady(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at)
{
	const uint64_t step = entry->course.step, down = -(step >> 63), apart = (step ^ down) - down;
	const uint64_t reach = apart * prefetcher->model.distance;
	const uint64_t in_page = prefetch_rest_of_page(prefetcher, at, down);

	prefetch_use(entry);
	entry->last = at;
	entry->course.ahead = prefetch_still_ahead(entry->course.ahead, apart);
	return ask(prefetcher, at, step, in_page < reach ? in_page : reach, &entry->course.ahead);
}

static unsigned
train_stride(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry *entry = find_entry(prefetcher, key, at);

	return prefetch_step(prefetcher, entry, at) ? 0 : prefetch_steady(prefetcher, entry, at);
}

static unsigned
train_stream(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry *entry = find_entry(prefetcher, key, at);
	const uint64_t moved = at - entry->last;

	prefetch_use(entry);
	return moved ? prefetch_follow_stream(prefetcher, entry, at, moved) : 0;
}

static unsigned
train_next_line(struct prefetcher *prefetcher, uint64_t at)
{
	uint32_t ahead = 0;

	return ask(prefetcher, at, UINT64_C(1) << prefetcher->line_shift, prefetch_rest_of_page(prefetcher, at, 0),
	           &ahead);
}

unsigned
prefetcher_train(struct prefetcher *prefetcher, struct prefetch_access access)
{
	const uint64_t address = access.address;

	switch (prefetcher->model.kind) {
	case PREFETCH_NEXT_LINE:
		return access.missed ? train_next_line(prefetcher, address) : 0;
	case PREFETCH_STREAM:
		return train_stream(prefetcher, address >> prefetcher->page_shift, address >> prefetcher->line_shift);
	case PREFETCH_STRIDE:
		return access.instruction ? train_stride(prefetcher, access.instruction, address) : 0;
	}
	return 0;
}
