/* Rows that a user names, and what is left of a whole. */
#include "tests/unit/test.h"

#include "code/schedule.h"
#include "dcpi-tools/common/breakdown.h"

static void
a_row_is_named_without_regard_to_case(void **state)
{
	struct breakdown_row row;

	(void)state;
	assert_true(breakdown_row_find("branch MISPREDICT", &row));
	assert_string_equal(row.name, "Branch mispredict");
	assert_false(row.is_static);
	assert_int_equal(row.index, CAUSE_MISPREDICT);
	assert_true(breakdown_row_find("ra dependency", &row));
	assert_true(row.is_static);
	assert_int_equal(row.index, STALL_RA);
}

static void
a_letter_means_the_reason_that_listings_have_it_for(void **state)
{
	struct breakdown_row row;

	(void)state;
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		const char letter[] = {stall_cause_letter(i), '\0'};

		assert_true(breakdown_row_find(letter, &row));
		assert_string_equal(row.name, stall_cause_name(i));
	}
	assert_true(breakdown_row_find("d", &row));
	assert_string_equal(row.name, "D-cache miss");
	assert_true(breakdown_row_find("D", &row));
	assert_string_equal(row.name, "DTB miss");
	assert_true(breakdown_row_find("?", &row));
	assert_string_equal(row.name, "Unexplained stall");
}

static void
what_is_no_row_is_refused(void **state)
{
	struct breakdown_row row;

	(void)state;
	assert_false(breakdown_row_find("", &row));
	assert_false(breakdown_row_find("dD", &row));
	assert_false(breakdown_row_find("weather", &row));
	assert_false(breakdown_row_find("Execution", &row));
}

static void
a_row_has_what_the_summary_says_of_it(void **state)
{
	const struct stall_summary summary = {
		.low = {[CAUSE_DATA_CACHE] = 3},
		.high = {[CAUSE_DATA_CACHE] = 8},
		.unexplained = 5,
		.fixed = {[STALL_RB] = 7},
	};
	struct breakdown_row row;

	(void)state;
	breakdown_row_find("d", &row);
	assert_true(breakdown_row_low(&row, &summary) == 3 && breakdown_row_high(&row, &summary) == 8);
	breakdown_row_find("?", &row);
	assert_true(breakdown_row_low(&row, &summary) == 5 && breakdown_row_high(&row, &summary) == 5);
	breakdown_row_find("b", &row);
	assert_true(breakdown_row_low(&row, &summary) == 7 && breakdown_row_high(&row, &summary) == 7);
}

/* 900 of 1,000 samples analysed, 88.1 % tallied: 1.9 % are vague, 10.0 % missing. */
static void
what_is_tallied_vague_and_missing_is_all(void **state)
{
	double vague, missing;

	(void)state;
	breakdown_rest(88.1, 900, 1000, &vague, &missing);
	assert_float_equal(vague, 1.9, 1e-9);
	assert_float_equal(missing, 10, 1e-9);
}

/* 1 of 3 is printed as 33.3 %; of 66.66 % the rest is 66.7 %, and not 66.6. */
static void
rounding_leaves_no_gap(void **state)
{
	double vague, missing;

	(void)state;
	breakdown_rest(33.3, 1, 3, &vague, &missing);
	assert_float_equal(vague, 0, 1e-9);
	assert_float_equal(missing, 66.7, 1e-9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_named_without_regard_to_case),
		cmocka_unit_test(a_letter_means_the_reason_that_listings_have_it_for),
		cmocka_unit_test(what_is_no_row_is_refused),
		cmocka_unit_test(a_row_has_what_the_summary_says_of_it),
		cmocka_unit_test(what_is_tallied_vague_and_missing_is_all),
		cmocka_unit_test(rounding_leaves_no_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
