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
	struct prefetch_set *set;
	uint32_t way; /* in the set */
} __attribute__((aligned(HOST_LINE)));

struct prefetch_set {
	uint32_t tags[PREFETCH_WAYS]; /* of each the lower half of its key */
	uint64_t order;               /* lru.h */
	struct prefetch_entry entries[PREFETCH_WAYS];
};

_Static_assert(sizeof(struct prefetch_entry) == HOST_LINE, "an entry is a line of the host's cache");

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
	for (struct prefetch_set *set = prefetcher->sets; set < prefetcher->sets + sets; set++) {
		set->order = lru_first(ways);
		for (uint32_t i = 0; i < PREFETCH_WAYS; i++) {
			set->tags[i] = TAG_NONE;
			set->entries[i] = (struct prefetch_entry){.key = NO_KEY, .set = set, .way = i};
		}
	}
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

/* The key's entry in the set; else the least recently used one, which the key has from now on, beginning at `at`. */
static struct prefetch_entry *
find_in_set(const struct prefetcher *prefetcher, struct prefetch_set *set, uint64_t key, uint64_t at)
{
	struct prefetch_entry *entry;

	for (uint32_t ways = tags_match(set->tags, (uint32_t)key, PREFETCH_WAYS); ways; ways &= ways - 1) {
		entry = &set->entries[__builtin_ctz(ways)];
		if (entry->key == key)
			return entry;
	}
	entry = &set->entries[lru_oldest(set->order, prefetcher->present)];
	set->tags[entry->way] = (uint32_t)key;
	entry->key = key;
	entry->last = at;
	entry->course = prefetcher->initial;
	return entry;
}

/* The key's entry, which is used; if there was none it begins at `at`. */
static inline struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry **recent = &prefetcher->recent[key % PREFETCH_RECENT];

	if ((*recent)->key != key)
		*recent = find_in_set(prefetcher, &prefetcher->sets[(uint32_t)key & prefetcher->set_mask], key, at);
	(*recent)->set->order = lru_used((*recent)->set->order, (*recent)->way);
	return *recent;
}

/* How far it is to the end of the page; `down`: all bits, if it goes down. */
static inline uint64_t
rest_of_page(const struct prefetcher *prefetcher, uint64_t at, uint64_t down)
{
	return (at ^ ~down) & prefetcher->page_mask;
}

/* What of `ahead` is still ahead when the program has gone on by `moved`. */
static inline uint32_t
still_ahead(uint32_t ahead, uint64_t moved)
{
	return ahead > moved ? ahead - (uint32_t)moved : 0;
}

/* Places from *ahead on, each `step` from the last and `most` ahead at most: lines, but for the one at `at`. */
static unsigned
prefetch_steps(struct prefetcher *prefetcher, uint64_t at, uint64_t step, uint64_t most, uint32_t *ahead)
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

/* An instruction that went as far as the last time, within a page, prefetches what is ahead of it. */
static unsigned
train_stride(struct prefetcher *prefetcher, uint64_t instruction, uint64_t at)
{
	struct prefetch_entry *entry = find_entry(prefetcher, instruction, at);
	const uint64_t step = at - entry->last, down = -(step >> 63), width = (step ^ down) - down;
	const uint64_t reach = width * prefetcher->model.distance, in_page = rest_of_page(prefetcher, at, down);

	entry->last = at;
	if (step == 0)
		return 0;
	if (step != entry->course.step) {
		entry->course.step = step;
		entry->course.ahead = 0;
		return 0;
	}
	if (width > prefetcher->page_mask)
		return 0;
	entry->course.ahead = still_ahead(entry->course.ahead, width);
	return prefetch_steps(prefetcher, at, step, in_page < reach ? in_page : reach, &entry->course.ahead);
}

/* A stream that goes on in its direction prefetches at most `degree` lines, in its page and its distance. */
static unsigned
train_stream(struct prefetcher *prefetcher, uint64_t page, uint64_t at)
{
	struct prefetch_entry *entry = find_entry(prefetcher, page, at);
	struct prefetch_course *course = &entry->course;
	const uint64_t moved = at - entry->last, down = -(moved >> 63), distance = prefetcher->model.distance;
	const uint64_t forward = moved * course->step; /* 0, or huge: against its direction, or it has none yet */
	uint64_t most, left;
	unsigned count;

	entry->last = at;
	if (moved == 0)
		return 0;
	if (forward - 1 >= course->most) { /* it begins anew, perhaps the other way */
		const uint64_t step = (moved ^ down) - down <= course->most ? down | 1 : 0;

		*course = prefetcher->initial;
		course->step = step;
		return 0;
	}
	course->most = prefetcher->model.distance;
	course->ahead = still_ahead(course->ahead, forward);
	most = rest_of_page(prefetcher, at, -(course->step >> 63));
	most = most < distance ? most : distance;
	left = most > course->ahead ? most - course->ahead : 0;
	count = left < prefetcher->degree ? (unsigned)left : prefetcher->degree;
	prefetcher->first = at + course->step * (course->ahead + UINT64_C(1));
	prefetcher->stride = course->step;
	course->ahead += count;
	return count;
}

static unsigned
train_next_line(struct prefetcher *prefetcher, uint64_t at)
{
	uint32_t ahead = 0;

	return prefetch_steps(prefetcher, at, UINT64_C(1) << prefetcher->line_shift, rest_of_page(prefetcher, at, 0),
	                      &ahead);
}

unsigned
prefetcher_train(struct prefetcher *prefetcher, uint64_t address, uint64_t instruction, bool missed)
{
	switch (prefetcher->model.kind) {
	case PREFETCH_NEXT_LINE:
		return missed ? train_next_line(prefetcher, address) : 0;
	case PREFETCH_STREAM:
		return train_stream(prefetcher, address >> prefetcher->page_shift, address >> prefetcher->line_shift);
	case PREFETCH_STRIDE:
		return instruction ? train_stride(prefetcher, instruction, address) : 0;
	}
	return 0;
}
