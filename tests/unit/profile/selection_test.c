#include "tests/unit/profile/fixture.h"

#include <errno.h>
#include <time.h>

#include "profile/selection.h"

#define TIME(seconds) ((seconds)*SECOND_NS)

static const char *const clock_and_faults[] = {"cpu-clock", "page-faults"};
static const char *const faults_and_clock[] = {"page-faults", "cpu-clock"};

/* One slice of `epoch`, with `unknown` samples of event 0 that no process could be found for. */
static void
flush_slice(struct profile *profile, uint32_t epoch, uint64_t start_s, uint64_t end_s, bool first,
            const struct tally_entry *entries, size_t count, uint64_t unknown)
{
	struct slice slice = {
		.epoch = epoch,
		.start_ns = TIME(start_s),
		.end_ns = TIME(end_s),
		.daemon_cpu_ns = 7,
		.sideband_lost = 1,
		.skipped = 2,
		.event_count = 2,
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = count,
		.first_image = first ? 0 : 2,
		.image_count = first ? 2 : 0,
		.images = two_images,
		.first_context = first ? 0 : 2,
		.context_count = first ? 2 : 0,
		.contexts = two_contexts,
		.slice = &slice,
		.start_cpu_ns = start_s,
	};

	for (size_t i = 0; i < count; i++)
		slice.events[entries[i].event].samples += entries[i].count;
	slice.events[0].samples += unknown;
	slice.events[0].unknown[UNKNOWN_PROCESS] = unknown;
	slice.events[0].lost = 3;
	assert_int_equal(profile_flush(profile, &batch), 0);
}

static const struct tally_entry first_entries[] = {
	{.offset = 0x1000, .count = 5, .image = 0, .context = 0, .event = 0},
	{.offset = 0x2fff, .count = 1, .image = 0, .context = 0, .event = 0},
	{.offset = 0x1000, .count = 2, .image = 0, .context = 1, .event = 0},
	{.offset = 0x0040, .count = 7, .image = 1, .context = 1, .event = 0},
	{.offset = 0x1000, .count = 9, .image = 0, .context = 0, .event = 1},
};
static const struct tally_entry second_entries[] = {
	{.offset = 0x1000, .count = 100, .image = 0, .context = 0, .event = 0},
	{.offset = 0x1001, .count = 200, .image = 0, .context = 0, .event = 0},
};
static const struct tally_entry third_entries[] = {
	{.offset = 0x0040, .count = 1000, .image = 1, .context = 1, .event = 0},
	{.offset = 0x0040, .count = 2000, .image = 1, .context = 1, .event = 1},
};

/*
 * Epoch 1 ("before", cpu-clock and page-faults): slices 100-110 s (3 unknown) and 110-120 s.
 * Epoch 2 (page-faults and cpu-clock, in this order): slice 200-205 s.
 * Epoch 3: no slice.
 */
static struct profile *
three_epochs(const struct profile_fixture *fixture, bool with_empty)
{
	struct profile *profile = open_writer(fixture->directory, 0);

	assert_int_equal(begin_epoch(profile, TIME(100), "before", clock_and_faults, 2), 1);
	flush_slice(profile, 1, 100, 110, true, first_entries, 5, 3);
	flush_slice(profile, 1, 110, 120, false, second_entries, 2, 0);
	assert_int_equal(begin_epoch(profile, TIME(200), "", faults_and_clock, 2), 2);
	flush_slice(profile, 2, 200, 205, false, third_entries, 2, 0);
	if (with_empty)
		assert_int_equal(begin_epoch(profile, TIME(300), "empty", faults_and_clock, 2), 3);
	return profile;
}

static void
assert_count(const struct selection *selection, size_t at, const char *path, uint64_t offset, const char *event,
             uint64_t count)
{
	const struct selection_count *found = &selection->counts[at];

	assert_true(at < selection->count_count);
	assert_string_equal(selection->images[found->image].image->path, path);
	assert_int_equal(found->offset, offset);
	assert_string_equal(selection->events[found->event].name, event);
	assert_int_equal(found->count, count);
}

static struct selection *
assert_selected(struct profile *profile, const struct selection_request *request)
{
	struct selection *selection = NULL;
	char why[256] = "untouched";

	assert_int_equal(selection_read(profile, request, &selection, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	return selection;
}

static void
assert_refused(struct profile *profile, const struct selection_request *request, int err, const char *sentence)
{
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(selection_read(profile, request, &selection, why, sizeof(why)), err);
	assert_string_equal(why, sentence);
	assert_null(selection);
}

static void
without_a_request_the_latest_epoch_is_selected(void **state)
{
	struct profile *profile = three_epochs(*state, false);
	struct selection *selection = assert_selected(profile, &(struct selection_request){0});

	assert_int_equal(selection->epoch_count, 1);
	assert_int_equal(selection->epochs[0].id, 2);
	assert_int_equal(selection->slice_count, 1);
	assert_int_equal(selection->event_count, 2);
	assert_string_equal(selection->events[0].name, "page-faults");
	assert_string_equal(selection->events[0].unit, "ns");
	assert_int_equal(selection->events[0].period, 1000);
	assert_true(selection->events[0].available);
	assert_int_equal(selection->image_count, 1);
	assert_int_equal(selection->count_count, 2);
	assert_count(selection, 0, "/usr/lib/libc.so.6", 0x40, "page-faults", 1000);
	assert_count(selection, 1, "/usr/lib/libc.so.6", 0x40, "cpu-clock", 2000);
	selection_free(selection);
	profile_close(profile);
}

static void
events_of_several_epochs_are_one_by_name(void **state)
{
	struct profile *profile = three_epochs(*state, true);
	struct selection *selection = assert_selected(profile, &(struct selection_request){.epoch = "all"});

	assert_int_equal(selection->epoch_count, 2); /* the one without a slice is not in it */
	assert_int_equal(selection->epochs[0].id, 1);
	assert_string_equal(selection->epochs[0].label, "before");
	assert_int_equal(selection->slice_count, 3);
	assert_int_equal(selection->start_ns, TIME(100));
	assert_int_equal(selection->end_ns, TIME(205));
	assert_int_equal(selection->covered_ns, TIME(25));
	assert_int_equal(selection->overhead.cpu_ns, TIME(50)); /* two CPUs */
	assert_int_equal(selection->overhead.daemon_ns, 21);
	assert_int_equal(selection->overhead.start_ns, 100 + 110 + 200); /* each batch added to its epoch's */
	assert_int_equal(selection->sideband_lost, 3);
	assert_int_equal(selection->skipped, 6);
	assert_int_equal(selection->event_count, 2);
	assert_string_equal(selection->events[0].name, "page-faults");
	assert_string_equal(selection->events[1].name, "cpu-clock");
	/* 5 + 1 + 2 + 7 + 3 unknown, 100 + 200, and 2000 that is event 1 of epoch 2 */
	assert_int_equal(selection->events[1].totals.samples, 2318);
	assert_int_equal(selection->events[1].totals.unknown[UNKNOWN_PROCESS], 3);
	assert_int_equal(selection->events[1].totals.lost, 6);
	assert_int_equal(selection->events[1].selected, 2315);
	assert_int_equal(selection->events[0].totals.samples, 1009);
	assert_int_equal(selection->events[0].totals.lost, 3);
	assert_int_equal(selection->events[0].selected, 1009);
	selection_free(selection);
	profile_close(profile);
}

static void
counts_are_summed_by_image_offset_and_event(void **state)
{
	struct profile *profile = three_epochs(*state, false);
	struct selection *selection = assert_selected(profile, &(struct selection_request){.epoch = "all"});

	assert_int_equal(selection->image_count, 2);
	assert_int_equal(selection->count_count, 6);
	assert_count(selection, 0, "/usr/bin/gzip", 0x1000, "page-faults", 9);
	assert_count(selection, 1, "/usr/bin/gzip", 0x1000, "cpu-clock", 107);
	assert_count(selection, 2, "/usr/bin/gzip", 0x1001, "cpu-clock", 200);
	assert_count(selection, 3, "/usr/bin/gzip", 0x2fff, "cpu-clock", 1);
	assert_count(selection, 4, "/usr/lib/libc.so.6", 0x40, "page-faults", 1000);
	assert_count(selection, 5, "/usr/lib/libc.so.6", 0x40, "cpu-clock", 2007);
	selection_free(selection);
	profile_close(profile);
}

static void
an_epoch_is_found_by_place_number_and_label(void **state)
{
	static const char *const expressions[] = {"latest-2", "1", "before"};
	struct profile *profile = three_epochs(*state, true);

	for (size_t i = 0; i < 3; i++) {
		struct selection *selection =
			assert_selected(profile, &(struct selection_request){.epoch = expressions[i]});

		assert_int_equal(selection->epoch_count, 1);
		assert_int_equal(selection->epochs[0].id, 1);
		assert_int_equal(selection->slice_count, 2);
		selection_free(selection);
	}
	profile_close(profile);
}

static void
an_epoch_that_is_not_there_is_answered_with_those_that_are(void **state)
{
	struct profile *profile = three_epochs(*state, true);

	assert_refused(profile, &(struct selection_request){.epoch = "9"}, -DCPI_ENOSELECTION,
	               "there is no epoch 9; there are 1 (before), 2, 3 (empty)");
	assert_refused(profile, &(struct selection_request){.epoch = "latest-3"}, -DCPI_ENOSELECTION,
	               "there is no epoch latest-3; there are 1 (before), 2, 3 (empty)");
	assert_refused(profile, &(struct selection_request){.epoch = "no\033[1m"}, -DCPI_ENOSELECTION,
	               "there is no epoch no\\x1b[1m; there are 1 (before), 2, 3 (empty)");
	assert_refused(profile, &(struct selection_request){0}, -DCPI_ENOSELECTION,
	               "no samples have been written yet in epoch 3");
	profile_close(profile);
}

static void
what_is_no_epoch_expression_is_refused(void **state)
{
	struct profile *profile = three_epochs(*state, false);

	assert_refused(profile, &(struct selection_request){.epoch = "latest-x"}, -EINVAL,
	               "an epoch is latest, latest-N, all, a number or a label, not 'latest-x'");
	assert_refused(profile, &(struct selection_request){.epoch = ""}, -EINVAL,
	               "an epoch is latest, latest-N, all, a number or a label, not ''");
	profile_close(profile);
}

static void
a_database_without_an_epoch_says_so(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);

	assert_refused(profile, &(struct selection_request){0}, -DCPI_ENOSELECTION, "the database holds no epoch yet");
	profile_close(profile);
}

static void
a_time_selects_the_slices_that_overlap_it_in_every_epoch(void **state)
{
	struct profile *profile = three_epochs(*state, true);
	struct selection *selection;

	selection = assert_selected(profile, &(struct selection_request){.since_ns = TIME(115)});
	assert_int_equal(selection->slice_count, 2);
	assert_int_equal(selection->epoch_count, 2);
	assert_int_equal(selection->start_ns, TIME(110));
	selection_free(selection);

	selection = assert_selected(profile, &(struct selection_request){.until_ns = TIME(110)});
	assert_int_equal(selection->slice_count, 1); /* the second begins when the time is up */
	selection_free(selection);

	selection = assert_selected(profile, &(struct selection_request){.since_ns = TIME(110), .until_ns = TIME(111)});
	assert_int_equal(selection->slice_count, 1); /* the first has ended */
	assert_int_equal(selection->start_ns, TIME(110));
	selection_free(selection);
	profile_close(profile);
}

static void
a_time_without_samples_is_answered_with_the_time_that_has_some(void **state)
{
	struct profile *profile = three_epochs(*state, true);

	setenv("TZ", "UTC", 1);
	tzset();
	assert_refused(
		profile, &(struct selection_request){.since_ns = TIME(130), .until_ns = TIME(150)}, -DCPI_ENOSELECTION,
		"no samples in that time; there are some from 1970-01-01 00:01:40 UTC to 1970-01-01 00:03:25 UTC");
	profile_close(profile);
}

static void
a_context_pattern_leaves_out_the_counts_of_others(void **state)
{
	struct profile *profile = three_epochs(*state, false);
	struct selection_request request = {.epoch = "1", .comm = "ma*"};
	struct selection *selection = assert_selected(profile, &request);

	assert_int_equal(selection->count_count, 2);
	assert_count(selection, 0, "/usr/bin/gzip", 0x1000, "cpu-clock", 2);
	assert_count(selection, 1, "/usr/lib/libc.so.6", 0x40, "cpu-clock", 7);
	assert_int_equal(selection->events[0].selected, 9);
	assert_int_equal(selection->events[0].totals.samples, 318); /* of all contexts */
	selection_free(selection);

	request = (struct selection_request){.epoch = "1", .cgroup = "/system.slice", .label = "night*"};
	selection = assert_selected(profile, &request);
	assert_int_equal(selection->events[0].selected, 9);
	selection_free(selection);
	profile_close(profile);
}

/* A label says which run it is; that an epoch began meanwhile is no business of its user. */
static void
a_label_is_looked_for_in_all_epochs(void **state)
{
	struct profile *profile = three_epochs(*state, true);
	struct selection *selection = assert_selected(profile, &(struct selection_request){.label = "nightly"});

	assert_int_equal(selection->epoch_count, 2);
	assert_int_equal(selection->events[0].selected, 1000);
	assert_int_equal(selection->events[1].selected, 9 + 2000);
	selection_free(selection);
	selection = assert_selected(profile, &(struct selection_request){.label = "nightly", .epoch = "latest-1"});
	assert_int_equal(selection->epoch_count, 1);
	assert_int_equal(selection->events[1].selected, 2000);
	selection_free(selection);
	profile_close(profile);
}

/* What comes after the last epoch with samples that match may be of another machine. */
static void
epochs_after_the_last_match_are_left_aside(void **state)
{
	struct epoch epochs[] = {{.id = 1}, {.id = 4}, {.id = 6}};
	struct selection selection = {.epochs = epochs, .epoch_count = 3, .match = {.first_epoch = 1, .last_epoch = 4}};

	(void)state;
	assert_int_equal(selection_epochs_matched(&selection), 2);
	selection.match.last_epoch = 6;
	assert_int_equal(selection_epochs_matched(&selection), 3);
	selection.match = (struct selection_match){0};
	assert_int_equal(selection_epochs_matched(&selection), 3);
}

static void
patterns_that_match_nothing_are_answered_with_what_there_is(void **state)
{
	struct profile *profile = three_epochs(*state, false);

	assert_refused(profile, &(struct selection_request){.comm = "firefox"}, -DCPI_ENOSELECTION,
	               "no command matches firefox; there are gzip, make");
	assert_refused(profile, &(struct selection_request){.comm = "gzip", .label = "nightly"}, -DCPI_ENOSELECTION,
	               "no command matches gzip together with the other patterns; there are gzip, make");
	assert_refused(profile, &(struct selection_request){.label = "x"}, -DCPI_ENOSELECTION,
	               "no label matches x; there are nightly");
	assert_refused(profile, &(struct selection_request){.comm = "gzip"}, -DCPI_ENOSELECTION,
	               "what matches the patterns has no samples in the selected time");
	profile_close(profile);
}

static void
a_selection_by_a_reader_is_the_writers(void **state)
{
	const struct profile_fixture *fixture = *state;
	struct selection *selection;
	struct profile *profile;

	profile_close(three_epochs(fixture, false));
	profile = open_reader(fixture->directory);
	selection = assert_selected(profile, &(struct selection_request){.epoch = "all"});
	assert_int_equal(selection->count_count, 6);
	profile_close(profile);
	/* It is a copy: the database is closed already. */
	assert_count(selection, 5, "/usr/lib/libc.so.6", 0x40, "cpu-clock", 2007);
	selection_free(selection);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_request_the_latest_epoch_is_selected),
		TEST(events_of_several_epochs_are_one_by_name),
		TEST(counts_are_summed_by_image_offset_and_event),
		TEST(an_epoch_is_found_by_place_number_and_label),
		TEST(an_epoch_that_is_not_there_is_answered_with_those_that_are),
		TEST(what_is_no_epoch_expression_is_refused),
		TEST(a_database_without_an_epoch_says_so),
		TEST(a_time_selects_the_slices_that_overlap_it_in_every_epoch),
		TEST(a_time_without_samples_is_answered_with_the_time_that_has_some),
		TEST(a_context_pattern_leaves_out_the_counts_of_others),
		TEST(a_label_is_looked_for_in_all_epochs),
		TEST(epochs_after_the_last_match_are_left_aside),
		TEST(patterns_that_match_nothing_are_answered_with_what_there_is),
		TEST(a_selection_by_a_reader_is_the_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
