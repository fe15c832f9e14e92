#include "profile/overhead.h"

#include <linux/perf_event.h>
#include <math.h>

#include "tests/unit/test.h"

static void
assert_percent(double value, double expected)
{
	assert_true(fabs(value - expected) < 1e-9);
}

/* 500 * (16 + 4) us + 1000 * (2 + 1) us are 13 ms of each second. */
static void
expected_is_rate_times_cost_of_all_events(void **state)
{
	const struct event events[] = {
		{.available = true, .rate = 500, .cost_ns = 16000},
		{.available = true, .rate = 1000, .cost_ns = 2000},
		{.available = false, .rate = 1000, .cost_ns = 2000},
		{.available = true, .rate = 0, .cost_ns = 2000}, /* it depends on what programs do */
	};
	double percent;

	(void)state;
	assert_true(overhead_expected(events, 4, &percent));
	assert_percent(percent, 1.3);
}

static void
what_has_no_known_cost_makes_no_sum(void **state)
{
	const struct event events[] = {{.available = true, .rate = 500, .cost_ns = 16000},
	                               {.available = true, .rate = 10, .cost_ns = 0}};
	double percent;

	(void)state;
	assert_false(overhead_expected(events, 2, &percent));
	assert_false(overhead_expected(events, 0, &percent));
}

/* (80 + 15 + 5) * 20 us and 3 ms, of a second: 0.5 %. */
static void
measured_is_what_was_taken_and_what_dcpid_used(void **state)
{
	const struct event event = {.cost_ns = 20000};
	const struct slice_event counted = {.samples = 80, .lost = 15, .dropped = 5};
	struct overhead overhead = {.daemon_ns = 3000000, .cpu_ns = 1000000000};

	(void)state;
	overhead_add(&overhead, &event, &counted, 1, 0);
	assert_false(overhead.is_unknown);
	assert_percent(overhead_daemon_percent(&overhead), 0.3);
	assert_percent(overhead_percent(&overhead), 0.5);
}

/* The smallest share that two digits behind the point can show is 0.01 %. */
static void
the_start_is_told_as_long_as_it_shows(void **state)
{
	struct overhead overhead = {.start_ns = 150000000};

	(void)state;
	overhead.cpu_ns = UINT64_C(1500) * 1000000000;
	assert_true(overhead_shows_start(&overhead));
	overhead.cpu_ns += UINT64_C(1) * 1000000000;
	assert_false(overhead_shows_start(&overhead));
	overhead = (struct overhead){.cpu_ns = 1};
	assert_false(overhead_shows_start(&overhead));
}

static void
samples_of_unknown_cost_make_the_sum_unknown(void **state)
{
	const struct event event = {.cost_ns = 0};
	const struct slice_event none = {0}, one = {.lost = 1};
	struct overhead overhead = {0};

	(void)state;
	overhead_add(&overhead, &event, &none, 1, 0);
	assert_false(overhead.is_unknown);
	overhead_add(&overhead, &event, &one, 1, 0);
	assert_true(overhead.is_unknown);
	assert_percent(overhead_percent(&overhead), 0);
}

static void
numbers_that_are_too_large_do_not_wrap(void **state)
{
	const struct event event = {.cost_ns = UINT64_MAX};
	const struct slice_event counted = {.samples = UINT64_MAX, .lost = 2};
	struct overhead overhead = {0};

	(void)state;
	overhead_add(&overhead, &event, &counted, 1, 0);
	overhead_add(&overhead, &event, &counted, 1, 0);
	assert_true(overhead.sample_ns == UINT64_MAX);
}

/*
 * Four CPUs for 10 s, a timer of 1 ms: for 25 s of that CPUs were sampled each 50 ms. 15,000 and 500 ticks, of which
 * 1,200 were samples: 14,300 found a CPU idle, each as dear as a sample: 155 ms and 1 ms of dcpid's in 40 s.
 */
static void
ticks_that_find_a_cpu_idle_cost_as_samples_do(void **state)
{
	const struct event events[] = {
		{.name = "cpu-clock",
	         .encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
	         .period = 1000000,
	         .cost_ns = 10000},
		{.name = "cpu-clock.sum", .encoding = {.type = EVENT_TYPE_DCPIX, .config = 50000000}, .period = 1},
	};
	const struct slice_event counted[] = {
		{.samples = 1000, .lost = 150, .dropped = 50, .enabled_ns = UINT64_C(40000000000)},
		{.samples = 7, .enabled_ns = UINT64_C(25000000000)},
	};
	struct overhead overhead = {.daemon_ns = 1000000, .cpu_ns = UINT64_C(40000000000)};

	(void)state;
	assert_int_equal(overhead_idle_ticks(events, counted, 2, 0), 14300);
	overhead_add(&overhead, events, counted, 2, 0);
	overhead_add(&overhead, events, counted, 2, 1);
	assert_int_equal(overhead.interrupts, 15500);
	assert_int_equal(overhead.sample_ns, 155000000);
	assert_percent(overhead_percent(&overhead), 0.39);
	assert_int_equal(overhead_cpu_ns(events, counted, 2, 1, 1), UINT64_C(40000000000));
}

/* The same CPUs, and stacks each 20 ms: each 60 ms of those 25 s, in which three samples are one. */
static void
ticks_of_call_stacks_are_longer_on_an_idle_cpu(void **state)
{
	const struct event events[] = {
		{.name = "cpu-clock",
	         .encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
	         .period = 1000000},
		{.name = "cpu-clock.sum", .encoding = {.type = EVENT_TYPE_DCPIX, .config = 50000000}, .period = 1},
		{.name = "cpu-clock.stacks", .encoding = {.type = EVENT_TYPE_DCPIX}, .period = 20000000},
	};
	const struct slice_event counted[] = {
		{.enabled_ns = UINT64_C(40000000000)},
		{.enabled_ns = UINT64_C(25000000000)},
		{.samples = 66, .enabled_ns = UINT64_C(40000000000)},
	};

	(void)state;
	assert_int_equal(overhead_idle_ticks(events, counted, 3, 2), 416 + 750 - 66);
	assert_int_equal(overhead_idle_ticks(events + 1, counted + 1, 2, 1), 0); /* of what, is not known */
}

/* A counter stands still while its CPU is idle; where idle time counts, each tick is a sample. */
static void
only_a_clock_that_passes_idle_time_by_has_idle_ticks(void **state)
{
	const struct event cycles = {.period = 1000000};
	const struct event clock = {.encoding = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
	                            .period = 1000000,
	                            .idle = true};
	const struct slice_event counted = {.samples = 10, .enabled_ns = 1000000000};

	(void)state;
	assert_int_equal(overhead_idle_ticks(&cycles, &counted, 1, 0), 0);
	assert_int_equal(overhead_idle_ticks(&clock, &counted, 1, 0), 0);
}

static struct event
kind_of_cycles(const char *name, uint64_t cost_ns)
{
	struct event event = {.requested = "cycles", .available = true, .rate = 1000, .cost_ns = cost_ns};

	snprintf(event.name, sizeof(event.name), "%s", name);
	return event;
}

/* A CPU has one of them: 1000 * (4 + 1) us of each second of the CPUs with the dearer, and 1000 * (1 + 1) us of others.
 */
static void
of_one_event_on_two_kinds_of_core_the_dearer_is_expected(void **state)
{
	const struct event events[] = {
		kind_of_cycles("cpu_core/cycles/", 2000),
		kind_of_cycles("cpu_atom/cycles/", 4000),
		{.name = "cpu-clock", .requested = "cpu-clock", .available = true, .rate = 1000, .cost_ns = 1000},
	};
	double percent;

	(void)state;
	assert_true(overhead_expected(events, 3, &percent));
	assert_percent(percent, 0.7);
	assert_true(overhead_expected(events, 2, &percent));
	assert_percent(percent, 0.5);
}

/* Two CPUs for a second, one of them away for half of it: 1.5 s. */
static void
processor_time_is_that_of_the_cpus_that_were_there(void **state)
{
	const struct event events[] = {
		{.name = "cpu-clock", .requested = "cpu-clock", .available = true},
		{.name = "cache-misses", .requested = "cache-misses", .available = true},
	};
	const struct slice_event counted[] = {{.enabled_ns = 1500000000}, {.enabled_ns = 900000000}};
	const struct slice_event unrecorded[2] = {0};

	(void)state;
	assert_int_equal(overhead_cpu_ns(events, counted, 2, 1000000000, 2), 1500000000);
	assert_int_equal(overhead_cpu_ns(events, unrecorded, 2, 1000000000, 2), 2000000000);
	assert_true(overhead_cpu_ns(events, unrecorded, 2, UINT64_MAX, 2) == UINT64_MAX);
}

static void
processor_time_of_two_kinds_of_core_is_the_sum(void **state)
{
	const struct event events[] = {kind_of_cycles("cpu_core/cycles/", 0), kind_of_cycles("cpu_atom/cycles/", 0)};
	const struct slice_event counted[] = {{.enabled_ns = 8000}, {.enabled_ns = 4000}};

	(void)state;
	assert_int_equal(overhead_cpu_ns(events, counted, 2, 1000, 8), 12000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expected_is_rate_times_cost_of_all_events),
		cmocka_unit_test(ticks_that_find_a_cpu_idle_cost_as_samples_do),
		cmocka_unit_test(ticks_of_call_stacks_are_longer_on_an_idle_cpu),
		cmocka_unit_test(only_a_clock_that_passes_idle_time_by_has_idle_ticks),
		cmocka_unit_test(of_one_event_on_two_kinds_of_core_the_dearer_is_expected),
		cmocka_unit_test(processor_time_is_that_of_the_cpus_that_were_there),
		cmocka_unit_test(processor_time_of_two_kinds_of_core_is_the_sum),
		cmocka_unit_test(what_has_no_known_cost_makes_no_sum),
		cmocka_unit_test(measured_is_what_was_taken_and_what_dcpid_used),
		cmocka_unit_test(the_start_is_told_as_long_as_it_shows),
		cmocka_unit_test(samples_of_unknown_cost_make_the_sum_unknown),
		cmocka_unit_test(numbers_that_are_too_large_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
