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
	uint64_t last; /* address */
	uint64_t next; /* address up to which was asked for */
	int64_t step;  /* bytes; of a stream: a line up or down */
	unsigned confidence;
};

int
prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model, const struct machine *machine)
{
	uint32_t sets = 1, count;

	*prefetcher = (struct prefetcher){.model = *model, .ways = model->entries < WAYS ? model->entries : WAYS};
	prefetcher->line_shift = (unsigned)__builtin_ctz(machine->line_bytes);
	prefetcher->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	prefetcher->reach = (uint64_t)model->distance << prefetcher->line_shift;
	prefetcher->near = (uint64_t)NEAR_LINES << prefetcher->line_shift;
	if (prefetcher->near > prefetcher->reach)
		prefetcher->near = prefetcher->reach;
	if (model->kind == PREFETCH_NEXT_LINE)
		return 0;
	while (sets * 2 * WAYS <= model->entries)
		sets *= 2;
	count = sets * prefetcher->ways;
	prefetcher->set_mask = sets - 1;
	prefetcher->entries = calloc(count, sizeof(*prefetcher->entries));
	if (!prefetcher->entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		prefetcher->entries[i].key = NO_KEY;
	return 0;
}

void
prefetcher_fini(struct prefetcher *prefetcher)
{
	free(prefetcher->entries);
	prefetcher->entries = NULL;
}

/* Which entry of its set is the key's: who was not needed for the longest time makes room. */
static __attribute__((noinline)) uint16_t
look_for(struct prefetcher *prefetcher, uint64_t key)
{
	const uint32_t first = ((uint32_t)key & prefetcher->set_mask) * prefetcher->ways;
	struct prefetch_entry *entries = prefetcher->entries;
	uint32_t oldest = first;

	for (uint32_t i = first; i < first + prefetcher->ways; i++) {
		if (entries[i].key == key)
			return (uint16_t)i;
		if (entries[i].used < entries[oldest].used)
			oldest = i;
	}
	entries[oldest] = (struct prefetch_entry){.key = key};
	return (uint16_t)oldest;
}

/* Of `key`; `*is_new`: it was of another, or of none, until now. */
static inline struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key, bool *is_new)
{
	uint16_t *recent = &prefetcher->recent[key % PREFETCH_RECENT];
	struct prefetch_entry *entry = &prefetcher->entries[*recent];

	if (entry->key != key) {
		*recent = look_for(prefetcher, key);
		entry = &prefetcher->entries[*recent];
	}
	*is_new = !entry->used;
	entry->used = ++prefetcher->uses;
	return entry;
}

/* One that begins anew at `address`. */
static inline void
begin(struct prefetch_entry *entry, uint64_t address)
{
	entry->last = entry->next = address;
	entry->step = 0;
	entry->confidence = 0;
}

/* Lines from `entry->next` on, at most `degree` of them and `reach` bytes ahead, in the page. */
static unsigned
ask(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t address, uint64_t reach, uint64_t *lines)
{
	const uint64_t step = (uint64_t)entry->step;
	unsigned count = 0;

	while (count < prefetcher->model.degree && count < PREFETCH_LINES_MAX) {
		const uint64_t next = entry->next + step;
		const uint64_t ahead = entry->step > 0 ? next - address : address - next;

		if (ahead > reach || (next ^ address) >> prefetcher->page_shift)
			break;
		entry->next = next;
		if ((next ^ address) >> prefetcher->line_shift)
			lines[count++] = next >> prefetcher->line_shift;
	}
	return count;
}

/* One that goes on as before: whether it did. `entry->next` is never behind it. */
static bool
follow(struct prefetch_entry *entry, uint64_t address, int64_t step)
{
	bool goes_on = entry->step == step;

	entry->confidence = goes_on ? entry->confidence + 1 : 1;
	entry->step = step;
	entry->last = address;
	if (!goes_on || (step > 0 ? entry->next < address : entry->next > address))
		entry->next = address;
	return entry->confidence >= CONFIDENT;
}

static unsigned
watch_stream(struct prefetcher *prefetcher, uint64_t address, uint64_t *lines)
{
	const int64_t line_bytes = INT64_C(1) << prefetcher->line_shift;
	const uint64_t line = address & -(uint64_t)line_bytes;
	bool is_new;
	struct prefetch_entry *entry = find_entry(prefetcher, address >> prefetcher->page_shift, &is_new);
	const int64_t moved = (int64_t)(line - entry->last);
	const uint64_t most = entry->confidence < CONFIDENT ? prefetcher->near : prefetcher->reach;

	if (is_new || (uint64_t)(moved < 0 ? -moved : moved) > most) {
		begin(entry, line);
		return 0;
	}
	if (!moved || !follow(entry, line, moved > 0 ? line_bytes : -line_bytes))
		return 0;
	return ask(prefetcher, entry, line, prefetcher->reach, lines);
}

static unsigned
watch_stride(struct prefetcher *prefetcher, uint64_t instruction, uint64_t address, uint64_t *lines)
{
	bool is_new;
	struct prefetch_entry *entry = find_entry(prefetcher, instruction, &is_new);
	const int64_t moved = (int64_t)(address - entry->last);

	if (is_new) {
		begin(entry, address);
		return 0;
	}
	if (!moved || !follow(entry, address, moved))
		return 0;
	return ask(prefetcher, entry, address, (uint64_t)(moved < 0 ? -moved : moved) * prefetcher->model.distance,
	           lines);
}

static unsigned
watch_misses(struct prefetcher *prefetcher, const struct prefetch_access *access, uint64_t *lines)
{
	struct prefetch_entry entry = {.next = access->address, .step = (int64_t)1 << prefetcher->line_shift};

	if (!access->missed)
		return 0;
	return ask(prefetcher, &entry, access->address, UINT64_MAX, lines);
}

unsigned
prefetcher_watch(struct prefetcher *prefetcher, const struct prefetch_access *access,
                 uint64_t lines[static PREFETCH_LINES_MAX])
{
	switch (prefetcher->model.kind) {
	case PREFETCH_NEXT_LINE:
		return watch_misses(prefetcher, access, lines);
	case PREFETCH_STREAM:
		return watch_stream(prefetcher, access->address, lines);
	case PREFETCH_STRIDE:
		return access->instruction ? watch_stride(prefetcher, access->instruction, access->address, lines) : 0;
	}
	return 0;
}
