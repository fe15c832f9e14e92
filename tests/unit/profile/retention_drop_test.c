#include "tests/unit/profile/raw.h"
#include "tests/unit/profile/slice_writer.h"

#include <errno.h>

static void
what_is_too_old_is_dropped_with_its_epoch(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct retention_options options = {.max_age_ns = DAY_NS, .blocks_max = 1};
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
		CASE(what_is_too_old_is_dropped_with_its_epoch), CASE(what_is_kept_stays),
		CASE(what_cannot_be_read_goes_with_its_slice),   CASE(the_slice_that_ended_first_goes_first),
		CASE(a_database_at_its_limit_does_not_grow),     CASE(a_full_database_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
