#include "tests/unit/profile/fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "profile/compact.h"
#include "profile/selection.h"

/* What the disk does to LMDB's last write of a transaction, the only one of less than a page. */
static enum { DISK_WELL, DISK_REFUSES, DISK_WRITES_AND_SAYS_NO } disk;

/* In the place of the C library's, for LMDB as well. */
ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
	if (disk == DISK_WELL || size % 4096 == 0)
		return next(fd, data, size, offset);
	if (disk == DISK_WRITES_AND_SAYS_NO)
		next(fd, data, size, offset);
	disk = DISK_REFUSES; /* LMDB then tries to write what was there before */
	errno = EIO;
	return -1;
}

static const struct tally_entry some[] = {
	{.offset = 0x1000, .count = 7, .image = 0, .context = 0},
	{.offset = 0x2000, .count = 5, .image = 1, .context = 1},
};

/* The samples in the newest epoch of a database that is found to be sound. */
static uint64_t
samples_in(const struct profile_fixture *fixture)
{
	const struct selection_request request = {.epoch = "latest"};
	struct profile *profile = open_reader(fixture->directory);
	struct selection *selection;
	char why[256];
	uint64_t samples;

	assert_int_equal(profile_check(profile, NULL, NULL), 0);
	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	samples = selection->events[0].totals.samples;
	selection_free(selection);
	profile_close(profile);
	return samples;
}

static void
path_of(const struct profile_fixture *fixture, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", fixture->directory, name);
}

static void
remove_file(const struct profile_fixture *fixture, const char *name)
{
	char path[128];

	path_of(fixture, name, path);
	assert_int_equal(unlink(path), 0);
}

static void
what_is_well_is_left_alone(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	assert_int_equal(profile_recover(profile, false), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), 0);
	assert_int_equal(profile_recover(profile, true), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 36);
}

static void
a_reader_cannot_recover(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	begin_clock_epoch(profile);
	profile_close(profile);
	profile = open_reader(fixture->directory);
	assert_int_equal(profile_recover(profile, true), -EINVAL);
	profile_close(profile);
}

static void
a_disk_that_failed_once_costs_nothing(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	disk = DISK_REFUSES;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), -EIO);
	disk = DISK_WELL;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), -EIO); /* LMDB has given up */
	assert_int_equal(profile_recover(profile, true), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 24);
}

/* With images and contexts that the database has and the session does not know of, and in a slice of its own. */
static void
what_a_failing_disk_wrote_nevertheless_is_not_written_twice(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	disk = DISK_WRITES_AND_SAYS_NO;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), -EIO);
	disk = DISK_WELL;
	assert_int_equal(slice, 0);
	assert_int_equal(profile_recover(profile, true), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	assert_int_equal(slice, 1);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 24);
}

static void
a_deleted_database_is_begun_anew(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	remove_file(fixture, "data.mdb");
	remove_file(fixture, "lock.mdb");
	remove_file(fixture, "dcpid.lock");
	assert_int_equal(profile_recover(profile, false), 1);
	assert_int_equal(profile_owner(fixture->directory), getpid());
	epoch = begin_clock_epoch(profile);
	slice = 0;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 12);
}

static void
a_database_that_was_moved_away_is_left_and_another_begun(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct profile_fixture away = *fixture;
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	snprintf(away.directory, sizeof(away.directory), "%s/old", fixture->parent);
	assert_int_equal(rename(fixture->directory, away.directory), 0);
	assert_int_equal(profile_recover(profile, false), 1);
	epoch = begin_clock_epoch(profile);
	slice = 0;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 1), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 7);
	assert_int_equal(samples_in(&away), 12);
}

static void
the_lock_is_taken_again_when_it_was_deleted(void **state)
{
	const struct profile_fixture *fixture = *state;
	const struct profile_options options = {.write = true};
	struct profile *profile = open_writer(fixture->directory, 0), *second = NULL;
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	remove_file(fixture, "dcpid.lock");
	assert_int_equal(profile_owner(fixture->directory), 0);
	assert_int_equal(profile_recover(profile, false), 0);
	assert_int_equal(profile_open(fixture->directory, &options, &second), -DCPI_ERUNNING);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	profile_close(profile);
}

static void
a_compacted_database_is_still_the_same(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct compaction compaction;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	assert_int_equal(profile_compact(profile, &compaction), 0);
	assert_int_equal(profile_recover(profile, false), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 24);
}

/* Its readers would not be seen by a writer that went on with the old one. */
static void
a_deleted_table_of_readers_is_made_again(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	char path[128];

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	remove_file(fixture, "lock.mdb");
	assert_int_equal(profile_recover(profile, false), 0);
	path_of(fixture, "lock.mdb", path);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 24);
}

/* What lies in its place is no directory; once it is gone, all is well. */
static void
while_there_is_no_place_for_it_everything_is_an_error(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;
	struct profile_stats stats;
	char away[80], data[128];

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	remove_file(fixture, "data.mdb");
	path_of(fixture, "data.mdb", data);
	assert_int_equal(mkdir(data, 0700), 0);
	assert_true(profile_recover(profile, false) < 0);
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, false, some, 2), -ENODEV);
	assert_true(profile_stats(profile, &stats) < 0);
	assert_int_equal(profile_set_size_limit(profile, 16 << 20), -ENODEV);
	assert_int_equal(rmdir(data), 0);

	snprintf(away, sizeof(away), "%s/old", fixture->parent);
	assert_int_equal(rename(fixture->directory, away), 0);
	assert_int_equal(symlink("old", fixture->directory), 0);
	assert_int_equal(profile_recover(profile, false), -DCPI_ESYMLINK);
	assert_int_equal(unlink(fixture->directory), 0);
	assert_int_equal(profile_recover(profile, false), 1);
	epoch = begin_clock_epoch(profile);
	slice = 0;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 12);
}

static void
a_directory_that_cannot_be_made_again_is_waited_for(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	uint32_t epoch = begin_clock_epoch(profile), slice = 0;

	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	remove_tree(fixture->parent); /* without which it cannot be made by anybody */
	assert_int_equal(profile_recover(profile, false), -DCPI_EGONE);
	assert_int_equal(profile_recover(profile, true), -DCPI_EGONE);
	assert_int_equal(mkdir(fixture->parent, 0700), 0);
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	assert_int_equal(profile_recover(profile, true), 1);
	epoch = begin_clock_epoch(profile);
	slice = 0;
	assert_int_equal(flush_entries(profile, epoch, 1, &slice, true, some, 2), 0);
	profile_close(profile);
	assert_int_equal(samples_in(fixture), 12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		PLACE_TEST(what_is_well_is_left_alone),
		PLACE_TEST(a_reader_cannot_recover),
		PLACE_TEST(a_disk_that_failed_once_costs_nothing),
		PLACE_TEST(what_a_failing_disk_wrote_nevertheless_is_not_written_twice),
		PLACE_TEST(a_deleted_database_is_begun_anew),
		PLACE_TEST(a_database_that_was_moved_away_is_left_and_another_begun),
		PLACE_TEST(the_lock_is_taken_again_when_it_was_deleted),
		PLACE_TEST(a_compacted_database_is_still_the_same),
		PLACE_TEST(a_deleted_table_of_readers_is_made_again),
		PLACE_TEST(while_there_is_no_place_for_it_everything_is_an_error),
		PLACE_TEST(a_directory_that_cannot_be_made_again_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
