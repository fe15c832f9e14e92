/* Work that leaves nothing behind. */
#include "tests/unit/test.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/temporary_directory.h"

static char parent[] = "/tmp/dcpi-scratch.XXXXXX";

static int
make_parent(void **state)
{
	(void)state;
	return mkdtemp(parent) ? 0 : -1;
}

/* Which fails when something is left. */
static int
remove_parent(void **state)
{
	(void)state;
	return rmdir(parent);
}

/* A file, and a directory with another. */
static int
fill(void *context)
{
	const char *path = context;
	char name[PATH_MAX];
	FILE *streams[2];
	int failed;

	snprintf(name, sizeof(name), "%s/file", path);
	streams[0] = fopen(name, "we");
	snprintf(name, sizeof(name), "%s/directory", path);
	failed = mkdir(name, 0700);
	snprintf(name, sizeof(name), "%s/directory/file", path);
	streams[1] = fopen(name, "we");
	for (size_t i = 0; i < 2; i++)
		failed |= !streams[i] || fputs("text", streams[i]) < 0 || fclose(streams[i]);
	return failed ? 99 : 4;
}

static int
fill_and_die(void *context)
{
	fill(context);
	raise(SIGKILL);
	return 0;
}

static int
fill_and_wait(void *context)
{
	fill(context);
	kill(getppid(), SIGTERM);
	pause();
	return 0;
}

static void
the_status_of_the_work_is_returned(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(temporary_directory_make(parent, "made", path, sizeof(path)), 0);
	assert_int_equal(temporary_directory_run(path, fill, path), 4);
	assert_int_equal(access(path, F_OK), -1);
}

static void
work_that_dies_leaves_nothing(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(temporary_directory_make(parent, "made", path, sizeof(path)), 0);
	assert_int_equal(temporary_directory_run(path, fill_and_die, path), STATUS_FAILURE);
	assert_int_equal(access(path, F_OK), -1);
}

static void
who_is_told_to_end_ends_its_work_first(void **state)
{
	char path[PATH_MAX];
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(temporary_directory_make(parent, "made", path, sizeof(path)), 0);
	child = fork();
	if (child == 0)
		_exit(temporary_directory_run(path, fill_and_wait, path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(access(path, F_OK), -1);
}

static void
a_place_that_is_not_there_is_told(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(temporary_directory_make("/nowhere", "made", path, sizeof(path)), -ENOENT);
	assert_string_equal(path, "");
	assert_int_equal(temporary_directory_make("/tmp", "made", path, 12), -ENAMETOOLONG);
	assert_string_equal(path, "");
}

/* A directory that a link names keeps its files. */
static void
links_are_not_followed(void **state)
{
	char kept[PATH_MAX], path[PATH_MAX], name[PATH_MAX + 16];

	(void)state;
	assert_int_equal(temporary_directory_make(parent, "kept", kept, sizeof(kept)), 0);
	assert_int_equal(fill(kept), 4);
	assert_int_equal(temporary_directory_make(parent, "made", path, sizeof(path)), 0);
	snprintf(name, sizeof(name), "%s/link", path);
	assert_int_equal(symlink(kept, name), 0);
	temporary_directory_remove(path);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(name, sizeof(name), "%s/file", kept);
	assert_int_equal(access(name, F_OK), 0);
	temporary_directory_remove(kept);
	temporary_directory_remove(kept); /* which is not there any more */
	assert_int_equal(access(kept, F_OK), -1);
}

static void
the_environment_names_the_parent_by_its_whole_path(void **state)
{
	(void)state;
	setenv("TMPDIR", "/named", 1);
	assert_string_equal(temporary_directory_parent("/tmp"), "/named");
	setenv("TMPDIR", "relative", 1);
	assert_string_equal(temporary_directory_parent("/tmp"), "/tmp");
	unsetenv("TMPDIR");
	assert_string_equal(temporary_directory_parent("/var/tmp"), "/var/tmp");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_status_of_the_work_is_returned),
		cmocka_unit_test(work_that_dies_leaves_nothing),
		cmocka_unit_test(who_is_told_to_end_ends_its_work_first),
		cmocka_unit_test(a_place_that_is_not_there_is_told),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(the_environment_names_the_parent_by_its_whole_path),
	};

	return cmocka_run_group_tests(tests, make_parent, remove_parent);
}
