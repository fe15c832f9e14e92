#include "tests/unit/profile/slice_writer.h"

#include <errno.h>

static void
what_the_session_may_refer_to_is_kept(void **state)
{
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_stats stats;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, NULL, 0);
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	assert_int_equal(stats.contexts, IMAGES);
	write_plain_slice(&writer, START_NS + 20 * MINUTE_NS, 10 * MINUTE_NS);
	assert_clean(writer.profile);
	profile_close(writer.profile);
}

/* What only a session before had: it goes with its symbols, but for the highest number. */
static void
what_nothing_refers_to_is_swept(void **state)
{
	static const struct profile_symbol symbols[] = {{.offset = 0, .name = "start"}};
	static const struct tally_entry kernel[] = {{.image = 2, .context = 2, .offset = 0, .count = 1}};
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_symbol *found;
	struct profile_stats stats;
	size_t count;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, kernel, 1);
	assert_int_equal(profile_put_symbols(writer.profile, 0, symbols, 1), 0);
	assert_int_equal(profile_put_symbols(writer.profile, 2, symbols, 1), 0);
	profile_close(writer.profile);

	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = writer.epoch, .bare = true};
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	assert_int_equal(stats.contexts, IMAGES);
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, 1);
	assert_int_equal(stats.contexts, 1);
	assert_int_equal(profile_get_symbols(writer.profile, 1, &found, &count), -ENOENT);
	assert_int_equal(profile_get_symbols(writer.profile, 3, &found, &count), 0);
	profile_free_symbols(found);
	profile_close(writer.profile);
}

/* Blocks that a merge moves to where a sweep has been are found nevertheless. */
static void
a_merge_under_a_sweep_hides_nothing(void **state)
{
	static const struct tally_entry kernel[] = {{.image = 2, .context = 2, .offset = 0, .count = 1}};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const struct retention_options sweep_options = {.blocks_max = 1};
	struct profile_stats stats;

	for (uint64_t i = 0; i < 40; i++)
		write_slice(&writer, START_NS + i * MINUTE_NS, MINUTE_NS, kernel, 1);
	write_plain_slice(&writer, START_NS + 40 * MINUTE_NS, MINUTE_NS);
	write_slice(&writer, START_NS + 41 * MINUTE_NS, MINUTE_NS, kernel, 1);
	profile_close(writer.profile);

	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = writer.epoch, .bare = true};
	assert_int_equal(profile_collect_garbage(writer.profile, &sweep_options),
	                 1); /* has seen the first slices only */
	merge_all(writer.profile, START_NS + 30 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 2);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	profile_close(writer.profile);
}

static void
a_session_that_ended_keeps_nothing(void **state)
{
	static const struct tally_entry kernel[] = {{.image = 2, .context = 2, .offset = 0, .count = 1}};
	const struct retention_options options = {.size_limit = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_stats stats;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, kernel, 1);
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	profile_reset_session(writer.profile);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, 1);
	assert_int_equal(stats.contexts, 1);
	writer.known = false; /* the next one counts from 0 again */
	write_plain_slice(&writer, START_NS + 20 * MINUTE_NS, 10 * MINUTE_NS);
	assert_clean(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	profile_close(writer.profile);
}

/* What the session counted where the sweep has been already stays when the session ends before the sweep does. */
static void
the_end_of_a_session_under_a_sweep_hides_nothing(void **state)
{
	static const struct tally_entry kernel[] = {{.image = 2, .context = 2, .offset = 0, .count = 1}};
	const struct retention_options options = {.blocks_max = 1};
	const struct profile_fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	uint32_t epoch = writer.epoch;
	struct profile_stats stats;

	write_slice(&writer, START_NS, MINUTE_NS, kernel, 1);
	profile_close(writer.profile);

	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = epoch};
	assert_int_equal(profile_collect_garbage(writer.profile, &options), 1); /* the whole of one block */
	write_plain_slice(&writer, START_NS + MINUTE_NS, MINUTE_NS);
	profile_reset_session(writer.profile);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	assert_int_equal(stats.contexts, IMAGES);
	profile_close(writer.profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_the_session_may_refer_to_is_kept),
		CASE(what_nothing_refers_to_is_swept),
		CASE(a_merge_under_a_sweep_hides_nothing),
		CASE(a_session_that_ended_keeps_nothing),
		CASE(the_end_of_a_session_under_a_sweep_hides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
