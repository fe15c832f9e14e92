/*
 * in_step.c - a loop whose two halves keep step with the clock
 *
 * in_step PERIOD_NS SECONDS: half of each period of CLOCK_MONOTONIC goes to first_half(), half to second_half(). Who
 * samples with the same period, or a multiple of it, sees one of them only.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Some microseconds, so that hardly any sample finds the reading of the clock. */
#define HALF(name)                                                                                                     \
	__attribute__((noinline, no_icf)) static void name(void)                                                       \
	{                                                                                                              \
		for (volatile unsigned i = 0; i < 4000; i++)                                                           \
			;                                                                                              \
	}

HALF(first_half)
HALF(second_half)

int
main(int argc, char **argv)
{
	uint64_t period_ns, end_ns, now_ns = clock_ns();

	if (argc != 3)
		return 2;
	period_ns = strtoull(argv[1], NULL, 10);
	end_ns = now_ns + (uint64_t)(strtod(argv[2], NULL) * 1e9);
	if (period_ns < 2)
		return 2;
	for (; now_ns < end_ns; now_ns = clock_ns()) {
		if (now_ns % period_ns < period_ns / 2)
			first_half();
		else
			second_half();
	}
	return 0;
}
