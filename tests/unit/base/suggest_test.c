#include "base/text.h"

#include "tests/unit/test.h"

static const char *const commands[] = {"status", "flush", "epoch", "reload", "quit"};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
a_letter_too_few_is_understood(void **state)
{
	(void)state;
	assert_string_equal(suggest_name("stats", commands, COMMANDS), "status");
}

static void
exchanged_letters_are_understood(void **state)
{
	(void)state;
	assert_string_equal(suggest_name("fulsh", commands, COMMANDS), "flush");
}

static void
case_does_not_matter(void **state)
{
	(void)state;
	assert_string_equal(suggest_name("EPOCH", commands, COMMANDS), "epoch");
}

static void
a_word_unlike_all_gets_no_suggestion(void **state)
{
	(void)state;
	assert_null(suggest_name("restart", commands, COMMANDS));
	assert_null(suggest_name("", commands, COMMANDS));
	assert_null(suggest_name("x", commands, COMMANDS));
}

static void
a_word_longer_than_any_name_gets_no_suggestion(void **state)
{
	char name[SUGGEST_LENGTH_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = 'a';
	name[sizeof(name) - 1] = '\0';
	assert_null(suggest_name(name, commands, COMMANDS));
}

static void
the_nearest_of_several_is_chosen(void **state)
{
	static const char *const names[] = {"cache-references", "cache-misses", "branch-misses"};

	(void)state;
	assert_string_equal(suggest_name("cache-mises", names, 3), "cache-misses");
	assert_string_equal(suggest_name("brnach-misses", names, 3), "branch-misses");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_letter_too_few_is_understood),
		cmocka_unit_test(exchanged_letters_are_understood),
		cmocka_unit_test(case_does_not_matter),
		cmocka_unit_test(a_word_unlike_all_gets_no_suggestion),
		cmocka_unit_test(a_word_longer_than_any_name_gets_no_suggestion),
		cmocka_unit_test(the_nearest_of_several_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
