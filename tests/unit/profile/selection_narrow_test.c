#include "tests/unit/profile/fixture.h"

#include "profile/selection.h"

#define TIME(seconds) ((seconds)*SECOND_NS)

static const char *const first_names[] = {"cpu-clock", "page-faults"};
static const char *const second_names[] = {"page-faults", "cpu-clock"};
static const char *const third_names[] = {"cycles", "cpu-clock"};

/* `own` samples of each event under the label nightly, and `others` without one. */
static void
flush_slice(struct profile *profile, uint32_t epoch, uint64_t start_s, uint64_t end_s, uint64_t own, uint64_t others)
{
	const struct tally_entry entries[] = {
		{.offset = 0x40, .count = others, .event = 0},
		{.offset = 0x40, .count = own, .context = 1, .event = 0},
		{.offset = 0x40, .count = own, .context = 1, .event = 1},
	};
	const bool is_first = epoch == 1 && start_s == 100;
	struct slice slice = {
		.epoch = epoch,
		.start_ns = TIME(start_s),
		.end_ns = TIME(end_s),
		.sideband_lost = 1,
		.event_count = 2,
		.events = {{.samples = others + own, .lost = 3}, {.samples = own}},
	};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = own ? 3 : 1,
		.first_image = is_first ? 0 : 2,
		.image_count = is_first ? 2 : 0,
		.images = two_images,
		.first_context = is_first ? 0 : 2,
		.context_count = is_first ? 2 : 0,
		.contexts = two_contexts,
		.slice = &slice,
	};

	assert_int_equal(profile_flush(profile, &batch), 0);
}

/* Four epochs; of slices 100-110, 110-120, 200-205, 300-350 and 400-410 s the second and the third have the label. */
static struct profile *
make_epochs(const struct profile_fixture *fixture)
{
	struct profile *profile = open_writer(fixture->directory, 0);

	begin_epoch(profile, TIME(100), "", second_names, 2);
	flush_slice(profile, 1, 100, 110, 0, 1000);
	flush_slice(profile, 1, 110, 120, 7, 10);
	begin_epoch(profile, TIME(200), "", first_names, 2);
	flush_slice(profile, 2, 200, 205, 5, 20);
	begin_epoch(profile, TIME(300), "", second_names, 2);
	flush_slice(profile, 3, 300, 350, 0, 2000);
	begin_epoch(profile, TIME(400), "", third_names, 2);
	flush_slice(profile, 4, 400, 410, 0, 3000);
	return profile;
}

static struct selection *
choose(struct profile *profile, const struct selection_request *request)
{
	struct selection *selection = NULL;
	char why[256] = "";

	assert_int_equal(selection_read(profile, request, &selection, why, sizeof(why)), 0);
	return selection;
}

static void
what_a_label_has_nothing_of_is_left_out(void **state)
{
	struct profile *profile = make_epochs(*state);
	struct selection *selection = choose(profile, &(struct selection_request){.label = "nightly"});

	assert_int_equal(selection->epoch_count, 2);
	assert_int_equal(selection->epochs[0].id, 1);
	assert_int_equal(selection->epochs[1].id, 2);
	assert_int_equal(selection->slice_count, 2);
	assert_int_equal(selection->start_ns, TIME(110));
	assert_int_equal(selection->end_ns, TIME(205));
	assert_int_equal(selection->covered_ns, TIME(15));
	assert_int_equal(selection->sideband_lost, 2);
	selection_free(selection);
	profile_close(profile);
}

/* In the order of the newest of its epochs, in which the clock is the first; the newest of all counts cycles. */
static void
events_are_those_of_its_epochs(void **state)
{
	struct profile *profile = make_epochs(*state);
	struct selection *selection = choose(profile, &(struct selection_request){.label = "nightly"});

	assert_int_equal(selection->event_count, 2);
	assert_string_equal(selection->events[0].name, "cpu-clock");
	assert_string_equal(selection->events[1].name, "page-faults");
	assert_int_equal(selection->events[0].totals.samples, 7 + 20 + 5);
	assert_int_equal(selection->events[0].totals.lost, 3);
	assert_int_equal(selection->events[0].matched.samples, 7 + 20 + 5);
	assert_int_equal(selection->events[0].selected, 7 + 5);
	assert_int_equal(selection->events[1].totals.samples, 10 + 7 + 5);
	assert_int_equal(selection->events[1].selected, 7 + 5);
	selection_free(selection);
	profile_close(profile);
}

static void
counts_keep_their_events_and_their_order(void **state)
{
	struct profile *profile = make_epochs(*state);
	struct selection *selection = choose(profile, &(struct selection_request){.label = "nightly"});

	assert_int_equal(selection->count_count, 2);
	assert_int_equal(selection->counts[0].event, 0);
	assert_int_equal(selection->counts[0].count, 12);
	assert_int_equal(selection->counts[1].event, 1);
	assert_int_equal(selection->counts[1].count, 12);
	selection_free(selection);
	profile_close(profile);
}

/* A program runs now and then: how long it was looked for is what matters. */
static void
other_patterns_leave_the_time_as_it_is(void **state)
{
	struct profile *profile = make_epochs(*state);
	struct selection *selection = choose(profile, &(struct selection_request){.epoch = "all", .comm = "make"});

	assert_int_equal(selection->epoch_count, 4);
	assert_int_equal(selection->covered_ns, TIME(85));
	assert_int_equal(selection->match.covered_ns, TIME(15));
	assert_string_equal(selection->events[0].name, "cycles");
	selection_free(selection);
	profile_close(profile);
}

/* As sets are, which are compared: each has its own time. */
static void
several_labels_that_are_read_together_are_narrowed_each(void **state)
{
	struct profile *profile = make_epochs(*state);
	const struct selection_request nightly = {.label = "nightly"}, none = {.label = "none"}, all = {.epoch = "all"};
	const struct selection_request *const requests[] = {&nightly, &none, &all};
	struct selection *selections[3];

	assert_int_equal(selection_read_each(profile, requests, 3, selections), 0);
	assert_int_equal(selections[0]->covered_ns, TIME(15));
	assert_null(selections[1]);
	assert_int_equal(selections[2]->covered_ns, TIME(85));
	assert_int_equal(selections[2]->event_count, 3);
	selection_free(selections[0]);
	selection_free(selections[2]);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_a_label_has_nothing_of_is_left_out),
		CASE(events_are_those_of_its_epochs),
		CASE(counts_keep_their_events_and_their_order),
		CASE(other_patterns_leave_the_time_as_it_is),
		CASE(several_labels_that_are_read_together_are_narrowed_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
