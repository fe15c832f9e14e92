/*
 * stream_bench - nanoseconds per sample from the ring's memory to the sink
 *
 * Rings of 512 KiB are filled with 48-byte samples once; "the kernel" then only moves their heads, so that what is
 * measured is peek, decode, merge and publish. The samples' times come from one ring in runs of 100, of 10, and of 1:
 * each sample is then younger than the one before, which lies in another ring. "ordered" merges them by these times, as
 * records of mappings are; "samples" is how dcpid takes its samples, ring by ring where no such record lies between. A
 * figure is the best of several rounds, the machine being shared.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "stream/merge.h"

#define PAGES       128
#define SAMPLE_SIZE 48
#define ROUNDS      15
#define RINGS_MAX   64

static const struct record_layout layout = {
	.sample_type = BENCH_SAMPLE_TYPE,
	.sample_id_all = true,
};

struct bench_ring {
	struct perf_event_mmap_page *header;
	struct ring *ring;
	uint64_t filled; /* bytes of whole samples */
};

struct bench_sum {
	uint64_t samples;
	uint64_t addresses; /* so that nothing is left out */
	uint64_t last;
	uint64_t backwards;
};

static void
write_sample(uint8_t *at, uint64_t time, uint32_t pid)
{
	struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, SAMPLE_SIZE};
	uint64_t fields[5] = {7, 0x400000 + time % 4096, (uint64_t)pid << 32 | pid, time, 99};

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), fields, sizeof(fields));
}

/*
 * Ring `index` of `count`: sample i at time i * count + index (interleaved), or in runs of `run` samples at a time.
 * The data area has no room for a whole number of samples; "the kernel" begins at its start again each round.
 */
static void
bench_ring_init(struct bench_ring *bench, uint64_t index, uint64_t count, uint64_t run)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = PAGES * page_size;
	uint8_t *data;

	bench->header = aligned_alloc(page_size, page_size + size);
	if (!bench->header)
		abort();
	memset(bench->header, 0, page_size);
	data = (uint8_t *)bench->header + page_size;
	for (uint64_t i = 0; (i + 1) * SAMPLE_SIZE <= size; i++) {
		write_sample(data + i * SAMPLE_SIZE, 1 + (i / run * count + index) * run + i % run,
		             1000 + (uint32_t)index);
		bench->filled = (i + 1) * SAMPLE_SIZE;
	}
}

static void
bench_ring_refill(struct bench_ring *bench, struct merge *merge, uint32_t cpu, bool ordered)
{
	if (bench->ring) {
		merge_remove(merge, bench->ring);
		ring_free(bench->ring);
	}
	bench->header->data_head = bench->header->data_tail = 0;
	bench->ring = ring_over(bench->header, PAGES);
	if (!bench->ring || (ordered ? merge_add(merge, bench->ring, &layout, cpu)
	                             : merge_add_samples(merge, bench->ring, &layout, cpu)))
		abort();
	bench->header->data_head = bench->filled;
}

static int
add_up(void *context, uint32_t cpu, const struct record *record)
{
	struct bench_sum *sum = context;

	(void)cpu;
	sum->samples++;
	sum->addresses += record->sample.address;
	sum->backwards += record->time < sum->last;
	sum->last = record->time;
	return 0;
}

/* Drain `rings` full rings, round after round; the best ns per sample. */
static double
bench_run(uint32_t rings, uint64_t run, bool ordered)
{
	struct bench_ring bench[RINGS_MAX] = {0};
	struct merge *merge = merge_new();
	double best = 0;

	for (uint32_t i = 0; i < rings; i++)
		bench_ring_init(&bench[i], i, rings, run);
	for (int round = 0; round < ROUNDS; round++) {
		struct bench_sum sum = {0};
		uint64_t start;
		double each;

		for (uint32_t i = 0; i < rings; i++)
			bench_ring_refill(&bench[i], merge, i, ordered);
		start = bench_clock_ns(CLOCK_MONOTONIC);
		merge_drain(merge, UINT64_MAX, add_up, &sum);
		each = (double)(bench_clock_ns(CLOCK_MONOTONIC) - start) / (double)sum.samples;
		if (sum.samples != rings * bench[0].filled / SAMPLE_SIZE || (ordered && sum.backwards) ||
		    !sum.addresses)
			abort();
		if (round == 0 || each < best)
			best = each;
	}
	for (uint32_t i = 0; i < rings; i++) {
		ring_free(bench[i].ring);
		free(bench[i].header);
	}
	merge_free(merge);
	return best;
}

int
main(void)
{
	static const uint32_t rings[] = {1, 2, 64};
	static const uint64_t runs[] = {100, 10, 1};

	printf("%5s %12s %12s %12s ns/sample\n", "rings", "run length", "ordered", "samples");
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++)
		for (size_t j = 0; j < sizeof(runs) / sizeof(runs[0]); j++)
			printf("%5u %12llu %12.1f %12.1f\n", rings[i], (unsigned long long)runs[j],
			       bench_run(rings[i], runs[j], true), bench_run(rings[i], runs[j], false));
	return 0;
}
