#include <errno.h>
#include <stdlib.h>

#include "emulator/model/prefetch.h"
#include "emulator/model/tags.h"

#define NEAR_LINES 4 /* that the first ones of a stream are apart at most */
#define WAYS       8
#define NO_KEY     UINT64_MAX
#define HOST_LINE  64

/* When an entry was used, as tags.h compares it. */
#define USE       32
#define FIRST_USE (UINT64_C(1) << 52)
#define NO_WAY    (FIRST_USE << 8)

struct prefetch_entry {
	uint64_t key;   /* page, or instruction */
	uint64_t used;  /* when it was last */
	uint64_t last;  /* where */
	uint64_t step;  /* from the one before, below 0 when it goes down; of a stream: a line up or down; 0: none */
	uint32_t ahead; /* how far from there on it was asked for already, in the direction of the step */
	uint32_t most;  /* lines that the next of a stream is away at most: fewer until it goes on as it began */
};

#define ENTRY_WORDS (sizeof(struct prefetch_entry) / sizeof(uint64_t))

/* Of the host's cache whole lines. */
static void *
new_array(size_t count, size_t size)
{
	return aligned_alloc(HOST_LINE, (count * size + HOST_LINE - 1) & ~(size_t)(HOST_LINE - 1));
}

static int
make_entries(struct prefetcher *prefetcher, unsigned entries)
{
	uint32_t sets = 1, count;

	while (sets * 2 * WAYS <= entries)
		sets *= 2;
	prefetcher->set_mask = sets - 1;
	count = sets * WAYS;
	prefetcher->tags = new_array(count, sizeof(*prefetcher->tags));
	prefetcher->entries = new_array(count, sizeof(*prefetcher->entries));
	if (!prefetcher->tags || !prefetcher->entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		prefetcher->tags[i] = TAG_NONE;
		prefetcher->entries[i] =
			(struct prefetch_entry){.key = NO_KEY, .used = i % WAYS < entries ? FIRST_USE : NO_WAY};
	}
	prefetcher->uses = FIRST_USE;
	for (unsigned i = 0; i < PREFETCH_RECENT; i++)
		prefetcher->recent[i] = prefetcher->entries;
	return 0;
}

int
prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model, const struct machine *machine)
{
	const unsigned line_shift = (unsigned)__builtin_ctz(machine->line_bytes);
	const bool is_stream = model->kind == PREFETCH_STREAM;
	int err;

	*prefetcher = (struct prefetcher){.model = *model, .level = model->level - 1};
	prefetcher->degree = model->degree < PREFETCH_LINES_MAX ? model->degree : PREFETCH_LINES_MAX;
	prefetcher->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	prefetcher->line_shift = line_shift;
	prefetcher->page_mask = (machine->page_bytes >> (is_stream ? line_shift : 0)) - 1;
	prefetcher->near = model->distance < NEAR_LINES ? model->distance : NEAR_LINES;
	if (model->kind == PREFETCH_NEXT_LINE)
		return 0;
	err = make_entries(prefetcher, model->entries);
	if (err)
		prefetcher_fini(prefetcher);
	return err;
}

void
prefetcher_fini(struct prefetcher *prefetcher)
{
	free(prefetcher->tags);
	free(prefetcher->entries);
	prefetcher->tags = NULL;
	prefetcher->entries = NULL;
}

/* The key's; who was not needed for the longest time makes room, and it begins at `at`. */
static __attribute__((noinline)) struct prefetch_entry *
look_for(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	const size_t first = (size_t)((uint32_t)key & prefetcher->set_mask) * WAYS;
	struct prefetch_entry *set = &prefetcher->entries[first];
	uint32_t way;

	for (uint32_t left = tags_match(&prefetcher->tags[first], (uint32_t)key, WAYS); left; left &= left - 1) {
		way = (uint32_t)__builtin_ctz(left);
		if (set[way].key == key)
			return &set[way];
	}
	way = stamps_oldest_of(&set->used, WAYS, ENTRY_WORDS);
	prefetcher->tags[first + way] = (uint32_t)key;
	set[way] = (struct prefetch_entry){.key = key, .last = at, .most = prefetcher->near};
	return &set[way];
}

static inline struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry **recent = &prefetcher->recent[key % PREFETCH_RECENT], *entry = *recent;

	if (__builtin_expect(entry->key != key, 0))
		*recent = entry = look_for(prefetcher, key, at);
	entry->used = prefetcher->uses += USE;
	return entry;
}

/* How far it is to the end of the page; `down`: all bits, if it goes down. */
static inline uint64_t
left_in_page(const struct prefetcher *prefetcher, uint64_t at, uint64_t down)
{
	return (at ^ ~down) & prefetcher->page_mask;
}

/* What is left of `ahead` behind `apart` of it. */
static inline uint32_t
left_ahead(uint32_t ahead, uint64_t apart)
{
	return (ahead - (uint32_t)apart) & -(uint32_t)(ahead > apart);
}

/* Lines from `ahead` on, at most `degree` of them, in the page and in reach. */
static inline unsigned
ask_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint64_t ahead)
{
	const uint64_t step = entry->step, reach = prefetcher->model.distance;
	const uint64_t in_page = left_in_page(prefetcher, at, -(step >> 63)), most = in_page < reach ? in_page : reach;
	uint64_t line = at + step * ahead;
	unsigned count = 0;

	while (count < prefetcher->degree && ahead < most) {
		prefetcher->lines[count++] = line += step;
		ahead++;
	}
	entry->ahead = (uint32_t)ahead;
	return count;
}

/*
 * Whether a stream goes on, turns or begins anew nobody can foresee: the host has one branch for it. By itself: a small
 * one needs few of the host's registers, and saves none.
 */
static __attribute__((noinline)) unsigned
follow_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint64_t moved)
{
	const uint64_t down = -(moved >> 63), apart = (moved ^ down) - down, before = entry->step;
	const uint64_t is_near = apart <= entry->most, step = (down | 1) & -is_near;
	const uint32_t ahead = left_ahead(entry->ahead, apart);

	entry->last = at;
	entry->step = step;
	if ((step ^ before) | !is_near) {
		entry->most = prefetcher->near;
		entry->ahead = 0;
		return 0;
	}
	entry->most = prefetcher->model.distance;
	return ask_stream(prefetcher, entry, at, ahead);
}

/* Places from `ahead` on, each `step` from the last and `most` ahead at most: lines, but for the one at `at`. */
static inline unsigned
ask(struct prefetcher *prefetcher, uint64_t at, uint64_t step, uint64_t most, uint32_t *ahead)
{
	const uint64_t down = -(step >> 63), width = (step ^ down) - down;
	uint64_t place = at + ((*ahead ^ down) - down);
	unsigned count = 0;

	while (count < prefetcher->degree && *ahead + width <= most) {
		place += step;
		*ahead += (uint32_t)width;
		if ((place ^ at) >> prefetcher->line_shift)
			prefetcher->lines[count++] = place >> prefetcher->line_shift;
	}
	return count;
}

static inline unsigned
follow_stride(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint64_t moved)
{
	const uint64_t down = -(moved >> 63), apart = (moved ^ down) - down;
	const uint64_t reach = apart * prefetcher->model.distance, in_page = left_in_page(prefetcher, at, down);

	entry->last = at;
	if (entry->step != moved) {
		entry->step = moved;
		entry->ahead = 0;
		return 0;
	}
	entry->ahead = left_ahead(entry->ahead, apart);
	return ask(prefetcher, at, moved, in_page < reach ? in_page : reach, &entry->ahead);
}

static unsigned
follow_miss(struct prefetcher *prefetcher, uint64_t at)
{
	uint32_t ahead = 0;

	return ask(prefetcher, at, UINT64_C(1) << prefetcher->line_shift, left_in_page(prefetcher, at, 0), &ahead);
}

/* Of a stream, or an instruction. */
static inline unsigned
follow(struct prefetcher *prefetcher, uint64_t key, uint64_t at, bool is_stream)
{
	struct prefetch_entry *entry = find_entry(prefetcher, key, at);
	const uint64_t moved = at - entry->last;

	if (!moved)
		return 0;
	if (is_stream)
		return follow_stream(prefetcher, entry, at, moved);
	return follow_stride(prefetcher, entry, at, moved);
}

unsigned
prefetcher_watch(struct prefetcher *prefetcher, struct prefetch_access access)
{
	const uint64_t address = access.address;

	switch (prefetcher->model.kind) {
	case PREFETCH_NEXT_LINE:
		return access.missed ? follow_miss(prefetcher, address) : 0;
	case PREFETCH_STREAM:
		return follow(prefetcher, address >> prefetcher->page_shift, address >> prefetcher->line_shift, true);
	case PREFETCH_STRIDE:
		return access.instruction ? follow(prefetcher, access.instruction, address, false) : 0;
	}
	return 0;
}
