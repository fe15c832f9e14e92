/* What a collection has counted: see collection.h. */
#include "collectord/collection_internal.h"

#include <time.h>

#include "collectord/machine.h"

/* What was counted and used since the last take; view->cpu_time_ns is filled in already. */
static void
view_add_overhead(const struct collection *collection, struct collection_view *view)
{
	const struct slice_event *counted = sampler_counted(collection->sampler);
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (view->cpu_time_ns > collection->cpu_time_ns) {
		const uint64_t used_ns = view->cpu_time_ns - collection->cpu_time_ns;
		const uint64_t start_ns = collection_start_since(collection, used_ns);

		view->overhead.daemon_ns += used_ns - start_ns;
		view->overhead.start_ns += start_ns;
	}
	view->overhead.start_ns += collection->start_cpu_ns;
	view->overhead.cpu_ns += (now_ns - collection->taken_monotonic_ns) * view->cpu_count;
	for (size_t i = 0; i < collection->epoch.event_count; i++)
		overhead_add(&view->overhead, collection->epoch.events, counted, collection->epoch.event_count, i);
}

/* What is in the sampler, not yet taken, counts as well. */
static void
view_add_counted(const struct collection *collection, struct collection_view *view)
{
	const struct slice_event *counted = sampler_counted(collection->sampler);

	for (size_t i = 0; i < view->totals.event_count; i++) {
		struct slice_event *event = &view->totals.events[i];

		if (event_is_sum(&collection->epoch.events[i]))
			continue;
		event->samples += counted[i].samples;
		event->dropped += counted[i].dropped;
		view->samples += counted[i].samples;
		view->dropped += counted[i].dropped;
		view->kept += counted[i].samples;
		for (size_t cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
			event->unknown[cause] += counted[i].unknown[cause];
			view->unknown += counted[i].unknown[cause];
		}
	}
}

/* Ticks of timers that made no sample, as their CPU was idle. They cost as much as samples. */
static void
view_add_idle(const struct collection *collection, struct collection_view *view)
{
	const struct collection_totals *totals = &collection->totals;
	const uint64_t cpu_ns = collection->overhead.cpu_ns;

	view->idle_cpus = sampler_idle_cpu_count(collection->sampler);
	for (size_t i = 0; i < totals->event_count; i++)
		view->idle_ticks +=
			overhead_idle_ticks(collection->epoch.events, totals->events, totals->event_count, i);
	if (cpu_ns)
		view->idle_ticks_per_s = (double)view->idle_ticks * 1e9 * (double)view->cpu_count / (double)cpu_ns;
}

void
collection_view(const struct collection *collection, struct collection_view *view)
{
	struct tally *tally = sampler_tally(collection->sampler);

	*view = (struct collection_view){
		.config = &collection->config,
		.epoch = &collection->epoch,
		.totals = collection->totals,
		.samples = collection->samples,
		.unknown = collection->unknown,
		.lost = collection->lost,
		.overhead = collection->overhead,
		.past = &collection->lifetime,
		.sideband_lost = collection->past_sideband_lost + collection->totals.sideband_lost,
		.skipped = collection->past_skipped + collection->totals.skipped,
		.dropped = collection->dropped,
		.kept = collection_is_busy(collection) ? collection->kept_samples : 0,
		.cpu_count = sampler_cpu_count(collection->sampler),
		.slice = collection->slice_newest,
		.tally_size = tally_size(tally),
		.tally_limit = tally_limit(tally),
		.profile = collection->profile_stats,
		.flush_time_ns = collection->flush_time_ns,
		.flush_duration_ns = collection->flush_duration_ns,
		.flush_entries = collection->flush_entries,
		.flush_tries = collection->flush_tries,
		.flushes = collection->committed,
		.sessions = collection->sessions,
		.flush_error = collection->flush_error,
		.stalled = collection->stalled,
		.trouble_since_ns = collection->trouble_since_ns,
		.aside = collection->aside,
	};
	if (collection_is_busy(collection))
		view->flush_pending_ns = machine_clock_ns(CLOCK_MONOTONIC) - collection->job_monotonic_ns;
	sampler_cpu_list(collection->sampler, view->cpus, sizeof(view->cpus));
	view_add_idle(collection, view);
	view->captures = collection->capturer;
	view->cpu_time_ns = collection_cpu_time_ns(collection);
	if (collection->files)
		file_ids_stats(collection->files, &view->files);
	if (collection->capturer)
		capturer_stats(collection->capturer, &view->capture);
	view_add_counted(collection, view);
	view_add_overhead(collection, view);
	if (view->trouble_since_ns)
		view->trouble_dropped = view->dropped - collection->trouble_dropped;
	sampler_attribution_stats(collection->sampler, &view->attribution);
	sampler_reader_stats(collection->sampler, &view->reader);
}
