#include "tests/unit/test.h"

#include "event/names.h"

static const char *
suggest(const char *word)
{
	static struct event_suggestion suggestion;

	event_suggestion_init(&suggestion, word);
	event_names_suggest(&suggestion);
	return event_suggestion_get(&suggestion);
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
a_nearer_candidate_replaces_a_farther_one_only(void **state)
{
	struct event_suggestion suggestion;

	(void)state;
	event_suggestion_init(&suggestion, "umasks");
	assert_null(event_suggestion_get(&suggestion));
	event_suggestion_consider(&suggestion, "masks_");
	assert_string_equal(event_suggestion_get(&suggestion), "masks_");
	event_suggestion_consider(&suggestion, "umask");
	assert_string_equal(event_suggestion_get(&suggestion), "umask");
	event_suggestion_consider(&suggestion, "event");
	event_suggestion_consider(&suggestion, "masks");
	assert_string_equal(event_suggestion_get(&suggestion), "umask");
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
		cmocka_unit_test(a_nearer_candidate_replaces_a_farther_one_only),
		cmocka_unit_test(a_near_miss_finds_the_name_that_was_meant),
		cmocka_unit_test(what_is_near_to_nothing_suggests_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
