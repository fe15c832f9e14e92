/*
 * naps.c - a process that works for a moment and sleeps for another
 *
 * naps SECONDS WORK_US SLEEP_US: does so for SECONDS; with 0 to sleep, works all the time. Prints the CPU time that it
 * used, in seconds, as the kernel accounts it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t
clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
work(int64_t work_us)
{
	int64_t end = clock_us(CLOCK_THREAD_CPUTIME_ID) + work_us;

	while (clock_us(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

int
main(int argc, char **argv)
{
	int64_t end, work_us, sleep_us;

	if (argc != 4)
		return 2;
	end = clock_us(CLOCK_MONOTONIC) + strtol(argv[1], NULL, 10) * 1000000;
	work_us = strtol(argv[2], NULL, 10);
	sleep_us = strtol(argv[3], NULL, 10);
	while (clock_us(CLOCK_MONOTONIC) < end) {
		struct timespec nap = {.tv_sec = sleep_us / 1000000, .tv_nsec = sleep_us % 1000000 * 1000};

		work(work_us);
		if (sleep_us)
			nanosleep(&nap, NULL);
	}
	printf("%.6f\n", (double)clock_us(CLOCK_PROCESS_CPUTIME_ID) / 1e6);
	return 0;
}
