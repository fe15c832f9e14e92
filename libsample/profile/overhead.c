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

bool
overhead_of_samples(const struct event *event, const struct slice_event *counted, uint64_t *cost_ns)
{
	/* the ring had no room for those that were lost, but the CPU was interrupted for them */
	const uint64_t taken = add_saturating(counted->samples, counted->lost);

	if (event->cost_ns == 0 && taken > 0)
		return false;
	if (__builtin_mul_overflow(taken, event->cost_ns, cost_ns))
		*cost_ns = UINT64_MAX;
	return true;
}
