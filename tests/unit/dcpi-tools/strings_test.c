/* Texts with numbers. */
#include "tests/unit/test.h"

#include <stdio.h>

#include "dcpi-tools/export/strings.h"

static void
the_empty_text_is_number_0(void **state)
{
	struct export_strings *strings = strings_new();
	uint32_t number = 7;

	(void)state;
	assert_non_null(strings);
	assert_int_equal(strings_count(strings), 1);
	assert_int_equal(strings_add(strings, "", &number), 0);
	assert_int_equal(number, 0);
	assert_string_equal(strings_get(strings, 0), "");
	strings_free(strings);
}

static void
a_text_keeps_its_number_among_many(void **state)
{
	struct export_strings *strings = strings_new();
	char text[16];
	uint32_t number;

	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 1000; i++) {
			snprintf(text, sizeof(text), "text %u", i);
			assert_int_equal(strings_add(strings, text, &number), 0);
			assert_int_equal(number, i);
		}
	assert_int_equal(strings_count(strings), 1001);
	assert_string_equal(strings_get(strings, 500), "text 500");
	strings_free(strings);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_empty_text_is_number_0),
		cmocka_unit_test(a_text_keeps_its_number_among_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
