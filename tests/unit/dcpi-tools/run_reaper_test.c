#include "tests/unit/dcpi-tools/stale_run.h"

#include "dcpi-tools/common/temporary_directory.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "dcpi-tools/emulated/run_reaper.h"

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
	run_directory_clean(parent, "run"); /* nor does the reaper hold it any more */
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
		cmocka_unit_test(who_is_killed_leaves_nothing),
		cmocka_unit_test(who_dismisses_it_keeps_all),
		cmocka_unit_test(one_that_was_killed_is_dismissed_as_well),
		cmocka_unit_test(standard_output_is_not_held_open),
	};

	made_emulator_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
