/*
 * shares.c - three functions that take 60, 30 and 10 % of the time
 *
 * shares SECONDS: runs for that long and ends. The three do the same work a different number of times, so the shares
 * follow from the code and need no measurement.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef STEPS_PER_SHARE
#define STEPS_PER_SHARE 20000
#endif

static volatile uint64_t result;

static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A chain that no compiler shortens: each step needs the one before. */
static inline __attribute__((always_inline)) uint64_t
mix(uint64_t value, unsigned int steps)
{
	for (unsigned int i = 0; i < steps; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
	}
	return value;
}

static __attribute__((noinline)) uint64_t
share_of_60(uint64_t value)
{
	return mix(value, 6 * STEPS_PER_SHARE);
}

static __attribute__((noinline)) uint64_t
share_of_30(uint64_t value)
{
	return mix(value, 3 * STEPS_PER_SHARE);
}

static __attribute__((noinline)) uint64_t
share_of_10(uint64_t value)
{
	return mix(value, 1 * STEPS_PER_SHARE);
}

int
main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	uint64_t value = 88172645463325252;

	while (seconds_now() < end)
		value = share_of_10(share_of_30(share_of_60(value)));
	result = value;
	return 0;
}
