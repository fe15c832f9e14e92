#include "tests/unit/profile/slice_writer.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/profile/raw.h"

static void
an_empty_database_has_nothing_to_retain(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct retention_options options;
	int steps = 0;

	retention_default(&options);
	options.size_limit = 1;
	while (profile_retain(profile, &options, START_NS) > 0)
		assert_in_range(++steps, 1, 4); /* the sweep */
	assert_int_equal(profile_retain(profile, &options, START_NS), 0);
	assert_clean(profile);
	profile_close(profile);
}

static void
the_defaults_are_a_month_and_two_gibibytes(void **state)
{
	struct retention_options options;

	(void)state;
	retention_default(&options);
	assert_int_equal(options.max_age_ns, 2592000 * SECOND_NS);
	assert_int_equal(options.size_limit, 2147483648);
	assert_int_equal(options.hour_after_ns, 86400 * SECOND_NS);
	assert_int_equal(options.day_after_ns, 604800 * SECOND_NS);
}

static void
a_reader_cannot_retain(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	profile_close(profile);
	profile = open_reader(fixture->directory);
	assert_int_equal(profile_merge_slices(profile, &merge_options, START_NS), -EINVAL);
	assert_int_equal(profile_drop_old(profile, &merge_options, START_NS), -EINVAL);
	assert_int_equal(profile_collect_garbage(profile, &merge_options), -EINVAL);
	profile_close(profile);
}

static void
the_only_slice_is_kept_as_it_is(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const struct retention_options options = {.max_age_ns = 1, .size_limit = 1, .hour_after_ns = 1};

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	while (profile_retain(writer.profile, &options, START_NS + 1000 * DAY_NS) > 0)
		;
	assert_plain_totals(writer.profile, 1, 10 * MINUTE_NS);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

/* Two days of 10-minute slices, and one that is being written. */
static void
write_two_days(struct writer *writer)
{
	for (uint64_t i = 0; i < 289; i++)
		write_plain_slice(writer, START_NS + i * 10 * MINUTE_NS, 10 * MINUTE_NS);
}

static void
slices_become_hours_after_a_day_and_days_after_a_week(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);

	write_two_days(&writer);
	assert_int_equal(merge_all(writer.profile, START_NS + DAY_NS), 0);
	/* the first 12 hours are over for a day */
	assert_true(merge_all(writer.profile, START_NS + DAY_NS + 12 * HOUR_NS) > 0);
	assert_int_equal(slice_count(writer.profile), 289 - 12 * 5);
	assert_plain_totals(writer.profile, 289, 289 * 10 * MINUTE_NS);
	assert_clean(writer.profile);
	merge_all(writer.profile, START_NS + 3 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 49);
	merge_all(writer.profile, START_NS + 8 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 1 + 24 + 1);
	merge_all(writer.profile, START_NS + 9 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 2 + 1);
	assert_plain_totals(writer.profile, 289, 289 * 10 * MINUTE_NS);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

static void
the_merged_slice_has_the_first_time_and_the_whole_hour(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct selection *selection;

	for (uint64_t i = 0; i < 7; i++)
		write_plain_slice(&writer, START_NS + i * 10 * MINUTE_NS, 10 * MINUTE_NS);
	merge_all(writer.profile, START_NS + 2 * DAY_NS);
	selection = select_time(writer.profile, 0, START_NS + MINUTE_NS);
	assert_int_equal(selection->slice_count, 1);
	assert_int_equal(selection->start_ns, START_NS);
	assert_int_equal(selection->end_ns, START_NS + HOUR_NS);
	assert_int_equal(selection->events[0].totals.samples, 6 * 4);
	selection_free(selection);
	profile_close(writer.profile);
}

static void
a_reader_between_steps_sees_every_sample_once(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	int steps = 0;

	for (uint64_t i = 0; i < 7; i++)
		write_plain_slice(&writer, START_NS + i * 10 * MINUTE_NS, 10 * MINUTE_NS);
	while (profile_merge_slices(writer.profile, &merge_options, START_NS + 2 * DAY_NS) > 0) {
		steps++;
		assert_plain_totals(writer.profile, 7, 70 * MINUTE_NS);
		assert_clean(writer.profile);
	}
	/* five slices of two blocks, one a step, and a step that finds none */
	assert_int_equal(steps, 5 * 3);
	profile_close(writer.profile);
}

static void
slices_with_a_gap_or_a_set_clock_between_stay_apart(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	write_plain_slice(&writer, START_NS + 30 * MINUTE_NS, 10 * MINUTE_NS); /* suspended */
	write_plain_slice(&writer, START_NS + 20 * MINUTE_NS, 10 * MINUTE_NS); /* set back */
	write_plain_slice(&writer, START_NS + 30 * MINUTE_NS, 10 * MINUTE_NS); /* behind the third */
	write_plain_slice(&writer, START_NS + 40 * MINUTE_NS, 10 * MINUTE_NS); /* the newest */
	merge_all(writer.profile, START_NS + 30 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 4);
	assert_plain_totals(writer.profile, 5, 50 * MINUTE_NS);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

/* What dcpix or dcpimport wrote between two of dcpid's slices keeps them apart no longer. */
static void
slices_merge_over_those_of_other_epochs(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const uint32_t own = writer.epoch;
	struct profile_stats stats;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	writer.epoch = begin_epoch(writer.profile, START_NS, "between", names, 1);
	write_plain_slice(&writer, START_NS, MINUTE_NS);
	writer.epoch = own;
	write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS);
	write_plain_slice(&writer, START_NS + 3 * DAY_NS, 10 * MINUTE_NS);
	while (profile_merge_slices(writer.profile, &merge_options, START_NS + 3 * DAY_NS) > 0)
		assert_clean(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.slices, 3);
	profile_close(writer.profile);
}

static void
slices_of_two_epochs_stay_apart(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	writer.epoch = begin_epoch(writer.profile, START_NS + 10 * MINUTE_NS, "", names, 1);
	write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS);
	write_plain_slice(&writer, START_NS + 20 * MINUTE_NS, 10 * MINUTE_NS);
	assert_int_equal(merge_all(writer.profile, START_NS + 30 * DAY_NS), 0);
	profile_close(writer.profile);
}

#define CRASH_SLICES 30
#define CRASH_BLOCKS 20
#define KILLS        20

static void
write_crash_slices(struct writer *writer)
{
	struct tally_entry entries[CRASH_BLOCKS];

	for (size_t i = 0; i < CRASH_BLOCKS; i++)
		entries[i] = (struct tally_entry){.offset = i * 4096, .count = 1};
	for (uint64_t i = 0; i < CRASH_SLICES; i++)
		write_slice(writer, START_NS + i * MINUTE_NS, MINUTE_NS, entries, CRASH_BLOCKS);
}

static void
kill_while_merging(const char *directory, long microseconds)
{
	const struct timespec time = {.tv_nsec = microseconds * 1000};
	const struct profile_options options = {.write = true};
	struct profile *profile;
	int status;
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
		if (profile_open(directory, &options, &profile))
			_exit(1);
		while (profile_merge_slices(profile, &merge_options, START_NS + 30 * DAY_NS) > 0)
			;
		pause();
	}
	nanosleep(&time, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void
assert_crash_totals(struct profile *profile)
{
	struct selection *selection = select_time(profile, 0, 0);

	assert_clean(profile);
	assert_int_equal(selection->events[0].totals.samples, CRASH_SLICES * (CRASH_BLOCKS + 1));
	assert_int_equal(selection->covered_ns, CRASH_SLICES * MINUTE_NS);
	assert_int_equal(selection->count_count, CRASH_BLOCKS);
	for (size_t i = 0; i < CRASH_BLOCKS; i++)
		assert_int_equal(selection->counts[i].count, CRASH_SLICES);
	selection_free(selection);
}

static void
a_kill_between_steps_loses_and_doubles_nothing(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);

	write_crash_slices(&writer);
	profile_close(writer.profile);
	srand(1997);
	for (int i = 0; i < KILLS; i++) {
		kill_while_merging(fixture->directory, rand() % 40000);
		writer.profile = open_reader(fixture->directory);
		assert_crash_totals(writer.profile);
		profile_close(writer.profile);
	}
	writer.profile = open_writer(fixture->directory, 0);
	merge_all(writer.profile, START_NS + 30 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 2);
	assert_crash_totals(writer.profile);
	profile_close(writer.profile);
}

/* Ten minutes at a time, as dcpid writes them. */
static void
write_slices(struct writer *writer, uint64_t start_ns, int count)
{
	for (int i = 0; i < count; i++)
		write_plain_slice(writer, start_ns + (uint64_t)i * 10 * MINUTE_NS, 10 * MINUTE_NS);
}

static void
a_clock_is_believed_when_its_last_week_holds_an_hour(void **state)
{
	struct writer writer = make_writer(*state);

	assert_int_equal(profile_clock_is_plausible(writer.profile, START_NS), 0);
	write_slices(&writer, START_NS, 5);
	assert_int_equal(profile_clock_is_plausible(writer.profile, START_NS + HOUR_NS), 0);
	write_slices(&writer, START_NS + 50 * MINUTE_NS, 1);
	assert_int_equal(profile_clock_is_plausible(writer.profile, START_NS + HOUR_NS), 1);
	assert_int_equal(profile_clock_is_plausible(writer.profile, START_NS + 7 * DAY_NS), 1);
	profile_close(writer.profile);
}

static void
a_clock_that_leapt_is_not_believed_until_it_has_gone_on_for_an_hour(void **state)
{
	const uint64_t leapt_ns = START_NS + 4000 * DAY_NS;
	struct writer writer = make_writer(*state);

	write_slices(&writer, START_NS, 144);
	assert_int_equal(profile_clock_is_plausible(writer.profile, leapt_ns), 0);
	write_slices(&writer, leapt_ns, 1);
	assert_int_equal(profile_clock_is_plausible(writer.profile, leapt_ns + 10 * MINUTE_NS), 0);
	assert_int_equal(profile_clock_is_plausible(writer.profile, START_NS + DAY_NS), 1); /* it was set right again */
	write_slices(&writer, leapt_ns + 10 * MINUTE_NS, 5);
	assert_int_equal(profile_clock_is_plausible(writer.profile, leapt_ns + HOUR_NS), 1);
	profile_close(writer.profile);
}

static void
what_is_too_old_is_dropped_with_its_epoch(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct retention_options options = {.max_age_ns = DAY_NS, .blocks_max = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_stats stats;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	begin_epoch(writer.profile, START_NS + 10 * MINUTE_NS, "without a slice", names, 1);
	writer.epoch = begin_epoch(writer.profile, START_NS + 10 * MINUTE_NS, "", names, 1);
	write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS);
	begin_epoch(writer.profile, START_NS + 10 * MINUTE_NS, "to come", names, 1);
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS + DAY_NS), 0);
	for (int i = 0; i < 3; i++) { /* two blocks, then none */
		assert_int_equal(profile_drop_old(writer.profile, &options, START_NS + DAY_NS + 10 * MINUTE_NS), 1);
		assert_clean(writer.profile);
	}
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS + DAY_NS + 10 * MINUTE_NS), 0);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(stats.epochs, 2);
	assert_plain_totals(writer.profile, 1, 10 * MINUTE_NS);
	profile_close(writer.profile);
}

/* Neither age nor size drops it, until it is released; what is younger goes before it. */
static void
what_is_kept_stays(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct retention_options old = {.max_age_ns = DAY_NS}, large = {.size_limit = 1};
	const uint64_t later_ns = START_NS + 40 * DAY_NS;
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_stats stats;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	assert_int_equal(profile_keep_epoch(writer.profile, writer.epoch, true), 0);
	writer.epoch = begin_epoch(writer.profile, START_NS + 10 * MINUTE_NS, "", names, 1);
	write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS);
	write_plain_slice(&writer, START_NS + 20 * MINUTE_NS, 10 * MINUTE_NS);
	while (profile_drop_old(writer.profile, &large, later_ns) > 0)
		assert_clean(writer.profile);
	assert_int_equal(profile_drop_old(writer.profile, &old, later_ns), 0);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.kept, 1);
	assert_int_equal(stats.slices, 2); /* it, and the newest */
	assert_int_equal(profile_keep_epoch(writer.profile, 1, false), 0);
	while (profile_drop_old(writer.profile, &old, later_ns) > 0)
		assert_clean(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.kept, 0);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(profile_keep_epoch(writer.profile, 1, true), -ENOENT);
	profile_close(writer.profile);
}

/* A key that is too short belongs to the slice that it begins with: it goes with that, and is in no other's way. */
static void
what_cannot_be_read_goes_with_its_slice(void **state)
{
	static const char *const tables[] = {"counts", "edges", "label_times"};
	const struct retention_options options = {.max_age_ns = DAY_NS, .blocks_max = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	int result;

	assert_int_equal(write_plain_slice(&writer, START_NS, 10 * MINUTE_NS), 1);
	assert_int_equal(write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS), 2);
	profile_close(writer.profile);
	for (size_t i = 0; i < 3; i++) {
		raw_put_once(fixture->directory, tables[i], "\0\0\0\1", 4, "\1", 1);
		raw_put_once(fixture->directory, tables[i], "\0\0\0\2", 4, "\1", 1);
	}
	writer.profile = open_writer(fixture->directory, 0);
	while ((result = profile_drop_old(writer.profile, &options, START_NS + DAY_NS + 10 * MINUTE_NS)) > 0)
		;
	assert_int_equal(result, 0);
	assert_int_equal(slice_count(writer.profile), 1);
	profile_close(writer.profile);
	for (size_t i = 0; i < 3; i++) /* that of the slice that stays is there still */
		raw_delete_once(fixture->directory, tables[i], "\0\0\0\2", 4);
	writer.profile = open_writer(fixture->directory, 0);
	assert_clean(writer.profile);
	assert_plain_totals(writer.profile, 1, 10 * MINUTE_NS);
	profile_close(writer.profile);
}

static void
the_slice_that_ended_first_goes_first(void **state)
{
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct selection *selection;

	write_plain_slice(&writer, START_NS + DAY_NS, 10 * MINUTE_NS);
	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS); /* the clock was set back */
	write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS);
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	selection = select_time(writer.profile, 0, 0);
	assert_int_equal(selection->slice_count, 2);
	assert_int_equal(selection->start_ns, START_NS + 10 * MINUTE_NS);
	assert_int_equal(selection->end_ns, START_NS + DAY_NS + 10 * MINUTE_NS);
	selection_free(selection);
	profile_close(writer.profile);
}

static void
a_database_at_its_limit_does_not_grow(void **state)
{
	const struct retention_options options = {.size_limit = 1 << 20};
	static struct tally_entry entries[500];
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_stats stats;
	uint64_t half_bytes = 0, dropped = 0;

	for (uint64_t i = 0; i < 200; i++) {
		for (size_t j = 0; j < 500; j++)
			entries[j] = (struct tally_entry){.offset = (i + j) * 4096, .count = 1};
		write_slice(&writer, START_NS + i * 10 * MINUTE_NS, 10 * MINUTE_NS, entries, 500);
		while (profile_drop_old(writer.profile, &options, START_NS) > 0)
			dropped++;
		assert_int_equal(profile_stats(writer.profile, &stats), 0);
		assert_true(stats.used_bytes <= options.size_limit);
		if (i == 100)
			half_bytes = stats.file_bytes;
	}
	assert_true(dropped > 100);
	assert_int_equal(stats.file_bytes, half_bytes);
	assert_true(stats.file_bytes < 3 * options.size_limit / 2);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

/* Room can be made where LMDB itself has none left. */
static void
a_full_database_gives_way(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct retention_options options = {.size_limit = 1, .blocks_max = 100};
	static struct tally_entry entries[500];
	const struct profile_fixture *fixture = *state;
	struct writer writer = {.profile = open_writer(fixture->directory, 512 << 10)};
	struct slice slice = {.event_count = 1, .events[0].samples = 500};
	struct profile_batch batch = {.entries = entries,
	                              .entry_count = 500,
	                              .first_image = IMAGES,
	                              .first_context = IMAGES,
	                              .slice = &slice};
	struct profile_stats stats;
	int full = 0;

	writer.epoch = begin_epoch(writer.profile, START_NS, "", names, 1);
	write_plain_slice(&writer, START_NS, MINUTE_NS);
	slice.epoch = writer.epoch;
	for (uint64_t i = 0; i < 200; i++) {
		int err, tries = 0;

		for (size_t j = 0; j < 500; j++)
			entries[j] = (struct tally_entry){.offset = (i + j) * 4096, .count = 1};
		slice.id = 0;
		slice.start_ns = START_NS + i * MINUTE_NS;
		slice.end_ns = slice.start_ns + MINUTE_NS;
		while ((err = profile_flush(writer.profile, &batch)) == -DCPI_EFULL) {
			full++;
			assert_in_range(++tries, 1, 64);
			assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
		}
		assert_int_equal(err, 0);
	}
	assert_true(full > 0);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_true(stats.file_bytes <= (512 + 32 + 256) << 10); /* a 16th of the limit, and 256 KiB */
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_a_month_and_two_gibibytes),
		CASE(an_empty_database_has_nothing_to_retain),
		CASE(a_reader_cannot_retain),
		CASE(the_only_slice_is_kept_as_it_is),
		CASE(slices_become_hours_after_a_day_and_days_after_a_week),
		CASE(the_merged_slice_has_the_first_time_and_the_whole_hour),
		CASE(a_reader_between_steps_sees_every_sample_once),
		CASE(slices_with_a_gap_or_a_set_clock_between_stay_apart),
		CASE(slices_merge_over_those_of_other_epochs),
		CASE(slices_of_two_epochs_stay_apart),
		CASE(a_clock_is_believed_when_its_last_week_holds_an_hour),
		CASE(a_clock_that_leapt_is_not_believed_until_it_has_gone_on_for_an_hour),
		CASE(a_kill_between_steps_loses_and_doubles_nothing),
		CASE(what_is_too_old_is_dropped_with_its_epoch),
		CASE(what_is_kept_stays),
		CASE(what_cannot_be_read_goes_with_its_slice),
		CASE(the_slice_that_ended_first_goes_first),
		CASE(a_database_at_its_limit_does_not_grow),
		CASE(a_full_database_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
