#include "profile/overhead.h"

#include "profile/codec.h"

#define START_SHARE 10000 /* of the whole */

static double
cost_of_second(const struct event *event)
{
	const uint64_t daemon_ns =
		event_is_stacks(event) ? OVERHEAD_STACK_NS : overhead_daemon_sample_ns(event->cost_ns);

	return event->available ? (double)event->rate * (double)(event->cost_ns + daemon_ns) : 0;
}

/* On cores of several kinds: does another kind of this event cost more? A CPU samples only one of them. */
static bool
is_instead_of(const struct event *events, size_t count, size_t index)
{
	const double cost_ns = cost_of_second(&events[index]);

	for (size_t i = 0; i < count; i++) {
		const double other_ns = cost_of_second(&events[i]);

		if (event_is_other_kind(&events[i], &events[index]) &&
		    (other_ns > cost_ns || (other_ns == cost_ns && i < index)))
			return true;
	}
	return false;
}

bool
overhead_expected(const struct event *events, size_t count, double *percent)
{
	double sum_ns = 0; /* of processor time in a second of one CPU */
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct event *event = &events[i];

		if (!event->available || event->rate == 0)
			continue;
		if (event->cost_ns == 0)
			return false;
		if (!is_instead_of(events, count, i))
			sum_ns += cost_of_second(event);
		any = true;
	}
	*percent = 100 * sum_ns / 1e9;
	return any;
}

/* Sum one event over the CPUs of all kinds. */
static uint64_t
enabled_ns(const struct event *events, const struct slice_event *counted, size_t count, size_t index)
{
	uint64_t sum_ns = counted[index].enabled_ns;

	for (size_t i = 0; i < count; i++)
		if (event_is_other_kind(&events[i], &events[index]))
			sum_ns = add_saturating(sum_ns, counted[i].enabled_ns);
	return sum_ns;
}

uint64_t
overhead_cpu_ns(const struct event *events, const struct slice_event *counted, size_t count, uint64_t length_ns,
                uint32_t cpu_count)
{
	uint64_t most_ns = 0; /* not every event may have been open everywhere */

	for (size_t i = 0; i < count; i++) {
		const uint64_t here_ns = enabled_ns(events, counted, count, i);

		most_ns = here_ns > most_ns ? here_ns : most_ns;
	}
	if (most_ns)
		return most_ns;
	return __builtin_mul_overflow(length_ns, cpu_count, &most_ns) ? UINT64_MAX : most_ns;
}

static uint64_t
samples_taken(const struct slice_event *counted)
{
	return add_saturating(counted->samples, add_saturating(counted->lost, counted->dropped));
}

/* The event that is counted: of call stacks, that of their name; NULL: there is none. */
static const struct event *
clock_of(const struct event *events, size_t count, const struct event *event)
{
	if (!event_is_stacks(event))
		return event;
	for (size_t i = 0; i < count; i++)
		if (event_is_stacks_of(event, &events[i]))
			return &events[i];
	return NULL;
}

uint64_t
overhead_idle_ticks(const struct event *events, const struct slice_event *counted, size_t count, size_t index)
{
	const struct event *event = &events[index], *clock = clock_of(events, count, event);
	const uint64_t taken = samples_taken(&counted[index]);
	uint64_t full_ns = counted[index].enabled_ns, ticks = 0;

	if (!clock || !event_is_clock(&clock->encoding) || clock->idle || event->period == 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t idle_ns = counted[i].enabled_ns, period = events[i].encoding.config;

		if (!event_is_sum_of(&events[i], clock) || period == 0)
			continue;
		if (clock == event)
			ticks = idle_ns / period;
		else /* the multiple of their own period that is not shorter: stack_sampler.h */
			ticks = idle_ns / event->period / (period / event->period + (period % event->period > 0));
		full_ns = full_ns > idle_ns ? full_ns - idle_ns : 0;
	}
	ticks = add_saturating(ticks, full_ns / event->period);
	return ticks > taken ? ticks - taken : 0;
}

void
overhead_add(struct overhead *overhead, const struct event *events, const struct slice_event *counted, size_t count,
             size_t index)
{
	const struct event *event = &events[index];
	uint64_t taken, cost_ns;

	if (event_is_sum(event))
		return;
	taken = add_saturating(samples_taken(&counted[index]), overhead_idle_ticks(events, counted, count, index));
	overhead->interrupts = add_saturating(overhead->interrupts, taken);
	if (event->cost_ns == 0 && taken > 0)
		overhead->is_unknown = true;
	if (__builtin_mul_overflow(taken, event->cost_ns, &cost_ns))
		cost_ns = UINT64_MAX;
	overhead->sample_ns = add_saturating(overhead->sample_ns, cost_ns);
}

double
overhead_daemon_percent(const struct overhead *overhead)
{
	return overhead->cpu_ns ? 100 * (double)overhead->daemon_ns / (double)overhead->cpu_ns : 0;
}

double
overhead_percent(const struct overhead *overhead)
{
	const double used_ns = (double)overhead->sample_ns + (double)overhead->daemon_ns;

	return overhead->cpu_ns ? 100 * used_ns / (double)overhead->cpu_ns : 0;
}

bool
overhead_shows_start(const struct overhead *overhead)
{
	return overhead->start_ns > 0 && overhead->start_ns >= overhead->cpu_ns / START_SHARE;
}
