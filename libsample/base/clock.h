/*
 * clock.h - the time of a clock in nanoseconds
 */
#ifndef DCPI_BASE_CLOCK_H
#define DCPI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static inline uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t
monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
