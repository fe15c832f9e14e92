/* From counts into the database. */
#include "bench/year/year.h"

#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "profile/profile.h"

void
retain(struct year_bench *bench, uint64_t now_ns, uint64_t allowed)
{
	struct figures *figures = &bench->figures;
	uint64_t steps = 0;
	int result = 1;

	while (steps < allowed && result > 0) {
		const double start_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
		double took_ms;

		result = profile_retain(bench->profile, &bench->retention, now_ns);
		took_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start_ms;
		figures->step_ms += took_ms;
		figures->longest_step_ms = fmax(figures->longest_step_ms, took_ms);
		steps++;
	}
	bench_require(result < 0 ? result : 0, "retain");
	figures->steps += steps;
	figures->steps_allowed += allowed;
}

void
flush_entries(struct year_bench *bench, struct slice *slice, const struct tally_entry *entries, size_t count)
{
	const struct image *images[IMAGES * 2];
	const struct context *contexts[CONTEXTS_MAX];
	struct profile_batch batch = {
		.images = images,
		.contexts = contexts,
		.image_count = (uint32_t)bench->new_image_count,
		.context_count = (uint32_t)bench->new_context_count,
		.first_image = bench->image_count - (uint32_t)bench->new_image_count,
		.first_context = bench->context_count - (uint32_t)bench->new_context_count,
		.entries = entries,
		.entry_count = count,
		.slice = slice,
	};

	for (size_t i = 0; i < bench->new_image_count; i++)
		images[i] = &bench->new_images[i];
	for (size_t i = 0; i < bench->new_context_count; i++)
		contexts[i] = &bench->new_contexts[i];
	bench_require(flush_retention_write(bench->profile, &batch, &bench->retention, NULL), "flush");
	bench->entries_flushed += count;
	forget_new(bench);
	memset(slice->events, 0, sizeof(slice->events));
	slice->start_ns = slice->end_ns;
}

void
flush(struct year_bench *bench, struct slice *slice, struct times *took)
{
	const struct times start = times_now();
	const struct tally_entry *entries;
	size_t count;

	entries = tally_sort(bench->tally, &count);
	flush_entries(bench, slice, entries, count);
	times_add_since(took, start);
	tally_clear(bench->tally);
}

void
add_key(struct year_bench *bench, const struct key *key, uint32_t context, double samples, struct slice *slice,
        struct times *took)
{
	const uint64_t count = draw_poisson(bench, key->share * samples);
	const struct sample_key sample = {
		.image = bench->image_numbers[key->image],
		.context = context,
		.event = key->event,
		.offset = offset_of(bench, key),
	};

	if (count == 0)
		return;
	bench_require(tally_add(bench->tally, &sample, count), "tally");
	slice->events[key->event].samples += count;
	if (tally_size(bench->tally) >= TALLY_LIMIT / 4 * 3)
		flush(bench, slice, took);
}
