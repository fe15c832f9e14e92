/* dcpiprof's views of call stacks, where nothing is known of them. */
#include "tests/unit/profile/fixture.h"

#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/prof/call_report.h"

#define TAKEN 7

/* An epoch with so many samples of stacks, which are all unknown. */
static void
fill(const struct profile_fixture *fixture, uint64_t taken)
{
	static const char *const names[] = {"cpu-clock", "cpu-clock.stacks"};
	struct profile *profile = open_writer(fixture->directory, 0);
	struct slice slice = {
		.epoch = begin_epoch(profile, 100 * SECOND_NS, "", names, 2),
		.start_ns = 100 * SECOND_NS,
		.end_ns = 101 * SECOND_NS,
		.event_count = 2,
		.events[1] = {.samples = taken, .unknown[UNKNOWN_KERNEL_HIDDEN] = taken},
	};
	const struct profile_batch batch = {.slice = &slice};

	assert_int_equal(profile_flush(profile, &batch), 0);
	profile_close(profile);
}

/* The exit status of a view of them; *lines: how many it has. */
static int
view(const struct profile_fixture *fixture, enum call_view view, const char *procedure, size_t *lines)
{
	const struct shown_events_request all = {0};
	struct options options;
	struct call_report_request request = {.options = &options, .view = view, .procedure = procedure};
	struct call_report report;
	struct database database;
	int status;

	options_init(&options);
	options.request.stacks = true;
	assert_int_equal(database_open(&database, fixture->directory), 0);
	status = call_report_make(&report, &request, &all, &database);
	*lines = report.line_count;
	call_report_fini(&report);
	database_close(&database);
	options_fini(&options);
	return status;
}

static void
samples_whose_stacks_are_all_unknown_are_no_empty_selection(void **state)
{
	size_t lines;

	fill(*state, TAKEN);
	assert_int_equal(view(*state, CALL_VIEW_TREE, NULL, &lines), STATUS_OK);
	assert_int_equal(lines, 0);
	assert_int_equal(view(*state, CALL_VIEW_INCLUSIVE, NULL, &lines), STATUS_OK);
	assert_int_equal(lines, 0);
	assert_int_equal(view(*state, CALL_VIEW_CALLERS, "main", &lines), STATUS_EMPTY);
}

static void
no_samples_are_one(void **state)
{
	size_t lines;

	fill(*state, 0);
	assert_int_equal(view(*state, CALL_VIEW_TREE, NULL, &lines), STATUS_EMPTY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_whose_stacks_are_all_unknown_are_no_empty_selection,
	                                        fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(no_samples_are_one, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
