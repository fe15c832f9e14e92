/* Tests of dcpi-tools/emulated/run_directory.h: the directory of a run, and what ends a run whose tool was killed. */
#include "tests/unit/test.h"

#include <errno.h>

#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "tests/unit/dcpi-tools/stale_run.h"

#define PATH_SIZE 256

static void
only_we_read_it(void **state)
{
	char parent[MADE_SIZE], path[PATH_SIZE];
	struct stat status;
	int lock;

	(void)state;
	made_directory(parent);
	assert_int_equal(run_directory_make(parent, "dcpitest", path, sizeof(path), &lock), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	close(lock);
	temporary_directory_remove(path);
	assert_int_equal(rmdir(parent), 0);
}

static void
what_nobody_holds_is_removed_with_its_emulators(void **state)
{
	char parent[MADE_SIZE], path[PATH_SIZE];
	int lock;
	pid_t pid;

	(void)state;
	made_directory(parent);
	assert_int_equal(run_directory_make(parent, "dcpitest", path, sizeof(path), &lock), 0);
	made_file(path, "record.1.0");
	pid = made_emulator(path, "-plugin"); /* which has not inherited the lock */
	run_directory_clean(parent, "dcpitest");
	assert_true(made_is_there(path));
	assert_true(made_runs(pid));
	close(lock);
	run_directory_clean(parent, "dcpitest");
	assert_false(made_is_there(path));
	assert_int_equal(made_end(pid), SIGKILL);
	assert_int_equal(rmdir(parent), 0);
}

static void
a_copy_of_the_lock_holds_it(void **state)
{
	char parent[MADE_SIZE], path[PATH_SIZE];
	int lock, copy;

	(void)state;
	made_directory(parent);
	assert_int_equal(run_directory_make(parent, "dcpitest", path, sizeof(path), &lock), 0);
	copy = dup(lock);
	close(lock);
	run_directory_clean(parent, "dcpitest");
	assert_true(made_is_there(path));
	close(copy);
	temporary_directory_remove(path);
	assert_int_equal(rmdir(parent), 0);
}

/* Of another tool, of a version that knows no locks, what is called alike, what leads elsewhere. */
static void
what_is_not_ours_is_left_alone(void **state)
{
	static const char *const names[] = {"other.XAbcde", "dcpitest.longer7", "dcpitest.old123", "dcpitestxAbcdef"};
	char parent[MADE_SIZE], path[PATH_SIZE], link[PATH_SIZE], elsewhere[MADE_SIZE];

	(void)state;
	made_directory(parent);
	made_directory(elsewhere);
	made_file(elsewhere, "lock");
	snprintf(link, sizeof(link), "%s/dcpitest.abcdef", parent);
	assert_int_equal(symlink(elsewhere, link), 0);
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", parent, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		if (i != 2)
			made_file(path, "lock");
	}
	run_directory_clean(parent, "dcpitest");
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", parent, names[i]);
		assert_true(made_is_there(path));
		temporary_directory_remove(path);
	}
	assert_true(made_is_there(elsewhere));
	assert_int_equal(unlink(link), 0);
	temporary_directory_remove(elsewhere);
	assert_int_equal(rmdir(parent), 0);
}

static void
where_it_cannot_be_made_is_said(void **state)
{
	char path[PATH_SIZE];
	int lock;

	(void)state;
	assert_int_equal(run_directory_make("/nowhere", "dcpitest", path, sizeof(path), &lock), -ENOENT);
	assert_int_equal(run_directory_make("/tmp", "dcpitest", path, 12, &lock), -ENAMETOOLONG);
	run_directory_clean("/nowhere", "dcpitest");
}

static void
emulators_of_a_run_are_killed_and_its_directory_removed(void **state)
{
	char directory[MADE_SIZE];
	pid_t pid;

	(void)state;
	made_directory(directory);
	made_file(directory, "record.1.0");
	pid = made_emulator(directory, "-plugin");
	run_directory_end_stale(directory);
	assert_int_equal(made_end(pid), SIGKILL);
	assert_false(made_is_there(directory));
}

/* Another run, a directory whose name begins alike, a program with such an argument. */
static void
others_are_left_alone(void **state)
{
	char directory[MADE_SIZE], longer[MADE_SIZE + 1];
	pid_t other, user;

	(void)state;
	made_directory(directory);
	snprintf(longer, sizeof(longer), "%sx", directory);
	other = made_emulator(longer, "-plugin");
	user = made_emulator(directory, "--edit");
	run_directory_end_stale(directory);
	assert_true(made_runs(other));
	assert_true(made_runs(user));
	kill(other, SIGTERM);
	kill(user, SIGTERM);
	assert_int_equal(made_end(other), SIGTERM);
	assert_int_equal(made_end(user), SIGTERM);
}

/* A tool with its reaper, a process of its own, and an emulator. */
struct reaper_scene {
	char parent[MADE_SIZE], directory[MADE_SIZE + 32];
	pid_t tool, emulator;
};

static void
begin(struct reaper_scene *scene)
{
	int lock, ends[2];
	char byte;

	made_directory(scene->parent);
	assert_int_equal(run_directory_make(scene->parent, "run", scene->directory, sizeof(scene->directory), &lock),
	                 0);
	scene->emulator = made_emulator(scene->directory, "-plugin");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	scene->tool = fork();
	if (scene->tool == 0) {
		struct run_reaper reaper;

		if (run_reaper_start(&reaper, scene->directory, lock) == 0 && write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(lock);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
}

static void
who_is_killed_leaves_nothing(void **state)
{
	struct reaper_scene scene;

	(void)state;
	begin(&scene);
	assert_true(made_runs(scene.emulator));
	kill(scene.tool, SIGKILL);
	assert_int_equal(made_end(scene.tool), SIGKILL);
	assert_int_equal(made_end(scene.emulator), SIGKILL);
	while (rmdir(scene.parent) < 0) /* as soon as the reaper has removed what is in it */
		usleep(1000);
}

static void
who_dismisses_it_keeps_all(void **state)
{
	char parent[MADE_SIZE], directory[MADE_SIZE + 32];
	struct run_reaper reaper;
	pid_t emulator;
	int lock;

	(void)state;
	made_directory(parent);
	assert_int_equal(run_directory_make(parent, "run", directory, sizeof(directory), &lock), 0);
	assert_int_equal(run_reaper_start(&reaper, directory, lock), 0);
	emulator = made_emulator(directory, "-plugin");
	assert_int_equal(kill(reaper.pid, SIGTERM), 0); /* it is not for it */
	run_reaper_dismiss(&reaper);
	assert_int_equal(reaper.pid, 0);
	assert_true(made_runs(emulator));
	assert_true(made_is_there(directory));
	close(lock);
	run_directory_clean(parent, "run"); /* the reaper does not hold it any more */
	assert_int_equal(made_end(emulator), SIGKILL);
	assert_int_equal(rmdir(parent), 0);
	run_reaper_dismiss(&reaper);
}

static void
one_that_was_killed_is_dismissed_as_well(void **state)
{
	char parent[MADE_SIZE], directory[MADE_SIZE + 32];
	struct run_reaper reaper;
	siginfo_t end;
	int lock;

	(void)state;
	made_directory(parent);
	assert_int_equal(run_directory_make(parent, "run", directory, sizeof(directory), &lock), 0);
	assert_int_equal(run_reaper_start(&reaper, directory, lock), 0);
	kill(reaper.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)reaper.pid, &end, WEXITED | WNOWAIT), 0);
	run_reaper_dismiss(&reaper);
	close(lock);
	temporary_directory_remove(directory);
	assert_int_equal(rmdir(parent), 0);
}

/* Who reads what we write waits for its end: the reaper must not have it open. */
static void
standard_output_is_not_held_open(void **state)
{
	char parent[MADE_SIZE], directory[MADE_SIZE + 32], byte;
	const int kept = dup(STDOUT_FILENO);
	struct run_reaper reaper;
	int lock, ends[2];

	(void)state;
	made_directory(parent);
	assert_int_equal(run_directory_make(parent, "run", directory, sizeof(directory), &lock), 0);
	assert_int_equal(pipe(ends), 0); /* also inherited by what is executed */
	fflush(stdout);
	dup2(ends[1], STDOUT_FILENO);
	assert_int_equal(run_reaper_start(&reaper, directory, lock), 0);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	run_reaper_dismiss(&reaper);
	close(lock);
	temporary_directory_remove(directory);
	assert_int_equal(rmdir(parent), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_we_read_it),
		cmocka_unit_test(what_nobody_holds_is_removed_with_its_emulators),
		cmocka_unit_test(a_copy_of_the_lock_holds_it),
		cmocka_unit_test(what_is_not_ours_is_left_alone),
		cmocka_unit_test(where_it_cannot_be_made_is_said),
		cmocka_unit_test(emulators_of_a_run_are_killed_and_its_directory_removed),
		cmocka_unit_test(others_are_left_alone),
		cmocka_unit_test(who_is_killed_leaves_nothing),
		cmocka_unit_test(who_dismisses_it_keeps_all),
		cmocka_unit_test(one_that_was_killed_is_dismissed_as_well),
		cmocka_unit_test(standard_output_is_not_held_open),
	};

	made_emulator_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
