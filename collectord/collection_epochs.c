/* The epochs of a collection: begin and end, what is logged of them, changes of rates and of the configuration. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/collection_internal.h"
#include "collectord/machine.h"
#include "process/proc.h"
#include "profile/epoch.h"

#define PATIENCE_NS UINT64_C(10000000000) /* for the last flush of an epoch */

/* ---- what was counted in all epochs ---- */

static struct collection_past_event *
find_totals(const struct collection_past *totals, const char *name)
{
	for (size_t i = 0; i < totals->event_count; i++)
		if (strcmp(totals->events[i].name, name) == 0)
			return &totals->events[i];
	return NULL;
}

void
collection_past_fini(struct collection_past *totals)
{
	free(totals->events);
	*totals = (struct collection_past){0};
}

int
collection_past_reserve(struct collection_past *totals, const struct epoch *epoch)
{
	struct collection_past_event *events;

	events = reallocarray(totals->events, totals->event_count + epoch->event_count + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	totals->events = events;
	for (size_t i = 0; i < epoch->event_count; i++) {
		struct collection_past_event *event = &events[totals->event_count];

		if (!epoch->events[i].available || event_is_sum(&epoch->events[i]) ||
		    find_totals(totals, epoch->events[i].name))
			continue;
		*event = (struct collection_past_event){0};
		snprintf(event->name, sizeof(event->name), "%s", epoch->events[i].name);
		totals->event_count++;
	}
	return 0;
}

void
collection_past_add(struct collection_past *totals, const struct epoch *epoch, const struct slice_event *counts)
{
	for (size_t i = 0; i < epoch->event_count; i++) {
		struct collection_past_event *event = find_totals(totals, epoch->events[i].name);

		if (event && epoch->events[i].available)
			slice_event_add(&event->counts, &counts[i]);
	}
}

/* ---- what is logged of an epoch ---- */

/* The period of a clock is left out: it is the inverse of its rate. */
static int
format_frequency(uint64_t period, uint64_t rate, const char *unit, char *text, size_t size)
{
	if (rate && period && strcmp(unit, "ns") != 0)
		return snprintf(text, size, "a sample every %" PRIu64 " %s, %" PRIu64 " samples/s per CPU", period,
		                unit, rate);
	if (rate)
		return snprintf(text, size, "%" PRIu64 " samples/s per CPU", rate);
	return snprintf(text, size, "a sample every %" PRIu64 " %s", period, unit);
}

void
collection_announce_event(const struct event *event, char *text, size_t size)
{
	char frequency[96], precise[32] = "", stands_in[EVENT_NAME_SIZE + 32] = "";

	if (!event->available) {
		snprintf(text, size, "%s: not available here%s%s", event->requested, *event->note ? "; " : "",
		         event->note);
		return;
	}
	format_frequency(event->period, event->rate, event->encoding.unit, frequency, sizeof(frequency));
	if (event->precise)
		snprintf(precise, sizeof(precise), ", precise level %u", event->precise);
	if (strcmp(event->name, event->requested) != 0)
		snprintf(stands_in, sizeof(stands_in), "; stands in for %s", event->requested);
	snprintf(text, size, "%s: %s%s%s%s%s%s%s", event->name, frequency, precise,
	         event->user ? "" : ", kernel mode only", event->kernel ? "" : ", user mode only", stands_in,
	         !*event->note ? ""
	         : *stands_in  ? ": "
	                       : "; ",
	         event->note);
}

void
collection_announce_spec(const struct event_spec *spec, char *text, size_t size)
{
	char frequency[96], precise[40] = "";

	if (spec->period || spec->rate)
		format_frequency(spec->period, spec->rate, "events", frequency, sizeof(frequency));
	else
		snprintf(frequency, sizeof(frequency), "as often as the limit allows");
	if (spec->precise)
		snprintf(precise, sizeof(precise), ", precise level %u or less", spec->precise);
	snprintf(text, size, "%s: %s%s%s%s", spec->name, frequency, precise, spec->user ? "" : ", kernel mode only",
	         spec->kernel ? "" : ", user mode only");
}

void
collection_announce_epoch(const struct log *log, const char *database, const struct epoch *epoch)
{
	log_write(log, LOG_LEVEL_INFO, "epoch %" PRIu32 "%s%s%s in %s", epoch->id, *epoch->label ? " \"" : "",
	          epoch->label, *epoch->label ? "\"" : "", database);
}

void
collection_announce_events(const struct log *log, const struct epoch *epoch)
{
	bool has_clock = false;
	size_t count = 0;
	char text[512];

	for (size_t i = 0; i < epoch->event_count; i++)
		count += !event_is_sum(&epoch->events[i]);
	log_write(log, LOG_LEVEL_INFO, "%zu event%s on %" PRIu32 " CPU%s:", count, count == 1 ? "" : "s",
	          epoch->cpu_count, epoch->cpu_count == 1 ? "" : "s");
	for (size_t i = 0; i < epoch->event_count; i++) {
		const struct event *event = &epoch->events[i];

		if (event_is_sum(event))
			continue;
		collection_announce_event(event, text, sizeof(text));
		log_write(log, *event->note ? LOG_LEVEL_NOTICE : LOG_LEVEL_INFO, "%s", text);
		has_clock |= event->available && !event->idle && strstr(event->name, "-clock");
	}
	if (has_clock)
		log_write(log, LOG_LEVEL_INFO, "time in which a CPU is idle is not counted");
	if (proc_text_is_nested("/proc"))
		log_write(log, LOG_LEVEL_WARNING,
		          "this is a pid namespace: samples of processes outside it stay unknown");
}

void
collection_announce_overhead(const struct log *log, const struct epoch *epoch, uint64_t limit_ppm)
{
	double expected;

	if (overhead_expected(epoch->events, epoch->event_count, &expected) &&
	    expected > 1.05 * (double)limit_ppm / 1e4)
		log_write(log, LOG_LEVEL_NOTICE,
		          "sampling is to cost %.2f %% of the machine at full load, more than overhead_limit (%g %%): "
		          "periods and rates that are configured hold",
		          expected, (double)limit_ppm / 1e4);
}

/* ---- begin and end ---- */

void
collection_end_totals(struct collection *collection)
{
	collection_past_add(&collection->past_totals, &collection->epoch, collection->totals.events);
	collection->past_totals.epochs++;
	collection->past_sideband_lost += collection->totals.sideband_lost;
	collection->past_skipped += collection->totals.skipped;
	memset(&collection->totals, 0, sizeof(collection->totals));
	memset(&collection->overhead, 0, sizeof(collection->overhead));
}

int
collection_start_epoch(struct collection *collection, const char *label, bool continues, char *why, size_t size)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	size_t count;
	const struct event *events = sampler_events(collection->sampler, &count);
	int err;

	if (!epoch)
		return collection_explain(why, size, collection->config.database, "begin an epoch", -ENOMEM);
	epoch_host_describe("/proc", epoch);
	snprintf(epoch->label, sizeof(epoch->label), "%s", label);
	epoch->cpu_count = (uint32_t)sampler_cpu_count(collection->sampler);
	for (size_t i = 0; i < count; i++) /* the limit that rates were chosen from; 0 when the user gave them all */
		if (events[i].available && events[i].chosen)
			epoch->overhead_limit_ppm = (uint32_t)collection->config.overhead_limit_ppm;
	epoch->event_count = count;
	memcpy(epoch->events, events, count * sizeof(*events));
	epoch->start_ns = machine_clock_ns(CLOCK_REALTIME);
	epoch->end_ns = epoch->start_ns;
	epoch->continues = continues;
	err = collection_past_reserve(&collection->past_totals, epoch);
	if (!err)
		err = flusher_begin_epoch(collection->flusher, epoch);
	if (err && err != -EINPROGRESS) {
		free(epoch);
		return collection_explain(why, size, collection->config.database, "begin an epoch", err);
	}
	collection_end_totals(collection);
	collection->is_late = err == -EINPROGRESS;
	collection->epoch = *epoch;
	collection->slice_id = 0;
	collection->slice_ends = false;
	collection->totals.event_count = epoch->event_count;
	free(epoch);
	if (!collection->is_late)
		collection_announce_epoch(collection->log, collection->config.database, &collection->epoch);
	return 0;
}

/* Write all that the epoch counted. 0, or an error with a sentence. */
static int
collection_finish_epoch(struct collection *collection, char *why, size_t size)
{
	int err;

	if (collection->is_compacting) {
		snprintf(why, size, "the database is being compacted; try again when that is done");
		return -EBUSY;
	}
	err = collection_commit(collection, PATIENCE_NS);
	if (err)
		snprintf(why, size, "the counts of the old epoch cannot be written: %s", error_text(err));
	return err;
}

int
collection_begin_epoch(struct collection *collection, const char *label, char *why, size_t size)
{
	int err = collection_finish_epoch(collection, why, size);

	if (err)
		return err;
	return collection_start_epoch(collection, label, false, why, size);
}

/* ---- rates ---- */

bool
collection_may_begin_epoch(const struct collection *collection)
{
	return !collection->is_compacting && !collection->flush_error && !collection->stalled &&
	       !collection_is_busy(collection);
}

/* Counting has stopped: commit what was counted with the old periods, and begin the epoch of those of `events`. */
static int
begin_epoch_with_periods(struct collection *collection, const struct event *events, char *why, size_t size)
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

/*
 * Counting stops between the two epochs, so that no sample of one period gets into the epoch of the other. On failure
 * the old epoch goes on.
 */
static int
change_periods(struct collection *collection, const struct event *events, const struct event *old_events, char *why,
               size_t size)
{
	int err, enable_err;

	/* Write most of the counts while counting goes on: a disk may be slow. */
	err = collection_finish_epoch(collection, why, size);
	if (err)
		return err;
	collection_stop(collection);
	err = begin_epoch_with_periods(collection, events, why, size);
	if (err)
		(void)sampler_set_periods(collection->sampler, old_events); /* the kernel accepted these before */
	enable_err = sampler_enable(collection->sampler);
	if (enable_err && !err) {
		err = enable_err;
		snprintf(why, size, "perf events cannot be enabled again: %s", error_text(err));
	}
	return err;
}

/* Choose the rates again, from what was `seen` or, when that is NULL, from the costs, measured again. */
static int
choose_rates(struct collection *collection, const struct budget_observation *seen, const char *reason, char *why,
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
			collection_announce_events(collection->log, &collection->epoch);
	}
	free(events);
	return err;
}

int
collection_replan(struct collection *collection, const char *reason, char *why, size_t size)
{
	return choose_rates(collection, NULL, reason, why, size);
}

static void
mark_now(const struct collection *collection, struct cost_mark *mark)
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
growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* What happened between two marks of one epoch. */
static void
mark_difference(const struct cost_mark *now, const struct cost_mark *before, struct cost_mark *between)
{
	*between = *now;
	between->overhead.sample_ns = growth(now->overhead.sample_ns, before->overhead.sample_ns);
	between->overhead.daemon_ns = growth(now->overhead.daemon_ns, before->overhead.daemon_ns);
	between->overhead.cpu_ns = growth(now->overhead.cpu_ns, before->overhead.cpu_ns);
	between->seen.cpu_ns = growth(now->seen.cpu_ns, before->seen.cpu_ns);
	between->seen.busy_ns = growth(now->seen.busy_ns, before->seen.busy_ns);
	between->seen.daemon_ns = growth(now->seen.daemon_ns, before->seen.daemon_ns);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		between->seen.samples[i] = growth(now->seen.samples[i], before->seen.samples[i]);
}

static void
learn_rates(struct collection *collection, const struct cost_mark *between, const char *reason)
{
	char why[512];
	int err = choose_rates(collection, &between->seen, reason, why, sizeof(why));

	if (err && !collection->rates_failed)
		log_write(collection->log, LOG_LEVEL_WARNING, "%s", why);
	collection->rates_failed = err != 0;
}

void
collection_adjust_rates(struct collection *collection)
{
	const double limit = (double)collection->epoch.overhead_limit_ppm / 1e4;
	struct cost_mark now, between;
	uint64_t elapsed_ns;
	char reason[96];

	/* without a limit, the user gave every rate */
	if (limit <= 0 || !collection_may_begin_epoch(collection))
		return;
	mark_now(collection, &now);
	if (collection->last_check.epoch != now.epoch || collection->last_review.epoch != now.epoch) {
		collection->last_check = collection->last_review = now;
		collection->budget_watch = (struct budget_watch){0};
		return;
	}
	elapsed_ns = now.time_ns - collection->last_check.time_ns;
	if (elapsed_ns < BUDGET_CHECK_NS)
		return;
	mark_difference(&now, &collection->last_check, &between);
	collection->last_check = now;
	snprintf(reason, sizeof(reason), "sampling costs %.2f %% of the machine, its limit is %g %%",
	         overhead_percent(&between.overhead), limit);
	switch (budget_check(&collection->budget_watch, overhead_percent(&between.overhead), limit, elapsed_ns)) {
	case BUDGET_KEEP:
		break;
	case BUDGET_SLOW_DOWN:
		learn_rates(collection, &between, reason);
		break;
	case BUDGET_REVIEW:
		mark_difference(&now, &collection->last_review, &between);
		collection->last_review = now;
		learn_rates(collection, &between, "what was seen in the last minutes");
		break;
	}
}

/* ---- another configuration ---- */

/* Members are compared one by one: what lies between them, and behind the end of a name, is not defined. */
static bool
events_differ(const struct config *a, const struct config *b)
{
	if (a->event_count != b->event_count)
		return true;
	for (size_t i = 0; i < a->event_count; i++) {
		const struct event_spec *x = &a->events[i], *y = &b->events[i];

		if (strcmp(x->name, y->name) != 0 || x->period != y->period || x->rate != y->rate ||
		    x->precise != y->precise || x->user != y->user || x->kernel != y->kernel || x->idle != y->idle)
			return true;
	}
	return false;
}

static bool
stacks_differ(const struct config_stacks *a, const struct config_stacks *b)
{
	return a->rate != b->rate ||
	       (a->rate && (a->depth != b->depth || a->user != b->user || a->kernel != b->kernel));
}

bool
collection_must_reopen(const struct collection *collection, const struct config *config)
{
	const struct config *now = &collection->config;

	return events_differ(now, config) || now->overhead_limit_ppm != config->overhead_limit_ppm ||
	       stacks_differ(&now->stacks, &config->stacks) || now->max_rate != config->max_rate ||
	       now->idle_rate != config->idle_rate || now->ring_pages != config->ring_pages ||
	       now->sideband_pages != config->sideband_pages || now->tally_limit != config->tally_limit ||
	       now->capture_limit != config->capture_limit;
}

/*
 * Images and contexts have numbers of the session, and the session is the sampler's: with a new sampler, the database
 * is opened anew as well.
 */
static int
reopen(struct collection *collection, struct sampler *sampler, const struct config *config, char *why, size_t size)
{
	char label[EPOCH_LABEL_SIZE];
	struct labelled_processes labelled = {0};
	int err;

	if (sampler_labelled(collection->sampler, &labelled) == 0) { /* else there is no memory to keep them in */
		(void)sampler_label_again(sampler, &labelled);
		labelled_processes_fini(&labelled);
	}
	snprintf(label, sizeof(label), "%s", collection->epoch.label);
	collection_close_writer(collection);
	sampler_close(collection->sampler);
	collection->sampler = sampler;
	collection->unidentified = 0;
	collection->config = *config;
	collection->opened_cpu_ns = machine_cpu_time_ns();
	err = collection_open_profile(collection, why, size);
	if (!err)
		err = collection_start(collection, label, why, size);
	return err ? -ECANCELED : 0;
}

static int
set_size_limit(struct profile *profile, void *context)
{
	return profile_set_size_limit(profile, *(uint64_t *)context);
}

/* Before anything is to be written: it may be what lets a full database take it. */
static int
limit_size(struct collection *collection, uint64_t size_limit, char *why, size_t size)
{
	int err;

	if (collection->config.size_limit == size_limit)
		return 0;
	err = flusher_call(collection->flusher, set_size_limit, &size_limit);
	if (err)
		return collection_explain(why, size, collection->config.database, "change its size limit", err);
	collection->config.size_limit = size_limit;
	collection_retain(collection);
	collection_update_stats(collection);
	collection_retry_now(collection);
	return 0;
}

int
collection_reconfigure(struct collection *collection, const struct config *config, char *why, size_t size)
{
	struct sampler *sampler;
	int err;

	if (collection->is_compacting) {
		snprintf(why, size, "the database is being compacted; try again when that is done");
		return -EBUSY;
	}
	err = limit_size(collection, config->size_limit, why, size);
	if (err)
		return err;
	if (!collection_must_reopen(collection, config)) {
		collection->config = *config;
		collection_retain(collection);
		return 0;
	}
	err = sampler_open(config, NULL, collection->log, &sampler, why, size);
	if (err)
		return err;
	collection_stop(collection);
	err = collection_finish_epoch(collection, why, size);
	if (err) {
		sampler_close(sampler);
		return sampler_enable(collection->sampler) ? -ECANCELED : err;
	}
	return reopen(collection, sampler, config, why, size);
}
