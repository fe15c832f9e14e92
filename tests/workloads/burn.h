/* burn.h - work that takes a given processor time and shows up where it is inlined */
#ifndef DCPI_TESTS_BURN_H
#define DCPI_TESTS_BURN_H

#include <stdint.h>
#include <time.h>

#define STEPS_A_ROUND 100000 /* a fraction of a millisecond; asking for the time does not count beside it */

/* A chain that no compiler shortens: each step needs the one before. It calls nothing and refers to nothing, so its
 * machine code may be copied. */
static inline __attribute__((always_inline)) uint64_t
burn_steps(uint64_t value, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
	}
	return value;
}

/* Processor time of this thread. */
static inline double
burn_clock(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Functions that give another `seed` (not 0) are not made one by the compiler. */
static inline __attribute__((always_inline)) void
burn(double seconds, uint64_t seed)
{
	static volatile uint64_t result; /* else there would be nothing to do */
	double end = burn_clock() + seconds;

	while (burn_clock() < end)
		result ^= burn_steps(seed, STEPS_A_ROUND);
}

#endif
