#include "tests/unit/test.h"

#include <errno.h>

#include "base/small_file.h"
#include "tests/unit/event/fake_tree.h"

static void
the_first_line_is_read_without_its_newline(void **state)
{
	struct fake_tree *tree = *state;
	char text[16];

	fake_tree_write(tree, "line", "one\ntwo\n");
	assert_int_equal(small_file_read(text, sizeof(text), "%s/%s", tree->root, "line"), 0);
	assert_string_equal(text, "one");
	fake_tree_write(tree, "bare", "no end");
	assert_int_equal(small_file_read(text, sizeof(text), "%s/bare", tree->root), 0);
	assert_string_equal(text, "no end");
	fake_tree_write(tree, "empty", "");
	assert_int_equal(small_file_read(text, sizeof(text), "%s/empty", tree->root), 0);
	assert_string_equal(text, "");
}

static void
a_line_that_does_not_fit_is_refused_and_not_cut(void **state)
{
	struct fake_tree *tree = *state;
	char text[8];

	fake_tree_write(tree, "fits", "1234567\n");
	assert_int_equal(small_file_read(text, sizeof(text), "%s/fits", tree->root), 0);
	assert_string_equal(text, "1234567");
	fake_tree_write(tree, "long", "12345678\n");
	assert_int_equal(small_file_read(text, sizeof(text), "%s/long", tree->root), -EFBIG);
	assert_string_equal(text, "");
}

static void
a_file_that_is_not_there_says_so(void **state)
{
	struct fake_tree *tree = *state;
	char text[8];
	int64_t number;

	assert_int_equal(small_file_read(text, sizeof(text), "%s/nothing", tree->root), -ENOENT);
	assert_int_equal(small_file_read_number(&number, "%s/nothing", tree->root), -ENOENT);
}

static void
numbers_are_whole_or_refused(void **state)
{
	static const char *const wrong[] = {"", "x", "1x", "99999999999999999999", "1 2"};
	struct fake_tree *tree = *state;
	int64_t number;

	fake_tree_write(tree, "number", "-1\n");
	assert_int_equal(small_file_read_number(&number, "%s/number", tree->root), 0);
	assert_int_equal(number, -1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fake_tree_write(tree, "number", wrong[i]);
		assert_int_equal(small_file_read_number(&number, "%s/number", tree->root), -EINVAL);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_tree_setup, fake_tree_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_line_is_read_without_its_newline),
		TEST(a_line_that_does_not_fit_is_refused_and_not_cut),
		TEST(a_file_that_is_not_there_says_so),
		TEST(numbers_are_whole_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
