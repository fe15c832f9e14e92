#include <errno.h>
#include <stdlib.h>

#include "emulator/model/prefetch.h"

#define CONFIDENT 2 /* steps of one kind: three accesses */
#define ENOUGH    0.999999

struct prefetch_entry {
	uint64_t key;  /* of a stream: its page; else the instruction; + 1, 0: free */
	uint64_t last; /* address */
	uint64_t next; /* address up to which was asked for */
	int64_t step;  /* bytes; of a stream: a line up or down */
	unsigned confidence;
	uint64_t used; /* prefetcher.accesses then */
};

int
prefetcher_init(struct prefetcher *prefetcher, const struct machine_prefetcher *model, const struct machine *machine)
{
	*prefetcher = (struct prefetcher){.model = *model};
	prefetcher->line_shift = (unsigned)__builtin_ctz(machine->line_bytes);
	prefetcher->page_shift = (unsigned)__builtin_ctz(machine->page_bytes);
	if (model->kind == PREFETCH_NEXT_LINE)
		return 0;
	prefetcher->entries = calloc(model->entries ? model->entries : 1, sizeof(*prefetcher->entries));
	return prefetcher->entries ? 0 : -ENOMEM;
}

void
prefetcher_fini(struct prefetcher *prefetcher)
{
	free(prefetcher->entries);
	prefetcher->entries = NULL;
}

/* Of `key`; else the one that was used the longest ago, empty. */
static struct prefetch_entry *
find_entry(struct prefetcher *prefetcher, uint64_t key)
{
	struct prefetch_entry *oldest = prefetcher->entries;

	for (unsigned i = 0; i < prefetcher->model.entries; i++) {
		struct prefetch_entry *entry = &prefetcher->entries[i];

		if (entry->key == key + 1)
			return entry;
		if (entry->used < oldest->used)
			oldest = entry;
	}
	*oldest = (struct prefetch_entry){.key = 0};
	return oldest;
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
	struct prefetch_entry *entry = find_entry(prefetcher, address >> prefetcher->page_shift);
	int64_t moved = (int64_t)(line - entry->last);

	entry->used = ++prefetcher->accesses;
	if (!entry->key) {
		entry->key = (address >> prefetcher->page_shift) + 1;
		entry->last = entry->next = line;
		return 0;
	}
	if (!moved)
		return 0;
	if ((uint64_t)(moved < 0 ? -moved : moved) > reach) {
		entry->confidence = 0;
		entry->last = entry->next = line;
		return 0;
	}
	if (!follow(entry, line, moved > 0 ? (int64_t)line_bytes : -(int64_t)line_bytes))
		return 0;
	return ask(prefetcher, entry, line, reach, lines);
}

static unsigned
watch_stride(struct prefetcher *prefetcher, uint64_t instruction, uint64_t address, uint64_t *lines)
{
	struct prefetch_entry *entry = find_entry(prefetcher, instruction);
	int64_t moved = (int64_t)(address - entry->last);

	entry->used = ++prefetcher->accesses;
	if (!entry->key) {
		entry->key = instruction + 1;
		entry->last = entry->next = address;
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

bool
prefetcher_is_right(struct prefetcher *prefetcher)
{
	prefetcher->credit += prefetcher->model.accuracy;
	if (prefetcher->credit < ENOUGH)
		return false;
	prefetcher->credit -= 1;
	return true;
}
