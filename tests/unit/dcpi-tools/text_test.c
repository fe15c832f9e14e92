#include "tests/unit/test.h"

#include <stdio.h>

#include "dcpi-tools/common/text.h"

static void
one_of_a_thing_is_not_several(void **state)
{
	(void)state;
	assert_string_equal(text_plural(0), "s");
	assert_string_equal(text_plural(1), "");
	assert_string_equal(text_plural(2), "s");
	assert_string_equal(text_plural(UINT64_C(1) << 32), "s");
}

/* e with an accent is two bytes, an ideograph three and two columns. */
static void
widths_are_columns_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(text_width("caf\xc3\xa9"), 4);
	assert_int_equal(text_width("\xe6\x97\xa5x"), 3);
	assert_int_equal(text_width(""), 0);
}

static void
what_is_cut_off_is_whole_characters(void **state)
{
	(void)state;
	assert_int_equal(text_prefix("caf\xc3\xa9s", 4), 5);
	assert_int_equal(text_prefix("x\xe6\x97\xa5", 2), 1);
	assert_int_equal(text_suffix("\xc3\xa9"
	                             "abc",
	                             3),
	                 2);
}

static int
use_utf8(void **state)
{
	(void)state;
	text_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_a_thing_is_not_several),
		cmocka_unit_test(widths_are_columns_not_bytes),
		cmocka_unit_test(what_is_cut_off_is_whole_characters),
	};

	return cmocka_run_group_tests(tests, use_utf8, NULL);
}
