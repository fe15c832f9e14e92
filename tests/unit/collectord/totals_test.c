#include "collectord/totals.h"

#include <stdio.h>

#include "tests/unit/test.h"

static struct epoch
epoch_of(const char *first, const char *second)
{
	struct epoch epoch = {.event_count = 2};

	snprintf(epoch.events[0].name, EVENT_NAME_SIZE, "%s", first);
	snprintf(epoch.events[1].name, EVENT_NAME_SIZE, "%s", second);
	epoch.events[0].available = epoch.events[1].available = true;
	return epoch;
}

static void
counts_of_epochs_add_up_by_name(void **state)
{
	const struct epoch first = epoch_of("cycles", "page-faults"), second = epoch_of("page-faults", "cpu-clock");
	const struct slice_event a[] = {{.samples = 10, .lost = 1, .throttled = 2}, {.samples = 20}};
	struct slice_event b[] = {{.samples = 300, .lost = 5, .dropped = 6}, {.samples = 4000}};
	struct totals totals = {0};

	(void)state;
	b[0].unknown[UNKNOWN_GUEST] = 7;
	assert_int_equal(totals_reserve(&totals, &first), 0);
	totals_add(&totals, &first, a);
	assert_int_equal(totals_reserve(&totals, &second), 0);
	totals_add(&totals, &second, b);
	assert_int_equal(totals.event_count, 3);
	assert_string_equal(totals.events[0].name, "cycles");
	assert_int_equal(totals.events[0].counts.samples, 10);
	assert_int_equal(totals.events[0].counts.lost, 1);
	assert_int_equal(totals.events[0].counts.throttled, 2);
	assert_string_equal(totals.events[1].name, "page-faults");
	assert_int_equal(totals.events[1].counts.samples, 320);
	assert_int_equal(totals.events[1].counts.lost, 5);
	assert_int_equal(totals.events[1].counts.dropped, 6);
	assert_int_equal(totals.events[1].counts.unknown[UNKNOWN_GUEST], 7);
	assert_string_equal(totals.events[2].name, "cpu-clock");
	assert_int_equal(totals.events[2].counts.samples, 4000);
	totals_fini(&totals);
}

static void
events_that_became_the_same_are_one(void **state)
{
	const struct epoch epoch = epoch_of("cpu-clock", "cpu-clock");
	const struct slice_event counts[] = {{.samples = 3}, {.samples = 4}};
	struct totals totals = {0};

	(void)state;
	assert_int_equal(totals_reserve(&totals, &epoch), 0);
	totals_add(&totals, &epoch, counts);
	assert_int_equal(totals.event_count, 1);
	assert_int_equal(totals.events[0].counts.samples, 7);
	totals_fini(&totals);
}

static void
an_event_that_is_not_available_has_no_place(void **state)
{
	struct epoch epoch = epoch_of("cpu-clock", "cache-misses");
	const struct slice_event counts[] = {{.samples = 3}, {0}};
	struct totals totals = {0};

	(void)state;
	epoch.events[1].available = false;
	assert_int_equal(totals_reserve(&totals, &epoch), 0);
	totals_add(&totals, &epoch, counts);
	assert_int_equal(totals.event_count, 1);
	assert_string_equal(totals.events[0].name, "cpu-clock");
	totals_fini(&totals);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_epochs_add_up_by_name),
		cmocka_unit_test(events_that_became_the_same_are_one),
		cmocka_unit_test(an_event_that_is_not_available_has_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
