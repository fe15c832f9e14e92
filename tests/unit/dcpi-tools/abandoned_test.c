#include "tests/unit/dcpi-tools/abandoned.h"

#include "dcpi-tools/emulated/abandoned.h"

static void
emulators_of_a_run_are_killed_and_its_directory_removed(void **state)
{
	char directory[MADE_SIZE];
	pid_t pid;

	(void)state;
	made_directory(directory);
	made_file(directory, "record.1.0");
	pid = made_emulator(directory, "-plugin");
	abandoned_end(directory);
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
	abandoned_end(directory);
	assert_true(made_runs(other));
	assert_true(made_runs(user));
	kill(other, SIGTERM);
	kill(user, SIGTERM);
	assert_int_equal(made_end(other), SIGTERM);
	assert_int_equal(made_end(user), SIGTERM);
}

static void
what_is_not_there_need_not_be_removed(void **state)
{
	(void)state;
	abandoned_remove("/nowhere/at/all");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(emulators_of_a_run_are_killed_and_its_directory_removed),
		cmocka_unit_test(others_are_left_alone),
		cmocka_unit_test(what_is_not_there_need_not_be_removed),
	};

	made_emulator_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
