#include "tests/unit/test.h"

#include <stdbool.h>

#include "event/event.h"

static void
assert_name(struct perf_event_attr attr, const char *expected)
{
	char name[EVENT_NAME_SIZE];

	event_name_of(&attr, name);
	assert_string_equal(name, expected);
}

static void
an_event_is_called_as_everybody_calls_it(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}, "cycles");
	assert_name((struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
	            "cpu-clock");
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HW_CACHE, .config = 0x10000}, "L1-dcache-load-misses");
}

static void
modes_and_precision_are_modifiers(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .exclude_kernel = 1, .precise_ip = 2},
	            "cycles:upp");
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = 1, .exclude_user = 1},
	            "instructions:k");
}

/* Linux 5.13: which kind of core counts stands in the upper half. */
static void
the_kind_of_core_has_no_part_in_the_name(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = 0x400000000}, "cycles");
}

static void
what_has_no_name_is_called_by_its_numbers(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_RAW, .config = 0x1c2}, "r1c2");
	assert_name((struct perf_event_attr){.type = 10, .config = 0xabc}, "event-10-abc");
}

static void
a_unit_is_found_behind_pmu_and_modifiers(void **state)
{
	static const struct {
		const char *name, *unit;
	} known[] = {
		{"cycles:ppp", "cycles"},      {"cpu_core/cycles:ppp/", "cycles"}, {"cpu-cycles", "cycles"},
		{"task-clock", "ns"},          {"instructions:u", "events"},       {"sched:sched_switch", "events"},
		{"cpu/event=0xc0/", "events"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char unit[EVENT_UNIT_SIZE];

		event_unit_of(known[i].name, unit);
		assert_string_equal(unit, known[i].unit);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_called_as_everybody_calls_it),
		cmocka_unit_test(modes_and_precision_are_modifiers),
		cmocka_unit_test(the_kind_of_core_has_no_part_in_the_name),
		cmocka_unit_test(what_has_no_name_is_called_by_its_numbers),
		cmocka_unit_test(a_unit_is_found_behind_pmu_and_modifiers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
