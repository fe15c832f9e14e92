/* Copies of a database. */
#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "profile/selection.h"
#include "profile/snapshot.h"

static const struct tally_entry entries[] = {
	{.image = 0, .context = 0, .offset = 0x10, .event = 0, .count = 30},
	{.image = 1, .context = 1, .offset = 0x20, .event = 0, .count = 12},
};

/* data.mdb of a new directory `name` in the fixture's. */
static void
take(const struct fixture *fixture, struct profile *profile, const char *name, char *directory, size_t size)
{
	char path[128];
	int fd;

	snprintf(directory, size, "%s/%s", fixture->parent, name);
	assert_int_equal(mkdir(directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/data.mdb", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(profile_snapshot(profile, fd), 0);
	close(fd);
}

static uint64_t
samples_in(const char *directory)
{
	struct profile *profile = open_reader(directory);
	struct selection *selection;
	uint64_t sum = 0;
	char why[100];

	assert_int_equal(
		selection_read(profile, &(struct selection_request){.epoch = "all"}, &selection, why, sizeof(why)), 0);
	for (size_t i = 0; i < selection->count_count; i++)
		sum += selection->counts[i].count;
	selection_free(selection);
	profile_close(profile);
	return sum;
}

static void
a_copy_is_the_database_as_it_was(void **state)
{
	const struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t slice = 0, epoch = begin_clock_epoch(profile);
	char directory[64];

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 2), 0);
	take(fixture, profile, "copy", directory, sizeof(directory));
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, entries, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(directory), 42);
	assert_int_equal(samples_in(fixture->directory), 84);
}

static void
a_reader_copies_too(void **state)
{
	const struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t slice = 0, epoch = begin_clock_epoch(profile);
	char directory[64];

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, entries, 2), 0);
	profile_close(profile);
	profile = open_reader(fixture->directory);
	take(fixture, profile, "copy", directory, sizeof(directory));
	profile_close(profile);
	assert_int_equal(samples_in(directory), 42);
}

static void
what_cannot_be_written_is_told(void **state)
{
	const struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	assert_int_equal(profile_snapshot(profile, full), -ENOSPC);
	close(full);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_copy_is_the_database_as_it_was, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_reader_copies_too, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
