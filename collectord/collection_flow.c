/* Draining, flushing, committing: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/announce.h"
#include "collectord/machine.h"
#include "collectord/trouble.h"

#define CLOCK_STEP_NS UINT64_C(1000000000) /* clocks that differ by more were set */
#define WAIT_STEP_NS  UINT64_C(100000000)  /* in which the smallest rings do not fill up */

/* A clock that cannot be read goes on as far as the others say: a slice of 1970 would be dropped for its age. */
void
collection_mark(struct collection *collection)
{
	const uint64_t time_ns = machine_clock_ns(CLOCK_REALTIME), monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const uint64_t cpu_time_ns = machine_cpu_time_ns(), before_ns = collection->taken_monotonic_ns;

	if (monotonic_ns > before_ns)
		collection->taken_monotonic_ns = monotonic_ns;
	collection->taken_ns = time_ns ? time_ns : collection->taken_ns + collection->taken_monotonic_ns - before_ns;
	if (cpu_time_ns > collection->cpu_time_ns)
		collection->cpu_time_ns = cpu_time_ns;
}

static int
read_stats(struct profile *profile, void *context)
{
	return profile_stats(profile, context);
}

void
collection_update_stats(struct collection *collection)
{
	struct profile_stats stats;

	if (flusher_call(collection->flusher, read_stats, &stats) == 0)
		collection->profile_stats = stats;
}

void
collection_look_aside(struct collection *collection)
{
	if (profile_find_aside(collection->config.database, &collection->aside) <= 0)
		memset(&collection->aside, 0, sizeof(collection->aside));
}

/*
 * Give `slice` its times and its share of our cost. When the clock leapt meanwhile - it was set, or the machine slept -
 * what was counted belongs to the time before, as that clock had it: no slice stretches over a leap, another begins.
 */
static void
date_slice(struct collection *collection, struct slice *slice)
{
	const uint64_t taken_ns = collection->taken_ns;
	const uint64_t begin_ns = collection->taken_monotonic_ns;
	const uint64_t cpu_time_ns = collection->cpu_time_ns;
	uint64_t length_ns;
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
	slice->daemon_cpu_ns = collection->cpu_time_ns - cpu_time_ns;
	collection->overhead.daemon_ns += slice->daemon_cpu_ns;
	collection->overhead.cpu_ns += overhead_cpu_ns(collection->epoch.events, slice->events, slice->event_count,
	                                               length_ns, collection->epoch.cpu_count);
	for (size_t i = 0; i < slice->event_count; i++)
		overhead_add(&collection->overhead, &collection->epoch.events[i], &slice->events[i]);
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
static bool
session_is_long(const struct collection *collection)
{
	const struct sampler *sampler = collection->sampler;

	return image_table_bytes(sampler_images(sampler)) + context_table_bytes(sampler_contexts(sampler)) >
	       collection->tables_limit;
}

/* Move what was counted to `kept`; there must be a spare tally. */
static void
take(struct collection *collection)
{
	struct flush_job *job = &collection->kept;

	memset(job, 0, sizeof(*job));
	job->tally = sampler_take(collection->sampler, collection->spare, &job->slice);
	collection->spare = NULL;
	collection->kept_samples = 0;
	if (session_is_long(collection) && sampler_renew(collection->sampler, &job->images, &job->contexts) == 0)
		collection->sessions++;
	date_slice(collection, &job->slice);
	add_totals(collection, &job->slice);
}

static int
submit_kept(struct collection *collection)
{
	int err;

	err = flusher_submit(collection->flusher, &collection->kept, sampler_images(collection->sampler),
	                     sampler_contexts(collection->sampler));
	if (err)
		return err;
	memset(&collection->kept, 0, sizeof(collection->kept));
	collection->submitted++;
	collection->job_monotonic_ns = machine_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

bool
collection_is_busy(const struct collection *collection)
{
	return collection->submitted != collection->committed;
}

int
collection_flush(struct collection *collection)
{
	collection_settle(collection);
	if (collection_is_busy(collection))
		return -EBUSY;
	if (!collection->kept.tally)
		take(collection);
	return submit_kept(collection);
}

/* Say it when the error changes, not each time: a full disk is full for long. */
static void
note_flush_error(struct collection *collection, int error)
{
	struct collection_view view;
	char reason[TROUBLE_SIZE / 2];

	if (error == collection->flush_error)
		return;
	collection_view(collection, &view);
	if (error && !collection->flush_error) {
		collection->trouble_since_ns = machine_clock_ns(CLOCK_REALTIME);
		collection->trouble_dropped = view.dropped;
	}
	trouble_explain(collection->config.database, error, reason, sizeof(reason));
	if (error)
		log_write(collection->log, LOG_LEVEL_ERROR,
		          "%s: cannot write to the database: %s; counts are kept in memory and tried again",
		          collection->config.database, reason);
	else
		log_write(collection->log, LOG_LEVEL_NOTICE,
		          "%s: the database can be written to again; %" PRIu64 " samples were dropped meanwhile",
		          collection->config.database, view.trouble_dropped);
	if (!error)
		collection->trouble_since_ns = 0;
	collection->flush_error = error;
}

static void
subtract(struct slice_event *event, const struct slice_event *less)
{
	event->samples -= less->samples;
	event->lost -= less->lost;
	event->throttled -= less->throttled;
	event->dropped -= less->dropped;
	event->enabled_ns -= less->enabled_ns;
	event->running_ns -= less->running_ns;
	for (size_t cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
		event->unknown[cause] -= less->unknown[cause];
}

/* The rest of the epoch is in a database that is no more at its place; this job began it again in another. */
static void
follow(struct collection *collection, const struct slice *slice)
{
	struct collection_totals *totals = &collection->totals;
	struct collection_totals job = {
		.event_count = totals->event_count, .sideband_lost = slice->sideband_lost, .skipped = slice->skipped};

	memcpy(job.events, slice->events, sizeof(job.events));
	totals->sideband_lost -= job.sideband_lost;
	totals->skipped -= job.skipped;
	for (size_t i = 0; i < job.event_count; i++)
		subtract(&totals->events[i], &job.events[i]);
	collection_end_totals(collection);
	*totals = job;
	collection->epoch.id = slice->epoch;
	collection->epoch.start_ns = slice->start_ns;
	announce_epoch(collection->log, collection->config.database, &collection->epoch);
}

bool
collection_settle(struct collection *collection)
{
	struct flush_result result;

	if (!flusher_result(collection->flusher, &result))
		return false;
	collection->flush_tries++;
	collection->flush_duration_ns = result.duration_ns;
	note_flush_error(collection, result.error);
	if (!result.done)
		return true;
	collection->committed++;
	if (result.moved)
		follow(collection, &result.job.slice);
	collection->spare = result.job.tally;
	collection->slice_id = result.job.slice.id;
	collection->slice_newest = result.job.slice.id;
	collection->flush_entries = result.entries;
	collection->flush_time_ns = machine_clock_ns(CLOCK_REALTIME);
	if (result.stats.file_bytes) /* else those from before are better than none */
		collection->profile_stats = result.stats;
	collection_look_aside(collection);
	return true;
}

static void
note_stall(struct collection *collection, bool stalled)
{
	if (stalled && !collection->stalled)
		log_write(collection->log, LOG_LEVEL_WARNING,
		          "memory for counts is full and the database does not take them: samples that it has no "
		          "room for are dropped, and counted");
	collection->stalled = stalled;
}

/* Once sampler_drain_all() has waited, what it was asked for is old enough for sampler_drain(). */
int
collection_drain_with(struct collection *collection, int (*drain)(struct sampler *sampler))
{
	int err = drain(collection->sampler);

	while (err == -ENOSPC && collection_flush(collection) == 0)
		err = sampler_drain(collection->sampler);
	note_stall(collection, err == -ENOSPC);
	return err;
}

static void
note_drain_error(struct collection *collection, int error)
{
	if (error && error != collection->drain_error)
		log_write(collection->log, LOG_LEVEL_ERROR, "cannot take samples from the kernel: %s",
		          error_text(error));
	collection->drain_error = error;
}

int
collection_drain(struct collection *collection)
{
	struct tally *tally;
	int err;

	err = collection_drain_with(collection, sampler_drain);
	if (err == -ENOSPC)
		err = sampler_relieve(collection->sampler, collection->flush_error == 0);
	note_drain_error(collection, err);
	tally = sampler_tally(collection->sampler);
	if (!err && (tally_size(tally) >= tally_limit(tally) / 4 * 3 || session_is_long(collection)))
		collection_flush(collection); /* when it is busy, the tally has a quarter left to wait in */
	return err;
}

int
collection_request_commit(struct collection *collection, uint64_t *ticket)
{
	int err;

	err = collection_drain_with(collection, sampler_drain_all);
	if (err)
		return err == -ENOSPC ? -EAGAIN : err;
	err = collection_flush(collection);
	if (err)
		return err == -EBUSY ? -EAGAIN : err;
	*ticket = collection->submitted;
	return 0;
}

uint64_t
collection_committed(const struct collection *collection)
{
	return collection->committed;
}

void
collection_hurry(struct collection *collection)
{
	collection_settle(collection); /* what it says from here on is new */
	flusher_hurry(collection->flusher);
}

/* Meanwhile the kernel goes on, and rings that are full lose what comes. */
static void
wait_for_flusher(struct collection *collection, uint64_t timeout_ns)
{
	flusher_wait(collection->flusher, timeout_ns < WAIT_STEP_NS ? timeout_ns : WAIT_STEP_NS);
	(void)sampler_relieve(collection->sampler, true);
}

/* Wait until all that was taken is written. 0; why a try failed; -ETIMEDOUT at `deadline_ns`. */
static int
wait_until_idle(struct collection *collection, uint64_t deadline_ns)
{
	int err = collection->kept.tally ? submit_kept(collection) : 0;

	if (err)
		return err;
	collection_hurry(collection);
	while (collection_is_busy(collection)) {
		uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

		if (now_ns >= deadline_ns)
			return collection->flush_error ? collection->flush_error : -ETIMEDOUT;
		wait_for_flusher(collection, deadline_ns - now_ns);
		if (collection_settle(collection) && collection->flush_error)
			return collection->flush_error;
	}
	return 0;
}

int
collection_commit(struct collection *collection, uint64_t patience_ns)
{
	const uint64_t deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + patience_ns;
	int (*drain)(struct sampler *) = sampler_drain_all;
	int err, wait_err;

	do {
		err = collection_drain_with(collection, drain);
		if (err && err != -ENOSPC)
			return err;
		drain = sampler_drain;
		/* a full tally may be with the flusher; the last one, with all the rest, goes after it */
		wait_err = wait_until_idle(collection, deadline_ns);
		if (wait_err)
			return wait_err;
	} while (err);
	err = collection_flush(collection);
	return err ? err : wait_until_idle(collection, deadline_ns);
}

bool
collection_is_healthy(const struct collection *collection)
{
	return collection->drain_error == 0 && flusher_is_alive(collection->flusher);
}
