/*
 * gigahertz - the CPU's clock: how many dependent additions it makes in a nanosecond, the fastest of a hundred
 * stretches
 *
 * An addition takes one cycle on every CPU there is a model of.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ADDITIONS 1000000

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void
add(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < ADDITIONS / 10; i++)
#if defined(__x86_64__)
		__asm__ volatile(".rept 10\n\tadd %0, %0\n\t.endr" : "+r"(sum));
#else
		__asm__ volatile(".rept 10\n\tadd %0, %0, #1\n\t.endr" : "+r"(sum));
#endif
}

int
main(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		const uint64_t begin = now_ns();
		uint64_t took;

		add();
		took = now_ns() - begin;
		if (took < least)
			least = took;
	}
	printf("%.3f\n", (double)ADDITIONS / (double)least);
	return 0;
}
