#include "emulator/clock/guest_time.h"

#include "base/clock.h"

#define NS_PER_S ((int64_t)SECOND_NS)

void
guest_time_init(struct guest_time *time, double clock_mhz, uint64_t seed)
{
	*time = (struct guest_time){
		.clock_khz = (uint64_t)(clock_mhz * 1000 + 0.5),
		.real_ns = seed ? GUEST_TIME_REAL_S * NS_PER_S : (int64_t)clock_ns(CLOCK_REALTIME),
		.monotonic_ns = seed ? GUEST_TIME_MONOTONIC_S * NS_PER_S : (int64_t)monotonic_ns(),
	};
	if (time->clock_khz == 0)
		time->clock_khz = 1;
}

uint64_t
guest_time_ns(const struct guest_time *time, uint64_t cycles)
{
	return (uint64_t)((unsigned __int128)cycles * 1000000U / time->clock_khz);
}

uint64_t
guest_time_cycles(const struct guest_time *time, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * time->clock_khz / 1000000U);
}

/* What clock `id` showed at cycle 0; false: it does not show virtual time. */
static bool
find_base(const struct guest_time *time, int id, int64_t *base_ns)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		*base_ns = time->real_ns;
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*base_ns = time->monotonic_ns;
		return true;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		*base_ns = 0;
		return true;
	default:
		return false;
	}
}

bool
guest_time_read(const struct guest_time *time, int id, uint64_t cycles, struct timespec *shown)
{
	int64_t ns;

	if (!find_base(time, id, &ns))
		return false;
	ns += (int64_t)guest_time_ns(time, cycles);
	if (id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE)
		ns -= ns % GUEST_TIME_COARSE_NS;
	*shown = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
	return true;
}

bool
guest_time_when(const struct guest_time *time, int id, const struct timespec *shown, uint64_t *cycles)
{
	int64_t base_ns, ns;

	if (!find_base(time, id, &base_ns))
		return false;
	if (shown->tv_sec < 0 || shown->tv_sec > INT64_MAX / NS_PER_S / 4)
		ns = shown->tv_sec < 0 ? 0 : INT64_MAX / 4;
	else
		ns = (int64_t)shown->tv_sec * NS_PER_S + shown->tv_nsec;
	*cycles = ns > base_ns ? guest_time_cycles(time, (uint64_t)(ns - base_ns)) : 0;
	return true;
}
