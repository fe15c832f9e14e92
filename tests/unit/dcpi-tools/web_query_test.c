#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/query.h"

static char why[512];

static int
parse(const char *text, struct query *query)
{
	why[0] = '\0';
	return query_parse(text, strlen(text), query, why, sizeof(why));
}

static void
refuses(const char *text, int err, const char *sentence)
{
	struct query query;

	assert_int_equal(parse(text, &query), err);
	assert_non_null(strstr(why, sentence));
	query_fini(&query);
}

static void
fields_are_decoded(void **state)
{
	struct query query;

	(void)state;
	assert_int_equal(parse("since=2026-11-21+14%3a30&image=%2Fusr%2fbin/x%26y&procedure=a%3D%3d%C3%A9", &query), 0);
	assert_string_equal(query.values[QUERY_SINCE], "2026-11-21 14:30");
	assert_string_equal(query.values[QUERY_IMAGE], "/usr/bin/x&y");
	assert_string_equal(query.values[QUERY_PROCEDURE], "a==\xc3\xa9");
	assert_null(query.values[QUERY_UNTIL]);
	query_fini(&query);
}

/* A browser sends every field of a form. */
static void
an_empty_field_is_none(void **state)
{
	struct query query;

	(void)state;
	assert_int_equal(parse("&since=&until&&comm=x&", &query), 0);
	assert_null(query.values[QUERY_SINCE]);
	assert_null(query.values[QUERY_UNTIL]);
	assert_string_equal(query.values[QUERY_COMM], "x");
	query_fini(&query);
	assert_int_equal(parse("", &query), 0);
	query_fini(&query);
}

static void
what_is_wrong_gets_a_sentence(void **state)
{
	(void)state;
	refuses("sinc=1h", -EINVAL, "field 'sinc' that no page knows (did you mean since?)");
	refuses("%1b[31m=1", -EINVAL, "field '\\x1b[31m'");
	refuses("since=%", -EINVAL, "malformed %XX");
	refuses("since=%4", -EINVAL, "malformed %XX");
	refuses("since=%4g", -EINVAL, "malformed %XX");
	refuses("since=a%00b", -EINVAL, "a byte 0");
	refuses("%zz=1", -EINVAL, "a name in the query has a malformed %XX");
	refuses("comm=a&comm=b", -EINVAL, "has 'comm' twice");
}

/* The length of the text counts, not a NUL behind it. */
static void
the_length_bounds_what_is_read(void **state)
{
	struct query query;

	(void)state;
	assert_int_equal(query_parse("comm=abc", 6, &query, why, sizeof(why)), 0);
	assert_string_equal(query.values[QUERY_COMM], "a");
	query_fini(&query);
	assert_int_equal(query_parse("comm=%41", 7, &query, why, sizeof(why)), -EINVAL);
	query_fini(&query);
}

static void
a_long_query_is_refused(void **state)
{
	char *text = malloc(QUERY_SIZE_MAX + 2);
	struct query query;

	(void)state;
	memset(text, 'x', QUERY_SIZE_MAX + 1);
	memcpy(text, "comm=", 5);
	text[QUERY_SIZE_MAX + 1] = '\0';
	refuses(text, -E2BIG, "longer than 8192 bytes");
	text[QUERY_VALUE_MAX + 6] = '\0'; /* one more than a value may have */
	refuses(text, -EINVAL, "'comm' is longer than 4096 bytes");
	text[QUERY_VALUE_MAX + 5] = '\0';
	assert_int_equal(parse(text, &query), 0);
	assert_int_equal(strlen(query.values[QUERY_COMM]), QUERY_VALUE_MAX);
	query_fini(&query);
	free(text);
}

static void
a_url_has_what_it_keeps_and_changes(void **state)
{
	const struct query_change changes[] = {{QUERY_IMAGE, "/lib/a b&c"}, {QUERY_EPOCH, NULL}};
	struct query query;
	char *url;

	(void)state;
	assert_int_equal(parse("epoch=3&comm=gz*&limit=5&format=json&report=2", &query), 0);
	url = query_url("/calc", &query, QUERY_SELECTION, changes, 2);
	assert_string_equal(url, "/calc?comm=gz%2A&image=/lib/a%20b%26c");
	free(url);
	url = query_url("/", &query, QUERY_ALL, NULL, 0);
	assert_string_equal(url, "/?epoch=3&comm=gz%2A&limit=5");
	free(url);
	url = query_url("/health", &query, 0, NULL, 0);
	assert_string_equal(url, "/health");
	free(url);
	query_fini(&query);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_decoded),
		cmocka_unit_test(an_empty_field_is_none),
		cmocka_unit_test(what_is_wrong_gets_a_sentence),
		cmocka_unit_test(the_length_bounds_what_is_read),
		cmocka_unit_test(a_long_query_is_refused),
		cmocka_unit_test(a_url_has_what_it_keeps_and_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
