/* Rates that change while dcpid runs: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/announce.h"
#include "collectord/machine.h"

/* Counting has stopped: commit what was counted with the old periods, and begin the epoch of those of `events`. */
static int
begin_with_periods(struct collection *collection, const struct event *events, char *why, size_t size)
{
	int err = collection_finish_epoch(collection, why, size);

	if (err)
		return err;
	err = sampler_set_periods(collection->sampler, events);
	if (err) {
		snprintf(why, size, "the sampling period cannot be changed: %s", error_text(err));
		return err;
	}
	return collection_start_epoch(collection, collection->epoch.label, true, why, size);
}

/* No sample of the one period gets into an epoch of the other: what cannot begin leaves the old one as it was. */
static int
change_periods(struct collection *collection, const struct event *events, const struct event *old_events, char *why,
               size_t size)
{
	int err, enable_err;

	/* All but a little while counting goes on: a disk may be slow. */
	err = collection_finish_epoch(collection, why, size);
	if (err)
		return err;
	collection_stop(collection);
	err = begin_with_periods(collection, events, why, size);
	if (err)
		(void)sampler_set_periods(collection->sampler, old_events); /* which the kernel took before */
	enable_err = sampler_enable(collection->sampler);
	if (enable_err && !err) {
		err = enable_err;
		snprintf(why, size, "perf events cannot be enabled again: %s", error_text(err));
	}
	return err;
}

bool
collection_may_begin_epoch(const struct collection *collection)
{
	return !collection->is_compacting && !collection->flush_error && !collection->stalled &&
	       !collection_is_busy(collection);
}

/* Choose the rates again, from what was `seen` or, when that is NULL, from the costs, measured again. */
static int
choose_again(struct collection *collection, const struct budget_observation *seen, const char *reason, char *why,
             size_t size)
{
	struct event *events = calloc(2 * EVENTS_MAX, sizeof(*events)), *old_events;
	const struct event *now;
	size_t count;
	int err = 0;

	if (!events) {
		snprintf(why, size, "rates cannot be chosen: %s", error_text(-ENOMEM));
		return -ENOMEM;
	}
	old_events = events + EVENTS_MAX;
	now = sampler_events(collection->sampler, &count);
	memcpy(old_events, now, count * sizeof(*now));
	if (sampler_plan(collection->sampler, seen, events)) {
		log_write(collection->log, LOG_LEVEL_NOTICE, "%s: sampling rates change", reason);
		err = change_periods(collection, events, old_events, why, size);
		if (!err)
			announce_events(collection->log, &collection->epoch);
	}
	free(events);
	return err;
}

int
collection_replan(struct collection *collection, const char *reason, char *why, size_t size)
{
	return choose_again(collection, NULL, reason, why, size);
}

/* ---- the pace ---- */

static void
mark_now(const struct collection *collection, struct pace_mark *mark)
{
	struct collection_view view;

	collection_view(collection, &view);
	mark->epoch = view.epoch->id;
	mark->time_ns = machine_clock_ns(CLOCK_MONOTONIC);
	mark->overhead = view.overhead;
	mark->seen = (struct budget_observation){
		.cpu_ns = view.overhead.cpu_ns,
		.busy_ns = machine_busy_ns("/proc"),
		.daemon_ns = view.overhead.daemon_ns,
	};
	for (size_t i = 0; i < view.totals.event_count; i++)
		mark->seen.samples[i] = view.totals.events[i].samples;
}

static uint64_t
since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* What happened between two marks of one epoch. */
static void
difference(const struct pace_mark *now, const struct pace_mark *before, struct pace_mark *between)
{
	*between = *now;
	between->overhead.sample_ns = since(now->overhead.sample_ns, before->overhead.sample_ns);
	between->overhead.daemon_ns = since(now->overhead.daemon_ns, before->overhead.daemon_ns);
	between->overhead.cpu_ns = since(now->overhead.cpu_ns, before->overhead.cpu_ns);
	between->seen.cpu_ns = since(now->seen.cpu_ns, before->seen.cpu_ns);
	between->seen.busy_ns = since(now->seen.busy_ns, before->seen.busy_ns);
	between->seen.daemon_ns = since(now->seen.daemon_ns, before->seen.daemon_ns);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		between->seen.samples[i] = since(now->seen.samples[i], before->seen.samples[i]);
}

static void
change_pace(struct collection *collection, const struct pace_mark *between, const char *reason)
{
	char why[512];
	int err = choose_again(collection, &between->seen, reason, why, sizeof(why));

	if (err && !collection->pace_failed)
		log_write(collection->log, LOG_LEVEL_WARNING, "%s", why);
	collection->pace_failed = err != 0;
}

void
collection_keep_pace(struct collection *collection)
{
	const double limit = (double)collection->epoch.overhead_limit_ppm / 1e4;
	struct pace_mark now, between;
	uint64_t elapsed_ns;
	char reason[96];

	/* without a limit, every rate is the user's */
	if (limit <= 0 || !collection_may_begin_epoch(collection))
		return;
	mark_now(collection, &now);
	if (collection->look.epoch != now.epoch || collection->review.epoch != now.epoch) {
		collection->look = collection->review = now;
		collection->pace = (struct pace){0};
		return;
	}
	elapsed_ns = now.time_ns - collection->look.time_ns;
	if (elapsed_ns < PACE_LOOK_NS)
		return;
	difference(&now, &collection->look, &between);
	collection->look = now;
	snprintf(reason, sizeof(reason), "sampling costs %.2f %% of the machine, its limit is %g %%",
	         overhead_percent(&between.overhead), limit);
	switch (pace_judge(&collection->pace, overhead_percent(&between.overhead), limit, elapsed_ns)) {
	case PACE_KEEP:
		break;
	case PACE_SLOW_DOWN:
		change_pace(collection, &between, reason);
		break;
	case PACE_REVIEW:
		difference(&now, &collection->review, &between);
		collection->review = now;
		change_pace(collection, &between, "what was seen in the last minutes");
		break;
	}
}
