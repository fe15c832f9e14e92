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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_fields_are_not_quoted),
		cmocka_unit_test(commas_quotes_and_line_breaks_are_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
