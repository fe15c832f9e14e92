/* Tests of dcpi-tools/emulated/run_directory.h */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/emulated/run_directory.h"
#include "tests/remove_tree.h"

struct seen_files {
	unsigned files, damaged;
	int pids, numbers; /* sums */
	char bytes;        /* as much as the files begin with, in sum */
	int result;        /* of each visit */
};

static int
see(void *context, const struct run_file *file)
{
	struct seen_files *seen = context;
	char byte = 0;

	seen->files++;
	seen->damaged += file->fd < 0;
	seen->pids += file->pid;
	seen->numbers += file->number;
	if (file->fd >= 0)
		assert_int_equal(read(file->fd, &byte, 1), 1);
	seen->bytes = (char)(seen->bytes + byte);
	return seen->result;
}

static int
setup(void **state)
{
	static char directory[] = "/tmp/run_files_test.XXXXXX";

	snprintf(directory, sizeof(directory), "/tmp/run_files_test.XXXXXX");
	*state = mkdtemp(directory);
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	remove_tree(*state);
	return 0;
}

static void
make_file(const char *directory, const char *name, char byte)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &byte, 1), 1);
	close(fd);
}

static void
each_file_of_the_prefix_is_seen_with_process_and_program(void **state)
{
	struct seen_files seen = {0};

	make_file(*state, "record.1000.0", 1);
	make_file(*state, "record.1000.1", 2);
	make_file(*state, "record.20.0", 4);
	assert_int_equal(run_directory_each_file(*state, "record.", see, &seen), 0);
	assert_int_equal(seen.files, 3);
	assert_int_equal(seen.damaged, 0);
	assert_int_equal(seen.pids, 2020);
	assert_int_equal(seen.numbers, 1);
	assert_int_equal(seen.bytes, 7);
}

static void
other_names_are_passed_by(void **state)
{
	struct seen_files seen = {0};

	make_file(*state, "counts.1.0", 1);
	make_file(*state, "record.1", 1);
	make_file(*state, "record.-1.0", 1);
	make_file(*state, "record.0.0", 1);
	make_file(*state, "record.1.-1", 1);
	make_file(*state, "setup", 1);
	assert_int_equal(run_directory_each_file(*state, "record.", see, &seen), 0);
	assert_int_equal(seen.files, 0);
}

/* Whoever made them: they are neither followed nor waited for. */
static void
what_is_no_file_is_handed_on_without_one(void **state)
{
	struct seen_files seen = {0};
	char path[128];

	make_file(*state, "secret", 1);
	snprintf(path, sizeof(path), "%s/record.1.0", (const char *)*state);
	assert_int_equal(symlink("secret", path), 0);
	snprintf(path, sizeof(path), "%s/record.2.0", (const char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/record.3.0", (const char *)*state);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(run_directory_each_file(*state, "record.", see, &seen), 0);
	assert_int_equal(seen.files, 3);
	assert_int_equal(seen.damaged, 3);
}

static void
a_visit_that_fails_ends_the_walk(void **state)
{
	struct seen_files seen = {.result = -ENOMEM};

	make_file(*state, "record.1.0", 1);
	make_file(*state, "record.2.0", 1);
	assert_int_equal(run_directory_each_file(*state, "record.", see, &seen), -ENOMEM);
	assert_int_equal(seen.files, 1);
}

static void
a_directory_that_is_not_there_is_said(void **state)
{
	struct seen_files seen = {0};

	(void)state;
	assert_int_equal(run_directory_each_file("/nonexistent", "record.", see, &seen), -ENOENT);
}

static void
a_process_runs_until_it_has_ended(void **state)
{
	struct run_file file = {.number = 0};
	int status;

	(void)state;
	file.pid = getpid();
	assert_true(run_file_is_running(&file));
	file.number = 1; /* a program of a process that another file begins */
	assert_false(run_file_is_running(&file));
	file.number = 0;
	file.pid = fork();
	if (file.pid == 0)
		_exit(0);
	assert_int_equal(waitpid(file.pid, &status, 0), file.pid);
	assert_false(run_file_is_running(&file));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_file_of_the_prefix_is_seen_with_process_and_program),
		TEST(other_names_are_passed_by),
		TEST(what_is_no_file_is_handed_on_without_one),
		TEST(a_visit_that_fails_ends_the_walk),
		TEST(a_directory_that_is_not_there_is_said),
		TEST(a_process_runs_until_it_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
