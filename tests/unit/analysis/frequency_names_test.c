#include "tests/unit/test.h"

#include "analysis/frequency.h"

static void
every_method_and_confidence_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(frequency_method_name(FREQUENCY_UNKNOWN), "unknown");
	assert_string_equal(frequency_method_name(FREQUENCY_CLUSTER), "cluster");
	assert_string_equal(frequency_method_name(FREQUENCY_FIT), "fit");
	assert_string_equal(frequency_confidence_name(CONFIDENCE_NONE), "none");
	assert_string_equal(frequency_confidence_name(CONFIDENCE_EXACT), "exact");
}

static void
what_is_none_is_a_question_mark(void **state)
{
	(void)state;
	assert_string_equal(frequency_method_name(FREQUENCY_FIT + 1), "?");
	assert_string_equal(frequency_confidence_name(CONFIDENCE_EXACT + 1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_method_and_confidence_has_a_name),
		cmocka_unit_test(what_is_none_is_a_question_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
