#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "dcpi-tools/emu/command.h"

static void
the_number_stands_where_arguments_ask_for_it(void **state)
{
	char *const arguments[] = {(char[]){"./stream"},
	                           (char[]){"-t%t"},
	                           (char[]){"%t%t"},
	                           (char[]){"100%%t"},
	                           (char[]){"a%b%"},
	                           (char[]){""},
	                           NULL};
	char **inserted = thread_count_insert(arguments, 18);

	(void)state;
	assert_string_equal(inserted[0], "./stream");
	assert_string_equal(inserted[1], "-t18");
	assert_string_equal(inserted[2], "1818");
	assert_string_equal(inserted[3], "100%t");
	assert_string_equal(inserted[4], "a%b%");
	assert_string_equal(inserted[5], "");
	assert_null(inserted[6]);
	thread_count_free(inserted);
}

static void
the_environment_says_it_too(void **state)
{
	(void)state;
	setenv("OMP_NUM_THREADS", "99", 1);
	assert_int_equal(thread_count_announce(4), 0);
	assert_string_equal(getenv("OMP_NUM_THREADS"), "4");
	assert_string_equal(getenv("GOMAXPROCS"), "4");
}

static unsigned
wanted(const char *text)
{
	static struct thread_list list;
	unsigned sum = 0;

	assert_int_equal(thread_list_parse(text, &list), 0);
	for (unsigned i = 1; i <= 12; i++)
		sum += list.wanted[i] ? 1U << i : 0;
	assert_false(list.wanted[0]);
	return sum;
}

static void
numbers_and_ranges_are_read(void **state)
{
	(void)state;
	assert_int_equal(wanted("3"), 1 << 3);
	assert_int_equal(wanted("1..4"), 2 + 4 + 8 + 16);
	assert_int_equal(wanted("1,2,4..5,12"), 2 + 4 + 16 + 32 + 4096);
	assert_int_equal(wanted("4..4"), 16);
	assert_int_equal(wanted("11.."), 2048 + 4096);
}

static void
an_open_range_names_no_number(void **state)
{
	static struct thread_list list;

	(void)state;
	assert_int_equal(thread_list_parse("1..", &list), 0);
	assert_int_equal(list.most, 1);
	assert_true(list.wanted[MACHINE_CORES_MAX]);
	assert_int_equal(thread_list_parse("2,7..9", &list), 0);
	assert_int_equal(list.most, 9);
}

static void
what_is_no_list_is_refused(void **state)
{
	static const char *const wrong[] = {"",    "0",   "a",    "1,",         ",1",   "1..0",    "4..2", "1...",
	                                    "..3", "1 2", "1..b", "2000000000", "1025", "1..1025", "-1",   "1..2..3"};
	static struct thread_list list;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (thread_list_parse(wrong[i], &list) != -EINVAL)
			fail_msg("'%s' was taken", wrong[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_stands_where_arguments_ask_for_it),
		cmocka_unit_test(the_environment_says_it_too),
		cmocka_unit_test(numbers_and_ranges_are_read),
		cmocka_unit_test(an_open_range_names_no_number),
		cmocka_unit_test(what_is_no_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
