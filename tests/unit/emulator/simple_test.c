/* Tests of emulator/model/simple.h: going straight on, a load finds and leaves what hierarchy_load() does. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/setup.h"
#include "tests/unit/emulator/straight_load.h"

#define HEAP UINT64_C(0x4000001000)
#define CODE UINT64_C(0x401000)

/* Of the same machine: on one all is done whole, on the other as far as it can be straight. */
struct pair {
	struct machine machine;
	struct memory_system *systems[2];
	struct hierarchy *whole, *straight;
	uint32_t parts;  /* that are modelled */
	unsigned simple; /* loads */
};

static int
setup(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	assert_non_null(pair);
	pair->machine = (struct machine){
		.clock_mhz = 1000,
		.nodes = 1,
		.cores = 2,
		.line_bytes = 64,
		.code = {.bytes = 4096, .ways = 4, .latency_cycles = 3, .cores = 1},
		.level_count = 2,
		.levels = {{.bytes = 4096, .ways = 4, .latency_cycles = 3, .cores = 1},
	                   {.bytes = 32768, .ways = 8, .latency_cycles = 12, .cores = 1}},
		.page_bytes = 4096,
		.code_tlb = {.entries = 8, .ways = 8, .miss_cycles = 7},
		.data_tlb = {.entries = 8, .ways = 8, .miss_cycles = 7},
		.shared_tlb = {.entries = 32, .ways = 4, .miss_cycles = 30},
		.controllers = 1,
		.load_count = 2,
		.loads = {{1, 200}, {20, 300}},
	};
	pair->parts = SETUP_CACHES | SETUP_TLBS;
	*state = pair;
	return 0;
}

static void
end(struct pair *pair)
{
	hierarchy_free(pair->whole);
	hierarchy_free(pair->straight);
	memory_system_free(pair->systems[0]);
	memory_system_free(pair->systems[1]);
	pair->whole = pair->straight = NULL;
	pair->systems[0] = pair->systems[1] = NULL;
}

static int
teardown(void **state)
{
	struct pair *pair = *state;

	end(pair);
	free(pair);
	return 0;
}

static struct hierarchy *
begin_one(struct pair *pair, unsigned which)
{
	struct hierarchy *hierarchy;

	pair->systems[which] = memory_system_new(&pair->machine, pair->parts, 100000, 1);
	assert_non_null(pair->systems[which]);
	hierarchy = hierarchy_new(pair->systems[which], 0, PLAIN_NO_ROOM);
	assert_non_null(hierarchy);
	return hierarchy;
}

static void
begin(struct pair *pair)
{
	pair->whole = begin_one(pair, 0);
	pair->straight = begin_one(pair, 1);
}

static uint64_t
next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Of 24 pages, mostly of a few of them, and a store of four: what they find is the same, and what is moved. */
static void
compare(struct pair *pair)
{
	uint64_t random = 88172645463325252;

	for (uint64_t now = 0; now < 400000; now += 10) {
		const uint64_t spread = next_random(&random) % 4 ? 6 * 4096 : 24 * 4096;
		const uint64_t address = HEAP + next_random(&random) % spread / 8 * 8;
		struct access_result whole = {.level = 0}, straight = {.level = 0};

		if (next_random(&random) % 4 == 0) {
			hierarchy_store(pair->whole, address, CODE, now, &whole);
			hierarchy_store(pair->straight, address, CODE, now, &straight);
		} else {
			hierarchy_load(pair->whole, address, CODE, now, &whole);
			pair->simple += straight_load(pair->straight, address, CODE, now, &straight);
		}
		assert_int_equal(straight.level, whole.level);
		assert_int_equal(straight.cycles, whole.cycles);
		assert_int_equal(straight.tlb_cycles, whole.tlb_cycles);
		assert_int_equal(straight.wait_cycles, whole.wait_cycles);
	}
	assert_memory_equal(hierarchy_traffic(pair->straight), hierarchy_traffic(pair->whole),
	                    sizeof(struct hierarchy_traffic));
}

static void
four_ways_go_straight(void **state)
{
	struct pair *pair = *state;

	begin(pair);
	compare(pair);
	assert_in_range(pair->simple, 5000, 40000);
}

/* A first TLB in the order of LRU, or of a size that is not straight; a second one of other ways, or none. */
static void
whatever_its_tlbs_are_it_is_the_same(void **state)
{
	struct pair *pair = *state;

	for (unsigned i = 0; i < 8; i++) {
		pair->machine.data_tlb.entries = i & 1 ? 32 : 8;
		pair->machine.data_tlb.ways = i & 1 ? i & 4 ? 2 : 4 : 8;
		pair->machine.shared_tlb.entries = i & 2 ? i & 4 ? 0 : 48 : i & 4 ? 16 : 32;
		pair->machine.shared_tlb.ways = i & 2 ? 6 : i & 4 ? 16 : 4;
		begin(pair);
		compare(pair);
		end(pair);
	}
}

static void
eight_ways_go_straight_with_a_prefetcher(void **state)
{
	struct pair *pair = *state;

	pair->machine.levels[0].ways = 8;
	pair->machine.prefetcher_count = 1;
	pair->machine.prefetchers[0] = (struct machine_prefetcher){
		.kind = PREFETCH_STREAM, .level = 2, .entries = 8, .degree = 2, .distance = 8, .accuracy = 1};
	begin(pair);
	compare(pair);
	assert_in_range(pair->simple, 5000, 40000);
}

/* What one core has alone goes straight on; where another could be in the same caches and memory, it does not. */
static void
behind_level_2_who_is_alone_finds_what_others_do(void **state)
{
	static const unsigned ways[] = {20, 20, 16, 8}, controllers[] = {1, 2, 1, 3};
	struct pair *pair = *state;

	for (unsigned i = 0; i < 4; i++) {
		struct hierarchy *other;

		pair->machine.level_count = 3;
		pair->machine.levels[2] = (struct machine_cache){
			.bytes = 60 * 64 * ways[i], .ways = ways[i], .latency_cycles = 40, .cores = 2};
		pair->machine.controllers = controllers[i];
		pair->simple = 0;
		begin(pair);
		other = hierarchy_new(pair->systems[0], 1, PLAIN_NO_ROOM);
		assert_non_null(other);
		compare(pair);
		assert_in_range(pair->simple, 5000, 40000);
		hierarchy_free(other);
		end(pair);
	}
}

static void
pages_that_moved_are_simple_too(void **state)
{
	struct pair *pair = *state;

	begin(pair);
	compare(pair);
	for (uint64_t i = 0; i < 4; i++) {
		hierarchy_move_pages(pair->whole, HEAP + i * 4096, HEAP + (20 + i) * 4096, 4096);
		hierarchy_move_pages(pair->straight, HEAP + i * 4096, HEAP + (20 + i) * 4096, 4096);
	}
	pair->simple = 0;
	compare(pair);
	assert_in_range(pair->simple, 5000, 40000);
}

/* Who has a page in its TLB that another core moves knows where it is when it has missed another. */
static void
pages_that_another_core_moved_are_found_where_they_are(void **state)
{
	struct pair *pair = *state;
	struct access_result result = {.level = 0};
	struct hierarchy *other;
	struct plain_place *page;

	begin(pair);
	other = hierarchy_new(pair->systems[0], 1, PLAIN_NO_ROOM);
	assert_non_null(other);
	straight_load(other, HEAP, 1, 0, &result);
	page = plain_page(other->plain_data, HEAP >> HIERARCHY_PAGE_SHIFT);
	assert_true(simple_use_page(other, page, HEAP));
	hierarchy_move_pages(pair->whole, HEAP, HEAP + 20 * 4096, 4096);
	straight_load(other, HEAP + 4096, 1, 0, &result);
	assert_true(simple_use_page(other, page, HEAP));
	assert_int_equal(simple_line(HEAP, plain_page_of(page)->offset),
	                 (hierarchy_number(other, HEAP) + 20 * 4096) / 64);
	hierarchy_free(other);
}

/* Other lines or pages, another order, a level 2 that is shared or is none, a prefetched level 1, no TLB, no caches. */
static void
what_is_not_the_usual_is_not_simple(void **state)
{
	struct pair *pair = *state;
	const struct machine usual = pair->machine;

	for (unsigned i = 0; i < 9; i++) {
		struct machine *machine = &pair->machine;

		*machine = usual;
		machine->line_bytes = i == 0 ? 32 : 64;
		machine->page_bytes = i == 1 ? 16384 : 4096;
		machine->levels[0].replacement = i == 2 ? REPLACEMENT_FIFO : REPLACEMENT_LRU;
		machine->levels[1].replacement = i == 3 ? REPLACEMENT_RANDOM : REPLACEMENT_LRU;
		machine->levels[1].cores = i == 4 ? 2 : 1;
		machine->level_count = i == 5 ? 1 : 2;
		machine->prefetcher_count = i == 6;
		machine->prefetchers[0] = (struct machine_prefetcher){
			.kind = PREFETCH_NEXT_LINE, .level = 1, .entries = 1, .degree = 1, .accuracy = 1};
		pair->parts = i == 7 ? SETUP_CACHES : i == 8 ? SETUP_TLBS : SETUP_CACHES | SETUP_TLBS;
		begin(pair);
		compare(pair);
		assert_int_equal(pair->simple, 0);
		end(pair);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(four_ways_go_straight),
		TEST(whatever_its_tlbs_are_it_is_the_same),
		TEST(eight_ways_go_straight_with_a_prefetcher),
		TEST(behind_level_2_who_is_alone_finds_what_others_do),
		TEST(pages_that_moved_are_simple_too),
		TEST(pages_that_another_core_moved_are_found_where_they_are),
		TEST(what_is_not_the_usual_is_not_simple),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
