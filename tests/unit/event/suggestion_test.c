#include "tests/unit/test.h"

#include "event/names.h"
#include "event/suggestion.h"

static void
an_edit_is_a_letter_more_less_changed_or_swapped(void **state)
{
	(void)state;
	assert_int_equal(edit_distance("cycles", "cycles"), 0);
	assert_int_equal(edit_distance("cycles", "CYCLES"), 0);
	assert_int_equal(edit_distance("cycle", "cycles"), 1);
	assert_int_equal(edit_distance("cyycles", "cycles"), 1);
	assert_int_equal(edit_distance("cycled", "cycles"), 1);
	assert_int_equal(edit_distance("cylces", "cycles"), 1);
	assert_int_equal(edit_distance("kitten", "sitting"), 3);
	assert_int_equal(edit_distance("", "abc"), 3);
	assert_int_equal(edit_distance("abc", ""), 3);
	assert_int_equal(edit_distance("ca", "abc"), 3); /* what was swapped is not edited again */
}

static const char *
suggest(const char *word)
{
	static struct suggestion suggestion;

	suggestion_init(&suggestion, word);
	event_names_suggest(&suggestion);
	return suggestion_get(&suggestion);
}

static void
a_near_miss_finds_the_name_that_was_meant(void **state)
{
	(void)state;
	assert_string_equal(suggest("cylces"), "cycles");
	assert_string_equal(suggest("cache-mises"), "cache-misses");
	assert_string_equal(suggest("cpuclock"), "cpu-clock");
	assert_string_equal(suggest("LLC-load-miss"), "LLC-load-misses");
	assert_string_equal(suggest("page_faults"), "page-faults");
}

static void
what_is_near_to_nothing_suggests_nothing(void **state)
{
	(void)state;
	assert_null(suggest("inst_retired.any"));
	assert_null(suggest("xyzzy"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_edit_is_a_letter_more_less_changed_or_swapped),
		cmocka_unit_test(a_near_miss_finds_the_name_that_was_meant),
		cmocka_unit_test(what_is_near_to_nothing_suggests_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
