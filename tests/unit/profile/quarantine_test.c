#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "profile/profile.h"

/* How many entries of the directory begin with "damaged-". */
static unsigned
count_kept(const struct profile_fixture *fixture)
{
	char command[160];
	unsigned count = 0;
	FILE *list;

	snprintf(command, sizeof(command), "ls -d %s/damaged-* 2>/dev/null | wc -l", fixture->directory);
	list = popen(command, "re");
	assert_non_null(list);
	assert_int_equal(fscanf(list, "%u", &count), 1);
	pclose(list);
	return count;
}

static bool
exists(const struct profile_fixture *fixture, const char *name, const char *file)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s/%s", fixture->directory, name, file);
	return access(path, F_OK) == 0;
}

/* As if it had been put there `seconds` ago, and under a name of that time. */
static void
make_older(const struct profile_fixture *fixture, char name[QUARANTINE_NAME_SIZE], time_t seconds)
{
	const time_t then = time(NULL) - seconds;
	const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
	char from[160], to[160];
	struct tm broken;

	snprintf(from, sizeof(from), "%s/%s", fixture->directory, name);
	gmtime_r(&then, &broken);
	assert_int_equal(strftime(name, QUARANTINE_NAME_SIZE, "damaged-%Y-%m-%dT%H:%M:%SZ", &broken), 28);
	snprintf(to, sizeof(to), "%s/%s", fixture->directory, name);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(utimensat(AT_FDCWD, to, times, 0), 0);
}

static void
set_aside_one(const struct profile_fixture *fixture, char name[QUARANTINE_NAME_SIZE], time_t seconds)
{
	profile_close(open_writer(fixture->directory, 0));
	assert_int_equal(profile_quarantine_at(fixture->directory, name), 0);
	make_older(fixture, name, seconds);
}

static void
the_files_are_moved_and_a_writer_begins_anew(void **state)
{
	const struct profile_fixture *fixture = *state;
	char name[QUARANTINE_NAME_SIZE];
	struct quarantined aside;

	profile_close(open_writer(fixture->directory, 0));
	assert_int_equal(profile_find_quarantined(fixture->directory, &aside), 0);
	assert_int_equal(profile_quarantine_at(fixture->directory, name), 0);
	assert_false(exists(fixture, ".", "data.mdb"));
	assert_false(exists(fixture, ".", "lock.mdb"));
	assert_true(exists(fixture, name, "data.mdb"));
	profile_close(open_writer(fixture->directory, 0));
	assert_int_equal(profile_find_quarantined(fixture->directory, &aside), 1);
	assert_string_equal(aside.name, name);
	assert_true(aside.bytes >= 8192);
}

static void
one_that_is_open_is_recovered_from_as_from_any_that_was_moved(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	char name[QUARANTINE_NAME_SIZE];

	assert_int_equal(profile_quarantine(profile, name), 0);
	assert_int_equal(profile_recover(profile, false), 1);
	assert_true(exists(fixture, ".", "data.mdb"));
	profile_close(profile);
}

static void
a_database_that_is_in_use_is_left_alone(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	char name[QUARANTINE_NAME_SIZE];

	assert_int_equal(profile_quarantine_at(fixture->directory, name), -DCPI_ERUNNING);
	assert_true(exists(fixture, ".", "data.mdb"));
	profile_close(profile);
}

/* What is damaged again at once would be moved about for ever. */
static void
within_a_minute_nothing_is_set_aside_again(void **state)
{
	const struct profile_fixture *fixture = *state;
	char name[QUARANTINE_NAME_SIZE];

	set_aside_one(fixture, name, QUARANTINE_PAUSE_S - 10);
	profile_close(open_writer(fixture->directory, 0));
	assert_int_equal(profile_quarantine_at(fixture->directory, name), -EAGAIN);
	assert_true(exists(fixture, ".", "data.mdb"));
}

static void
the_first_and_the_latest_are_kept(void **state)
{
	const struct profile_fixture *fixture = *state;
	char first[QUARANTINE_NAME_SIZE], second[QUARANTINE_NAME_SIZE], third[QUARANTINE_NAME_SIZE];
	struct quarantined aside;

	set_aside_one(fixture, first, 300);
	set_aside_one(fixture, second, 200);
	assert_int_equal(count_kept(fixture), 2);
	set_aside_one(fixture, third, 100);
	assert_int_equal(count_kept(fixture), 2);
	assert_true(exists(fixture, first, "data.mdb"));
	assert_true(exists(fixture, third, "data.mdb"));
	assert_int_equal(profile_find_quarantined(fixture->directory, &aside), 1);
	assert_string_equal(aside.name, third);
}

static void
what_is_not_there_leaves_no_directory_behind(void **state)
{
	const struct profile_fixture *fixture = *state;
	char name[QUARANTINE_NAME_SIZE];

	assert_int_equal(profile_quarantine_at(fixture->directory, name), -ENOENT);
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	assert_int_equal(profile_quarantine_at(fixture->directory, name), -ENOENT);
	assert_int_equal(count_kept(fixture), 0);
}

/* Names of other things that somebody keeps there are none of ours. */
static void
only_directories_with_a_database_count(void **state)
{
	const struct profile_fixture *fixture = *state;
	char path[160];
	struct quarantined aside;

	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/damaged-goods", fixture->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/damaged-2026-11-21T09:43:00Z", fixture->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(profile_find_quarantined(fixture->directory, &aside), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_files_are_moved_and_a_writer_begins_anew),
		TEST(one_that_is_open_is_recovered_from_as_from_any_that_was_moved),
		TEST(a_database_that_is_in_use_is_left_alone),
		TEST(within_a_minute_nothing_is_set_aside_again),
		TEST(the_first_and_the_latest_are_kept),
		TEST(what_is_not_there_leaves_no_directory_behind),
		TEST(only_directories_with_a_database_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
