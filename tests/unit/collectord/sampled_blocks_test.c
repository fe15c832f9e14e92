#include "tests/unit/test.h"

#include <stdint.h>

#include "collectord/sampled_blocks.h"

static void
granules_are_requested_once(void **state)
{
	struct sampled_blocks table = {0};
	struct request_place places[8];

	(void)state;
	assert_int_equal(sampled_blocks_add(&table, 7, 0x5000), GRANULE_NEW);  /* block 5, granule 0 */
	assert_int_equal(sampled_blocks_add(&table, 7, 0x503f), GRANULE_SEEN); /* granule 0 again: not requested yet */
	assert_int_equal(sampled_blocks_add(&table, 7, 0x5040), GRANULE_NEW);  /* granule 1 */
	assert_int_equal(sampled_blocks_add(&table, 7, 0x2fff), GRANULE_NEW);  /* block 2, granule 63 */
	assert_int_equal(sampled_blocks_add(&table, 8, 0x5000), GRANULE_NEW);  /* another image */
	assert_int_equal(sampled_blocks_request(&table, 7, places, 8), 2);
	assert_int_equal(places[0].block, 2);
	assert_true(places[0].granules == UINT64_C(1) << 63);
	assert_int_equal(places[1].block, 5);
	assert_int_equal(places[1].granules, 3);
	assert_int_equal(sampled_blocks_request(&table, 7, places, 8), 0);
	assert_int_equal(sampled_blocks_add(&table, 7, 0x5080), GRANULE_NEW);
	assert_int_equal(sampled_blocks_request(&table, 7, places, 8), 1);
	assert_int_equal(places[0].granules, 4); /* what is new */
	sampled_blocks_fini(&table);
}

static void
a_request_that_failed_is_made_again(void **state)
{
	struct sampled_blocks table = {0};
	struct request_place places[8];

	(void)state;
	sampled_blocks_add(&table, 7, 0x5000);
	sampled_blocks_add(&table, 8, 0x6000);
	assert_int_equal(sampled_blocks_request(&table, 7, places, 8), 1);
	assert_int_equal(sampled_blocks_request(&table, 8, places, 8), 1);
	sampled_blocks_reset(&table, 7);
	assert_int_equal(sampled_blocks_request(&table, 7, places, 8), 1);
	assert_int_equal(sampled_blocks_request(&table, 8, places, 8), 0);
	sampled_blocks_fini(&table);
}

static void
what_is_too_much_for_one_request_waits_for_the_next(void **state)
{
	struct sampled_blocks table = {0};
	struct request_place places[8];

	(void)state;
	for (uint64_t block = 0; block < 12; block++)
		assert_int_equal(sampled_blocks_add(&table, 1, block << 12), GRANULE_NEW);
	assert_int_equal(sampled_blocks_request(&table, 1, places, 8), 8);
	assert_int_equal(sampled_blocks_request(&table, 1, places, 8), 4);
	assert_int_equal(sampled_blocks_request(&table, 1, places, 8), 0);
	sampled_blocks_fini(&table);
}

static void
a_full_table_takes_no_more_blocks(void **state)
{
	struct sampled_blocks table = {0};

	(void)state;
	for (uint64_t block = 0; block < SAMPLED_BLOCKS_MAX; block++)
		assert_int_equal(sampled_blocks_add(&table, (uint32_t)(block % 100), block << 12), GRANULE_NEW);
	assert_int_equal(sampled_blocks_add(&table, 1000, 0), GRANULE_REQUESTED);
	assert_int_equal(sampled_blocks_add(&table, 0, 64), GRANULE_NEW); /* of a block that is there */
	assert_int_equal(table.count, SAMPLED_BLOCKS_MAX);
	sampled_blocks_fini(&table);
}

static void
an_offset_that_no_block_has_is_left_out(void **state)
{
	struct sampled_blocks table = {0};

	(void)state;
	assert_int_equal(sampled_blocks_add(&table, 1, (uint64_t)CAPTURED_BLOCK_NONE << 12), GRANULE_REQUESTED);
	assert_int_equal(table.count, 0);
	sampled_blocks_fini(&table);
}

static void
assert_blocks(const struct sampled_block_set *set, const uint32_t *expected, size_t count)
{
	assert_int_equal(set->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(set->blocks[i], expected[i]);
}

static void
numbers_are_kept_once_and_in_order(void **state)
{
	uint32_t first[] = {7, 3, 7, 5}, second[] = {9, 4, 3, 1, 4};
	const uint32_t expected[] = {1, 3, 4, 5, 7, 9};
	struct sampled_block_set set = {0};

	(void)state;
	assert_int_equal(sampled_block_set_add(&set, first, 4, 100), 3);
	assert_blocks(&set, (const uint32_t[]){3, 5, 7}, 3);
	assert_int_equal(sampled_block_set_add(&set, second, 5, 100), 3);
	assert_blocks(&set, expected, 6);
	assert_int_equal(sampled_block_set_add(&set, first, 4, 100), 0);
	assert_int_equal(sampled_block_set_add(&set, first, 0, 100), 0);
	assert_blocks(&set, expected, 6);
	sampled_block_set_fini(&set);
}

static void
what_has_no_room_is_left_out(void **state)
{
	uint32_t numbers[] = {4, 3, 2, 1}, known[] = {1, 2};
	struct sampled_block_set set = {0};

	(void)state;
	assert_int_equal(sampled_block_set_add(&set, numbers, 4, 2), 2);
	assert_blocks(&set, (const uint32_t[]){1, 2}, 2);
	assert_int_equal(sampled_block_set_add(&set, known, 2, 0), 0);
	assert_blocks(&set, (const uint32_t[]){1, 2}, 2);
	sampled_block_set_fini(&set);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(granules_are_requested_once),
		cmocka_unit_test(a_request_that_failed_is_made_again),
		cmocka_unit_test(what_is_too_much_for_one_request_waits_for_the_next),
		cmocka_unit_test(a_full_table_takes_no_more_blocks),
		cmocka_unit_test(an_offset_that_no_block_has_is_left_out),
		cmocka_unit_test(numbers_are_kept_once_and_in_order),
		cmocka_unit_test(what_has_no_room_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
