/*
 * sample_cost_bench.c - what a sample costs a program, by how much longer it takes
 *
 * sample_cost_bench EVENT RATE PAIRS: a piece of arithmetic that 20 samples fit into is timed PAIRS times without and
 * with EVENT sampling this CPU RATE times a second, in turn, in alternating order. A pair's difference divided by its
 * samples is the cost of one; the median of all pairs is printed, with the 95 % confidence interval of a median (order
 * statistics: it needs no assumption on what disturbs them). Pairs in which another process got the CPU are left out.
 * Nothing of this is how dcpid measures it.
 * Prints: rate, pairs, samples, median_ns, low_ns, high_ns.
 */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/bench.h"
#include "event/event.h"
#include "stream/ring.h"

#define SAMPLES_A_PIECE 20
#define RING_PAGES      64
#define PAIRS_MAX       100000

struct sample_cost_bench {
	int fd;
	struct ring *ring;
	struct record_layout layout;
	uint64_t rounds; /* of a piece */
};

static void
fail(const char *what)
{
	fprintf(stderr, "sample_cost_bench: %s\n", what);
	exit(1);
}

/* How often another process got the CPU. */
static long
switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static uint64_t
piece_ns(const struct sample_cost_bench *bench)
{
	const uint64_t before = bench_clock_ns(CLOCK_MONOTONIC);
	uint64_t state = before | 1;

	for (uint64_t i = 0; i < bench->rounds; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		__asm__ volatile("" : "+r"(state));
	}
	return bench_clock_ns(CLOCK_MONOTONIC) - before;
}

/* Samples of this process; those of other processes, which ran in between, are not in the time that is compared. */
static unsigned
take_samples(struct sample_cost_bench *bench)
{
	const uint32_t self = (uint32_t)getpid();
	struct record record;
	unsigned count = 0;

	while (ring_peek(bench->ring, &bench->layout, &record) == 1) {
		count += record.type == RECORD_SAMPLE && record.pid == self;
		ring_consume(bench->ring);
	}
	ring_publish(bench->ring);
	return count;
}

static uint64_t
sampled_piece_ns(struct sample_cost_bench *bench, unsigned *samples)
{
	uint64_t taken;

	if (ioctl(bench->fd, PERF_EVENT_IOC_ENABLE, 0))
		fail("cannot enable the event");
	taken = piece_ns(bench);
	if (ioctl(bench->fd, PERF_EVENT_IOC_DISABLE, 0))
		fail("cannot disable the event");
	*samples = take_samples(bench);
	return taken;
}

static void
open_event(struct sample_cost_bench *bench, const char *name, uint64_t rate, int cpu)
{
	const struct event_environment environment = {
		.open = event_open_system, .sysfs = "/sys", .procfs = "/proc", .cpu = cpu, .default_rate = rate};
	const struct event_features features = {0};
	struct event_spec spec = {.rate = rate, .user = true, .kernel = true};
	struct perf_event_attr attr;
	struct event event;
	char why[512];

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	if (event_resolve(&environment, &spec, &event, why, sizeof(why)))
		fail(why);
	if (!event.available)
		fail(event.note);
	event_sample_attr(&event, &features, &attr);
	attr.watermark = 1;
	attr.wakeup_watermark = UINT32_MAX / 2;
	bench->layout = (struct record_layout){.sample_type = attr.sample_type, .sample_id_all = true};
	bench->fd = event_open_system(NULL, &attr, cpu);
	bench->ring = bench->fd < 0 ? NULL : ring_new(bench->fd, RING_PAGES);
	if (!bench->ring)
		fail("cannot open the event");
}

/* As many rounds as take the time of SAMPLES_A_PIECE samples. */
static void
calibrate(struct sample_cost_bench *bench, uint64_t rate)
{
	const uint64_t wanted_ns = UINT64_C(1000000000) * SAMPLES_A_PIECE / rate;
	uint64_t best = UINT64_MAX;

	bench->rounds = 1000000;
	for (int i = 0; i < 20; i++) {
		uint64_t taken = piece_ns(bench);

		best = taken < best ? taken : best;
	}
	bench->rounds = bench->rounds * wanted_ns / best;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
run(struct sample_cost_bench *bench, uint64_t rate, size_t pairs)
{
	double *costs = calloc(pairs, sizeof(*costs));
	uint64_t all_samples = 0;
	size_t count = 0, reach;

	if (!costs)
		fail("out of memory");
	for (size_t i = 0; i < pairs; i++) {
		const long before = switches();
		uint64_t with, without = 0;
		unsigned samples;

		if (i % 2)
			without = piece_ns(bench);
		with = sampled_piece_ns(bench, &samples);
		if (i % 2 == 0)
			without = piece_ns(bench);
		if (samples < SAMPLES_A_PIECE / 2 || switches() != before)
			continue;
		costs[count++] = ((double)with - (double)without) / samples;
		all_samples += samples;
	}
	if (count < 20)
		fail("too few pieces had samples");
	qsort(costs, count, sizeof(*costs), compare);
	reach = (size_t)ceil(1.96 * sqrt((double)count) / 2);
	printf("%" PRIu64 " %zu %" PRIu64 " %.0f %.0f %.0f\n", rate, count, all_samples, costs[count / 2],
	       costs[count / 2 - reach], costs[count / 2 + reach]);
	free(costs);
}

int
main(int argc, char **argv)
{
	struct sample_cost_bench bench = {0};
	cpu_set_t only;
	int cpu = sched_getcpu();
	unsigned long rate = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long pairs = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

	if (rate < 1 || rate > 50000 || pairs < 20 || pairs > PAIRS_MAX) {
		fprintf(stderr, "sample_cost_bench EVENT RATE PAIRS\n");
		return 2;
	}
	CPU_ZERO(&only);
	CPU_SET((size_t)cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		fail("cannot stay on this CPU");
	/* where it may, before all others: on a busy machine, no piece would be left alone */
	(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	open_event(&bench, argv[1], rate, cpu);
	calibrate(&bench, rate);
	run(&bench, rate, pairs);
	ring_free(bench.ring);
	close(bench.fd);
	return 0;
}
