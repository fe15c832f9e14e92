/*
 * critical - threads that need one lock, and loads that miss while they hold it, or before
 *
 * critical inside|outside|never THREADS TURNS [time]: each turn of a thread takes the lock once and follows LOADS
 * pointers to lines that no cache has, while it holds the lock, before it takes it, or not at all.
 */
#include <pthread.h>

#include "emulated.h"

#define THREADS_MAX 64
#define LOADS       32
#define LINES       ((size_t)1 << 19) /* 32 MiB of a thread's own */
#define LINE_WORDS  8

enum access_place {
	INSIDE,
	OUTSIDE,
	NEVER,
};

struct critical_share {
	enum access_place place;
	size_t turns;
	pthread_mutex_t *lock;
	uint64_t *counter;
	uint64_t *memory;
	uint64_t sum;
};

uint64_t miss(const uint64_t *memory, uint64_t at);
uint64_t hold(struct critical_share *share, uint64_t at);

/* A line's number comes out of the one before: zeros, so that the next is known here, but not to who executes it. */
__attribute__((noinline)) uint64_t
miss(const uint64_t *memory, uint64_t at)
{
	for (size_t i = 0; i < LOADS; i++)
		at = (at * 5 + 12345 + memory[(at & (LINES - 1)) * LINE_WORDS]) & (LINES - 1);
	return at;
}

__attribute__((noinline)) uint64_t
hold(struct critical_share *share, uint64_t at)
{
	pthread_mutex_lock(share->lock);
	if (share->place == INSIDE)
		at = miss(share->memory, at);
	++*share->counter;
	pthread_mutex_unlock(share->lock);
	return at;
}

static void *
work(void *data)
{
	struct critical_share *share = data;
	uint64_t at = 1;

	for (size_t i = 0; i < share->turns; i++) {
		if (share->place == OUTSIDE)
			at = miss(share->memory, at);
		at = hold(share, at);
	}
	share->sum = at;
	return NULL;
}

int
main(int argc, char **argv)
{
	const bool timed = asked_for_time(&argc, argv);
	const size_t threads = argument(argc, argv, 2, 2), turns = argument(argc, argv, 3, 1000);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct critical_share shares[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	uint64_t counter = 0, sum = 0;
	double begin, seconds;

	if (argc < 2 || !threads || threads > THREADS_MAX) {
		fputs("usage: critical inside|outside|never THREADS TURNS [time]\n", stderr);
		return 2;
	}
	begin = now_s();
	for (size_t i = 0; i < threads; i++) {
		shares[i] = (struct critical_share){
			.place = !strcmp(argv[1], "inside")    ? INSIDE
		                 : !strcmp(argv[1], "outside") ? OUTSIDE
		                                               : NEVER,
			.turns = turns,
			.lock = &lock,
			.counter = &counter,
			.memory = get_memory(LINES * LINE_WORDS * sizeof(uint64_t)),
		};
		if (pthread_create(&ids[i], NULL, work, &shares[i])) {
			fputs("no thread\n", stderr);
			return 1;
		}
	}
	for (size_t i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum += shares[i].sum;
	}
	seconds = now_s() - begin;
	printf("%llu %llu\n", (unsigned long long)counter, (unsigned long long)sum);
	if (timed)
		fprintf(stderr, "%.9f s\n", seconds);
	return 0;
}
