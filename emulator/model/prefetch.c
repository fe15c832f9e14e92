#include <errno.h>
#include <stdlib.h>

#include "emulator/model/prefetch.h"

#define CONFIDENT  2 /* steps of one kind: three accesses */
#define NEAR_LINES 4 /* that the first ones of a stream are apart at most */
#define ENOUGH     0.999999

struct prefetch_entry {
	uint64_t last; /* address */
	uint64_t next; /* address up to which was asked for */
	int64_t step;  /* bytes; of a stream: a line up or down */
	unsigned confidence;
};

int
prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model, const struct machine *machine)
{
	struct machine_cache keys = {.bytes = model->entries, .ways = model->entries};
	int err;

	*prefetcher = (struct prefetcher){.model = *model};
	prefetcher->line_shift = (unsigned)__builtin_ctz(machine->line_bytes);
	prefetcher->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	if (model->kind == PREFETCH_NEXT_LINE)
		return 0;
	if (keys.ways >= CACHE_SMALL_WAYS) {
		keys.ways = CACHE_SMALL_WAYS;
		keys.bytes = UINT64_C(1) << (31 - __builtin_clz(model->entries));
	}
	err = cache_init(&prefetcher->keys, &keys, 1, 0);
	if (err)
		return err;
	prefetcher->entries =
		calloc((size_t)prefetcher->keys.set_count * CACHE_SMALL_WAYS, sizeof(*prefetcher->entries));
	return prefetcher->entries ? 0 : -ENOMEM;
}

void
prefetcher_fini(struct prefetcher *prefetcher)
{
	cache_fini(&prefetcher->keys);
	free(prefetcher->entries);
	prefetcher->entries = NULL;
}

/* Of `key`; `*is_new`: it was of another, or of none, until now. */
static inline __attribute__((always_inline)) struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key, bool *is_new)
{
	struct cache_found found = cache_access(&prefetcher->keys, key, false);

	*is_new = !(found.what & CACHE_HIT);
	return &prefetcher->entries[found.what >> CACHE_SLOT_SHIFT];
}

/* Lines from `entry->next` on, at most `degree` of them and `reach` bytes ahead, in the page. */
static unsigned
ask(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t address, uint64_t reach, uint64_t *lines)
{
	unsigned count = 0;

	while (count < prefetcher->model.degree && count < PREFETCH_LINES_MAX) {
		uint64_t next = entry->next + (uint64_t)entry->step;
		uint64_t ahead = entry->step > 0 ? next - address : address - next;

		if (ahead > reach || next >> prefetcher->page_shift != address >> prefetcher->page_shift)
			break;
		entry->next = next;
		if (next >> prefetcher->line_shift != address >> prefetcher->line_shift)
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
	uint64_t line_bytes = UINT64_C(1) << prefetcher->line_shift;
	uint64_t line = address & ~(line_bytes - 1);
	uint64_t reach = prefetcher->model.distance * line_bytes;
	bool is_new;
	struct prefetch_entry *entry = find_entry(prefetcher, address >> prefetcher->page_shift, &is_new);
	int64_t moved = (int64_t)(line - entry->last);
	uint64_t near =
		entry->confidence < CONFIDENT && reach > NEAR_LINES * line_bytes ? NEAR_LINES * line_bytes : reach;

	if (is_new || (uint64_t)(moved < 0 ? -moved : moved) > near) {
		*entry = (struct prefetch_entry){.last = line, .next = line};
		return 0;
	}
	if (!moved)
		return 0;
	if (!follow(entry, line, moved > 0 ? (int64_t)line_bytes : -(int64_t)line_bytes))
		return 0;
	return ask(prefetcher, entry, line, reach, lines);
}

static unsigned
watch_stride(struct prefetcher *prefetcher, uint64_t instruction, uint64_t address, uint64_t *lines)
{
	bool is_new;
	struct prefetch_entry *entry = find_entry(prefetcher, instruction, &is_new);
	int64_t moved = (int64_t)(address - entry->last);

	if (is_new) {
		*entry = (struct prefetch_entry){.last = address, .next = address};
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
