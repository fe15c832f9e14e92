#include "profile/retention.h"

#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "profile/selection.h"

#define MINUTE_NS (60 * SECOND_NS)
#define HOUR_NS   (60 * MINUTE_NS)
#define DAY_NS    (24 * HOUR_NS)
#define START_NS  (1000 * DAY_NS) /* midnight */

#define IMAGES 3

static const struct image awk_image = {
	.kind = IMAGE_KERNEL, .build_id = {0x11, 0x22}, .build_id_size = 2, .path = "[kernel]"};
static const struct context awk_context = {.comm = "awk", .cgroup = "/", .label = ""};

/* Writes slices; the images and contexts of a session go with its first, unless it has none. */
struct writer {
	struct profile *profile;
	uint32_t epoch;
	bool known;
	bool bare;
};

static uint32_t
write_slice(struct writer *writer, uint64_t start_ns, uint64_t length_ns, const struct tally_entry *entries,
            size_t count)
{
	static const struct image *const images[] = {&gzip_image, &libc_image, &awk_image};
	static const struct context *const contexts[] = {&gzip_context, &make_context, &awk_context};
	struct slice_cpu cpus[] = {{.cpu = 1, .event = 0, .lost = 2}};
	struct slice slice = {
		.epoch = writer->epoch,
		.start_ns = start_ns,
		.end_ns = start_ns + length_ns,
		.daemon_cpu_ns = 5,
		.event_count = 1,
		.events[0] = {.samples = 1, .lost = 2, .unknown[UNKNOWN_ADDRESS] = 1},
		.cpu_count = 1,
		.cpus = cpus,
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = count,
		.first_image = writer->known && !writer->bare ? IMAGES : 0,
		.image_count = writer->known || writer->bare ? 0 : IMAGES,
		.images = images,
		.first_context = writer->known && !writer->bare ? IMAGES : 0,
		.context_count = writer->known || writer->bare ? 0 : IMAGES,
		.contexts = contexts,
		.slice = &slice,
	};

	for (size_t i = 0; i < count; i++)
		slice.events[0].samples += entries[i].count;
	assert_int_equal(profile_flush(writer->profile, &batch), 0);
	writer->known = true;
	return slice.id;
}

/* A slice with one sample at offset 16 of gzip, two at 8192 of libc, and one that is unknown. */
static uint32_t
write_plain_slice(struct writer *writer, uint64_t start_ns, uint64_t length_ns)
{
	static const struct tally_entry entries[] = {
		{.image = 0, .context = 0, .offset = 16, .count = 1},
		{.image = 1, .context = 1, .offset = 8192, .count = 2},
	};

	return write_slice(writer, start_ns, length_ns, entries, 2);
}

static struct writer
make_writer(const char *directory)
{
	static const char *const names[] = {"cpu-clock"};
	struct writer writer = {.profile = open_writer(directory, 0)};

	writer.epoch = begin_epoch(writer.profile, START_NS, "", names, 1);
	return writer;
}

static void
print_complaint(void *context, const char *text)
{
	(void)context;
	print_error("%s\n", text);
}

static void
assert_clean(struct profile *profile)
{
	assert_int_equal(profile_check(profile, print_complaint, NULL), 0);
}

static uint64_t
slice_count(struct profile *profile)
{
	struct profile_stats stats;

	assert_int_equal(profile_stats(profile, &stats), 0);
	return stats.slices;
}

static struct selection *
select_time(struct profile *profile, uint64_t since_ns, uint64_t until_ns)
{
	const struct selection_request request = {.epoch = "all", .since_ns = since_ns, .until_ns = until_ns};
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	return selection;
}

/* All that `slices` plain slices hold, however they were merged. */
static void
assert_plain_totals(struct profile *profile, uint64_t slices, uint64_t covered_ns)
{
	struct selection *selection = select_time(profile, 0, 0);

	assert_int_equal(selection->events[0].totals.samples, 4 * slices);
	assert_int_equal(selection->events[0].totals.lost, 2 * slices);
	assert_int_equal(selection->events[0].totals.unknown[UNKNOWN_ADDRESS], slices);
	assert_int_equal(selection->overhead.daemon_ns, 5 * slices);
	assert_int_equal(selection->covered_ns, covered_ns);
	assert_int_equal(selection->count_count, 2);
	assert_int_equal(selection->counts[0].count + selection->counts[1].count, 3 * slices);
	selection_free(selection);
}

static const struct retention_options merge_options = {
	.hour_after_ns = DAY_NS, .day_after_ns = 7 * DAY_NS, .blocks_max = 1};

/* Merge until nothing is left to do; how many steps. */
static int
merge_all(struct profile *profile, uint64_t now_ns)
{
	int steps = 0, result;

	while ((result = profile_merge_slices(profile, &merge_options, now_ns)) > 0)
		steps++;
	assert_int_equal(result, 0);
	return steps;
}

static void
an_empty_database_has_nothing_to_retain(void **state)
{
	const struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct retention_options options;
	int steps = 0;

	retention_default(&options);
	options.size_limit = 1;
	while (profile_retain(profile, &options, START_NS) > 0)
		assert_in_range(++steps, 1, 3); /* the sweep */
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
	const struct fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	profile_close(profile);
	profile = open_reader(fixture->directory);
	assert_int_equal(profile_merge_slices(profile, &merge_options, START_NS), -EINVAL);
	assert_int_equal(profile_drop_old(profile, &merge_options, START_NS), -EINVAL);
	assert_int_equal(profile_sweep(profile, &merge_options), -EINVAL);
	profile_close(profile);
}

static void
the_only_slice_is_kept_as_it_is(void **state)
{
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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

static void
slices_of_two_epochs_stay_apart(void **state)
{
	static const char *const names[] = {"cpu-clock"};
	const struct fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	writer.epoch = begin_epoch(writer.profile, START_NS + 10 * MINUTE_NS, "", names, 1);
	write_plain_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS);
	write_plain_slice(&writer, START_NS + 20 * MINUTE_NS, 10 * MINUTE_NS);
	assert_int_equal(merge_all(writer.profile, START_NS + 30 * DAY_NS), 0);
	profile_close(writer.profile);
}

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

/* Sweep until it ends. */
static void
sweep_all(struct profile *profile)
{
	const struct retention_options options = {.blocks_max = 1};
	int result;

	while ((result = profile_sweep(profile, &options)) > 0)
		assert_clean(profile);
	assert_int_equal(result, 0);
}

static void
what_the_session_may_refer_to_is_kept(void **state)
{
	const struct retention_options options = {.size_limit = 1};
	const struct fixture *fixture = *state;
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
	const struct fixture *fixture = *state;
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

/* Blocks that a merge moves to where a sweep has been are found all the same. */
static void
a_merge_under_a_sweep_hides_nothing(void **state)
{
	static const struct tally_entry kernel[] = {{.image = 2, .context = 2, .offset = 0, .count = 1}};
	const struct fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	const struct retention_options sweep_options = {.blocks_max = 1};
	struct profile_stats stats;

	for (uint64_t i = 0; i < 40; i++)
		write_slice(&writer, START_NS + i * MINUTE_NS, MINUTE_NS, kernel, 1);
	write_plain_slice(&writer, START_NS + 40 * MINUTE_NS, MINUTE_NS);
	write_slice(&writer, START_NS + 41 * MINUTE_NS, MINUTE_NS, kernel, 1);
	profile_close(writer.profile);

	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = writer.epoch, .bare = true};
	assert_int_equal(profile_sweep(writer.profile, &sweep_options), 1); /* has seen the first slices only */
	merge_all(writer.profile, START_NS + 30 * DAY_NS);
	assert_int_equal(slice_count(writer.profile), 2);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
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
	const struct fixture *fixture = *state;
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

static void
a_session_that_ended_keeps_nothing(void **state)
{
	static const struct tally_entry kernel[] = {{.image = 2, .context = 2, .offset = 0, .count = 1}};
	const struct retention_options options = {.size_limit = 1};
	const struct fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	struct profile_stats stats;

	write_plain_slice(&writer, START_NS, 10 * MINUTE_NS);
	write_slice(&writer, START_NS + 10 * MINUTE_NS, 10 * MINUTE_NS, kernel, 1);
	assert_int_equal(profile_drop_old(writer.profile, &options, START_NS), 1);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	profile_renew_session(writer.profile);
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
	const struct fixture *fixture = *state;
	struct writer writer = make_writer(fixture->directory);
	uint32_t epoch = writer.epoch;
	struct profile_stats stats;

	write_slice(&writer, START_NS, MINUTE_NS, kernel, 1);
	profile_close(writer.profile);

	writer = (struct writer){.profile = open_writer(fixture->directory, 0), .epoch = epoch};
	assert_int_equal(profile_sweep(writer.profile, &options), 1); /* the whole of one block */
	write_plain_slice(&writer, START_NS + MINUTE_NS, MINUTE_NS);
	profile_renew_session(writer.profile);
	sweep_all(writer.profile);
	assert_int_equal(profile_stats(writer.profile, &stats), 0);
	assert_int_equal(stats.images, IMAGES);
	assert_int_equal(stats.contexts, IMAGES);
	profile_close(writer.profile);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

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

	assert_int_equal(profile_knows_time(writer.profile, START_NS), 0);
	write_slices(&writer, START_NS, 5);
	assert_int_equal(profile_knows_time(writer.profile, START_NS + HOUR_NS), 0);
	write_slices(&writer, START_NS + 50 * MINUTE_NS, 1);
	assert_int_equal(profile_knows_time(writer.profile, START_NS + HOUR_NS), 1);
	assert_int_equal(profile_knows_time(writer.profile, START_NS + 7 * DAY_NS), 1);
	profile_close(writer.profile);
}

static void
a_clock_that_leapt_is_not_believed_until_it_has_gone_on_for_an_hour(void **state)
{
	const uint64_t leapt_ns = START_NS + 4000 * DAY_NS;
	struct writer writer = make_writer(*state);

	write_slices(&writer, START_NS, 144);
	assert_int_equal(profile_knows_time(writer.profile, leapt_ns), 0);
	write_slices(&writer, leapt_ns, 1);
	assert_int_equal(profile_knows_time(writer.profile, leapt_ns + 10 * MINUTE_NS), 0);
	assert_int_equal(profile_knows_time(writer.profile, START_NS + DAY_NS), 1); /* it was set right again */
	write_slices(&writer, leapt_ns + 10 * MINUTE_NS, 5);
	assert_int_equal(profile_knows_time(writer.profile, leapt_ns + HOUR_NS), 1);
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
		CASE(slices_of_two_epochs_stay_apart),
		CASE(a_clock_is_believed_when_its_last_week_holds_an_hour),
		CASE(a_clock_that_leapt_is_not_believed_until_it_has_gone_on_for_an_hour),
		CASE(what_is_too_old_is_dropped_with_its_epoch),
		CASE(the_slice_that_ended_first_goes_first),
		CASE(what_the_session_may_refer_to_is_kept),
		CASE(what_nothing_refers_to_is_swept),
		CASE(a_merge_under_a_sweep_hides_nothing),
		CASE(a_database_at_its_limit_does_not_grow),
		CASE(a_full_database_gives_way),
		CASE(a_kill_between_steps_loses_and_doubles_nothing),
		CASE(a_session_that_ended_keeps_nothing),
		CASE(the_end_of_a_session_under_a_sweep_hides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
