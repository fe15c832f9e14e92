/* What lasting commands do, sorted once for many flushes. */
#include "bench/year/year.h"

#include "tally/tally.h"

static bool
is_same(const struct tally_entry *a, const struct tally_entry *b)
{
	return a->offset == b->offset && a->image == b->image && a->context == b->context && a->event == b->event;
}

/* Put the keys of lasting commands in the order of a flush. */
static void
sort_part(struct year_bench *bench, size_t part)
{
	struct sorted_key *sorted = bench->sorted[part];
	size_t count = 0, distinct = 0;

	for (size_t i = 0; i < KEYS; i++) {
		const struct key *key = &bench->keys[i];

		if (key->command >= COMMANDS || i / INSTRUCTIONS % PARTS != part)
			continue;
		bench->entries[count] = (struct tally_entry){
			.image = bench->image_numbers[key->image],
			.context = bench->command_numbers[key->command],
			.event = key->event,
			.offset = offset_of(bench, key),
			.count = i,
		};
		count++;
	}
	tally_entries_sort(bench->entries, count);
	for (size_t i = 0; i < count; i++) {
		const struct tally_entry *entry = &bench->entries[i];

		if (distinct == 0 || !is_same(&sorted[distinct - 1].entry, entry))
			sorted[distinct++] = (struct sorted_key){.entry = *entry};
		sorted[distinct - 1].share += bench->keys[entry->count].share;
	}
	bench->sorted_count[part] = distinct;
}

void
write_parts(struct year_bench *bench, double samples, struct slice *slice)
{
	for (size_t part = 0; part < PARTS; part++) {
		size_t count = 0;

		if (bench->sorted_stale)
			sort_part(bench, part);
		for (size_t i = 0; i < bench->sorted_count[part]; i++) {
			const struct sorted_key *key = &bench->sorted[part][i];
			const uint64_t drawn = draw_poisson(bench, key->share * samples);

			if (drawn == 0)
				continue;
			bench->entries[count] = key->entry;
			bench->entries[count++].count = drawn;
			slice->events[key->entry.event].samples += drawn;
		}
		flush_entries(bench, slice, bench->entries, count);
	}
	bench->sorted_stale = false;
}
