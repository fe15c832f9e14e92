/*
 * CPUs that have nothing to do are sampled rarely: see sampler.h.
 *
 * A timer that stands in for cycles goes on while its CPU is idle. Each tick wakes the CPU, and yields nothing, for
 * idle time is not counted. So each such event has a second counter, of a long period, that counts in its place as long
 * as the CPU is idle; its first sample calls, and the CPU is sampled at the full rate again.
 *
 * A sample of the long period T stands for the time from T / 2 before it to T / 2 behind it, as in any sampling at
 * fixed intervals: samples of the full rate from that half period behind it are left out. Were it to stand for the T
 * before it, each stretch of work would be taken for half a period longer than it is, as the end of a stretch is seen
 * at the full rate.
 */
#include "collectord/sampler_internal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <time.h>

#include "collectord/machine.h"

#define IDLE_SHARE         20                  /* a CPU is idle that has less than 1 / 20 of a busy one's samples */
#define IDLE_WINDOW_MIN_NS UINT64_C(250000000) /* for so long, after it had been idle */
#define IDLE_WINDOW_MAX_NS UINT64_C(500000000) /* ... and for so long when it has been busy */
#define IDLE_SLACK_NS      UINT64_C(500000000) /* later it may end, so that one wake-up ends those of all CPUs */
#define IDLE_PERIODS       2                   /* the long period is at least so many of the usual ones */

uint64_t
sampler_idle_period(const struct sampler *sampler, size_t event)
{
	const size_t sum = sampler->sums[event];
	const uint64_t period = sum ? sampler->events[sum].encoding.config : 0;

	return sampler->events[event].period && period >= sampler->events[event].period * IDLE_PERIODS ? period : 0;
}

/* All samples of the long period that were ever taken, those that wait in the ring included. */
static uint64_t
idle_samples(const struct sampler_cpu *cpu, const struct idle_counter *idle)
{
	return idle->taken + ring_count(cpu->samples, idle->counter.id);
}

/* All of the event, of either counter. Those that wait may be seconds old: what came in a window is a difference. */
static uint64_t
event_samples(const struct sampler *sampler, const struct sampler_cpu *cpu, size_t event)
{
	return cpu->idle[event].drained + sampler_waiting_samples(sampler, cpu, &cpu->counters[event]);
}

static void
begin_window(struct idle_counter *idle, uint64_t samples, uint64_t now_ns, uint64_t length_ns)
{
	idle->since_ns = now_ns;
	idle->window_ns = length_ns < IDLE_WINDOW_MAX_NS ? length_ns : IDLE_WINDOW_MAX_NS;
	idle->samples_before = samples;
}

void
sampler_begin_idle_window(const struct sampler *sampler, struct sampler_cpu *cpu, size_t event, uint64_t now_ns)
{
	begin_window(&cpu->idle[event], event_samples(sampler, cpu, event), now_ns, IDLE_WINDOW_MAX_NS);
}

/* Exchange which of the two counts. A counter that cannot be enabled leaves things as they are. */
static void
let_count(struct sampler *sampler, struct sampler_cpu *cpu, size_t event, bool idle)
{
	struct sampler_counter *usual = &cpu->counters[event], *rare = &cpu->idle[event].counter;
	const int starts = idle ? rare->fd : usual->fd, ends = idle ? usual->fd : rare->fd;

	if (sampler->enabled) {
		if (ioctl(starts, PERF_EVENT_IOC_ENABLE, 0))
			return;
		(void)ioctl(ends, PERF_EVENT_IOC_DISABLE, 0);
	}
	cpu->idle[event].is_idle = idle;
}

static bool
may_be_idle(const struct sampler *sampler, size_t event)
{
	return !sampler->has_labels && sampler_idle_period(sampler, event) > 0;
}

/* A window that is over is followed by another, whatever it said: else it would be over at once, again and again. */
static void
look_at(struct sampler *sampler, struct sampler_cpu *cpu, size_t event, uint64_t now_ns)
{
	struct idle_counter *idle = &cpu->idle[event];
	const uint64_t elapsed_ns = now_ns - idle->since_ns;
	uint64_t samples, came;

	if (idle->is_idle) {
		if (!may_be_idle(sampler, event) || idle_samples(cpu, idle) > idle->taken_before) {
			let_count(sampler, cpu, event, false);
			begin_window(idle, event_samples(sampler, cpu, event), now_ns, IDLE_WINDOW_MIN_NS);
		}
		return;
	}
	if (elapsed_ns < idle->window_ns)
		return;
	samples = event_samples(sampler, cpu, event);
	came = samples > idle->samples_before ? samples - idle->samples_before : 0;
	if (may_be_idle(sampler, event) && came * IDLE_SHARE < elapsed_ns / sampler->events[event].period) {
		idle->taken_before = idle_samples(cpu, idle);
		let_count(sampler, cpu, event, true);
	}
	begin_window(idle, samples, now_ns, 2 * idle->window_ns);
}

/* Who labels a run wants all of it: while a process has a label, no CPU is sampled rarely. */
static void
look_for_labels(struct sampler *sampler)
{
	const uint64_t changes = sampler_label_changes(sampler);

	if (changes == sampler->label_changes)
		return;
	sampler->label_changes = changes;
	sampler->has_labels = process_labels_any(attribution_labels(sampler->attribution));
}

void
sampler_watch_idle(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	look_for_labels(sampler);
	for (size_t i = 0; i < sampler->cpu_count; i++) {
		struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++)
			if (cpu->counters[e].fd >= 0 && cpu->idle[e].counter.fd >= 0)
				look_at(sampler, cpu, e, now_ns);
	}
}

uint64_t
sampler_idle_due_ns(const struct sampler *sampler)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];

		for (size_t e = 0; e < sampler->event_count; e++) {
			const struct idle_counter *idle = &cpu->idle[e];
			const uint64_t slack_ns = idle->window_ns == IDLE_WINDOW_MAX_NS ? IDLE_SLACK_NS : 0;
			const uint64_t end_ns = idle->since_ns + idle->window_ns + slack_ns;

			if (idle->counter.fd >= 0 && !idle->is_idle && end_ns < due_ns)
				due_ns = end_ns;
		}
	}
	return due_ns;
}

size_t
sampler_idle_cpu_count(const struct sampler *sampler)
{
	size_t count = 0;

	for (size_t i = 0; i < sampler->cpu_count; i++) {
		const struct sampler_cpu *cpu = &sampler->cpus[i];
		bool is_idle = false;

		for (size_t e = 0; e < sampler->event_count; e++)
			is_idle |= cpu->idle[e].counter.fd >= 0 && cpu->idle[e].is_idle;
		count += cpu->open && is_idle;
	}
	return count;
}
