#include <errno.h>
#include <stdlib.h>

#include "emulator/model/prefetch_entry.h"

#define NEAR_LINES 4 /* that the first ones of a stream are apart at most */
#define NO_KEY     UINT64_MAX
#define HOST_LINE  64

_Static_assert(sizeof(struct prefetch_entry) == HOST_LINE && sizeof(struct prefetch_set) % HOST_LINE == 0,
               "an entry is a line of the host's cache");

static void
clear(struct prefetch_set *set, unsigned ways)
{
	set->order = order_first(ways);
	for (uint32_t i = 0; i < PREFETCH_WAYS; i++) {
		set->tags[i] = TAG_NONE;
		set->entries[i] = (struct prefetch_entry){.key = NO_KEY, .order = &set->order, .use = order_use_of(i)};
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
	prefetcher->present = order_present(ways);
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
	prefetcher->place_shift = is_stream ? 0 : line_shift;
	prefetcher->page_mask = (machine->page_bytes >> (is_stream ? line_shift : 0)) - 1;
	prefetcher->begun.most = model->distance < NEAR_LINES ? model->distance : NEAR_LINES;
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

	prefetcher->apart = step;
	while (count < prefetcher->degree && *ahead + width <= most) {
		place += step;
		*ahead += (uint32_t)width;
		if ((place ^ at) >> prefetcher->line_shift && !count++)
			prefetcher->place = place;
	}
	return count;
}

__attribute__((noinline)) unsigned
prefetch_follow_stride(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at)
{
	const uint64_t step = entry->course.step, down = -(step >> 63), apart = (step ^ down) - down;
	const uint64_t reach = apart * prefetcher->model.distance;
	const uint64_t in_page = prefetch_left_in_page(prefetcher, at, down);

	prefetch_use(entry);
	entry->last = at;
	entry->course.ahead = prefetch_left_ahead(entry->course.ahead, apart);
	return ask(prefetcher, at, step, in_page < reach ? in_page : reach, &entry->course.ahead);
}

static unsigned
follow_stride(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry *entry = find_entry(prefetcher, key, at);

	return prefetch_step(prefetcher, entry, at) ? 0 : prefetch_follow_stride(prefetcher, entry, at);
}

static unsigned
follow_stream(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry *entry = find_entry(prefetcher, key, at);
	const uint64_t moved = at - entry->last;

	prefetch_use(entry);
	return moved ? prefetch_follow_stream(prefetcher, entry, at, moved) : 0;
}

static unsigned
follow_miss(struct prefetcher *prefetcher, uint64_t at)
{
	uint32_t ahead = 0;

	return ask(prefetcher, at, UINT64_C(1) << prefetcher->line_shift, prefetch_left_in_page(prefetcher, at, 0),
	           &ahead);
}

unsigned
prefetcher_watch(struct prefetcher *prefetcher, struct prefetch_access access)
{
	const uint64_t address = access.address;

	switch (prefetcher->model.kind) {
	case PREFETCH_NEXT_LINE:
		return access.missed ? follow_miss(prefetcher, address) : 0;
	case PREFETCH_STREAM:
		return follow_stream(prefetcher, address >> prefetcher->page_shift, address >> prefetcher->line_shift);
	case PREFETCH_STRIDE:
		return access.instruction ? follow_stride(prefetcher, access.instruction, address) : 0;
	}
	return 0;
}
