/*
 * model_bench.c - what an access costs the emulator, by where it is served
 *
 * model_bench [MACHINE]: ns of the host for an access, the best of five passes: those that are plain hits, found in the
 * tables of hierarchy.h as the plugin does it; those that hit level 1 in another way than the last, level 2 and so on;
 * those that go to memory; and branches. Loads of lines at random within what a level holds, one core.
 */
#include <string.h>

#include "bench/bench.h"
#include "emulator/model/hierarchy.h"
#include "emulator/model/predictor.h"
#include "emulator/setup.h"

#define PASSES   7
#define ACCESSES (1 << 20)
#define BASE     UINT64_C(0x4000000000)
#define CODE     UINT64_C(0x401000)
#define GAP      4 /* cycles between two */

struct model_bench {
	struct hierarchy *hierarchy;
	struct hit_filter *filter;
	uint64_t now;
	unsigned levels[HIERARCHY_MEMORY + 1]; /* accesses that each served */
	uint64_t plain_hits;
	uint32_t offsets[ACCESSES]; /* of what is accessed */
};

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void
access_one(struct model_bench *bench, uint64_t address)
{
	struct hit_filter *filter = bench->filter;
	const uint64_t line = address >> filter->line_shift;
	struct access_result result;

	bench->now += GAP;
	if (filter_use(filter, false, line, address >> filter->page_shift)) {
		bench->plain_hits++;
		return;
	}
	hierarchy_load(bench->hierarchy, address, CODE, bench->now, &result);
	bench->levels[result.level]++;
	bench->now += result.cycles + result.wait_cycles;
}

static double
pass_ns(struct model_bench *bench)
{
	uint64_t start;

	memset(bench->levels, 0, sizeof(bench->levels));
	bench->plain_hits = 0;
	start = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < ACCESSES; i++)
		access_one(bench, BASE + bench->offsets[i]);
	return (double)(bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / ACCESSES;
}

/* Lines of `bytes` from BASE on, at random or, with a `step`, in turn. */
static void
choose(struct model_bench *bench, uint64_t bytes, uint64_t step)
{
	uint64_t random = 1, at = 0;

	for (unsigned i = 0; i < ACCESSES; i++) {
		at = (step ? at + step : next_random(&random)) % bytes;
		bench->offsets[i] = (uint32_t)at;
	}
}

static void
measure(struct model_bench *bench, const char *what, uint64_t bytes, uint64_t step)
{
	double best;

	choose(bench, bytes, step);
	best = pass_ns(bench);
	for (unsigned i = 1; i < PASSES; i++) {
		double ns = pass_ns(bench);

		best = ns < best ? ns : best;
	}
	printf("%-34s %6.1f ns; plain %5.1f %%", what, best, 100.0 * (double)bench->plain_hits / ACCESSES);
	for (unsigned i = 0; i <= HIERARCHY_MEMORY; i++) {
		if (i < HIERARCHY_MEMORY && bench->levels[i])
			printf(", level %u %.1f %%", i + 1, 100.0 * bench->levels[i] / ACCESSES);
	}
	printf(", memory %.1f %%\n", 100.0 * bench->levels[HIERARCHY_MEMORY] / ACCESSES);
}

static void
measure_branches(const struct machine *machine)
{
	struct predictor predictor;
	uint64_t random = 1, start;
	unsigned wrong = 0;

	bench_require(predictor_init(&predictor, machine), "predictor");
	start = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < ACCESSES; i++) {
		const uint32_t site = (uint32_t)next_random(&random) & 1023;
		const bool is_accurate = predictor_branch_right(&predictor, site, i % 7 == 0, predictor.has_history);

		if (!is_accurate)
			predictor_branch_wrong(&predictor, site, i % 7 == 0, predictor.has_history);
		wrong += !is_accurate;
	}
	printf("%-34s %6.1f ns; wrong %5.1f %%\n", "a branch",
	       (double)(bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / ACCESSES, 100.0 * wrong / ACCESSES);
	predictor_fini(&predictor);
}

int
main(int argc, char **argv)
{
	static struct machine machine;
	static struct pipeline pipeline;
	static struct model_bench bench;
	struct memory_system *memory;
	char why[512];

	if (machine_choose(argc > 1 ? argv[1] : "e5-2699v3", &machine, &pipeline, why, sizeof(why))) {
		fprintf(stderr, "model_bench: %s\n", why);
		return EXIT_FAILURE;
	}
	memory = memory_system_new(&machine, SETUP_CACHES | SETUP_TLBS, 0, 1);
	bench.hierarchy = memory ? hierarchy_new(memory, 0, FILTER_NO_ROOM) : NULL;
	bench_require(bench.hierarchy ? 0 : -errno, "memory");
	bench.filter = hierarchy_data_filter(bench.hierarchy);
	measure(&bench, "a line in each set of level 1", machine.levels[0].bytes / machine.levels[0].ways, 0);
	measure(&bench, "half of level 1", machine.levels[0].bytes / 2, 0);
	for (unsigned i = 1; i < machine.level_count; i++) {
		char what[64];

		snprintf(what, sizeof(what), "half of level %u", i + 1);
		measure(&bench, what, machine.levels[i].bytes / 2, 0);
		snprintf(what, sizeof(what), "half of level %u, in turn", i + 1);
		measure(&bench, what, machine.levels[i].bytes / 2, machine.line_bytes);
	}
	measure(&bench, "1 GiB", UINT64_C(1) << 30, 0);
	measure(&bench, "1 GiB, in turn", UINT64_C(1) << 30, machine.line_bytes);
	measure_branches(&machine);
	hierarchy_free(bench.hierarchy);
	memory_system_free(memory);
	return EXIT_SUCCESS;
}
