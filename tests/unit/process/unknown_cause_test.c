#include "tests/unit/test.h"

#include "process/image_table.h"

static void
every_cause_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	assert_string_equal(unknown_cause_name(UNKNOWN_PROCESS), "no-process");
	assert_string_equal(unknown_cause_name(UNKNOWN_MEMORY), "no-memory");
	assert_string_equal(unknown_cause_text(UNKNOWN_GUEST), "taken in a virtual machine's guest");
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		assert_non_null(unknown_cause_name(cause));
		assert_non_null(unknown_cause_text(cause));
	}
}

static void
a_cause_of_a_newer_version_is_other(void **state)
{
	(void)state;
	assert_string_equal(unknown_cause_name(UNKNOWN_CAUSE_COUNT), "other");
	assert_string_equal(unknown_cause_name(~0u), "other");
	assert_non_null(unknown_cause_text(UNKNOWN_CAUSE_COUNT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cause_has_a_name_and_a_sentence),
		cmocka_unit_test(a_cause_of_a_newer_version_is_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
