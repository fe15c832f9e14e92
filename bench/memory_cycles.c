/*
 * memory_cycles - what a load takes that finds its data in each level of memory, in cycles of this CPU
 *
 * A chain of loads goes through all lines of a piece of memory in random order, in huge pages if the kernel has some:
 * the piece is half a level's size, and of memory four times the last cache's. The walk of a page table is a chain
 * through one line each of so many pages that no TLB has them all, while the lines are in the second level; in a guest
 * it is the walk of both tables. Cycles are those of a chain of additions beside it; of several runs the shortest
 * counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/bench.h"
#include "dcpi-tools/emu/calibrate/chase.h"

#define LOADS      20000u
#define ADDITIONS  80000u
#define RUNS       200
#define PAGE       4096u
#define WALK_PAGES 12288u

static double
load_cycles(size_t size, size_t stride)
{
	struct chase chase;
	uint64_t addition_ns = UINT64_MAX, walk_ns = UINT64_MAX;

	bench_require(chase_init(&chase, size, stride), "memory");
	(void)chase_walk_ns(&chase, chase.count);
	for (unsigned i = 0; i < RUNS; i++) {
		const uint64_t additions = chase_additions_ns(ADDITIONS), walk = chase_walk_ns(&chase, LOADS);

		addition_ns = additions < addition_ns ? additions : addition_ns;
		walk_ns = walk < walk_ns ? walk : walk_ns;
	}
	chase_fini(&chase);
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
	const double level2 = load_cycles(second / 2, CHASE_LINE);

	third = third > (64 << 20) ? 64 << 20 : third; /* what a guest may have of it */
	printf("level 1     %6.1f cycles\n", load_cycles(first / 2, CHASE_LINE));
	printf("level 2     %6.1f cycles\n", level2);
	printf("level 3     %6.1f cycles\n", load_cycles(third / 8, CHASE_LINE));
	printf("memory      %6.1f cycles\n", load_cycles(4 * third, CHASE_LINE));
	printf("page walk   %6.1f cycles\n", load_cycles((size_t)WALK_PAGES * PAGE, PAGE) - level2);
	return 0;
}
