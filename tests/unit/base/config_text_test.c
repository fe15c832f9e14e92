#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/unit/test.h"

static char why[256];

static void
assert_prepared(const char *text, const char *expected)
{
	char *prepared;

	assert_int_equal(config_text_prepare("f", text, &prepared, why, sizeof(why)), 0);
	assert_string_equal(prepared, expected);
	free(prepared);
}

static void
assert_not_prepared(const char *text, const char *sentence)
{
	char *prepared;

	assert_int_equal(config_text_prepare("f", text, &prepared, why, sizeof(why)), -DCPI_ECONFIG);
	assert_null(prepared);
	assert_string_equal(why, sentence);
}

static void
numbers_that_need_64_bits_say_so(void **state)
{
	(void)state;
	assert_prepared("a = 2147483647;", "a = 2147483647;");
	assert_prepared("a = 2147483648;", "a = 2147483648L;");
	assert_prepared("a = -2147483649, 5;", "a = -2147483649L, 5;");
	assert_prepared("a = 0xffffffff;", "a = 0xffffffffL;");
	assert_prepared("a = 5000000000L;", "a = 5000000000L;");
	assert_prepared("a = 5000000000.5;", "a = 5000000000.5;");
	assert_prepared("a5000000000 = 1;", "a5000000000 = 1;");
}

static void
numbers_in_strings_and_comments_stay(void **state)
{
	(void)state;
	assert_prepared("a = \"5000000000\";", "a = \"5000000000\";");
	assert_prepared("a = \"\\\"5000000000\";", "a = \"\\\"5000000000\";");
	assert_prepared("# 5000000000\n// 5000000000\n/* 5000000000 */",
	                "# 5000000000\n// 5000000000\n/* 5000000000 */");
}

static void
numbers_beyond_64_bits_are_refused_with_their_line(void **state)
{
	(void)state;
	assert_not_prepared("# one\n/* two\nthree */ a = \"four\n\";\nb = 9223372036854775808;",
	                    "f:5: the number 9223372036854775808 is too large");
}

static void
includes_are_refused_wherever_they_stand(void **state)
{
	(void)state;
	assert_not_prepared("a = 1;\n  @include \"x\"\n", "f:2: @include is not allowed; write everything here");
	assert_not_prepared("/*\n@include \"x\"\n*/", "f:2: @include is not allowed; write everything here");
}

static void
what_does_not_end_is_copied_whole(void **state)
{
	(void)state;
	assert_prepared("a = \"abc", "a = \"abc");
	assert_prepared("/* abc", "/* abc");
	assert_prepared("a = \"abc\\", "a = \"abc\\");
}

/* ---- files ---- */

struct config_file {
	char path[64];
};

static void
write_file(const struct config_file *file, const void *text, size_t length, mode_t mode)
{
	int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int
make_file(void **state)
{
	struct config_file *file = calloc(1, sizeof(*file));
	int fd;

	snprintf(file->path, sizeof(file->path), "/tmp/dcpi-config.XXXXXX");
	fd = mkstemp(file->path);
	if (fd < 0)
		return -1;
	close(fd);
	*state = file;
	return 0;
}

static int
remove_file(void **state)
{
	struct config_file *file = *state;

	unlink(file->path);
	free(file);
	return 0;
}

static void
assert_not_read(const struct config_file *file, const char *part)
{
	char *text;

	assert_int_equal(config_text_read(file->path, &text, why, sizeof(why)), -DCPI_ECONFIG);
	assert_null(text);
	assert_non_null(strstr(why, part));
}

static void
a_file_is_read_whole(void **state)
{
	struct config_file *file = *state;
	char *text;

	write_file(file, "slice = 600;\n", 13, 0640);
	assert_int_equal(config_text_read(file->path, &text, why, sizeof(why)), 0);
	assert_string_equal(text, "slice = 600;\n");
	free(text);
}

static void
a_file_that_others_may_write_is_refused(void **state)
{
	struct config_file *file = *state;

	write_file(file, "", 0, 0646);
	assert_not_read(file, "others may write it; chmod go-w ");
}

static void
a_file_of_a_stranger_is_refused(void **state)
{
	struct config_file *file = *state;

	if (geteuid() != 0)
		skip_because("only root can give a file away");
	write_file(file, "", 0, 0644);
	assert_int_equal(chown(file->path, 4711, 0), 0);
	assert_not_read(file, "is owned by user 4711; it must be owned by root or by the user dcpid runs as");
}

static void
a_file_of_a_group_that_may_write_it_is_refused(void **state)
{
	struct config_file *file = *state;

	if (geteuid() != 0)
		skip_because("only root can give a file away");
	write_file(file, "", 0, 0664);
	assert_int_equal(chown(file->path, 0, 4711), 0);
	assert_not_read(file, "others may write it");
}

static void
a_file_too_large_is_refused(void **state)
{
	struct config_file *file = *state;
	char *large = calloc(1, CONFIG_TEXT_MAX + 1);
	char *text;

	memset(large, '\n', CONFIG_TEXT_MAX + 1);
	write_file(file, large, CONFIG_TEXT_MAX, 0644);
	assert_int_equal(config_text_read(file->path, &text, why, sizeof(why)), 0);
	assert_int_equal(strlen(text), CONFIG_TEXT_MAX);
	free(text);
	write_file(file, large, CONFIG_TEXT_MAX + 1, 0644);
	assert_not_read(file, "has 65537 bytes; at most 65536 are read");
	free(large);
}

static void
a_file_with_zero_bytes_is_refused(void **state)
{
	struct config_file *file = *state;

	write_file(file, "a = 1;\0b", 8, 0644);
	assert_not_read(file, "is not a text file");
}

static void
a_directory_is_refused(void **state)
{
	struct config_file directory = {.path = "/tmp"};

	(void)state;
	assert_not_read(&directory, "/tmp: is not a regular file");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_that_need_64_bits_say_so),
		cmocka_unit_test(numbers_in_strings_and_comments_stay),
		cmocka_unit_test(numbers_beyond_64_bits_are_refused_with_their_line),
		cmocka_unit_test(includes_are_refused_wherever_they_stand),
		cmocka_unit_test(what_does_not_end_is_copied_whole),
		cmocka_unit_test_setup_teardown(a_file_is_read_whole, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_that_others_may_write_is_refused, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_of_a_stranger_is_refused, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_of_a_group_that_may_write_it_is_refused, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_too_large_is_refused, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_file_with_zero_bytes_is_refused, make_file, remove_file),
		cmocka_unit_test(a_directory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
