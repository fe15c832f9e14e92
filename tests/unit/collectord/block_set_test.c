#include "tests/unit/test.h"

#include <stdint.h>

#include "collectord/block_set.h"

static void
assert_blocks(const struct block_set *set, const uint32_t *expected, size_t count)
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
	struct block_set set = {0};

	(void)state;
	assert_int_equal(block_set_add(&set, first, 4, 100), 3);
	assert_blocks(&set, (const uint32_t[]){3, 5, 7}, 3);
	assert_int_equal(block_set_add(&set, second, 5, 100), 3);
	assert_blocks(&set, expected, 6);
	assert_int_equal(block_set_add(&set, first, 4, 100), 0);
	assert_int_equal(block_set_add(&set, first, 0, 100), 0);
	assert_blocks(&set, expected, 6);
	block_set_fini(&set);
}

static void
what_has_no_room_is_left_out(void **state)
{
	uint32_t numbers[] = {4, 3, 2, 1}, known[] = {1, 2};
	struct block_set set = {0};

	(void)state;
	assert_int_equal(block_set_add(&set, numbers, 4, 2), 2);
	assert_blocks(&set, (const uint32_t[]){1, 2}, 2);
	assert_int_equal(block_set_add(&set, known, 2, 0), 0);
	assert_blocks(&set, (const uint32_t[]){1, 2}, 2);
	block_set_fini(&set);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_kept_once_and_in_order),
		cmocka_unit_test(what_has_no_room_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
