/* How often counters sample, once they are open: see sampler.h. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "collectord/sampler_internal.h"

#define SAMPLE_BYTES 40  /* without a cgroup */
#define CALL_UNKNOWN 256 /* samples, where nobody knows how often the event happens */
#define FULL_PERCENT 50  /* of a ring: what a second may bring where its wake-ups are not waited for */

bool
sampler_plan(struct sampler *sampler, const struct budget_observation *seen, struct event *events)
{
	const uint64_t limit = event_rate_limit(SAMPLER_PROCFS);
	struct budget *budget = &sampler->budget;
	bool changed = false;

	memcpy(events, sampler->events, sampler->event_count * sizeof(*events));
	if (seen)
		budget_learn(budget, events, seen);
	else
		budget_measure(budget, &sampler->features, events, sampler->event_count, sampler->log);
	for (size_t i = 0; i < sampler->event_count; i++)
		changed |= event_limit_rate(&events[i], limit);
	return budget_plan(budget, dither_rate_limit(limit), events) || changed;
}

static int
set_period(const struct sampler_counter *counter, uint64_t period)
{
	return ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

/*
 * Sample with the period of `event`, which for the kernel is the rate when it varies the period itself. A kernel that
 * does not change periods takes a new counter in the old one's place: what an epoch may cost does not depend on it.
 */
static int
begin_period(struct sampler *sampler, struct sampler_cpu *cpu, size_t index, const struct event *event, uint64_t now_ns)
{
	struct sampler_counter *counter = &cpu->counters[index];
	const uint64_t period =
		event->period ? dither_begin(&counter->dither, event->period, cpu->number, now_ns) : event->rate;

	sampler_begin_idle_window(sampler, cpu, index, now_ns);
	return set_period(counter, period) ? sampler_counter_replace(sampler, cpu, index, event, period) : 0;
}

static int
set_periods(struct sampler *sampler, const struct event *events)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			int err = cpu->counters[e].fd < 0 ? 0 : begin_period(sampler, cpu, e, &events[e], now_ns);

			if (err)
				return err;
		}
	}
	return 0;
}

int
sampler_set_periods(struct sampler *sampler, const struct event *events)
{
	int err = set_periods(sampler, events);

	if (err)
		(void)set_periods(sampler, sampler->events); /* which the kernel took before */
	else
		memcpy(sampler->events, events, sampler->event_count * sizeof(*events));
	return err;
}

/* What a sample takes in a ring. */
static size_t
sample_bytes(const struct sampler *sampler)
{
	return SAMPLE_BYTES + (sampler->features.cgroup ? sizeof(uint64_t) : 0) +
	       (sampler->reads_period ? sizeof(uint64_t) : 0);
}

/* What waits in the ring was taken as well. With one event, its length tells how much that is. */
uint32_t
sampler_waiting_samples(const struct sampler *sampler, const struct sampler_cpu *cpu,
                        const struct sampler_counter *counter)
{
	if (!cpu->samples)
		return 0;
	return (uint32_t)(sampler->event_count == 1 ? ring_used(cpu->samples) / sample_bytes(sampler)
	                                            : ring_count(cpu->samples, counter->id));
}

static void
dither_counter(const struct sampler *sampler, const struct sampler_cpu *cpu, struct sampler_counter *counter,
               uint64_t now_ns)
{
	int32_t waiting;

	if (now_ns - counter->dither.since_ns < DITHER_INTERVAL_NS)
		return;
	waiting = (int32_t)sampler_waiting_samples(sampler, cpu, counter);
	counter->dither.samples += waiting;
	if (dither_is_due(&counter->dither, now_ns)) {
		const uint64_t period = dither_next(&counter->dither, cpu->number);

		if (set_period(counter, period))
			dither_keep(&counter->dither, now_ns);
		else
			dither_change(&counter->dither, period, now_ns);
	}
	counter->dither.samples -= waiting; /* until they are drained, and counted again */
}

void
sampler_dither(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++)
			if (cpu->counters[e].fd >= 0 && sampler->events[e].period)
				dither_counter(sampler, cpu, &cpu->counters[e], now_ns);
	}
}

/*
 * How often the ring of a busy CPU calls, in a second. One that is sampled rarely while it is idle calls when it works
 * again: what begins then is seen early. Of another, a call is all that tells of a program that runs for half a second.
 */
static uint64_t
calls_per_s(const struct sampler *sampler, size_t event)
{
	return sampler_idle_period(sampler, event) ? 1 : 2;
}

bool
sampler_needs_wakeup(const struct sampler *sampler, size_t index)
{
	const struct sampler_cpu *cpu = &sampler->cpus[index / 2];
	uint64_t samples = 0;
	bool is_looked_at = false;

	if (index % 2 == 0 || !cpu->samples)
		return true;
	for (size_t e = 0; e < sampler->event_count; e++) {
		if (cpu->counters[e].fd < 0)
			continue;
		if (!sampler->events[e].rate || !event_is_clock(&sampler->events[e].encoding))
			return true; /* how often it happens is not known, or was guessed from what was seen */
		samples += sampler->events[e].rate;
		is_looked_at |= cpu->idle[e].counter.fd >= 0 && !cpu->idle[e].is_idle;
	}
	return !is_looked_at || samples * sample_bytes(sampler) > ring_size(cpu->samples) / 100 * FULL_PERCENT;
}

uint32_t
sampler_watermark(const struct sampler *sampler)
{
	const uint64_t half = sampler->ring_pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	uint64_t samples = 0;

	for (size_t e = 0; e < sampler->event_count; e++)
		if (sampler->events[e].available)
			samples += sampler->events[e].rate ? sampler->events[e].rate / calls_per_s(sampler, e)
			                                   : CALL_UNKNOWN;
	if (samples < DITHER_SAMPLES)
		samples = DITHER_SAMPLES;
	return (uint32_t)(samples < half / sample_bytes(sampler) ? samples * sample_bytes(sampler) : half);
}
