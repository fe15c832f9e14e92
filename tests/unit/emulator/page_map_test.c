/* Tests of emulator/model/page_map.h. */
#include "tests/unit/test.h"

#include <pthread.h>

#include "emulator/model/page_map.h"

#define PAGE 4096

static struct machine machine;
static struct page_map *map;

static int
setup(void **state)
{
	(void)state;
	machine = (struct machine){
		.nodes = 4,
		.cores = 4,
		.line_bytes = 64,
		.page_bytes = PAGE,
		.code = {.bytes = 32768, .ways = 8},
		.level_count = 1,
		.levels = {{.bytes = 32768, .ways = 8}},
		.placement = PLACEMENT_FIRST_TOUCH,
		.placement_node = 2,
	};
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	page_map_free(map);
	map = NULL;
	return 0;
}

static void
begin(void)
{
	map = page_map_new(&machine);
	assert_non_null(map);
}

static unsigned
node_of(uint64_t address, unsigned toucher)
{
	return page_map_node(map, page_map_region(map, address), address, toucher);
}

static void
stretches_are_numbered_as_they_are_touched(void **state)
{
	(void)state;
	begin();
	assert_int_equal(page_map_region(map, UINT64_C(0x4000001000)), 0);
	assert_int_equal(page_map_region(map, UINT64_C(0x401000)), 1);
	assert_int_equal(page_map_region(map, UINT64_C(0x40ffffffff)), 0);
	assert_int_equal(page_map_region(map, UINT64_C(0x4100000000)), 2);
	assert_int_equal(page_map_region(map, UINT64_MAX), 3);
	assert_int_equal(page_map_region_address(map, 0), UINT64_C(0x4000000000));
	assert_int_equal(page_map_region_address(map, 1), 0);
	assert_int_equal(page_map_region_address(map, 3), UINT64_C(0xffffffff00000000));
}

static void
a_number_leads_back_to_its_address(void **state)
{
	const uint64_t addresses[] = {0x401040, UINT64_C(0x40281f3fc0), UINT64_C(0x7ffffffff000), UINT64_MAX - 63};
	struct page_map_recent recent;

	(void)state;
	begin();
	page_map_recent_init(&recent);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t region = page_map_region(map, addresses[i]);
		uint64_t line = page_map_number(region, addresses[i], 6);

		assert_int_equal(page_map_recent_number(&recent, map, addresses[i]) >> 6, line);
		assert_int_equal(page_map_recent_number(&recent, map, addresses[i] + 1) >> 6, line);
		assert_int_equal(line % 64, (addresses[i] >> 6) % 64);
		assert_int_equal(page_map_address(map, line, 6), addresses[i] >> 6);
		assert_int_equal(page_map_number(region, addresses[i], 12), line >> 6);
	}
}

/* So that 32 bits are enough for a line beside its set: 63 stretches with one set of lines of 64 bytes. */
static void
past_their_limit_stretches_share_numbers(void **state)
{
	bool shared = false;

	(void)state;
	machine.levels[0] = (struct machine_cache){.bytes = 512, .ways = 8};
	begin();
	for (uint64_t i = 0; i < 63; i++)
		assert_int_equal(page_map_region(map, i << 32), i);
	for (uint64_t i = 63; i < 200; i++) {
		uint32_t region = page_map_region(map, i << 32);

		assert_in_range(region, 0, 62);
		assert_int_equal(page_map_region(map, i << 32), region);
		shared = true;
	}
	assert_true(shared);
}

static void
who_touches_a_page_first_has_it(void **state)
{
	(void)state;
	begin();
	assert_int_equal(node_of(UINT64_C(0x4000000000), 3), 3);
	assert_int_equal(node_of(UINT64_C(0x4000000000) + PAGE - 1, 1), 3);
	assert_int_equal(node_of(UINT64_C(0x4000000000) + PAGE, 1), 1);
	assert_int_equal(node_of(UINT64_C(0x4000000000) + PAGE, 3), 1);
}

static void
pages_are_dealt_out_to_nodes_in_turn(void **state)
{
	(void)state;
	machine.placement = PLACEMENT_INTERLEAVE;
	begin();
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(node_of(i * PAGE + 100, 2), i % 4);
}

static void
all_pages_are_on_the_node_that_was_asked_for(void **state)
{
	(void)state;
	machine.placement = PLACEMENT_NODE;
	begin();
	assert_int_equal(node_of(0x1000, 0), 2);
	assert_int_equal(node_of(UINT64_C(0x4000001000), 3), 2);
}

static uint64_t
followed(uint64_t address)
{
	uint64_t number = page_map_follow(map, page_map_number(page_map_region(map, address), address, 0));

	return page_map_address(map, number, 0);
}

/* As a heap's block that grows does; where it was comes another, which is not the same for that. */
static void
pages_that_move_are_the_same_elsewhere(void **state)
{
	const uint64_t one = UINT64_C(0x4002d63000), two = UINT64_C(0x4002e00000), three = UINT64_C(0x7f0000000000);

	(void)state;
	begin();
	assert_int_equal(followed(one + 100), one + 100);
	page_map_move(map, one, two, 3 * PAGE);
	assert_int_equal(followed(two + 100), one + 100);
	assert_int_equal(followed(two + 2 * PAGE + 7), one + 2 * PAGE + 7);
	assert_int_equal(followed(two + 3 * PAGE), two + 3 * PAGE);
	assert_int_equal(followed(one), two);
	page_map_move(map, two, three, 2 * PAGE);
	assert_int_equal(followed(three + PAGE), one + PAGE);
	assert_int_equal(followed(two + 2 * PAGE), one + 2 * PAGE);
	assert_int_not_equal(followed(two), followed(one));
}

static void
what_is_no_whole_page_does_not_move(void **state)
{
	(void)state;
	machine.page_bytes = 1 << 21;
	begin();
	page_map_move(map, UINT64_C(0x4002d63000), UINT64_C(0x4002e00000), 3 * PAGE);
	assert_int_equal(followed(UINT64_C(0x4002e00000)), UINT64_C(0x4002e00000));
}

#define PAGES 100000

struct toucher {
	unsigned node;
	uint8_t nodes[PAGES];
};

static void *
touch_all(void *context)
{
	struct toucher *toucher = context;

	for (uint64_t i = 0; i < PAGES; i++) {
		/* each its own way through them */
		uint64_t page = (i * 7919 + toucher->node * 31) % PAGES;

		toucher->nodes[page] = (uint8_t)node_of(page * PAGE * 17, toucher->node);
	}
	return NULL;
}

static void
threads_agree_who_was_first(void **state)
{
	static struct toucher touchers[2] = {{.node = 0}, {.node = 1}};
	pthread_t threads[2];

	(void)state;
	begin();
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, touch_all, &touchers[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_memory_equal(touchers[0].nodes, touchers[1].nodes, PAGES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stretches_are_numbered_as_they_are_touched),
		TEST(a_number_leads_back_to_its_address),
		TEST(past_their_limit_stretches_share_numbers),
		TEST(who_touches_a_page_first_has_it),
		TEST(pages_are_dealt_out_to_nodes_in_turn),
		TEST(all_pages_are_on_the_node_that_was_asked_for),
		TEST(pages_that_move_are_the_same_elsewhere),
		TEST(what_is_no_whole_page_does_not_move),
		TEST(threads_agree_who_was_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
