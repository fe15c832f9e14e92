/* Tests of emulator/model/hierarchy.h. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "emulator/model/hierarchy.h"
#include "emulator/setup.h"
#include "tests/unit/emulator/reference_core.h"

#define ALL_PARTS (SETUP_CACHES | SETUP_TLBS)
#define HEAP      UINT64_C(0x4000001000)
#define CODE      UINT64_C(0x401000)
#define LATER     UINT64_C(1000000) /* cycles between accesses that must not meet */

static struct machine machine;
static struct memory_system *memory;
static struct hierarchy *cores[20];
static uint64_t now;

/* Two sockets of two cores; 1 GHz, so that nanoseconds are cycles. */
static int
setup(void **state)
{
	(void)state;
	machine = (struct machine){
		.clock_mhz = 1000,
		.nodes = 2,
		.cores = 4,
		.line_bytes = 64,
		.code = {.bytes = 16384, .ways = 4, .latency_cycles = 3, .cores = 1},
		.level_count = 3,
		.levels = {{.bytes = 32768, .ways = 8, .latency_cycles = 4, .cores = 1},
	                   {.bytes = 262144, .ways = 8, .latency_cycles = 12, .cores = 1},
	                   {.bytes = 1310720, .ways = 20, .latency_cycles = 40, .cores = 2}},
		.page_bytes = 4096,
		.code_tlb = {.entries = 64, .ways = 4, .miss_cycles = 7},
		.data_tlb = {.entries = 64, .ways = 4, .miss_cycles = 7},
		.shared_tlb = {.entries = 512, .ways = 4, .miss_cycles = 30},
		.controllers = 1,
		.load_count = 2,
		.loads = {{1, 200}, {20, 300}},
		.remote_latency_ns = 60,
		.placement = PLACEMENT_NODE,
	};
	now = 0;
	return 0;
}

static void
begin(unsigned core_count)
{
	memory = memory_system_new(&machine, ALL_PARTS, 100000, 1);
	assert_non_null(memory);
	for (unsigned i = 0; i < core_count; i++) {
		cores[i] = hierarchy_new(memory, i, FILTER_NO_ROOM);
		assert_non_null(cores[i]);
	}
}

static int
teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		hierarchy_free(cores[i]);
		cores[i] = NULL;
	}
	memory_system_free(memory);
	memory = NULL;
	return 0;
}

static struct access_result
load(unsigned core, uint64_t address)
{
	struct access_result result;

	hierarchy_load(cores[core], address, CODE, now, &result);
	now += LATER;
	return result;
}

static struct access_result
store(unsigned core, uint64_t address)
{
	struct access_result result;

	hierarchy_store(cores[core], address, CODE, now, now, &result);
	now += LATER;
	return result;
}

static struct access_result
fetch(unsigned core, uint64_t address)
{
	struct access_result result;

	hierarchy_fetch(cores[core], address, now, &result);
	now += LATER;
	return result;
}

/* A hit is beyond itself by nothing, the others by what they take more. */
static void
each_level_has_its_latency(void **state)
{
	struct access_result result;

	(void)state;
	begin(1);
	result = load(0, HEAP);
	assert_int_equal(result.level, HIERARCHY_MEMORY);
	assert_int_equal(result.cycles, 196);
	assert_int_equal(result.wait_cycles, 0);
	assert_int_equal(load(0, HEAP + 63).level, 0);
	assert_int_equal(load(0, HEAP + 63).cycles, 0);
	for (uint64_t i = 1; i <= 8; i++)
		load(0, HEAP + i * 4096);
	result = load(0, HEAP);
	assert_int_equal(result.level, 1);
	assert_int_equal(result.cycles, 8);
	for (uint64_t i = 2; i <= 9; i++)
		load(0, HEAP + i * 32768);
	result = load(0, HEAP);
	assert_int_equal(result.level, 2);
	assert_int_equal(result.cycles, 36);
}

static void
code_has_its_own_first_level_and_meets_data_in_the_second(void **state)
{
	struct access_result result;

	(void)state;
	begin(1);
	assert_int_equal(fetch(0, CODE).cycles, 197);
	assert_int_equal(fetch(0, CODE).cycles, 0);
	result = load(0, CODE);
	assert_int_equal(result.level, 1);
	assert_int_equal(result.cycles, 8);
	load(0, HEAP);
	result = fetch(0, HEAP);
	assert_int_equal(result.level, 1);
	assert_int_equal(result.cycles, 9);
}

static void
translations_miss_at_two_levels(void **state)
{
	struct access_result result;

	(void)state;
	begin(1);
	result = load(0, HEAP);
	assert_true(result.tlb_missed && result.walked);
	assert_int_equal(result.tlb_cycles, 37);
	result = load(0, HEAP + 4095 - 64);
	assert_false(result.tlb_missed);
	assert_int_equal(result.tlb_cycles, 0);
	for (uint64_t i = 1; i <= 4; i++) /* all in one of 16 sets, but in several of 128 */
		load(0, HEAP + i * 16 * 4096);
	result = load(0, HEAP);
	assert_true(result.tlb_missed && !result.walked);
	assert_int_equal(result.tlb_cycles, 7);
	result = fetch(0, HEAP);
	assert_true(result.tlb_missed && !result.walked);
}

static void
cores_share_the_level_that_they_share(void **state)
{
	(void)state;
	begin(4);
	load(0, HEAP);
	assert_int_equal(load(1, HEAP).level, 2);
	assert_int_equal(load(2, HEAP).level, HIERARCHY_MEMORY);
	assert_int_equal(load(3, HEAP).level, 2);
}

static void
another_nodes_memory_is_farther(void **state)
{
	struct access_result result;

	(void)state;
	begin(4);
	result = load(0, HEAP);
	assert_int_equal(result.node, 0);
	assert_int_equal(result.cycles, 196);
	result = load(2, HEAP);
	assert_int_equal(result.node, 0);
	assert_int_equal(result.cycles, 256);
}

/* What the last of twenty lines, asked for at once, waits for. */
static uint32_t
wait_of_twenty(unsigned core)
{
	struct access_result result;

	for (uint64_t i = 0; i < 20; i++)
		hierarchy_load(cores[core], HEAP + i * 64, CODE, 1 << 20, &result);
	return result.wait_cycles;
}

/* A line each 100 cycles: windows of 512, and the last is in the fourth of them; memory itself moves 20 in 64 cycles.
 */
static void
a_link_between_nodes_has_a_limit_of_its_own(void **state)
{
	(void)state;
	machine.remote_bandwidth_gb_s = 0.64;
	begin(4);
	assert_in_range(wait_of_twenty(0), 0, 100);
	assert_int_equal(wait_of_twenty(2), 3 * 512);
}

static void
a_page_is_where_it_was_touched_first(void **state)
{
	struct hierarchy_traffic traffic;

	(void)state;
	machine.placement = PLACEMENT_FIRST_TOUCH;
	begin(4);
	assert_int_equal(load(2, HEAP).node, 1);
	assert_int_equal(load(0, HEAP + 64).node, 1);
	assert_int_equal(load(0, HEAP + 4096).node, 0);
	traffic = hierarchy_traffic(cores[0]);
	assert_int_equal(traffic.node_bytes[0], 64);
	assert_int_equal(traffic.node_bytes[1], 64);
}

/* What was written goes down level by level as it is pushed out, and to memory from the last. */
static void
what_was_written_goes_back_to_memory_once(void **state)
{
	struct hierarchy_traffic traffic;

	(void)state;
	begin(1);
	store(0, HEAP);
	for (uint64_t i = 1; i <= 8; i++)
		load(0, HEAP + i * 32768); /* out of levels 1 and 2 */
	traffic = hierarchy_traffic(cores[0]);
	assert_int_equal(traffic.written_back, 0);
	assert_int_equal(traffic.node_bytes[0], (1 + 8) * 64);
	for (uint64_t i = 9; i <= 160; i++)
		load(0, HEAP + i * 65536); /* and out of the third, whose set has 20 ways */
	traffic = hierarchy_traffic(cores[0]);
	assert_int_equal(traffic.written_back, 1);
	assert_int_equal(traffic.node_bytes[0], (1 + 8 + 152 + 1) * 64);
}

static bool
hits(struct hit_filter *filter, uint64_t address, bool writes)
{
	uint64_t line = address >> filter->line_shift;

	return filter_use(filter, writes, line, address >> filter->page_shift);
}

static void
a_written_line_is_a_plain_store_until_it_leaves(void **state)
{
	struct hit_filter *filter;

	(void)state;
	begin(1);
	filter = hierarchy_data_filter(cores[0]);
	load(0, HEAP);
	assert_true(hits(filter, HEAP, false));
	assert_false(hits(filter, HEAP, true));
	store(0, HEAP);
	assert_true(hits(filter, HEAP, true));
	for (uint64_t i = 1; i <= 7; i++)
		load(0, HEAP + i * 4096);      /* in the set of HEAP */
	assert_true(hits(filter, HEAP, true)); /* and the last that was used */
	load(0, HEAP + UINT64_C(8) * 4096);
	assert_true(hits(filter, HEAP, false));
	assert_false(hits(filter, HEAP + 4096, false));
	for (uint64_t i = 9; i <= 16; i++)
		load(0, HEAP + i * 4096);
	assert_false(hits(filter, HEAP, false));
	assert_false(hits(filter, HEAP, true));
}

/* As in level 1 of processors of these years: no set of eight. */
static void
of_twelve_ways_each_is_a_plain_hit_until_it_leaves(void **state)
{
	struct hit_filter *filter;

	(void)state;
	machine.levels[0] = (struct machine_cache){.bytes = 49152, .ways = 12, .latency_cycles = 5, .cores = 1};
	begin(1);
	filter = hierarchy_data_filter(cores[0]);
	for (uint64_t i = 0; i < 12; i++)
		load(0, HEAP + i * 4096);
	assert_true(hits(filter, HEAP, false));
	load(0, HEAP + UINT64_C(12) * 4096);
	assert_true(hits(filter, HEAP, false));
	assert_false(hits(filter, HEAP + 4096, false));
	assert_int_equal(load(0, HEAP + 4096).level, 1);
}

/* Lines 0 to 2 miss; with the third, 3 and 4 are fetched, and with each that follows two more. */
static void
begin_with_prefetcher(unsigned level, double accuracy)
{
	struct hierarchy_traffic traffic;

	machine.prefetcher_count = 1;
	machine.prefetchers[0] = (struct machine_prefetcher){.kind = PREFETCH_STREAM,
	                                                     .level = level,
	                                                     .entries = 8,
	                                                     .degree = 2,
	                                                     .distance = 8,
	                                                     .accuracy = accuracy};
	begin(1);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(load(0, HEAP + i * 64).level, HIERARCHY_MEMORY);
	traffic = hierarchy_traffic(cores[0]);
	assert_int_equal(traffic.prefetched, 2);
	assert_int_equal(traffic.node_bytes[0], 5 * 64);
}

static void
a_prefetched_line_is_where_it_was_brought(void **state)
{
	struct access_result result;

	(void)state;
	begin_with_prefetcher(2, 1);
	result = load(0, HEAP + 3 * 64);
	assert_int_equal(result.level, 1);
	assert_int_equal(result.cycles, 8);
	assert_true(result.used_prefetch);
	assert_int_equal(hierarchy_traffic(cores[0]).prefetched_used, 1);
	assert_false(load(0, HEAP + 3 * 64).used_prefetch);
	assert_true(load(0, HEAP + 4 * 64).used_prefetch);
}

/* It was asked for at `asked`, and takes 196 cycles beyond a hit. */
static void
a_prefetched_line_that_is_late_is_waited_for(void **state)
{
	struct access_result result;
	uint64_t asked;

	(void)state;
	begin_with_prefetcher(2, 1);
	asked = now - LATER;
	hierarchy_load(cores[0], HEAP + 3 * 64, CODE, asked + 50, &result);
	assert_int_equal(result.level, 1);
	assert_int_equal(result.cycles, 146);
	hierarchy_load(cores[0], HEAP + 4 * 64, CODE, asked + 190, &result);
	assert_int_equal(result.cycles, 8);
}

/* What comes into level 1 is the last of its set, and yet no ordinary hit: it was not accessed yet. */
static void
level_1_can_be_prefetched_into(void **state)
{
	struct access_result result;
	struct hit_filter *filter;

	(void)state;
	begin_with_prefetcher(1, 1);
	filter = hierarchy_data_filter(cores[0]);
	assert_false(hits(filter, HEAP + 3 * 64, false));
	result = load(0, HEAP + 3 * 64);
	assert_int_equal(result.level, 0);
	assert_int_equal(result.cycles, 0);
	assert_true(result.used_prefetch);
	assert_true(hits(filter, HEAP + 3 * 64, false));
}

/* With an accuracy of 0.5, the first of two prefetches is useless: it moves a line and takes a way; the load misses. */
static void
fetches_in_vain_move_bytes_and_bring_nothing(void **state)
{
	(void)state;
	begin_with_prefetcher(2, 0.5);
	assert_int_equal(load(0, HEAP + 3 * 64).level, HIERARCHY_MEMORY);
	assert_int_equal(load(0, HEAP + 4 * 64).level, 1);
}

static void
what_caches_have_of_pages_that_move_stays_theirs(void **state)
{
	const uint64_t there = HEAP + 0x200000;
	struct access_result result;

	(void)state;
	begin(1);
	store(0, HEAP);
	load(0, there + 64);
	hierarchy_move_pages(cores[0], HEAP, there, 4096);
	result = load(0, there);
	assert_int_equal(result.level, 0);
	assert_int_equal(load(0, HEAP).level, HIERARCHY_MEMORY);
	assert_int_equal(load(0, HEAP + 64).level, 0); /* what was there is where nobody looks */
}

static void
a_line_of_pages_that_moved_leaves_as_any_other(void **state)
{
	const uint64_t there = HEAP + UINT64_C(0x10000000);
	struct hit_filter *filter;

	(void)state;
	begin(1);
	filter = hierarchy_data_filter(cores[0]);
	load(0, HEAP);
	hierarchy_move_pages(cores[0], HEAP, there, 4096);
	load(0, there);
	assert_true(hits(filter, there, false));
	for (uint64_t i = 1; i <= 8; i++)
		load(0, HEAP + i * 4096); /* of its set */
	assert_false(hits(filter, there, false));
}

static void
what_is_not_modelled_is_always_a_plain_hit(void **state)
{
	struct hit_filter *filter;

	(void)state;
	memory = memory_system_new(&machine, 0, 0, 1);
	cores[0] = hierarchy_new(memory, 0, FILTER_NO_ROOM);
	filter = hierarchy_data_filter(cores[0]);
	for (uint64_t address = 1; address < UINT64_C(1) << 62; address *= 7) {
		assert_true(hits(filter, address, false));
		assert_true(hits(filter, address, true));
		assert_int_equal(load(0, address).cycles, 0);
		assert_int_equal(load(0, address).tlb_cycles, 0);
	}
	filter = hierarchy_code_filter(cores[0]);
	assert_true(hits(filter, CODE, false));
}

static void
a_first_level_whose_sets_are_no_power_of_two_is_refused(void **state)
{
	(void)state;
	machine.levels[0].bytes = 24576;
	errno = 0;
	assert_null(memory_system_new(&machine, ALL_PARTS, 0, 1));
	assert_int_equal(errno, EINVAL);
}

struct trace_access {
	uint64_t address;
	char kind; /* 'l', 's' or 'f': load, store, fetch */
};

/* A program of a kind: a loop with calls, a stack, a table that is gone through, and a heap that is jumped about in. */
static struct trace_access
next_access(uint64_t *random, uint64_t *scan)
{
	uint64_t value;

	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	value = *random >> 33;
	switch (value % 16) {
	case 0 ... 4:
		return (struct trace_access){CODE + (value >> 4) % 1024 * 16, 'f'};
	case 5:
		return (struct trace_access){CODE + 0x100000 + (value >> 4) % 65536 * 8, 'f'};
	case 6 ... 8:
		return (struct trace_access){UINT64_C(0x7ffff000) - (value >> 4) % 256 * 8, value & 256 ? 'l' : 's'};
	case 9 ... 11:
		*scan += 8;
		return (struct trace_access){HEAP + *scan % 3000000, value & 256 ? 'l' : 's'};
	case 12:
		return (struct trace_access){UINT64_C(0x7f0000000000) + (value >> 4) % (1 << 24) * 8, 'l'};
	default:
		return (struct trace_access){HEAP * 2 + (value >> 4) % 20000 * 8, value & 256 ? 'l' : 's'};
	}
}

static void
compare_access(struct reference_core *reference, const struct trace_access *access)
{
	const struct reference_result expected = reference_core_access(reference, access->address, access->kind);
	struct access_result result = {.level = 0};
	struct hit_filter *filter;
	bool is_code = access->kind == 'f', writes = access->kind == 's';

	filter = is_code ? hierarchy_code_filter(cores[0]) : hierarchy_data_filter(cores[0]);
	if (hits(filter, access->address, writes))
		now += 2; /* what a program does with it */
	else if (is_code)
		result = fetch(0, access->address);
	else
		result = writes ? store(0, access->address) : load(0, access->address);
	assert_int_equal(result.level, expected.level);
	assert_int_equal(result.tlb_missed, expected.tlb_missed);
	assert_int_equal(result.walked, expected.walked);
}

static void
compare_trace(void)
{
	struct reference_core reference = reference_core_new(&machine);
	uint64_t random = 1, scan = 0;

	begin(1);
	for (unsigned i = 0; i < 300000; i++) {
		struct trace_access access = next_access(&random, &scan);

		compare_access(&reference, &access);
	}
	assert_int_equal(hierarchy_traffic(cores[0]).written_back, reference.written_back);
	assert_in_range(reference.written_back, 1000, 300000);
	reference_core_free(&reference);
}

static void
a_core_is_the_reference_access_for_access(void **state)
{
	(void)state;
	compare_trace();
}

static void
first_in_first_out_is_the_reference_too(void **state)
{
	(void)state;
	machine.code.replacement = REPLACEMENT_FIFO;
	for (unsigned i = 0; i < 3; i++)
		machine.levels[i].replacement = REPLACEMENT_FIFO;
	compare_trace();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_level_has_its_latency),
		TEST(code_has_its_own_first_level_and_meets_data_in_the_second),
		TEST(translations_miss_at_two_levels),
		TEST(cores_share_the_level_that_they_share),
		TEST(another_nodes_memory_is_farther),
		TEST(a_link_between_nodes_has_a_limit_of_its_own),
		TEST(a_page_is_where_it_was_touched_first),
		TEST(what_was_written_goes_back_to_memory_once),
		TEST(a_written_line_is_a_plain_store_until_it_leaves),
		TEST(of_twelve_ways_each_is_a_plain_hit_until_it_leaves),
		TEST(a_prefetched_line_is_where_it_was_brought),
		TEST(a_prefetched_line_that_is_late_is_waited_for),
		TEST(level_1_can_be_prefetched_into),
		TEST(fetches_in_vain_move_bytes_and_bring_nothing),
		TEST(what_caches_have_of_pages_that_move_stays_theirs),
		TEST(a_line_of_pages_that_moved_leaves_as_any_other),
		TEST(what_is_not_modelled_is_always_a_plain_hit),
		TEST(a_first_level_whose_sets_are_no_power_of_two_is_refused),
		TEST(a_core_is_the_reference_access_for_access),
		TEST(first_in_first_out_is_the_reference_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
