/*
 * memory_cycles - what a load takes that finds its data in each level of memory, in cycles of this CPU
 *
 * A chain of loads goes through all lines of a piece of memory in random order, in huge pages if the kernel has some:
 * the piece is half a level's size, and of memory four times the last cache's. The walk of a page table is a chain
 * through one line each of so many pages that no TLB has them all, while the lines are in the second level; in a guest
 * it is the walk of both tables. Cycles are those of a chain of additions beside it; of several runs the shortest
 * counts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"

#define LINE       64u
#define PAGE       4096u
#define HUGE_BYTES (2u << 20)
#define LOADS      20000u
#define ADDITIONS  80000u
#define RUNS       200
#define WALK_PAGES 12288u

struct chain {
	uint8_t *bytes;
	size_t size, count; /* bytes, and links of it */
	void *at;           /* the link to go on from */
};

static uint64_t
random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* A single cycle through one place of each `stride` bytes; in pages, at another line of each. */
static void
chain_make(struct chain *chain, size_t size, size_t stride)
{
	uint64_t state = 1;
	uint32_t *order;

	chain->size = (size + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	chain->count = size / stride;
	chain->bytes = aligned_alloc(HUGE_BYTES, chain->size);
	order = calloc(chain->count, sizeof(*order));
	bench_require(chain->bytes && order ? 0 : -ENOMEM, "memory");
	(void)madvise(chain->bytes, chain->size, stride == LINE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(chain->bytes, 0, chain->size);
	for (size_t i = 0; i < chain->count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = chain->count - 1; i > 0; i--) {
		const size_t other = random_next(&state) % (i + 1);
		const uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < chain->count; i++) {
		const size_t from = order[i], to = order[(i + 1) % chain->count];

		*(void **)(chain->bytes + from * stride + (stride == PAGE ? from % 64 * LINE : 0)) =
			chain->bytes + to * stride + (stride == PAGE ? to % 64 * LINE : 0);
	}
	free(order);
	chain->at = chain->bytes;
}

static uint64_t
chain_walk_ns(struct chain *chain, size_t loads)
{
	void *at = chain->at;
	const uint64_t begin = bench_clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < loads; i++) {
		at = *(void **)at;
		__asm__ volatile("" : "+r"(at));
	}
	chain->at = at;
	return bench_clock_ns(CLOCK_MONOTONIC) - begin;
}

static uint64_t
additions_ns(void)
{
	uint64_t sum = 1;
	const uint64_t begin = bench_clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < ADDITIONS / 16; i++) {
#if defined(__x86_64__)
		__asm__ volatile(".rept 16; add %0, %0; .endr" : "+r"(sum));
#else
		__asm__ volatile(".rept 16; add %0, %0, %0; .endr" : "+r"(sum));
#endif
	}
	return bench_clock_ns(CLOCK_MONOTONIC) - begin;
}

static double
load_cycles(size_t size, size_t stride)
{
	struct chain chain;
	uint64_t addition_ns = UINT64_MAX, walk_ns = UINT64_MAX;

	chain_make(&chain, size, stride);
	(void)chain_walk_ns(&chain, chain.count);
	for (unsigned i = 0; i < RUNS; i++) {
		const uint64_t additions = additions_ns(), walk = chain_walk_ns(&chain, LOADS);

		addition_ns = additions < addition_ns ? additions : addition_ns;
		walk_ns = walk < walk_ns ? walk : walk_ns;
	}
	free(chain.bytes);
	return (double)walk_ns / LOADS / ((double)addition_ns / ADDITIONS);
}

static size_t
cache_size(int name, size_t otherwise)
{
	const long size = sysconf(name);

	return size > 0 ? (size_t)size : otherwise;
}

int
main(void)
{
	const size_t first = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32768);
	const size_t second = cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
	size_t third = cache_size(_SC_LEVEL3_CACHE_SIZE, 32 << 20);
	const double level2 = load_cycles(second / 2, LINE);

	third = third > (64 << 20) ? 64 << 20 : third; /* what a guest may have of it */
	printf("level 1     %6.1f cycles\n", load_cycles(first / 2, LINE));
	printf("level 2     %6.1f cycles\n", level2);
	printf("level 3     %6.1f cycles\n", load_cycles(third / 8, LINE));
	printf("memory      %6.1f cycles\n", load_cycles(4 * third, LINE));
	printf("page walk   %6.1f cycles\n", load_cycles((size_t)WALK_PAGES * PAGE, PAGE) - level2);
	return 0;
}
