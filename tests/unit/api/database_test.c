/* How other programs open a database. */
#include "tests/unit/profile/fixture.h"

#include <libsample/database.h>
#include <libsample/error.h>

static void
a_database_opens(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct sample_database *database = NULL;

	profile_close(open_writer(fixture->directory, 0));
	assert_int_equal(sample_database_open(fixture->directory, &database), 0);
	assert_non_null(database);
	sample_database_close(database);
}

static void
without_a_name_it_is_that_of_the_environment(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct sample_database *database;

	profile_close(open_writer(fixture->directory, 0));
	assert_int_equal(setenv("DCPI_DB", fixture->directory, 1), 0);
	assert_int_equal(sample_database_open(NULL, &database), 0);
	sample_database_close(database);
	unsetenv("DCPI_DB");
}

static void
none_is_an_error_and_leaves_nothing(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct sample_database *database;

	assert_int_equal(sample_database_open(fixture->parent, &database), -SAMPLE_ENODATABASE);
	assert_null(database);
	sample_database_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_database_opens, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(without_a_name_it_is_that_of_the_environment, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(none_is_an_error_and_leaves_nothing, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
