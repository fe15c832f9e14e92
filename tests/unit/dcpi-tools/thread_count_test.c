#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/emu/thread_count.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_stands_where_arguments_ask_for_it),
		cmocka_unit_test(the_environment_says_it_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
