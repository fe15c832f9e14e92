#include "collectord/pace.h"

#include "tests/unit/test.h"

#define TEN_SECONDS UINT64_C(10000000000)

static void
what_costs_too_much_once_or_twice_is_let_be(void **state)
{
	struct pace pace = {0};

	(void)state;
	assert_int_equal(pace_judge(&pace, 3, 1, TEN_SECONDS), PACE_KEEP);
	assert_int_equal(pace_judge(&pace, 3, 1, TEN_SECONDS), PACE_KEEP);
	assert_int_equal(pace_judge(&pace, 0.5, 1, TEN_SECONDS), PACE_KEEP);
	assert_int_equal(pace_judge(&pace, 3, 1, TEN_SECONDS), PACE_KEEP);
}

static void
what_costs_too_much_all_the_time_is_slowed_down(void **state)
{
	struct pace pace = {0};

	(void)state;
	assert_int_equal(pace_judge(&pace, 1.21, 1, TEN_SECONDS), PACE_KEEP);
	assert_int_equal(pace_judge(&pace, 1.21, 1, TEN_SECONDS), PACE_KEEP);
	assert_int_equal(pace_judge(&pace, 1.21, 1, TEN_SECONDS), PACE_SLOW_DOWN);
	assert_int_equal(pace_judge(&pace, 1.21, 1, TEN_SECONDS), PACE_KEEP);
}

static void
a_little_more_than_the_limit_is_no_reason(void **state)
{
	struct pace pace = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(pace_judge(&pace, 1.19, 1, TEN_SECONDS), PACE_KEEP);
}

static void
every_ten_minutes_there_is_a_review(void **state)
{
	struct pace pace = {0};

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 59; i++)
			assert_int_equal(pace_judge(&pace, 0.1, 1, TEN_SECONDS), PACE_KEEP);
		assert_int_equal(pace_judge(&pace, 0.1, 1, TEN_SECONDS), PACE_REVIEW);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_too_much_once_or_twice_is_let_be),
		cmocka_unit_test(what_costs_too_much_all_the_time_is_slowed_down),
		cmocka_unit_test(a_little_more_than_the_limit_is_no_reason),
		cmocka_unit_test(every_ten_minutes_there_is_a_review),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
