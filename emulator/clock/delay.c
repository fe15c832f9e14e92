#include "emulator/clock/delay.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "emulator/clock/host_thread.h"

#define ROUNDS      9
#define ROUND_TURNS 20000
#define LOOK_NS     1000   /* between two looks at the clock */
#define SLEEP_NS    200000 /* from which on most of a span is slept */
#define WAKE_NS     100000 /* by which a sleep may end too late */

struct delay {
	bool is_real;
	const struct guest_time *time;
	struct run_clock *run_clock;
	double ns_per_turn;
	atomic_uint_fast64_t cycles, host_ns; /* executed, while the slow-down is measured */
};

static void
spin_turns(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		host_thread_pause();
}

double
delay_spin_calibrate(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t began = monotonic_ns();
		uint64_t took;

		spin_turns(ROUND_TURNS);
		took = monotonic_ns() - began;
		if (took < least)
			least = took;
	}
	return least > 0 ? (double)least / ROUND_TURNS : 1;
}

static uint64_t
turns_for(uint64_t ns, double ns_per_turn)
{
	return ns_per_turn > 0 ? (uint64_t)((double)ns / ns_per_turn) : 0;
}

void
delay_spin(uint64_t ns, double ns_per_turn)
{
	uint64_t end, now;

	if (ns < LOOK_NS) {
		spin_turns(turns_for(ns, ns_per_turn));
		return;
	}
	end = monotonic_ns() + ns;
	if (ns > SLEEP_NS) {
		const uint64_t sleep_ns = ns - WAKE_NS;
		struct timespec left = {.tv_sec = (time_t)(sleep_ns / SECOND_NS),
		                        .tv_nsec = (long)(sleep_ns % SECOND_NS)};

		while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
			;
	}
	while ((now = monotonic_ns()) < end)
		spin_turns(turns_for(end - now < LOOK_NS ? end - now : LOOK_NS, ns_per_turn) + 1);
}

struct delay *
delay_new(const struct setup *setup, const struct guest_time *time, struct run_clock *run_clock)
{
	struct delay *delay = calloc(1, sizeof(*delay));

	if (!delay)
		return NULL;
	delay->is_real = setup->delay == DELAY_REAL;
	delay->time = time;
	delay->run_clock = run_clock;
	if (!delay->is_real)
		return delay;
	delay->ns_per_turn = delay_spin_calibrate();
	if (setup->dilation > 0)
		run_clock_set_pace(run_clock, setup->dilation, (int64_t)monotonic_ns());
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

	if (!delay->is_real || !run_clock_pace(delay->run_clock, &dilation, &origin_ns))
		return 0;
	host_ns = (int64_t)monotonic_ns();
	early_ns = origin_ns + (int64_t)(dilation * (double)guest_time_ns(delay->time, now)) - host_ns;
	if (early_ns < -DELAY_LATE_NS)
		run_clock_shift_origin(delay->run_clock, -early_ns - DELAY_LATE_NS);
	if (early_ns < DELAY_LEAST_NS)
		return 0;
	delay_spin((uint64_t)early_ns, delay->ns_per_turn);
	return (uint64_t)early_ns;
}

bool
delay_is_measuring(const struct delay *delay)
{
	double dilation;
	int64_t origin_ns;

	return delay->is_real && !run_clock_pace(delay->run_clock, &dilation, &origin_ns);
}

void
delay_measure(struct delay *delay, uint64_t now, uint64_t cycles, uint64_t host_ns)
{
	const uint64_t all = atomic_fetch_add(&delay->cycles, cycles) + cycles;
	const uint64_t all_ns = guest_time_ns(delay->time, all);
	uint64_t spent_ns;
	double dilation;

	if (all_ns < DELAY_WARM_NS) /* code is being translated, and the host's caches are cold */
		return;
	spent_ns = atomic_fetch_add(&delay->host_ns, host_ns) + host_ns;
	if (all_ns < DELAY_WARM_NS + DELAY_ENOUGH_NS)
		return;
	if (all_ns < DELAY_WARM_NS + DELAY_MEASURE_NS && guest_time_ns(delay->time, now) < DELAY_LONG_NS)
		return;
	dilation = (double)spent_ns / (double)(all_ns - DELAY_WARM_NS);
	if (dilation > 0)
		run_clock_set_pace(delay->run_clock, dilation,
		                   (int64_t)monotonic_ns() -
		                           (int64_t)(dilation * (double)guest_time_ns(delay->time, now)));
}
