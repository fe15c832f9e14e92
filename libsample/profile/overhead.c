#include "profile/overhead.h"

#include "profile/codec.h"

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
		sum_ns += (double)event->rate * (double)(event->cost_ns + OVERHEAD_DAEMON_SAMPLE_NS);
		any = true;
	}
	*percent = 100 * sum_ns / 1e9;
	return any;
}

void
overhead_add(struct overhead *overhead, const struct event *event, const struct slice_event *counted)
{
	const uint64_t taken = add_saturating(counted->samples, add_saturating(counted->lost, counted->dropped));
	uint64_t cost_ns;

	if (event->cost_ns == 0 && taken > 0)
		overhead->is_unknown = true;
	if (__builtin_mul_overflow(taken, event->cost_ns, &cost_ns))
		cost_ns = UINT64_MAX;
	overhead->sample_ns = add_saturating(overhead->sample_ns, cost_ns);
}

static double
percent_of(double part_ns, uint64_t whole_ns)
{
	return whole_ns ? 100 * part_ns / (double)whole_ns : 0;
}

double
overhead_daemon_percent(const struct overhead *overhead)
{
	return percent_of((double)overhead->daemon_ns, overhead->cpu_ns);
}

double
overhead_percent(const struct overhead *overhead)
{
	return percent_of((double)overhead->sample_ns + (double)overhead->daemon_ns, overhead->cpu_ns);
}
