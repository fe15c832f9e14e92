#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "dcpi-tools/emu/calibrate/chase.h"
#include "dcpi-tools/emu/calibrate/measure.h"

#define ROUNDS         60 /* short ones, so that some are undisturbed */
#define ROUND_NS       5000000
#define CHASES         80
#define CHASE_LOADS    4096u
#define HUGE_BYTES     (2u << 20)
#define PIECE          4096u /* read at a time, before a loader waits */
#define SMALLEST_SHARE ((size_t)16 << 20)
#define LARGEST_SHARE  ((size_t)256 << 20)

typedef uint64_t vector __attribute__((vector_size(32)));

/* A thread that reads its memory again and again. */
struct loader {
	pthread_t thread;
	uint32_t cpu;
	size_t size;
	unsigned additions; /* that it waits behind each piece */
	_Atomic bool *stop;
	_Atomic bool ready;
	_Atomic uint64_t read_bytes; /* so far */
	int err;
};

struct loaders {
	struct loader *each;
	unsigned count;
	_Atomic bool stop;
};

static uint64_t
read_piece(const uint8_t *bytes)
{
	const vector *at = (const vector *)bytes;
	vector sums[4] = {{0}};

	for (unsigned i = 0; i < PIECE / sizeof(vector); i += 4)
		for (unsigned j = 0; j < 4; j++)
			sums[j] += at[i + j];
	sums[0] += sums[1] + sums[2] + sums[3];
	return sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
}

static void *
load(void *argument)
{
	struct loader *loader = argument;
	uint8_t *bytes = aligned_alloc(HUGE_BYTES, loader->size);

	(void)measure_pin(loader->cpu);
	if (!bytes) {
		loader->err = -ENOMEM;
		atomic_store(&loader->ready, true);
		return NULL;
	}
	(void)madvise(bytes, loader->size, MADV_HUGEPAGE);
	memset(bytes, 1, loader->size);
	atomic_store(&loader->ready, true);
	for (size_t at = 0; !atomic_load_explicit(loader->stop, memory_order_relaxed);) {
		uint64_t sum = read_piece(bytes + at);

		__asm__ volatile("" : : "r"(sum));
		if (loader->additions)
			(void)chase_additions_ns(loader->additions);
		atomic_fetch_add_explicit(&loader->read_bytes, PIECE, memory_order_relaxed);
		at = at + 2 * PIECE <= loader->size ? at + PIECE : 0;
	}
	free(bytes);
	return NULL;
}

static int
loaders_stop(struct loaders *loaders)
{
	int err = 0;

	atomic_store(&loaders->stop, true);
	for (unsigned i = 0; i < loaders->count; i++) {
		pthread_join(loaders->each[i].thread, NULL);
		err = err ? err : loaders->each[i].err;
	}
	free(loaders->each);
	return err;
}

/* On `count` cores from `first` on; they have begun when it returns. */
static int
loaders_start(struct loaders *loaders, const struct host *host, unsigned first, unsigned count, unsigned additions)
{
	size_t share = 4 * host->levels[host->level_count - 1].bytes / count;
	int err = 0;

	share = share < SMALLEST_SHARE ? SMALLEST_SHARE : share > LARGEST_SHARE ? LARGEST_SHARE : share;
	loaders->count = 0;
	atomic_store(&loaders->stop, false);
	loaders->each = calloc(count, sizeof(*loaders->each));
	if (!loaders->each)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < count; i++) {
		loaders->each[i] = (struct loader){.cpu = host->cpus[first + i],
		                                   .size = share / HUGE_BYTES * HUGE_BYTES,
		                                   .additions = additions,
		                                   .stop = &loaders->stop};
		err = -pthread_create(&loaders->each[i].thread, NULL, load, &loaders->each[i]);
		loaders->count += !err;
	}
	for (unsigned i = 0; i < loaders->count; i++)
		while (!atomic_load(&loaders->each[i].ready))
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	if (err)
		(void)loaders_stop(loaders);
	return err;
}

static uint64_t
loaders_bytes(const struct loaders *loaders)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < loaders->count; i++)
		bytes += atomic_load(&loaders->each[i].read_bytes);
	return bytes;
}

/* What so many threads read in a second, at the best of some rounds. */
static int
measure_threads(const struct host *host, unsigned threads, double *gb_s)
{
	struct loaders loaders;
	int err = loaders_start(&loaders, host, 0, threads, 0);

	if (err)
		return err;
	*gb_s = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t bytes = loaders_bytes(&loaders), begin = monotonic_ns();
		double rate;

		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
		rate = (double)(loaders_bytes(&loaders) - bytes) / (double)(monotonic_ns() - begin);
		*gb_s = rate > *gb_s ? rate : *gb_s;
	}
	return loaders_stop(&loaders);
}

static int
measure_bandwidths(const struct host *host, struct measurements *measured)
{
	unsigned threads = 1;

	while (measured->bandwidth_count < MEASURE_THREADS_MAX) {
		struct measured_bandwidth *bandwidth = &measured->bandwidths[measured->bandwidth_count++];
		int err = measure_threads(host, threads, &bandwidth->gb_s);

		bandwidth->threads = threads;
		if (err || threads == host->cores)
			return err;
		threads = threads * 2 < host->cores ? threads * 2 : host->cores;
	}
	return 0;
}

/*
 * What loads of memory take while the other cores read, with pauses of so many additions. Threads are held up as the
 * machine likes: each look is a point of its own.
 */
static int
measure_points(const struct host *host, struct chase *chase, unsigned additions, struct measurements *measured)
{
	struct loaders loaders;
	int err = loaders_start(&loaders, host, 1, host->cores - 1, additions);

	if (err)
		return err;
	for (unsigned i = 0; i < CHASES && measured->point_count < MEASURE_POINTS_MAX; i++) {
		const uint64_t bytes = loaders_bytes(&loaders), begin = monotonic_ns();
		const double load_ns = (double)chase_walk_ns(chase, CHASE_LOADS) / CHASE_LOADS;
		const double gb_s = (double)(loaders_bytes(&loaders) - bytes) / (double)(monotonic_ns() - begin);

		measured->points[measured->point_count++] =
			(struct machine_load){.bandwidth_gb_s = gb_s + CHASE_LINE / load_ns, .latency_ns = load_ns};
	}
	return loaders_stop(&loaders);
}

/* One core loads memory itself: so many chains at once, each of which waits as long. */
static void
measure_alone(struct chase *chase, struct measurements *measured)
{
	for (unsigned abreast = 1; abreast <= measured->misses_in_flight && abreast <= CHASE_ABREAST_MAX;
	     abreast *= 2) {
		const size_t loads = CHASE_LOADS / abreast;
		double best = 0;

		for (unsigned i = 0; i < CHASES; i++) {
			const double load_ns = (double)chase_walk_abreast_ns(chase, abreast, loads) / (double)loads;

			best = best == 0 || load_ns < best ? load_ns : best;
		}
		measured->points[measured->point_count++] =
			(struct machine_load){.bandwidth_gb_s = CHASE_LINE * abreast / best, .latency_ns = best};
	}
}

int
measure_load(const struct host *host, struct measurements *measured)
{
	static const unsigned pauses[] = {0, 500, 1500, 4000, 12000};
	struct chase chase;
	int err = measure_bandwidths(host, measured);

	if (!err)
		err = chase_init(&chase, SMALLEST_SHARE + 4 * host->levels[host->level_count - 1].bytes, CHASE_LINE);
	if (err)
		return err;
	(void)chase_walk_ns(&chase, chase.count);
	measured->point_count = 0;
	if (host->cores == 1)
		measure_alone(&chase, measured);
	for (unsigned i = 0; host->cores > 1 && !err && i < sizeof(pauses) / sizeof(pauses[0]); i++)
		err = measure_points(host, &chase, pauses[i], measured);
	chase_fini(&chase);
	return err;
}
