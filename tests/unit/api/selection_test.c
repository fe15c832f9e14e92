/* What other programs see of a selection. */
#include "tests/unit/profile/fixture.h"

#include <errno.h>

#include <libsample/error.h>
#include <libsample/selection.h>

/* gzip 30 + 12, libc 5 of cpu-clock; 7 page faults in libc. */
static int
setup(void **state)
{
	static const char *const names[] = {"cpu-clock", "page-faults"};
	static const struct tally_entry entries[] = {
		{.image = 0, .context = 0, .offset = 0x10, .event = 0, .count = 30},
		{.image = 0, .context = 0, .offset = 0x20, .event = 0, .count = 12},
		{.image = 1, .context = 0, .offset = 0x10, .event = 0, .count = 5},
		{.image = 1, .context = 0, .offset = 0x10, .event = 1, .count = 7},
	};
	struct profile_fixture *fixture;
	struct profile *profile;
	uint32_t epoch, slice = 0;

	if (fixture_setup(state))
		return -1;
	fixture = *state;
	profile = open_writer(fixture->directory, 0);
	epoch = begin_epoch(profile, 100 * SECOND_NS, "old", names, 2);
	assert_int_equal(flush_entries(profile, epoch, 2, &slice, true, entries, 3), 0);
	epoch = begin_epoch(profile, 200 * SECOND_NS, "new", names, 2);
	slice = 0;
	assert_int_equal(flush_entries(profile, epoch, 2, &slice, false, entries, 4), 0);
	profile_close(profile);
	return 0;
}

static struct sample_selection *
read_selection(void **state, const struct sample_request *request)
{
	const struct profile_fixture *fixture = *state;
	struct sample_selection *selection = NULL;
	struct sample_database *database;

	assert_int_equal(sample_database_open(fixture->directory, &database), 0);
	assert_int_equal(sample_selection_read(database, request, &selection, NULL, 0), 0);
	sample_database_close(database); /* a selection is a copy */
	return selection;
}

static void
images_have_the_samples_of_their_points(void **state)
{
	struct sample_selection *selection = read_selection(state, NULL);

	assert_int_equal(sample_event_count(selection), 2);
	assert_int_equal(sample_image_count(selection), 2);
	assert_string_equal(sample_image_path(selection, 0), "/usr/bin/gzip");
	assert_int_equal(sample_image_kind(selection, 0), SAMPLE_KIND_USER);
	assert_int_equal(sample_image_samples(selection, 0, 0), 42);
	assert_int_equal(sample_image_samples(selection, 0, 1), 0);
	assert_int_equal(sample_image_samples(selection, 1, 0), 5);
	assert_int_equal(sample_image_samples(selection, 1, 1), 7);
	sample_selection_free(selection);
}

static void
points_are_in_order(void **state)
{
	struct sample_selection *selection = read_selection(state, NULL);
	struct sample_point point;

	assert_int_equal(sample_point_count(selection), 4);
	assert_int_equal(sample_point_get(selection, 1, &point), 0);
	assert_int_equal(point.image, 0);
	assert_int_equal(point.offset, 0x20);
	assert_int_equal(point.event, 0);
	assert_int_equal(point.samples, 12);
	assert_int_equal(sample_point_get(selection, 4, &point), -ERANGE);
	sample_selection_free(selection);
}

static void
events_say_what_was_counted(void **state)
{
	struct sample_selection *selection = read_selection(state, NULL);
	size_t event;

	assert_int_equal(sample_event_find(selection, "page-faults", &event), 0);
	assert_int_equal(event, 1);
	assert_int_equal(sample_event_find(selection, "cycles", &event), -ENOENT);
	assert_int_equal(sample_event_first(selection, &event), 0);
	assert_string_equal(sample_event_name(selection, event), "cpu-clock");
	assert_string_equal(sample_event_unit(selection, event), "ns");
	assert_int_equal(sample_event_period(selection, event), 1000);
	assert_true(sample_event_is_available(selection, event));
	assert_int_equal(sample_event_samples(selection, event), 47);
	assert_int_equal(sample_event_unknown(selection, event), 0);
	assert_int_equal(sample_event_lost(selection, event), 0);
	sample_selection_free(selection);
}

static void
build_ids_are_there_or_not(void **state)
{
	struct sample_selection *selection = read_selection(state, NULL);
	const uint8_t *build_id;
	size_t size;

	build_id = sample_image_build_id(selection, 0, &size);
	assert_int_equal(size, 2);
	assert_int_equal(build_id[1], 0xcd);
	assert_null(sample_image_build_id(selection, 1, &size));
	assert_int_equal(size, 0);
	sample_selection_free(selection);
}

static void
numbers_out_of_range_are_nothing(void **state)
{
	struct sample_selection *selection = read_selection(state, NULL);
	size_t size = 1;

	assert_null(sample_image_path(selection, 2));
	assert_int_equal(sample_image_kind(selection, 2), SAMPLE_KIND_UNKNOWN);
	assert_null(sample_image_build_id(selection, 2, &size));
	assert_int_equal(size, 0);
	assert_int_equal(sample_image_samples(selection, 2, 0), 0);
	assert_int_equal(sample_image_samples(selection, 0, 2), 0);
	assert_null(sample_event_name(selection, 2));
	assert_null(sample_event_unit(selection, 2));
	assert_false(sample_event_is_available(selection, 2));
	assert_int_equal(sample_event_samples(selection, 2), 0);
	assert_int_equal(sample_event_unknown(selection, 2), 0);
	sample_selection_free(selection);
}

static void
an_epoch_is_read_that_was_asked_for(void **state)
{
	const struct sample_request request = {.size = sizeof(request), .epoch = "old"};
	struct sample_selection *selection = read_selection(state, &request);

	assert_int_equal(sample_point_count(selection), 3);
	assert_int_equal(sample_selection_start_ns(selection), 100 * SECOND_NS);
	assert_int_equal(sample_selection_end_ns(selection), 110 * SECOND_NS);
	sample_selection_free(selection);
}

/* A program of an older version does not have what came later; what lies behind its request is not looked at. */
static void
a_request_counts_as_far_as_it_goes(void **state)
{
	const struct sample_request request = {
		.size = offsetof(struct sample_request, comm), .epoch = "old", .comm = "nobody"};
	struct sample_selection *selection = read_selection(state, &request);

	assert_int_equal(sample_point_count(selection), 3);
	sample_selection_free(selection);
}

static void
what_is_not_there_is_told_in_a_sentence(void **state)
{
	const struct sample_request request = {.size = sizeof(request), .comm = "nobody"};
	const struct profile_fixture *fixture = *state;
	struct sample_selection *selection;
	struct sample_database *database;
	char why[200] = "";

	assert_int_equal(sample_database_open(fixture->directory, &database), 0);
	assert_int_equal(sample_selection_read(database, &request, &selection, why, sizeof(why)), -SAMPLE_ENOSELECTION);
	assert_null(selection);
	assert_true(strlen(why) > 0);
	sample_database_close(database);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(images_have_the_samples_of_their_points, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(points_are_in_order, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(events_say_what_was_counted, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(build_ids_are_there_or_not, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(numbers_out_of_range_are_nothing, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(an_epoch_is_read_that_was_asked_for, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_request_counts_as_far_as_it_goes, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_there_is_told_in_a_sentence, setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
