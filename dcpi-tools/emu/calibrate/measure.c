#include "dcpi-tools/emu/calibrate/measure.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "dcpi-tools/emu/calibrate/chase.h"

#define RUNS            300 /* short ones, so that some are undisturbed */
#define PIECES          5
#define LOADS           8192u
#define ADDITIONS       8192u
#define CALLS           500u
#define ABREAST_LOADS   1000u
#define LARGEST_PIECE   (UINT64_C(1) << 30)
#define SMALLEST_MEMORY (UINT64_C(64) << 20)

bool
measure_pin(uint32_t cpu)
{
	const size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	bool done;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	done = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return done;
}

/* Cycles of a load of the chain, by additions before each walk: the clock may change. */
static struct figure
chase_cycles(struct chase *chase, struct figure *clock_mhz)
{
	double walks[RUNS], additions[RUNS];
	struct figure walk, addition;

	(void)chase_walk_ns(chase, chase->count);
	for (unsigned i = 0; i < RUNS; i++) {
		additions[i] = (double)chase_additions_ns(ADDITIONS) / ADDITIONS;
		walks[i] = (double)chase_walk_ns(chase, LOADS) / LOADS;
	}
	addition = figure_least(additions, RUNS);
	walk = figure_least(walks, RUNS);
	if (clock_mhz && 1000 / addition.value > clock_mhz->value)
		*clock_mhz = (struct figure){1000 / addition.value, addition.spread};
	walk.value /= addition.value;
	return walk;
}

/* The quickest of some pieces, as long as none is sure: others push it out of caches that are shared. */
static int
piece_cycles(uint64_t size, struct figure *cycles, struct figure *clock_mhz)
{
	*cycles = (struct figure){0};
	for (unsigned piece = 0; piece < PIECES && (piece == 0 || cycles->spread > FIGURE_ROUGH); piece++) {
		struct figure figure;
		struct chase chase;
		int err = chase_init(&chase, size, CHASE_LINE);

		if (err)
			return err;
		figure = chase_cycles(&chase, clock_mhz);
		chase_fini(&chase);
		if (piece == 0 || figure.value < cycles->value)
			*cycles = figure;
	}
	return 0;
}

/* Half of the level; of a larger one no more than it takes to be beyond the one before: others use the rest. */
static uint64_t
size_within(const struct host *host, unsigned level)
{
	const uint64_t half = host->levels[level].bytes / 2;
	const uint64_t enough = level > 0 ? 3 * host->levels[level - 1].bytes : half;

	return enough < half ? enough : half;
}

/* Four times the last cache, but no more than an eighth of what there is. */
static uint64_t
size_beyond(const struct host *host)
{
	uint64_t size = 4 * host->levels[host->level_count - 1].bytes;

	if (size < SMALLEST_MEMORY)
		size = SMALLEST_MEMORY;
	if (size > LARGEST_PIECE)
		size = LARGEST_PIECE;
	return size < host->memory_bytes / 8 ? size : host->memory_bytes / 8;
}

/* How many loads of independent chains go on at once: by how much they are faster than one after the other. */
static unsigned
find_misses_in_flight(struct chase *chase, double alone_ns)
{
	double best = alone_ns;

	for (unsigned abreast = 2; abreast <= CHASE_ABREAST_MAX; abreast += 2)
		for (unsigned run = 0; run < 30; run++) {
			const double each_ns = (double)chase_walk_abreast_ns(chase, abreast, ABREAST_LOADS) /
			                       (ABREAST_LOADS * (double)abreast);

			best = each_ns < best ? each_ns : best;
		}
	alone_ns = best > 0 ? alone_ns / best : 1;
	return alone_ns < CHASE_ABREAST_MAX ? (unsigned)(alone_ns + 0.5) : CHASE_ABREAST_MAX;
}

static int
measure_memory(const struct host *host, struct measurements *measured)
{
	struct chase chase;
	int err = chase_init(&chase, size_beyond(host), CHASE_LINE);

	if (err)
		return err;
	measured->in_huge_pages = chase_is_huge(&chase);
	measured->memory_cycles = chase_cycles(&chase, &measured->clock_mhz);
	measured->memory_ns = measured->memory_cycles;
	measured->memory_ns.value *= 1000 / measured->clock_mhz.value;
	measured->misses_in_flight = find_misses_in_flight(&chase, measured->memory_ns.value);
	chase_fini(&chase);
	return 0;
}

static int
measure_levels(const struct host *host, struct measurements *measured)
{
	for (unsigned i = 0; i < host->level_count; i++) {
		struct figure beyond;
		int err = piece_cycles(size_within(host, i), &measured->level_cycles[i], &measured->clock_mhz);

		if (!err)
			err = piece_cycles(host->levels[i].bytes * 2, &beyond, NULL);
		if (err)
			return err;
		measured->ends_seen[i] = beyond.value > 1.2 * measured->level_cycles[i].value;
	}
	return measure_memory(host, measured);
}

static void
measure_call(const struct figure *clock_mhz, struct figure *call_cycles)
{
	double runs[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		const uint64_t begin = monotonic_ns();

		for (unsigned call = 0; call < CALLS; call++)
			(void)syscall(SYS_getppid);
		runs[i] = (double)(monotonic_ns() - begin) / CALLS;
	}
	*call_cycles = figure_least(runs, RUNS);
	call_cycles->value *= clock_mhz->value / 1000;
}

int
measure_host(const struct host *host, struct measurements *measured)
{
	int err;

	memset(measured, 0, sizeof(*measured));
	(void)measure_pin(host->cpus[0]);
	err = measure_levels(host, measured);
	if (!err)
		err = measure_pages(host, &measured->pages);
	if (err)
		return err;
	measure_find_tlbs(&measured->pages, &measured->tlbs);
	measure_call(&measured->clock_mhz, &measured->call_cycles);
	return measure_load(host, measured);
}
