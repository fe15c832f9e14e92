/* Files that are there whole, or as they were. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/common/atomic_file.h"

static int
enter_directory(void **state)
{
	static char directory[] = "/tmp/dcpi-whole-file.XXXXXX";

	*state = directory;
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int
leave_directory(void **state)
{
	unlink("file");
	unlink("link");
	return chdir("/") || rmdir(*state);
}

static void
put(const char *path, const char *text)
{
	FILE *stream = fopen(path, "we");

	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

static void
assert_content(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *stream = fopen(path, "re");

	assert_non_null(stream);
	assert_true(fread(text, 1, sizeof(text) - 1, stream) > 0);
	fclose(stream);
	assert_string_equal(text, expected);
}

static unsigned
files_here(void)
{
	DIR *directory = opendir(".");
	unsigned count = 0;

	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

static void
a_file_takes_its_name_at_the_end(void **state)
{
	struct atomic_file file;

	(void)state;
	put("file", "old");
	assert_int_equal(atomic_file_open(&file, "file"), 0);
	assert_true(fputs("new", file.stream) >= 0);
	fflush(file.stream);
	assert_content("file", "old");
	assert_int_equal(atomic_file_close(&file, 0), 0);
	assert_content("file", "new");
	assert_int_equal(files_here(), 1);
}

static void
what_failed_leaves_the_old_file_alone(void **state)
{
	struct atomic_file file;

	(void)state;
	put("file", "old");
	assert_int_equal(atomic_file_open(&file, "file"), 0);
	assert_true(fputs("new", file.stream) >= 0);
	assert_int_equal(atomic_file_close(&file, -ENOMEM), -ENOMEM);
	assert_content("file", "old");
	assert_int_equal(files_here(), 1);
}

static void
a_new_file_has_the_mode_that_the_umask_leaves(void **state)
{
	struct atomic_file file;
	struct stat there;
	mode_t before;

	(void)state;
	unlink("file");
	before = umask(027);
	assert_int_equal(atomic_file_open(&file, "file"), 0);
	assert_int_equal(atomic_file_close(&file, 0), 0);
	umask(before);
	assert_int_equal(stat("file", &there), 0);
	assert_int_equal(there.st_mode & 0777, 0640);
}

static void
what_a_link_leads_to_is_replaced(void **state)
{
	struct atomic_file file;
	struct stat there;

	(void)state;
	put("file", "old");
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(atomic_file_open(&file, "link"), 0);
	assert_true(fputs("new", file.stream) >= 0);
	assert_int_equal(atomic_file_close(&file, 0), 0);
	assert_content("file", "new");
	assert_int_equal(lstat("link", &there), 0);
	assert_true(S_ISLNK(there.st_mode));
}

static void
what_is_no_file_is_written_to(void **state)
{
	struct atomic_file file;
	struct stat there;

	(void)state;
	assert_int_equal(atomic_file_open(&file, "/dev/full"), 0);
	assert_true(fputs("text", file.stream) >= 0);
	assert_int_equal(atomic_file_close(&file, 0), -ENOSPC);
	assert_int_equal(stat("/dev/full", &there), 0);
	assert_true(S_ISCHR(there.st_mode));
}

static void
a_directory_that_is_not_there_is_told(void **state)
{
	struct atomic_file file;

	(void)state;
	assert_int_equal(atomic_file_open(&file, "nowhere/file"), -ENOENT);
	assert_int_equal(atomic_file_open(&file, "."), -EISDIR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_takes_its_name_at_the_end),
		cmocka_unit_test(what_failed_leaves_the_old_file_alone),
		cmocka_unit_test(a_new_file_has_the_mode_that_the_umask_leaves),
		cmocka_unit_test(what_a_link_leads_to_is_replaced),
		cmocka_unit_test(what_is_no_file_is_written_to),
		cmocka_unit_test(a_directory_that_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
