/* How often counters sample, once they are open: see sampler.h. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "collectord/dither.h"
#include "collectord/machine.h"
#include "collectord/sampler_internal.h"

/*
 * A new period begins where the old one is cut short, which loses half a period in the mean: after so many samples it
 * is 0.2 % of the count at most. CPUs that are idle, and so have none, are not woken for it.
 */
#define DITHER_SAMPLES     256
#define DITHER_INTERVAL_NS UINT64_C(1000000000)

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
	return budget_plan(budget, limit, events) || changed;
}

static int
set_period(const struct sampler_cpu *cpu, const struct sampler_counter *counter, const struct event *event)
{
	uint64_t period = event->rate; /* which it is for the kernel when it varies the period */

	if (event->period)
		period = dither_period(event->period, cpu->number, counter->dither_step);
	return ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

static int
set_periods(const struct sampler *sampler, const struct event *events)
{
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			int err = cpu->counters[e].fd < 0 ? 0 : set_period(cpu, &cpu->counters[e], &events[e]);

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

void
sampler_dither(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (now_ns - sampler->dithered_ns < DITHER_INTERVAL_NS)
		return;
	sampler->dithered_ns = now_ns;
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			struct sampler_counter *counter = &cpu->counters[e];

			if (counter->fd < 0 || counter->undithered < DITHER_SAMPLES || !sampler->events[e].period)
				continue;
			counter->undithered = 0;
			counter->dither_step++;
			(void)set_period(cpu, counter, &sampler->events[e]); /* at worst it stays as it is */
		}
	}
}
