#include "emulator/clock/spin.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "emulator/clock/host_thread.h"

#define ROUNDS      9
#define ROUND_SPINS 20000
#define LOOK_NS     1000   /* between two looks at the clock */
#define SLEEP_NS    200000 /* from which on most of it is slept */
#define WAKE_NS     100000 /* by which a sleep may end too late */

static void
spin_turns(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		host_pause();
}

double
spin_calibrate(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t began = host_now_ns();
		uint64_t took;

		spin_turns(ROUND_SPINS);
		took = host_now_ns() - began;
		if (took < least)
			least = took;
	}
	return least > 0 ? (double)least / ROUND_SPINS : 1;
}

static uint64_t
turns_for(uint64_t ns, double ns_per_spin)
{
	return ns_per_spin > 0 ? (uint64_t)((double)ns / ns_per_spin) : 0;
}

static void
sleep_for(uint64_t ns)
{
	struct timespec left = {.tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

void
spin_for(uint64_t ns, double ns_per_spin)
{
	uint64_t end, now;

	if (ns < LOOK_NS) {
		spin_turns(turns_for(ns, ns_per_spin));
		return;
	}
	end = host_now_ns() + ns;
	if (ns > SLEEP_NS)
		sleep_for(ns - WAKE_NS);
	while ((now = host_now_ns()) < end)
		spin_turns(turns_for(end - now < LOOK_NS ? end - now : LOOK_NS, ns_per_spin) + 1);
}
