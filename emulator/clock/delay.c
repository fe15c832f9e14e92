#include "emulator/clock/delay.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emulator/clock/host_thread.h"
#include "emulator/clock/spin.h"

struct delay {
	bool is_real;
	const struct guest_time *time;
	struct family *family;
	double ns_per_spin;
	atomic_uint_fast64_t cycles, host_ns; /* executed, while the slow-down is measured */
};

struct delay *
delay_new(const struct setup *setup, const struct guest_time *time, struct family *family)
{
	struct delay *delay = calloc(1, sizeof(*delay));

	if (!delay)
		return NULL;
	delay->is_real = setup->delay == DELAY_REAL;
	delay->time = time;
	delay->family = family;
	if (!delay->is_real)
		return delay;
	delay->ns_per_spin = spin_calibrate();
	if (setup->dilation > 0)
		family_set_pace(family, setup->dilation, (int64_t)host_now_ns());
	return delay;
}

void
delay_free(struct delay *delay)
{
	free(delay);
}

uint64_t
delay_settle(struct delay *delay, uint64_t now)
{
	int64_t origin_ns, host_ns, early_ns;
	double dilation;

	if (!delay->is_real || !family_pace(delay->family, &dilation, &origin_ns))
		return 0;
	host_ns = (int64_t)host_now_ns();
	early_ns = origin_ns + (int64_t)(dilation * (double)guest_time_ns(delay->time, now)) - host_ns;
	if (early_ns < -DELAY_LATE_NS)
		family_slip(delay->family, -early_ns - DELAY_LATE_NS);
	if (early_ns < DELAY_LEAST_NS)
		return 0;
	spin_for((uint64_t)early_ns, delay->ns_per_spin);
	return (uint64_t)early_ns;
}

bool
delay_is_measuring(const struct delay *delay)
{
	double dilation;
	int64_t origin_ns;

	return delay->is_real && !family_pace(delay->family, &dilation, &origin_ns);
}

void
delay_measure(struct delay *delay, uint64_t now, uint64_t cycles, uint64_t host_ns)
{
	const uint64_t all = atomic_fetch_add(&delay->cycles, cycles) + cycles;
	const uint64_t all_ns = guest_time_ns(delay->time, all);
	uint64_t spent_ns;
	double dilation;

	if (all_ns < DELAY_WARM_NS) /* code is translated, caches are cold */
		return;
	spent_ns = atomic_fetch_add(&delay->host_ns, host_ns) + host_ns;
	if (all_ns < DELAY_WARM_NS + DELAY_ENOUGH_NS)
		return;
	if (all_ns < DELAY_WARM_NS + DELAY_MEASURE_NS && guest_time_ns(delay->time, now) < DELAY_LONG_NS)
		return; /* but for a program that mostly waits for memory */
	dilation = (double)spent_ns / (double)(all_ns - DELAY_WARM_NS);
	if (dilation > 0)
		family_set_pace(delay->family, dilation,
		                (int64_t)host_now_ns() - (int64_t)(dilation * (double)guest_time_ns(delay->time, now)));
}
