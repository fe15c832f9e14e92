/* Values, and command lines that are right. A value that is refused ends a program; here argp is configured not to
 * exit. */
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

enum gait { GAIT_WALK, GAIT_RUN };

struct trip {
	bool is_quiet, has_map, was_quiet_at_argument;
	enum gait gait;
	const char *name;
	double miles;
	size_t limit;
	unsigned arguments, checks;
	struct options options;
};

static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct trip *trip = member;

	(void)state;
	trip->was_quiet_at_argument = trip->is_quiet;
	assert_string_equal(text, "a");
	trip->arguments++;
}

static void
check(void *checked, struct argp_state *state)
{
	struct trip *trip = checked;

	(void)state;
	trip->checks++;
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "How:"),
	OPTION_TRUE(1, "quiet", 'q', struct trip, is_quiet, "Say nothing"),
	OPTION_FALSE(1, "no-map", struct trip, has_map, "Without a map"),
	OPTION_ENUM(1, "run", 0, struct trip, gait, GAIT_RUN, "Do not walk"),
	OPTION_NAME(1, "name", "NAME", struct trip, name, 4, "Of the trip"),
	OPTION_DOUBLE(1, "miles", "N", struct trip, miles, 0, 10, "How far"),
	OPTION_COUNT(1, "limit", "N", struct trip, limit, NULL),
	OPTION_ARGUMENT(0, take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.shared = SHARED_DATABASE | SHARED_TABLE,
	.options = offsetof(struct trip, options),
	.check = check,
};

static struct trip
read_trip(const struct command_line *read, int argc, char **argv)
{
	struct trip trip = {.has_map = true, .miles = 1};

	assert_int_equal(command_line_read(read, &trip, argc, argv), 0);
	options_fini(&trip.options);
	return trip;
}

static void
what_is_not_given_stays_as_it_was(void **state)
{
	char *argv[] = {"trip", NULL};
	const struct trip trip = read_trip(&line, 1, argv);

	(void)state;
	assert_false(trip.is_quiet);
	assert_true(trip.has_map);
	assert_int_equal(trip.gait, GAIT_WALK);
	assert_null(trip.name);
	assert_true(trip.miles == 1);
	assert_int_equal(trip.arguments, 0);
	assert_int_equal(trip.checks, 1);
}

static void
each_option_sets_its_member(void **state)
{
	char *argv[] = {"trip", "-q", "--no-map", "--run", "--name=long", "--miles", "2.5", "--limit=7", NULL};
	const struct trip trip = read_trip(&line, 8, argv);

	(void)state;
	assert_true(trip.is_quiet);
	assert_false(trip.has_map);
	assert_int_equal(trip.gait, GAIT_RUN);
	assert_string_equal(trip.name, "long");
	assert_true(trip.miles == 2.5);
	assert_int_equal(trip.limit, 7);
}

static void
shared_options_are_kept_in_the_requests_options(void **state)
{
	char *argv[] = {"trip", "--db=/d", "--csv", NULL};
	const struct trip trip = read_trip(&line, 3, argv);

	(void)state;
	assert_string_equal(trip.options.directory, "/d");
	assert_int_equal(trip.options.format, FORMAT_CSV);
}

static void
an_argument_is_taken_behind_all_options_unless_in_order(void **state)
{
	struct command_line in_order = line;
	char *argv[] = {"trip", "a", "--quiet", NULL}, *same[] = {"trip", "a", "--quiet", NULL};
	struct trip trip = read_trip(&line, 3, argv);

	(void)state;
	assert_int_equal(trip.arguments, 1);
	assert_true(trip.was_quiet_at_argument);
	in_order.in_order = true;
	trip = read_trip(&in_order, 3, same);
	assert_int_equal(trip.arguments, 1);
	assert_true(trip.is_quiet);
	assert_false(trip.was_quiet_at_argument);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_number_is_taken_however_it_is_written),
		cmocka_unit_test(a_part_of_one_and_what_is_out_of_range_is_refused),
		cmocka_unit_test(a_choice_is_found_by_its_whole_name),
		cmocka_unit_test(a_program_has_all_that_follows_it),
		cmocka_unit_test(what_is_not_given_stays_as_it_was),
		cmocka_unit_test(each_option_sets_its_member),
		cmocka_unit_test(shared_options_are_kept_in_the_requests_options),
		cmocka_unit_test(an_argument_is_taken_behind_all_options_unless_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
