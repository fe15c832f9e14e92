#include <errno.h>
#include <stdlib.h>

#include "emulator/model/prefetch.h"

#define CONFIDENT  2 /* steps of one kind: three accesses */
#define NEAR_LINES 4 /* that the first ones of a stream are apart at most */
#define WAYS       8
#define NO_KEY     UINT64_MAX

struct prefetch_entry {
	uint64_t key;  /* page, or instruction */
	uint64_t used; /* when it was last, in uses of all; 0: not yet */
	uint64_t last; /* where */
	uint64_t next; /* up to where was asked for */
	int64_t step;  /* of a stream: a line up or down */
	unsigned confidence;
};

static int
make_entries(struct prefetcher *prefetcher, unsigned entries)
{
	uint32_t sets = 1, count;

	while (sets * 2 * WAYS <= entries)
		sets *= 2;
	prefetcher->ways = entries < WAYS ? entries : WAYS;
	prefetcher->set_mask = sets - 1;
	count = sets * prefetcher->ways;
	prefetcher->entries = calloc(count, sizeof(*prefetcher->entries));
	if (!prefetcher->entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		prefetcher->entries[i].key = NO_KEY;
	for (unsigned i = 0; i < PREFETCH_RECENT; i++)
		prefetcher->recent[i] = prefetcher->entries;
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
	prefetcher->unit_shift = is_stream ? line_shift : 0;
	prefetcher->line_shift = is_stream ? 0 : line_shift;
	prefetcher->page_mask = (machine->page_bytes >> prefetcher->unit_shift) - 1;
	prefetcher->near = model->distance < NEAR_LINES ? model->distance : NEAR_LINES;
	return model->kind == PREFETCH_NEXT_LINE ? 0 : make_entries(prefetcher, model->entries);
}

void
prefetcher_fini(struct prefetcher *prefetcher)
{
	free(prefetcher->entries);
	prefetcher->entries = NULL;
}

/* Which entry of its set is the key's: who was not needed for the longest time makes room, and it begins at `at`. */
static __attribute__((noinline)) struct prefetch_entry *
look_for(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	const uint32_t first = ((uint32_t)key & prefetcher->set_mask) * prefetcher->ways;
	struct prefetch_entry *set = &prefetcher->entries[first];
	uint64_t oldest = UINT64_MAX; /* when it was used, times WAYS, and which it is: the host has no branch for it */

	for (uint32_t i = 0; i < prefetcher->ways; i++) {
		const uint64_t used = set[i].used * WAYS + i;

		if (set[i].key == key)
			return &set[i];
		oldest = used < oldest ? used : oldest;
	}
	set[oldest % WAYS] = (struct prefetch_entry){.key = key, .last = at, .next = at};
	return &set[oldest % WAYS];
}

static inline struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key, uint64_t at)
{
	struct prefetch_entry **recent = &prefetcher->recent[key % PREFETCH_RECENT], *entry = *recent;

	if (__builtin_expect(entry->key != key, 0))
		*recent = entry = look_for(prefetcher, key, at);
	entry->used = ++prefetcher->uses;
	return entry;
}

#define APART static __attribute__((noinline)) /* a small one needs few of the host's registers, and saves none */

/* Lines from `entry->next` on, at most `degree` of them and `reach` ahead, in the page. */
APART unsigned
ask(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint64_t reach)
{
	const bool is_up = entry->step > 0;
	const uint64_t step = (uint64_t)entry->step, width = is_up ? step : -step;
	const uint64_t in_page = (is_up ? ~at : at) & prefetcher->page_mask;
	const uint64_t most = in_page < reach ? in_page : reach;
	uint64_t next = entry->next, ahead = is_up ? next - at : at - next;
	unsigned count = 0;

	while (count < prefetcher->degree && ahead + width <= most) {
		next += step;
		ahead += width;
		if ((next ^ at) >> prefetcher->line_shift)
			prefetcher->lines[count++] = next >> prefetcher->line_shift;
	}
	entry->next = next;
	return count;
}

/* One that goes on as before: whether it did. `entry->next` is never behind it. */
static inline bool
follow(struct prefetch_entry *entry, uint64_t at, int64_t step)
{
	const bool goes_on = entry->step == step;

	entry->confidence = goes_on ? entry->confidence + 1 : 1;
	entry->step = step;
	entry->last = at;
	if (!goes_on || (step > 0 ? entry->next < at : entry->next > at))
		entry->next = at;
	return entry->confidence >= CONFIDENT;
}

/* Whether it goes on, turns or begins anew nobody can foresee: the host has no branch for it. */
APART unsigned
follow_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at)
{
	const uint64_t reach = prefetcher->model.distance;
	const uint64_t most = entry->confidence < CONFIDENT ? prefetcher->near : reach;
	const int64_t moved = (int64_t)(at - entry->last), step = moved > 0 ? 1 : -1;
	const bool is_near = (uint64_t)(moved * step) <= most, goes_on = is_near & (entry->step == step);

	if (!moved)
		return 0;
	entry->step = is_near ? step : 0;
	entry->confidence = goes_on ? entry->confidence + 1 : is_near;
	entry->last = at;
	entry->next = (goes_on & ((int64_t)(entry->next - at) * step > 0)) ? entry->next : at;
	return entry->confidence >= CONFIDENT ? ask(prefetcher, entry, at, reach) : 0;
}

APART unsigned
follow_stride(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at)
{
	const int64_t moved = (int64_t)(at - entry->last);

	if (!moved || !follow(entry, at, moved))
		return 0;
	return ask(prefetcher, entry, at, (uint64_t)(moved < 0 ? -moved : moved) * prefetcher->model.distance);
}

APART unsigned
follow_miss(struct prefetcher *prefetcher, uint64_t at)
{
	struct prefetch_entry entry = {.next = at, .step = INT64_C(1) << prefetcher->line_shift};

	return ask(prefetcher, &entry, at, UINT64_MAX);
}

unsigned
prefetcher_watch(struct prefetcher *prefetcher, struct prefetch_access access)
{
	const uint64_t at = access.address >> prefetcher->unit_shift, page = access.address >> prefetcher->page_shift;

	switch (prefetcher->model.kind) {
	case PREFETCH_NEXT_LINE:
		return access.missed ? follow_miss(prefetcher, at) : 0;
	case PREFETCH_STREAM:
		return follow_stream(prefetcher, find_entry(prefetcher, page, at), at);
	case PREFETCH_STRIDE:
		if (!access.instruction)
			return 0;
		return follow_stride(prefetcher, find_entry(prefetcher, access.instruction, at), at);
	}
	return 0;
}
