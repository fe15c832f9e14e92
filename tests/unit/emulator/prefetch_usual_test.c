/* Tests of emulator/model/prefetch_usual.c: straight on, the usual prefetchers fetch what any would. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/model/hierarchy_state.h"
#include "emulator/setup.h"

#define HEAP     UINT64_C(0x4000000000)
#define CODE     UINT64_C(0x401000)
#define PAGE     UINT64_C(4096)
#define ACCESSES 60000

static const struct machine usual = {
	.clock_mhz = 1000,
	.nodes = 1,
	.cores = 2,
	.line_bytes = 64,
	.code = {.bytes = 2048, .ways = 4, .latency_cycles = 3, .cores = 1},
	.level_count = 3,
	.levels = {{.bytes = 2048, .ways = 4, .latency_cycles = 3, .cores = 1},
                   {.bytes = 32768, .ways = 8, .latency_cycles = 12, .cores = 1},
                   {.bytes = 262144, .ways = 16, .latency_cycles = 40, .cores = 1}},
	.page_bytes = 4096,
	.code_tlb = {.entries = 8, .ways = 8, .miss_cycles = 7},
	.data_tlb = {.entries = 8, .ways = 8, .miss_cycles = 7},
	.controllers = 1,
	.load_count = 2,
	.loads = {{1, 200}, {20, 300}},
	.prefetcher_count = 2,
	.prefetchers =
		{{.kind = PREFETCH_STRIDE, .level = 2, .entries = 32, .degree = 1, .distance = 2, .accuracy = 0.9},
                 {.kind = PREFETCH_STREAM, .level = 2, .entries = 24, .degree = 2, .distance = 20, .accuracy = 0.9}},
};

static struct memory_system *memory;

static int
teardown(void **state)
{
	(void)state;
	memory_system_free(memory);
	memory = NULL;
	return 0;
}

static struct hierarchy *
begin(const struct machine *machine)
{
	struct hierarchy *hierarchy;

	memory_system_free(memory);
	memory = memory_system_new(machine, SETUP_CACHES | SETUP_TLBS, 100000, 1);
	assert_non_null(memory);
	hierarchy = hierarchy_new(memory, 0, PLAIN_NO_ROOM);
	assert_non_null(hierarchy);
	return hierarchy;
}

/*
 * Where an instruction goes: some go through pages up or down, in steps of their own, and some anywhere. Pages of one
 * time are in several sets of streams.
 */
static uint64_t
place(unsigned instruction, uint64_t turn, uint32_t random)
{
	const uint64_t page = HEAP + (instruction * 9 + turn / 50 % 8) * PAGE;

	if (instruction < 2)
		return page + turn * 64 % PAGE;
	if (instruction < 4)
		return page + (PAGE - 64 - turn * 64 % PAGE);
	if (instruction < 8)
		return page + (PAGE - 1 - turn * 24 * instruction % PAGE);
	if (instruction < 10)
		return HEAP + turn * (PAGE + 64) % (64 * PAGE);
	return HEAP + random % (400 * PAGE);
}

/* The same accesses each time; what they find is added up in `sum`. */
static struct hierarchy_traffic
run(struct hierarchy *hierarchy, uint64_t *sum)
{
	struct hierarchy_traffic traffic;
	uint32_t random = 1;

	for (unsigned i = 0; i < ACCESSES; i++) {
		const unsigned instruction = i % 13;
		const uint64_t address = place(instruction, i / 13, (random = random * 1664525 + 1013904223) / 256);
		struct access_result result;

		if (instruction == 12)
			hierarchy_fetch(hierarchy, CODE + random / 256 % 65536, i * 20, &result);
		else if (instruction % 4 == 3)
			hierarchy_store(hierarchy, address, 1 + instruction, i * 20, &result);
		else
			hierarchy_load(hierarchy, address, 1 + instruction, i * 20, &result);
		*sum = *sum * 31 + result.level + result.cycles + result.wait_cycles + result.used_prefetch;
	}
	traffic = *hierarchy_traffic(hierarchy);
	hierarchy_free(hierarchy);
	return traffic;
}

/* With another core, which does nothing, or alone. */
static struct hierarchy_traffic
run_beside(const struct machine *machine, bool is_shared, bool is_usual, uint64_t *sum)
{
	struct hierarchy *hierarchy = begin(machine);
	struct hierarchy *other = is_shared ? hierarchy_new(memory, 1, PLAIN_NO_ROOM) : NULL;
	struct hierarchy_traffic traffic;

	assert_ptr_equal(hierarchy->prefetch, hierarchy_prefetch_usual);
	if (!is_usual)
		hierarchy->prefetch = hierarchy_prefetch_any;
	traffic = run(hierarchy, sum);
	hierarchy_free(other);
	return traffic;
}

static void
compare_with_any(const struct machine *machine)
{
	for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
		struct hierarchy_traffic straight, any;
		uint64_t sums[2] = {0, 0};

		straight = run_beside(machine, is_shared, true, &sums[0]);
		assert_in_range(straight.prefetched, 1000, ACCESSES);
		assert_in_range(straight.prefetched_used, 100, straight.prefetched);
		any = run_beside(machine, is_shared, false, &sums[1]);
		assert_memory_equal(&straight, &any, sizeof(any));
		assert_int_equal(sums[0], sums[1]);
	}
}

static void
the_usual_ones_fetch_what_any_would(void **state)
{
	(void)state;
	compare_with_any(&usual);
}

/* A level 3 that is narrow, and memory or a level 4 behind it; more degrees. */
static void
they_do_so_with_another_third_level(void **state)
{
	struct machine machine = usual;

	(void)state;
	machine.levels[2] = (struct machine_cache){.bytes = 256000, .ways = 20, .latency_cycles = 40, .cores = 2};
	compare_with_any(&machine);
	machine.level_count = 4;
	machine.levels[3] = (struct machine_cache){.bytes = 524288, .ways = 16, .latency_cycles = 90, .cores = 2};
	compare_with_any(&machine);
	machine.prefetchers[0].degree = 3;
	machine.prefetchers[0].distance = 9;
	machine.prefetchers[1].degree = 4;
	compare_with_any(&machine);
	machine.level_count = 2;
	compare_with_any(&machine);
}

/* Others, another order, other lines or pages, a level 2 that is shared. */
static void
others_are_not_the_usual(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct machine machine = usual;
		struct hierarchy *hierarchy;

		machine.prefetchers[0].kind = i == 0 ? PREFETCH_NEXT_LINE : PREFETCH_STRIDE;
		machine.prefetchers[1].level = i == 1 ? 1 : 2;
		machine.prefetcher_count = i == 2 ? 1 : 2;
		machine.line_bytes = i == 3 ? 32 : 64;
		machine.page_bytes = i == 4 ? 16384 : 4096;
		machine.levels[1].cores = i == 5 ? 2 : 1;
		hierarchy = begin(&machine);
		assert_ptr_equal(hierarchy->prefetch, hierarchy_prefetch_any);
		hierarchy_free(hierarchy);
	}
}

static void
without_prefetchers_nobody_is_told(void **state)
{
	struct machine machine = usual;
	struct hierarchy *hierarchy;

	(void)state;
	machine.prefetcher_count = 0;
	hierarchy = begin(&machine);
	assert_null(hierarchy->prefetch);
	hierarchy_free(hierarchy);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_usual_ones_fetch_what_any_would),
		TEST(they_do_so_with_another_third_level),
		TEST(others_are_not_the_usual),
		TEST(without_prefetchers_nobody_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
