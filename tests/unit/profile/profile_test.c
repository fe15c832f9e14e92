#include "tests/unit/profile/fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct tally_entry some_entries[] = {
	{.offset = 0x1000, .count = 5, .image = 0, .context = 0, .event = 0},
	{.offset = 0x1004, .count = 1, .image = 0, .context = 0, .event = 0},
	{.offset = 0x2000, .count = 2, .image = 1, .context = 1, .event = 0},
};

static void
a_writer_makes_a_missing_directory_and_its_files(void **state)
{
	const struct fixture *fixture = *state;
	struct profile_stats stats;
	struct profile *profile = open_writer(fixture->directory, 0);

	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.size_limit, PROFILE_SIZE_DEFAULT);
	assert_int_equal(stats.epochs, 0);
	assert_true(stats.file_bytes >= stats.used_bytes && stats.used_bytes > 0);
	profile_close(profile);
}

static void
what_was_flushed_is_counted(void **state)
{
	const struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct profile_stats stats;
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(epoch, 1);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some_entries, 3), 0);
	assert_int_equal(slice, 1);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some_entries, 3), 0);
	assert_int_equal(slice, 1);
	profile_close(profile);

	profile = open_reader(fixture->directory);
	assert_int_equal(profile_stats(profile, &stats), 0);
	assert_int_equal(stats.epochs, 1);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(stats.images, 2);
	assert_int_equal(stats.contexts, 2);
	assert_int_equal(stats.blocks, 2);
	profile_close(profile);
}

static void
a_reader_of_nothing_finds_no_database(void **state)
{
	const struct fixture *fixture = *state;
	const struct profile_options options = {.write = false};
	struct profile *profile;

	assert_int_equal(profile_open(fixture->directory, &options, &profile), -DCPI_ENODATABASE);
	assert_int_equal(profile_open(fixture->parent, &options, &profile), -DCPI_ENODATABASE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_writer_makes_a_missing_directory_and_its_files, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(what_was_flushed_is_counted, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_reader_of_nothing_finds_no_database, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
