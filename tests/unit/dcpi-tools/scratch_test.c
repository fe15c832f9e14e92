/* Work that leaves nothing behind. */
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/tar/scratch.h"

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

static int
fill(void *context)
{
	const struct tar_scratch *scratch = context;
	char *database = scratch_file(scratch, SCRATCH_DATABASE), *file = scratch_file(scratch, SCRATCH_FILE);
	FILE *stream = fopen(file, "we");
	int failed = mkdir(database, 0700) || !stream || fputs("text", stream) < 0;

	if (stream)
		fclose(stream);
	free(file);
	free(database);
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
	struct tar_scratch scratch;

	(void)state;
	assert_int_equal(scratch_make(&scratch, parent), 0);
	assert_int_equal(scratch_run(&scratch, fill, &scratch), 4);
	assert_null(scratch.path);
}

static void
work_that_dies_leaves_nothing(void **state)
{
	struct tar_scratch scratch;

	(void)state;
	assert_int_equal(scratch_make(&scratch, parent), 0);
	assert_int_equal(scratch_run(&scratch, fill_and_die, &scratch), STATUS_FAILURE);
}

static void
who_is_told_to_end_ends_its_work_first(void **state)
{
	struct tar_scratch scratch;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(scratch_make(&scratch, parent), 0);
	child = fork();
	if (child == 0)
		_exit(scratch_run(&scratch, fill_and_wait, &scratch));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(access(scratch.path, F_OK), -1);
	free(scratch.path);
}

static void
a_place_that_is_not_there_is_told(void **state)
{
	struct tar_scratch scratch;

	(void)state;
	assert_int_equal(scratch_make(&scratch, "/nowhere"), -ENOENT);
	assert_null(scratch.path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_status_of_the_work_is_returned),
		cmocka_unit_test(work_that_dies_leaves_nothing),
		cmocka_unit_test(who_is_told_to_end_ends_its_work_first),
		cmocka_unit_test(a_place_that_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, make_parent, remove_parent);
}
