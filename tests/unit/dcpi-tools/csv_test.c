#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/common/csv.h"

static void
assert_line(const char *first, const char *second, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	struct csv csv = {.stream = open_memstream(&text, &size)};

	assert_non_null(csv.stream);
	csv_text(&csv, first);
	csv_text(&csv, second);
	csv_number(&csv, UINT64_MAX);
	csv_end(&csv);
	fclose(csv.stream);
	assert_string_equal(text, expected);
	free(text);
}

static void
plain_fields_are_not_quoted(void **state)
{
	(void)state;
	assert_line("main", "/bin/true", "main,/bin/true,18446744073709551615\n");
	assert_line("", "", ",,18446744073709551615\n");
}

/* RFC 4180, rules 6 and 7 of section 2 */
static void
commas_quotes_and_line_breaks_are_quoted(void **state)
{
	(void)state;
	assert_line("std::map<int, int>", "b", "\"std::map<int, int>\",b,18446744073709551615\n");
	assert_line("say \"hi\"", "b", "\"say \"\"hi\"\"\",b,18446744073709551615\n");
	assert_line("a\nb", "c\rd", "\"a\nb\",\"c\rd\",18446744073709551615\n");
}

static void
what_comes_from_outside_is_escaped_and_nothing_is_empty(void **state)
{
	char *text = NULL;
	size_t size = 0;
	struct csv csv = {.stream = open_memstream(&text, &size)};

	(void)state;
	assert_non_null(csv.stream);
	assert_int_equal(csv_shown(&csv, "a\033,b"), 0);
	assert_int_equal(csv_shown(&csv, NULL), 0);
	assert_int_equal(csv_shown(&csv, "c"), 0);
	fclose(csv.stream);
	assert_string_equal(text, "\"a\\x1b,b\",,c");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_fields_are_not_quoted),
		cmocka_unit_test(commas_quotes_and_line_breaks_are_quoted),
		cmocka_unit_test(what_comes_from_outside_is_escaped_and_nothing_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
