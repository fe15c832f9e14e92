/* What changes on the machine meanwhile: see collection.h. */
#include "collectord/collection_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"

#define PLAN_DELAY_NS    UINT64_C(5000000000)  /* changes come in swarms */
#define PLAN_INTERVAL_NS UINT64_C(60000000000) /* measuring takes its time */

/* Rates are to be chosen again, soon, but not all the time. */
static void
want_plan(struct collection *collection, const char *reason)
{
	uint64_t due_ns = machine_clock_ns(CLOCK_MONOTONIC) + PLAN_DELAY_NS;

	if (collection->plan_reason)
		return;
	if (collection->planned_ns && due_ns < collection->planned_ns + PLAN_INTERVAL_NS)
		due_ns = collection->planned_ns + PLAN_INTERVAL_NS;
	collection->plan_reason = reason;
	collection->plan_due_ns = due_ns;
}

static void
make_plan(struct collection *collection)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const char *reason = collection->plan_reason;
	char why[512];

	if (!reason || now_ns < collection->plan_due_ns || !collection_may_begin_epoch(collection))
		return;
	collection->plan_reason = NULL;
	collection->planned_ns = now_ns;
	if (collection_replan(collection, reason, why, sizeof(why)) == 0)
		return;
	log_write(collection->log, LOG_LEVEL_WARNING, "%s: %s", reason, why);
	want_plan(collection, reason); /* what is to be done stays to be done */
}

/*
 * What lies in the rings was sampled before the leap, but for the last moments: the kernel tells of it at once. While
 * the flusher is busy no job can be taken: then the next one ends the slice.
 */
static void
end_slice(struct collection *collection, unsigned changes)
{
	log_write(collection->log, LOG_LEVEL_NOTICE, "%s: a slice begins",
	          changes & MACHINE_CLOCK_SET ? "the clock was set" : "the machine slept");
	(void)collection_drain_with(collection, sampler_drain_all);
	(void)collection_flush(collection);
}

static void
note_rate_limit(struct collection *collection)
{
	log_write(collection->log, LOG_LEVEL_WARNING, "kernel.perf_event_max_sample_rate is now %" PRIu64,
	          machine_watch_rate_limit(collection->watch));
	want_plan(collection, "the kernel's limit of samples changed");
}

static void
look_at_throttling(struct collection *collection)
{
	uint64_t throttled = 0;

	for (size_t i = 0; i < collection->totals.event_count; i++)
		throttled += collection->totals.events[i].throttled;
	if (throttled > collection->throttled)
		want_plan(collection, "the kernel throttled sampling");
	collection->throttled = throttled;
}

bool
collection_look(struct collection *collection)
{
	const unsigned changes = machine_watch_look(collection->watch);

	if (changes & (MACHINE_CLOCK_SET | MACHINE_RESUMED))
		end_slice(collection, changes);
	if (changes & MACHINE_RESUMED)
		want_plan(collection, "the machine slept");
	if (changes & MACHINE_RATE_LIMIT)
		note_rate_limit(collection);
	if (changes & MACHINE_CPUS)
		collection->cpus_changed = collection->cpus_changed || sampler_is_outdated(collection->sampler);
	if (sampler_retry_events(collection->sampler))
		collection->cpus_changed = true;
	look_at_throttling(collection);
	make_plan(collection);
	return collection->cpus_changed;
}

int
collection_descriptor(const struct collection *collection)
{
	return machine_watch_descriptor(collection->watch);
}

int
collection_follow_cpus(struct collection *collection)
{
	const size_t count = sampler_cpu_count(collection->sampler);
	int err;

	(void)sampler_add_cpus(collection->sampler); /* what cannot be read, is said below */
	err = collection_drain_with(collection, sampler_drain_all);
	if (err == -ENOSPC)
		return err;
	collection->cpus_changed = false;
	err = sampler_follow_cpus(collection->sampler);
	if (err)
		log_write(collection->log, LOG_LEVEL_WARNING, "cannot tell which CPUs are online: %s", error_text(err));
	else if (sampler_cpu_count(collection->sampler) != count)
		want_plan(collection, "the number of CPUs changed");
	return err;
}
