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

#define WAIT_STEP_NS UINT64_C(100000000) /* in which the smallest rings do not fill up */

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
	if (profile_find_quarantined(collection->config.database, &collection->aside) <= 0)
		memset(&collection->aside, 0, sizeof(collection->aside));
}

static int
submit_kept(struct collection *collection)
{
	int err;

	collection_exchange_notes(collection);
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
		collection_take(collection);
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

/* The epoch that was to begin has. */
static void
learn_number(struct collection *collection, const struct slice *slice)
{
	collection->is_late = false;
	collection->epoch.id = slice->epoch;
	announce_epoch(collection->log, collection->config.database, &collection->epoch);
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
	if (result.moved && collection->is_late)
		learn_number(collection, &result.job.slice);
	else if (result.moved)
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
	collection_ask_files(collection);
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
	collection_exchange_notes(collection);
	collection_see_images(collection);
	tally = sampler_tally(collection->sampler);
	if (!err && (tally_size(tally) >= tally_limit(tally) / 4 * 3 || collection_session_is_long(collection)))
		collection_flush(collection); /* when it is busy, the tally has a quarter left to wait in */
	return err;
}

int
collection_request_commit(struct collection *collection, uint64_t *ticket)
{
	int err;

	err = collection_drain_with(collection, sampler_drain_all);
	collection_see_images(collection);
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

	sampler_settle(collection->sampler);
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
