/* The events of a recording as an epoch's: dcpi-tools/import/perf_import.h. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/import/perf_import.h"

static struct perf_data_event
event_called(char *name, bool varies)
{
	struct perf_data_event event = {.name = name};

	event.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	event.attr.freq = varies;
	event.attr.sample_period = 4000;
	return event;
}

static void
an_event_keeps_its_name_period_and_modes(void **state)
{
	char name[] = "cycles:u";
	struct perf_data_event recorded = event_called(name, false);
	struct import_events events;

	(void)state;
	recorded.attr.exclude_kernel = 1;
	recorded.attr.precise_ip = 2;
	assert_int_equal(import_events_init(&events, &recorded, 1, true), 0);
	assert_int_equal(events.count, 1);
	assert_string_equal(events.events[0].name, "cycles:u");
	assert_string_equal(events.events[0].encoding.unit, "cycles");
	assert_int_equal(events.events[0].period, 4000);
	assert_int_equal(events.events[0].rate, 0);
	assert_int_equal(events.events[0].precise, 2);
	assert_true(events.events[0].user);
	assert_false(events.events[0].kernel);
	assert_int_equal(events.slots[0].samples, 0);
	assert_int_equal(events.slots[0].sum, IMPORT_NO_EVENT);
	import_events_fini(&events);
}

static void
a_rate_is_no_period(void **state)
{
	char name[] = "cycles";
	struct perf_data_event recorded = event_called(name, true);
	struct import_events events;

	(void)state;
	assert_int_equal(import_events_init(&events, &recorded, 1, true), 0);
	assert_int_equal(events.events[0].period, 0);
	assert_int_equal(events.events[0].rate, 4000);
	assert_int_equal(events.slots[0].sum, 1);
	assert_string_equal(events.events[1].name, "cycles.sum");
	assert_string_equal(events.events[1].encoding.unit, "cycles");
	assert_int_equal(events.events[1].period, 1);
	import_events_fini(&events);
	assert_int_equal(import_events_init(&events, &recorded, 1, false), 0);
	assert_int_equal(events.count, 1);
	import_events_fini(&events);
}

static void
two_of_one_name_are_one_and_a_dummy_is_none(void **state)
{
	char name[] = "cycles", dummy[] = "dummy:HG";
	struct perf_data_event recorded[3] = {event_called(name, true), event_called(dummy, true),
	                                      event_called(name, true)};
	struct import_events events;

	(void)state;
	recorded[1].attr.type = PERF_TYPE_SOFTWARE;
	recorded[1].attr.config = PERF_COUNT_SW_DUMMY;
	assert_int_equal(import_events_init(&events, recorded, 3, true), 0);
	assert_int_equal(events.count, 2);
	assert_int_equal(events.slots[1].samples, IMPORT_NO_EVENT);
	assert_int_equal(events.slots[2].samples, 0);
	assert_int_equal(events.slots[2].sum, 1);
	assert_int_equal(events.left_out, 0);
	import_events_fini(&events);
}

static void
an_event_without_a_name_gets_one(void **state)
{
	struct perf_data_event recorded = event_called(NULL, false);
	struct import_events events;

	(void)state;
	recorded.attr.type = PERF_TYPE_RAW;
	recorded.attr.config = 0x1c2;
	assert_int_equal(import_events_init(&events, &recorded, 1, true), 0);
	assert_string_equal(events.events[0].name, "r1c2");
	import_events_fini(&events);
}

/* Sums give way first; the events of branches always have room. */
static void
what_has_no_room_is_left_out_and_counted(void **state)
{
	struct perf_data_event recorded[EVENTS_MAX + 1];
	char names[EVENTS_MAX + 1][16];
	struct import_events events;

	(void)state;
	for (size_t i = 0; i <= EVENTS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "r%zu", i);
		recorded[i] = event_called(names[i], true);
	}
	assert_int_equal(import_events_init(&events, recorded, EVENTS_MAX - 1, true), 0);
	assert_int_equal(events.count, EVENTS_MAX);
	assert_int_equal(events.slots[0].sum, EVENTS_MAX - 1);
	assert_int_equal(events.slots[1].sum, IMPORT_NO_EVENT);
	assert_int_equal(events.left_out, 0);
	import_events_fini(&events);
	recorded[0].attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	assert_int_equal(import_events_init(&events, recorded, EVENTS_MAX + 1, true), 0);
	assert_int_equal(events.count, EVENTS_MAX);
	assert_int_equal(events.left_out, 3);
	assert_string_equal(events.events[events.branch_stacks].name, "branch-stacks");
	assert_string_equal(events.events[events.runs].name, "branch-runs");
	assert_int_equal(events.slots[EVENTS_MAX].samples, IMPORT_NO_EVENT);
	import_events_fini(&events);
}

/* The kernel's part of such a stack is a call chain; with a chain of user mode, registers beside it are not needed. */
static void
copies_of_the_stack_are_stacks(void **state)
{
	char name[] = "cycles";
	struct perf_data_event recorded = event_called(name, false);
	struct import_events events;

	(void)state;
	recorded.attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	recorded.attr.exclude_callchain_user = 1;
	recorded.layout.sample_regs_user = 0xff01ff;
	assert_int_equal(import_events_init(&events, &recorded, 1, true), 0);
	assert_string_equal(events.events[events.slots[0].stacks].name, "cycles.stacks");
	assert_int_equal(events.slots[0].registers, 0xff01ff);
	import_events_fini(&events);
	recorded.attr.exclude_callchain_user = 0;
	assert_int_equal(import_events_init(&events, &recorded, 1, true), 0);
	assert_string_equal(events.events[events.slots[0].stacks].name, "cycles.stacks");
	assert_int_equal(events.slots[0].registers, 0);
	import_events_fini(&events);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_keeps_its_name_period_and_modes),
		cmocka_unit_test(a_rate_is_no_period),
		cmocka_unit_test(two_of_one_name_are_one_and_a_dummy_is_none),
		cmocka_unit_test(an_event_without_a_name_gets_one),
		cmocka_unit_test(what_has_no_room_is_left_out_and_counted),
		cmocka_unit_test(copies_of_the_stack_are_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
