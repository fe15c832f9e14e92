#include "dcpi-tools/common/summary_cost.h"

bool
cost_expected_percent(const struct selection *selection, double *percent)
{
	bool any = false;

	for (size_t i = 0; i < selection->epoch_count; i++) {
		const struct epoch *epoch = &selection->epochs[i];
		double expected;

		if (!overhead_expected(epoch->events, epoch->event_count, &expected))
			continue;
		if (!any || expected > *percent)
			*percent = expected;
		any = true;
	}
	return any;
}

double
cost_limit_percent(const struct selection *selection)
{
	if (selection->epoch_count == 0)
		return 0;
	return (double)selection->epochs[selection->epoch_count - 1].overhead_limit_ppm / 1e4;
}

uint64_t
cost_of_sample_ns(const struct selection_event *event)
{
	const double interrupts = (double)event->overhead.interrupts;

	if (event->overhead.is_unknown)
		return 0;
	return interrupts > 0 ? (uint64_t)((double)event->overhead.sample_ns / interrupts + 0.5) : event->cost_ns;
}
