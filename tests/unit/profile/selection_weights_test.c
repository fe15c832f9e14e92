/* Samples that stand for different numbers of events: what a selection makes of them. */
#include "tests/unit/profile/fixture.h"

#include "profile/selection.h"

#define EVENTS 2

struct taken_count {
	uint16_t event;
	uint32_t image;
	uint64_t offset, count;
};

/* One epoch with one slice: cycles of `period`, with a sum when `has_sum`: that of idle CPUs with an `idle_period`. */
static void
write_idle_epoch(struct profile *profile, uint64_t period, bool has_sum, uint64_t idle_period, const char *label,
                 const struct taken_count *taken, size_t count, const struct slice *totals)
{
	static uint64_t start_s = 100;
	const struct context context = {.comm = "x", .cgroup = "/", .label = label};
	const struct context *contexts[] = {&context};
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct tally_entry entries[8] = {0};
	struct slice slice = totals ? *totals : (struct slice){0};
	struct profile_batch batch = {
		.entries = entries,
		.entry_count = count,
		.image_count = 2,
		.images = two_images,
		.context_count = 1,
		.contexts = contexts,
		.slice = &slice,
	};

	epoch->start_ns = epoch->end_ns = start_s * SECOND_NS;
	epoch->cpu_count = 1;
	epoch->event_count = has_sum ? EVENTS : 1;
	snprintf(epoch->events[0].name, sizeof(epoch->events[0].name), "cycles");
	snprintf(epoch->events[0].encoding.unit, sizeof(epoch->events[0].encoding.unit), "cycles");
	epoch->events[0].period = period;
	epoch->events[0].available = true;
	if (has_sum)
		assert_true(event_sum_of(&epoch->events[0], &epoch->events[1]));
	epoch->events[1].encoding.config = idle_period;
	profile_reset_session(profile);
	assert_int_equal(profile_begin_epoch(profile, epoch), 0);
	slice.epoch = epoch->id;
	slice.start_ns = start_s * SECOND_NS;
	slice.end_ns = (start_s + 10) * SECOND_NS;
	slice.event_count = epoch->event_count;
	for (size_t i = 0; i < count; i++) {
		entries[i] = (struct tally_entry){.event = taken[i].event,
		                                  .image = taken[i].image,
		                                  .offset = taken[i].offset,
		                                  .count = taken[i].count};
		slice.events[taken[i].event].samples += taken[i].count;
	}
	assert_int_equal(profile_flush(profile, &batch), 0);
	start_s += 100;
	free(epoch);
}

static void
write_epoch(struct profile *profile, uint64_t period, bool has_sum, const char *label, const struct taken_count *taken,
            size_t count, const struct slice *totals)
{
	write_idle_epoch(profile, period, has_sum, 0, label, taken, count, totals);
}

static struct selection *
read_all(struct profile *profile, const char *label)
{
	const struct selection_request request = {.epoch = "all", .label = label};
	struct selection *selection = NULL;
	char why[256];

	assert_int_equal(selection_read(profile, &request, &selection, why, sizeof(why)), 0);
	assert_int_equal(profile_check(profile, NULL, NULL), 0);
	return selection;
}

static void
assert_count(const struct selection *selection, size_t index, uint64_t offset, uint64_t count, uint64_t taken)
{
	assert_true(index < selection->count_count);
	assert_int_equal(selection->counts[index].offset, offset);
	assert_int_equal(selection->counts[index].count, count);
	assert_int_equal(selection->counts[index].taken, taken);
}

static void
assert_squares(const struct selection *selection, size_t index, double squares)
{
	assert_true(index < selection->count_count);
	assert_float_equal(selection->counts[index].squares, squares, 1e-9);
}

static void
samples_of_one_period_are_as_they_were_taken(void **state)
{
	const struct taken_count first[] = {{0, 0, 0x10, 5}, {0, 1, 0x20, 7}}, second[] = {{0, 0, 0x10, 4}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_epoch(profile, 1000, false, "", first, 2, NULL);
	write_epoch(profile, 1000, true, "", second, 1, NULL); /* a sum that was never needed */
	selection = read_all(profile, NULL);
	assert_false(selection->events[0].is_weighted);
	assert_int_equal(selection->events[0].period, 1000);
	assert_int_equal(selection->events[0].selected, 16);
	assert_int_equal(selection->events[0].totals.samples, 16);
	assert_int_equal(selection->event_count, 1);
	assert_count(selection, 0, 0x10, 9, 9);
	assert_count(selection, 1, 0x20, 7, 7);
	assert_true(selection->counts[0].squares == 9 && selection->counts[1].squares == 7);
	assert_true(selection->events[0].selected_squares == 16);
	selection_free(selection);
	profile_close(profile);
}

/* 60 and 20 samples of 1000 cycles, 2 and 6 of 10000: halves of 80000. */
static void
samples_of_different_periods_count_as_events(void **state)
{
	const struct taken_count first[] = {{0, 0, 0x10, 60}, {0, 1, 0x20, 20}};
	const struct taken_count second[] = {{0, 0, 0x10, 2}, {0, 1, 0x20, 6}};
	const struct slice unknown = {.events[0] = {.samples = 3, .unknown[UNKNOWN_PROCESS] = 3, .lost = 1}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	const struct selection_event *event;
	struct selection *selection;

	write_epoch(profile, 1000, false, "", first, 2, NULL);
	write_epoch(profile, 10000, false, "", second, 2, &unknown);
	selection = read_all(profile, NULL);
	event = &selection->events[0];
	assert_true(event->is_weighted);
	assert_int_equal(event->period, 1000);
	assert_int_equal(event->longest_period, 10000);
	assert_count(selection, 0, 0x10, 80, 62);
	assert_count(selection, 1, 0x20, 80, 26);
	assert_squares(selection, 0, 60 + 2 * 100);
	assert_squares(selection, 1, 20 + 6 * 100);
	assert_float_equal(event->selected_squares, 880, 1e-9);
	assert_float_equal(event->totals_squares, 880.0 / 160 * 190, 1e-9); /* unknown ones as the others */
	assert_int_equal(event->selected, 160);
	assert_int_equal(event->selected_taken, 88);
	assert_int_equal((uint64_t)event->selected_events, 160000);
	assert_int_equal(event->totals.samples, 160 + 30);
	assert_int_equal(event->totals.unknown[UNKNOWN_PROCESS], 30);
	assert_int_equal(event->totals_taken, 91);
	assert_int_equal(event->matched.samples, 190);
	selection_free(selection);
	profile_close(profile);
}

/* A sample of 1000 cycles and one of 260000 that came when a CPU had been idle. */
static void
a_sum_adds_what_samples_stand_for_beyond_their_period(void **state)
{
	const struct taken_count taken[] = {{0, 0, 0x10, 1}, {0, 1, 0x20, 1}, {1, 1, 0x20, 259000}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_epoch(profile, 1000, true, "", taken, 3, NULL);
	selection = read_all(profile, NULL);
	assert_true(selection->events[0].is_weighted);
	assert_int_equal(selection->events[0].period, 1000);
	assert_int_equal(selection->events[0].longest_period, 0); /* it varied */
	assert_count(selection, 0, 0x10, 1, 1);
	assert_count(selection, 1, 0x20, 260, 1);
	assert_squares(selection, 1, 260 * 260); /* of one sample it is known without the period of idle CPUs */
	assert_int_equal(selection->events[0].totals.samples, 261);
	assert_int_equal(selection->events[0].totals_taken, 2);
	selection_free(selection);
	profile_close(profile);
}

/*
 * Idle CPUs were sampled every 50000 cycles, and busy ones every 1000: 19 samples weigh 1 and one 50, then 5 weigh 1,
 * then all 3 weigh 50. An epoch without idle CPUs adds 4 of 2000 cycles.
 */
static void
squares_are_of_the_samples_of_busy_and_of_idle_cpus(void **state)
{
	const struct taken_count taken[] = {
		{0, 0, 0x10, 20}, {0, 0, 0x20, 5}, {0, 1, 0x30, 3}, {1, 0, 0x10, 49000}, {1, 1, 0x30, 147000}};
	const struct taken_count slower[] = {{0, 0, 0x20, 4}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_idle_epoch(profile, 1000, true, 50000, "", taken, 5, NULL);
	write_idle_epoch(profile, 2000, true, 50000, "", slower, 1, NULL);
	selection = read_all(profile, NULL);
	assert_count(selection, 0, 0x10, 69, 20);
	assert_squares(selection, 0, 19 + 2500);
	assert_count(selection, 1, 0x20, 13, 9);
	assert_squares(selection, 1, 5 + 4 * 4);
	assert_count(selection, 2, 0x30, 150, 3);
	assert_squares(selection, 2, 3 * 2500);
	assert_float_equal(selection->events[0].selected_squares, 2519 + 21 + 7500, 1e-9);
	selection_free(selection);
	profile_close(profile);
}

/* The kernel chose periods: 10 samples of an idle CPU for 10 events each, 10 of a busy one for 9990. */
static void
where_the_kernel_chose_the_periods_their_mean_is_the_unit(void **state)
{
	const struct taken_count taken[] = {{0, 0, 0x10, 10}, {0, 1, 0x20, 10}, {1, 0, 0x10, 100}, {1, 1, 0x20, 99900}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_epoch(profile, 0, true, "", taken, 4, NULL);
	selection = read_all(profile, NULL);
	assert_int_equal(selection->events[0].period, 5000);
	assert_count(selection, 0, 0x10, 0, 10);
	assert_count(selection, 1, 0x20, 20, 10);         /* with the tenth that was left over */
	assert_squares(selection, 0, 10 * 0.002 * 0.002); /* as if those of a place were alike */
	assert_squares(selection, 1, 10 * 1.998 * 1.998);
	assert_int_equal(selection->events[0].selected, 20);
	selection_free(selection);
	profile_close(profile);
}

/* Three places of 1500 events in units of 1000: no two of them together are off by a unit. */
static void
what_is_left_over_goes_to_the_next_place(void **state)
{
	const struct taken_count unit[] = {{0, 0, 0x8, 1}};
	const struct taken_count taken[] = {{0, 0, 0x10, 1}, {0, 0, 0x20, 1}, {0, 0, 0x30, 1}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_epoch(profile, 1000, false, "", unit, 1, NULL);
	write_epoch(profile, 1500, false, "", taken, 3, NULL);
	selection = read_all(profile, NULL);
	assert_count(selection, 0, 0x8, 1, 1);
	assert_count(selection, 1, 0x10, 1, 1);
	assert_count(selection, 2, 0x20, 2, 1);
	assert_count(selection, 3, 0x30, 1, 1);
	assert_int_equal(selection->events[0].selected, 5);
	assert_int_equal(selection->events[0].totals.samples, 5);
	selection_free(selection);
	profile_close(profile);
}

/* All epochs are searched for a label; one of another period that has nothing of it says nothing about it. */
static void
a_label_of_one_period_is_not_weighted(void **state)
{
	const struct taken_count first[] = {{0, 0, 0x10, 60}}, second[] = {{0, 0, 0x10, 2}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_epoch(profile, 1000, false, "mine", first, 1, NULL);
	write_epoch(profile, 10000, false, "other", second, 1, NULL);
	selection = read_all(profile, "mine");
	assert_false(selection->events[0].is_weighted);
	assert_int_equal(selection->events[0].period, 1000);
	assert_count(selection, 0, 0x10, 60, 60);
	assert_int_equal(selection->events[0].totals.samples, 60);
	selection_free(selection);
	profile_close(profile);
}

/* As dcpid wrote it before it kept sums: each sample counts as one. */
static void
samples_that_nobody_can_weigh_stay_samples(void **state)
{
	const struct taken_count first[] = {{0, 0, 0x10, 60}}, second[] = {{0, 0, 0x10, 2}};
	struct profile_fixture *fixture = *state;
	struct profile *profile = open_writer(fixture->directory, 0);
	struct selection *selection;

	write_epoch(profile, 1000, false, "", first, 1, NULL);
	write_epoch(profile, 0, false, "", second, 1, NULL);
	selection = read_all(profile, NULL);
	assert_false(selection->events[0].is_weighted);
	assert_int_equal(selection->events[0].period, 0);
	assert_count(selection, 0, 0x10, 62, 62);
	selection_free(selection);
	profile_close(profile);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_of_one_period_are_as_they_were_taken, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(samples_of_different_periods_count_as_events, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(a_sum_adds_what_samples_stand_for_beyond_their_period, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(squares_are_of_the_samples_of_busy_and_of_idle_cpus, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(where_the_kernel_chose_the_periods_their_mean_is_the_unit,
	                                        fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(what_is_left_over_goes_to_the_next_place, fixture_setup,
	                                        fixture_teardown),
		cmocka_unit_test_setup_teardown(a_label_of_one_period_is_not_weighted, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(samples_that_nobody_can_weigh_stay_samples, fixture_setup,
	                                        fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
