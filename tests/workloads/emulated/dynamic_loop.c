/*
 * dynamic_loop - turns of unequal length, that go to whoever of OMP_NUM_THREADS threads is free
 *
 * dynamic_loop [TURNS] [time]
 */
#include "emulated.h"

uint64_t turn(uint64_t number);

/* 100 to 4,100 rounds. */
__attribute__((noinline)) uint64_t
turn(uint64_t number)
{
	uint64_t random = number * UINT64_C(0x9e3779b97f4a7c15) | 1, sum = 0;
	const size_t rounds = 100 + (random >> 40) % 4001;

	for (size_t i = 0; i < rounds; i++)
		sum += next_random(&random) & 1023;
	return sum;
}

int
main(int argc, char **argv)
{
	const bool timed = asked_for_time(&argc, argv);
	const size_t turns = argument(argc, argv, 1, 4000);
	double begin = now_s(), seconds;
	uint64_t sum = 0;

#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
	for (size_t i = 0; i < turns; i++)
		sum += turn(i + 1);
	seconds = now_s() - begin;
	printf("%llu\n", (unsigned long long)sum);
	if (timed)
		fprintf(stderr, "%.9f s\n", seconds);
	return 0;
}
