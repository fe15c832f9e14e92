/*
 * paced - the same loads that miss by one thread, shared by two, and by two that need one lock for them; how many times
 * as long the first takes as the second, and as the third: by the clock, then by the host's own counter
 *
 * paced LOADS: prints the four ratios.
 */
#include <pthread.h>
#include <stdio.h>

#include "emulated.h"

#define LINES      ((size_t)1 << 16) /* 4 MiB, for each thread of a phase its own: no cache has had them */
#define LINE_WORDS 8
#define TURN       16 /* loads with the lock held */

struct paced_share {
	const uint64_t *memory;
	size_t loads;
	pthread_mutex_t *lock; /* NULL: none is needed */
	uint64_t sum;
};

struct moment {
	double clock, host;
};

/* Emulators do not make this one up. */
static uint64_t
host_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
#else
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count));
	return count;
#endif
}

static struct moment
look(void)
{
	return (struct moment){now_s(), (double)host_counter()};
}

static void *
load(void *data)
{
	struct paced_share *share = data;
	uint64_t at = 1;

	for (size_t i = 0; i < share->loads; i += TURN) {
		if (share->lock)
			pthread_mutex_lock(share->lock);
		for (size_t j = 0; j < TURN; j++)
			at = (at * 5 + 12345 + share->memory[(at & (LINES - 1)) * LINE_WORDS]) & (LINES - 1);
		if (share->lock)
			pthread_mutex_unlock(share->lock);
	}
	share->sum = at;
	return NULL;
}

/* What the phase takes by both. */
static struct moment
phase(size_t loads, size_t threads, pthread_mutex_t *lock)
{
	struct paced_share shares[2];
	struct moment begin, end;
	pthread_t other;

	for (size_t i = 0; i < threads; i++)
		shares[i] = (struct paced_share){get_memory(LINES * LINE_WORDS * sizeof(uint64_t)), loads / threads,
		                                 lock, 0};
	begin = look();
	if (threads == 2 && pthread_create(&other, NULL, load, &shares[1]))
		exit(1);
	load(&shares[0]);
	if (threads == 2)
		pthread_join(other, NULL);
	end = look();
	return (struct moment){end.clock - begin.clock, end.host - begin.host};
}

int
main(int argc, char **argv)
{
	const size_t loads = argument(argc, argv, 1, 4096);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct moment one, two, locked;

	phase(loads, 2, &lock); /* code is translated, threads have been made */
	one = phase(loads, 1, NULL);
	two = phase(loads, 2, NULL);
	locked = phase(loads, 2, &lock);
	printf("%.3f %.3f %.3f %.3f\n", one.clock / two.clock, one.clock / locked.clock, one.host / two.host,
	       one.host / locked.host);
	return 0;
}
