#include "tests/unit/test.h"

#include "analysis/weighted_median.h"

static void
half_of_the_weight_is_below_half_above(void **state)
{
	struct weighted list[] = {{9, 1}, {2, 3}, {5, 4}, {1, 1}};

	(void)state;
	assert_true(weighted_median(list, 4) == 5);
	list[2].weight = 1; /* 5 weighed 4: sorted it is the third */
	assert_true(weighted_median(list, 4) == 2);
}

static void
what_has_no_weight_is_never_the_median(void **state)
{
	struct weighted list[] = {{-7, 0}, {4, 2}, {8, 0}};

	(void)state;
	assert_true(weighted_median(list, 3) == 4);
	assert_true(weighted_median(list, 1) == 0);
	assert_true(weighted_median(NULL, 0) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_the_weight_is_below_half_above),
		cmocka_unit_test(what_has_no_weight_is_never_the_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
