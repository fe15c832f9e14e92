/* Tests of dcpi-tools/common/options.h: values. What is refused ends a program; here argp is told not to. */
#include "tests/unit/test.h"

#include "dcpi-tools/common/options.h"

static char *words[] = {"tool", "program", "-x", "1", NULL};

/* After the first argument was taken. */
static struct argp_state
quiet_state(void)
{
	return (struct argp_state){
		.argc = 4, .argv = words, .next = 2, .flags = ARGP_NO_EXIT | ARGP_NO_ERRS, .name = words[0]};
}

static void
a_whole_number_is_taken_however_it_is_written(void **state)
{
	const struct argp_state quiet = quiet_state();

	(void)state;
	assert_int_equal(options_whole(&quiet, "--n", "18", 1, 20), 18);
	assert_int_equal(options_whole(&quiet, "--n", "1e6", 0, 10000000), 1000000);
	assert_int_equal(options_whole(&quiet, "--n", "0", 0, 5), 0);
	assert_int_equal(options_whole(&quiet, "--n", "5", 0, 5), 5);
}

/* What was refused is the least there may be. */
static void
a_part_of_one_and_what_is_out_of_range_is_refused(void **state)
{
	static const char *const refused[] = {"2.5", "21", "0", "-3", "", "nan", "inf", "7x", "x"};
	const struct argp_state quiet = quiet_state();

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(options_whole(&quiet, "--n", refused[i], 1, 20), 1);
}

static void
a_choice_is_found_by_its_whole_name(void **state)
{
	static const char *const names[] = {"run", "running", "walk"};
	const struct argp_state quiet = quiet_state();

	(void)state;
	assert_int_equal(options_choice(&quiet, "gait", "walk", names, 3), 2);
	assert_int_equal(options_choice(&quiet, "gait", "running", names, 3), 1);
	assert_int_equal(options_choice(&quiet, "gait", "run", names, 3), 0);
}

static void
a_program_has_all_that_follows_it(void **state)
{
	struct argp_state quiet = quiet_state();

	(void)state;
	assert_ptr_equal(options_program(&quiet), &words[1]);
	assert_int_equal(quiet.next, 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_number_is_taken_however_it_is_written),
		cmocka_unit_test(a_part_of_one_and_what_is_out_of_range_is_refused),
		cmocka_unit_test(a_choice_is_found_by_its_whole_name),
		cmocka_unit_test(a_program_has_all_that_follows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
