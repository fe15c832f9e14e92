/* Tests of collectord/place_table.h: where samples were. */
#include "tests/unit/test.h"

#include "collectord/place_table.h"

static void
places_come_back_once(void **state)
{
	struct place_table table = {0};
	struct request_place places[8];

	(void)state;
	assert_true(place_table_note(&table, 7, 0x5000)); /* block 5, granule 0 */
	assert_true(place_table_note(&table, 7, 0x503f)); /* the same: nobody has asked yet */
	assert_true(place_table_note(&table, 7, 0x5040)); /* granule 1 */
	assert_true(place_table_note(&table, 7, 0x2fff)); /* block 2, granule 63 */
	assert_true(place_table_note(&table, 8, 0x5000)); /* another image */
	assert_int_equal(place_table_ask(&table, 7, places, 8), 2);
	assert_int_equal(places[0].block, 2);
	assert_true(places[0].granules == UINT64_C(1) << 63);
	assert_int_equal(places[1].block, 5);
	assert_int_equal(places[1].granules, 3);
	assert_int_equal(place_table_ask(&table, 7, places, 8), 0);
	assert_true(place_table_note(&table, 7, 0x5080));
	assert_int_equal(place_table_ask(&table, 7, places, 8), 1);
	assert_int_equal(places[0].granules, 4); /* what is new */
	place_table_fini(&table);
}

static void
what_was_not_asked_for_after_all_comes_again(void **state)
{
	struct place_table table = {0};
	struct request_place places[8];

	(void)state;
	place_table_note(&table, 7, 0x5000);
	place_table_note(&table, 8, 0x6000);
	assert_int_equal(place_table_ask(&table, 7, places, 8), 1);
	assert_int_equal(place_table_ask(&table, 8, places, 8), 1);
	place_table_unask(&table, 7);
	assert_int_equal(place_table_ask(&table, 7, places, 8), 1);
	assert_int_equal(place_table_ask(&table, 8, places, 8), 0);
	place_table_fini(&table);
}

static void
what_is_too_much_for_one_question_waits_for_the_next(void **state)
{
	struct place_table table = {0};
	struct request_place places[8];

	(void)state;
	for (uint64_t block = 0; block < 12; block++)
		assert_true(place_table_note(&table, 1, block << 12));
	assert_int_equal(place_table_ask(&table, 1, places, 8), 8);
	assert_int_equal(place_table_ask(&table, 1, places, 8), 4);
	assert_int_equal(place_table_ask(&table, 1, places, 8), 0);
	place_table_fini(&table);
}

static void
a_full_table_takes_no_more_blocks(void **state)
{
	struct place_table table = {0};

	(void)state;
	for (uint64_t block = 0; block < PLACE_TABLE_MAX; block++)
		assert_true(place_table_note(&table, (uint32_t)(block % 100), block << 12));
	assert_false(place_table_note(&table, 1000, 0));
	assert_true(place_table_note(&table, 0, 64)); /* of a block that is there */
	assert_int_equal(table.count, PLACE_TABLE_MAX);
	place_table_fini(&table);
}

static void
an_offset_that_no_block_has_is_left_out(void **state)
{
	struct place_table table = {0};

	(void)state;
	assert_false(place_table_note(&table, 1, (uint64_t)CAPTURED_BLOCK_NONE << 12));
	assert_int_equal(table.count, 0);
	place_table_fini(&table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_come_back_once),
		cmocka_unit_test(what_was_not_asked_for_after_all_comes_again),
		cmocka_unit_test(what_is_too_much_for_one_question_waits_for_the_next),
		cmocka_unit_test(a_full_table_takes_no_more_blocks),
		cmocka_unit_test(an_offset_that_no_block_has_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
