/* What was counted since the last time, as a job for the flusher: see collection.h. */
#include "collectord/collection_internal.h"

#include <string.h>
#include <time.h>

#include "collectord/machine.h"

#define CLOCK_STEP_NS UINT64_C(1000000000) /* clocks that differ by more were set */

uint64_t
collection_cpu_time_ns(const struct collection *collection)
{
	uint64_t cpu_ns = machine_cpu_time_ns();

	if (collection->files)
		cpu_ns += file_ids_cpu_ns(collection->files);
	if (collection->notes)
		cpu_ns += code_notes_cpu_ns(collection->notes);
	if (collection->sampler)
		cpu_ns += sampler_reader_cpu_ns(collection->sampler);
	return cpu_ns;
}

uint64_t
collection_start_since(const struct collection *collection, uint64_t used_ns)
{
	uint64_t start_ns = collection->flusher ? flusher_start_cpu_ns(collection->flusher) : 0;

	if (collection->capturer)
		start_ns += capturer_start_cpu_ns(collection->capturer);
	if (start_ns < collection->start_taken_ns) /* others take their place */
		return 0;
	start_ns -= collection->start_taken_ns;
	return start_ns < used_ns ? start_ns : used_ns;
}

/* A clock that cannot be read goes on as far as the others say: a slice of 1970 would be dropped for its age. */
void
collection_mark(struct collection *collection)
{
	const uint64_t time_ns = machine_clock_ns(CLOCK_REALTIME), monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const uint64_t cpu_time_ns = collection_cpu_time_ns(collection), before_ns = collection->taken_monotonic_ns;

	if (monotonic_ns > before_ns)
		collection->taken_monotonic_ns = monotonic_ns;
	collection->taken_ns = time_ns ? time_ns : collection->taken_ns + collection->taken_monotonic_ns - before_ns;
	if (cpu_time_ns > collection->cpu_time_ns)
		collection->cpu_time_ns = cpu_time_ns;
}

/*
 * Give the job's slice its times and its share of our cost, without that of the start, which is the epoch's. When the
 * clock leapt meanwhile - it was set, or the machine slept - what was counted belongs to the time before, as that clock
 * had it: no slice stretches over a leap, another begins.
 */
static void
date_slice(struct collection *collection, struct flush_job *job)
{
	struct slice *slice = &job->slice;
	const uint64_t taken_ns = collection->taken_ns;
	const uint64_t begin_ns = collection->taken_monotonic_ns;
	const uint64_t cpu_time_ns = collection->cpu_time_ns;
	uint64_t length_ns, used_ns, start_ns;
	int64_t step_ns;
	bool is_leap;

	collection_mark(collection);
	length_ns = collection->taken_monotonic_ns - begin_ns;
	step_ns = (int64_t)(collection->taken_ns - taken_ns - length_ns);
	is_leap = step_ns > (int64_t)CLOCK_STEP_NS || step_ns < -(int64_t)CLOCK_STEP_NS;
	slice->start_ns = taken_ns;
	slice->end_ns = is_leap ? taken_ns + length_ns : collection->taken_ns;
	if (slice->end_ns < slice->start_ns)
		slice->end_ns = slice->start_ns;
	/* What was kept for long because it could not be written does not belong to what was before. */
	if (length_ns >= collection->config.slice_ns)
		collection->slice_ends = true;
	used_ns = collection->cpu_time_ns - cpu_time_ns;
	start_ns = collection_start_since(collection, used_ns);
	collection->start_taken_ns += start_ns;
	slice->daemon_cpu_ns = used_ns - start_ns;
	job->start_cpu_ns = collection->start_cpu_ns + start_ns;
	collection->start_cpu_ns = 0;
	collection->overhead.daemon_ns += slice->daemon_cpu_ns;
	collection->overhead.start_ns += job->start_cpu_ns;
	collection->overhead.cpu_ns += overhead_cpu_ns(collection->epoch.events, slice->events, slice->event_count,
	                                               length_ns, collection->epoch.cpu_count);
	for (size_t i = 0; i < slice->event_count; i++)
		overhead_add(&collection->overhead, collection->epoch.events, slice->events, slice->event_count, i);
	slice->epoch = collection->epoch.id;
	if (collection->slice_ends || collection->slice_id == 0) {
		collection->slice_id = 0;
		collection->slice_begin_ns = begin_ns;
	}
	slice->id = collection->slice_id;
	collection->slice_ends =
		is_leap || collection->taken_monotonic_ns - collection->slice_begin_ns >= collection->config.slice_ns;
}

static void
add_totals(struct collection *collection, const struct slice *slice)
{
	struct collection_totals *totals = &collection->totals;

	totals->event_count = slice->event_count;
	totals->sideband_lost += slice->sideband_lost;
	totals->skipped += slice->skipped;
	for (size_t i = 0; i < slice->event_count; i++) {
		const struct slice_event *more = &slice->events[i];

		slice_event_add(&totals->events[i], more);
		if (event_is_sum(&collection->epoch.events[i]))
			continue;
		collection->samples += more->samples;
		collection->lost += more->lost;
		collection->dropped += more->dropped;
		collection->kept_samples += more->samples;
		for (size_t cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			collection->unknown += more->unknown[cause];
	}
}

/*
 * Whoever makes new programs all the time would make the tables of images and contexts grow for ever. What is written
 * under the old numbers stays; a new session costs the flusher a look at the database for each image that is sampled
 * again.
 */
bool
collection_session_is_long(const struct collection *collection)
{
	const struct sampler *sampler = collection->sampler;

	return image_table_bytes(sampler_images(sampler)) + context_table_bytes(sampler_contexts(sampler)) >
	       collection->tables_limit;
}

void
collection_take(struct collection *collection)
{
	struct flush_job *job = &collection->kept;

	memset(job, 0, sizeof(*job));
	job->tally = sampler_take(collection->sampler, collection->spare, &job->slice);
	collection->spare = NULL;
	collection->kept_samples = 0;
	if (collection_session_is_long(collection) &&
	    sampler_renew(collection->sampler, &job->images, &job->contexts) == 0)
		collection->sessions++;
	date_slice(collection, job);
	sampler_take_label_times(collection->sampler, job->slice.end_ns - collection->taken_monotonic_ns, &job->times);
	add_totals(collection, &job->slice);
}
