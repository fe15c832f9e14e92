/* Clocks, periods and rates. */
#include "tests/unit/event/resolving.h"

static void
without_a_pmu_cycles_become_the_clock_and_say_so(void **state)
{
	struct resolving_fixture *fixture = *state;
	const struct event *event = &fixture->event;
	const struct perf_event_attr *last;

	assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, ANY, ANY, -ENOENT}), 0);
	assert_true(event->available);
	assert_string_equal(event->name, "cpu-clock");
	assert_string_equal(event->requested, "cycles");
	assert_string_equal(event->note,
	                    "no hardware performance counters here (perf_event_open: No such file or directory)");
	assert_int_equal(event->encoding.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(event->encoding.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_string_equal(event->encoding.unit, "ns");
	assert_int_equal(event->rate, 3880); /* 3.1 % less than 4000 */
	assert_int_equal(event->period, 257750);
	assert_int_equal(event->precise, 0);
	last = &fixture->kernel.attrs[fixture->kernel.asked - 1];
	assert_false(last->freq);
	assert_int_equal(last->sample_period, 257750);
	assert_int_equal(last->precise_ip, 0);
	assert_true(last->exclude_idle);
}

static void
every_way_of_having_no_pmu_leads_to_the_clock(void **state)
{
	static const struct {
		int err;
		const char *note;
	} ways[] = {
		{-ENOENT, "no hardware performance counters here (perf_event_open: No such file or directory)"},
		{-ENXIO, "no hardware performance counters here (perf_event_open: No such device or address)"},
		{-ENODEV, "no hardware performance counters here (perf_event_open: No such device)"},
		{-EOPNOTSUPP,
	         "the hardware performance counters here cannot interrupt, so nothing can be sampled by them "
	         "(perf_event_open: Operation not supported)"},
		{-EINVAL, "its PMU cannot sample it (perf_event_open: Invalid argument)"},
		{-EBUSY,
	         "someone else holds the hardware performance counters (firmware, a hypervisor, or another profiler's "
	         "driver) (perf_event_open: Device or resource busy)"},
	};
	struct resolving_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, ANY, ANY, ways[i].err}), 0);
		assert_true(fixture->event.available);
		assert_string_equal(fixture->event.name, "cpu-clock");
		assert_string_equal(fixture->event.note, ways[i].note);
		/* The same for an event for which nothing stands in. */
		assert_int_equal(RESOLVE(fixture, "cache-misses", {HARDWARE, ANY, ANY, ways[i].err}), 0);
		assert_false(fixture->event.available);
		assert_string_equal(fixture->event.name, "cache-misses");
		assert_string_equal(fixture->event.note, ways[i].note);
		assert_int_equal(fixture->event.precise, 0);
	}
}

static void
an_event_that_only_this_pmu_lacks_is_told_from_no_pmu(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "LLC-load-misses", {HARDWARE, CYCLES, ANY, 0}), 0);
	assert_false(fixture->event.available);
	assert_string_equal(fixture->event.note,
	                    "the hardware performance counters here do not count it (perf_event_open: "
	                    "No such file or directory)");
	assert_int_equal(RESOLVE(fixture, "LLC-load-misses"), 0);
	assert_false(fixture->event.available);
	assert_string_equal(fixture->event.note,
	                    "no hardware performance counters here (perf_event_open: No such file or directory)");
}

static void
a_clock_that_stands_in_keeps_the_rate_that_was_asked_for(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cycles");

	spec.rate = 100;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_int_equal(fixture->event.rate, 97);
	assert_int_equal(fixture->event.period, 10310000);
	assert_false(fixture->event.chosen);
}

static void
a_clock_that_stands_in_for_a_period_of_cycles_has_no_rate_of_its_own(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cycles");

	spec.period = 62000;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_int_equal(fixture->event.rate, 242);
	assert_int_equal(fixture->event.period, 4124000);
	assert_true(fixture->event.chosen);
	fixture->environment.default_rate = 0;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_true(fixture->event.rate > 0);
}

static void
a_clock_that_is_asked_for_keeps_its_own_rate(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cpu-clock"), 0);
	assert_string_equal(fixture->event.note, "");
	assert_int_equal(fixture->event.rate, 3880);
	assert_int_equal(fixture->event.period, 257750);
	assert_int_equal(fixture->kernel.asked, 1);
	assert_false(fixture->kernel.attrs[0].freq);
}

static void
what_has_neither_period_nor_rate_is_left_to_be_chosen(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cycles");

	spec.rate = 0;
	assert_int_equal(resolve(fixture, &spec, (struct answer[]){{HARDWARE, ANY, ANY, 0}}, 1), 0);
	assert_true(fixture->event.available && fixture->event.chosen);
	assert_int_equal(fixture->event.rate, 250);
	spec.period = 62000;
	assert_int_equal(resolve(fixture, &spec, (struct answer[]){{HARDWARE, ANY, ANY, 0}}, 1), 0);
	assert_false(fixture->event.chosen);
}

static void
the_period_for_a_rate_is_a_prime(void **state)
{
	struct event event = {.encoding = {.type = HARDWARE, .config = CYCLES, .unit = "cycles"}};

	(void)state;
	event_set_rate(&event, 3000, UINT64_C(3000000000)); /* 10^6 + 3 is the first prime past a million */
	assert_int_equal(event.period, 1000003);
	assert_int_equal(event.rate, 3000);
	event_set_rate(&event, 5200, 100);
	assert_int_equal(event.period, 2);
	event_set_rate(&event, 0, 7);
	assert_int_equal(event.period, 7);
	assert_int_equal(event.rate, 1);
}

static void
the_period_of_a_clock_for_a_rate_is_longer(void **state)
{
	struct event event = {.encoding = {.type = SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .unit = "ns"}};

	(void)state;
	event_set_rate(&event, 500, 0);
	assert_int_equal(event.period, 2062000);
	assert_int_equal(event.rate, 485);
}

static void
the_kernels_limit_is_read(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(event_rate_limit(fixture->tree.root), 100000);
	assert_int_equal(event_rate_limit("/nonexistent"), UINT64_MAX);
}

/* The largest stretch of the tick's period, in percent of it, that 60 samples in a row leave out. */
static unsigned
largest_gap_percent(uint64_t period_ns, uint64_t tick_ns)
{
	bool is_hit[100] = {false};
	unsigned gap = 0, largest = 0;

	for (uint64_t sample = 0; sample < 60; sample++)
		is_hit[sample * period_ns % tick_ns * 100 / tick_ns] = true;
	for (unsigned percent = 0; percent < 200; percent++) {
		gap = is_hit[percent % 100] ? 0 : gap + 1;
		largest = gap > largest ? gap : largest;
	}
	return largest;
}

static void
a_clock_does_not_keep_step_with_the_tick(void **state)
{
	static const uint64_t ticks[] = {100, 250, 300, 1000};
	static const uint64_t rates[] = {20, 49, 50, 97, 99, 100, 200, 250, 300, 400, 500, 800, 997, 1000};
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cpu-clock");

	for (size_t rate = 0; rate < sizeof(rates) / sizeof(rates[0]); rate++) {
		spec.rate = rates[rate];
		assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
		for (size_t tick = 0; tick < sizeof(ticks) / sizeof(ticks[0]); tick++)
			assert_in_range(largest_gap_percent(fixture->event.period, 1000000000 / ticks[tick]), 0, 20);
	}
}

static void
a_clock_runs_no_faster_than_the_kernel_lets_it(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("task-clock");

	spec.rate = 1000000;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_int_equal(fixture->event.period, 10000);
	assert_int_equal(fixture->event.rate, 100000);
}

/* The kernel stretches it in silence, and counts would weigh a ten-thousandth of what they are. */
static void
a_clock_period_that_the_kernel_stretches_is_told(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cpu-clock");

	spec.rate = 0;
	spec.period = 1;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_int_equal(fixture->event.period, 10000);
	assert_string_equal(fixture->event.note,
	                    "the kernel takes a sample every 10000 ns at most; every 1 were asked for");
	spec.period = 10000;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_int_equal(fixture->event.period, 10000);
	assert_string_equal(fixture->event.note, "");
}

static void
a_rate_above_the_kernels_limit_is_lowered_and_said(void **state)
{
	struct resolving_fixture *fixture = *state;

	fake_tree_write(&fixture->tree, "sys/kernel/perf_event_max_sample_rate", "1500\n");
	assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, CYCLES, ANY, 0}), 0);
	assert_int_equal(fixture->event.rate, 1500);
	assert_int_equal(fixture->kernel.attrs[0].sample_freq, 1500);
	assert_string_equal(fixture->event.note,
	                    "kernel.perf_event_max_sample_rate allows 1500 samples a second, 4000 were asked for");
}

static void
a_limit_that_is_raised_again_is_followed(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event *event = &fixture->event;

	fake_tree_write(&fixture->tree, "sys/kernel/perf_event_max_sample_rate", "1500\n");
	assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, CYCLES, ANY, 0}), 0);
	assert_false(event_limit_rate(event, 1500));
	assert_true(event_limit_rate(event, 3000));
	assert_int_equal(event->rate, 3000);
	assert_string_equal(event->note,
	                    "kernel.perf_event_max_sample_rate allows 3000 samples a second, 4000 were asked for");
	assert_true(event_limit_rate(event, UINT64_MAX));
	assert_int_equal(event->rate, 4000);
	assert_string_equal(event->note, "");
}

/* The kernel lowers its limit by itself: here between the reading of it and the opening. */
static int
lower_limit_once(void *context, struct perf_event_attr *attr, int cpu)
{
	struct resolving_fixture *fixture = context;

	if (attr->freq && attr->sample_freq > 1500) {
		fake_tree_write(&fixture->tree, "sys/kernel/perf_event_max_sample_rate", "1500\n");
		return -EINVAL;
	}
	return scripted_open(&fixture->kernel, attr, cpu);
}

static void
a_limit_that_is_lowered_meanwhile_is_kept(void **state)
{
	const struct event_spec spec = {.name = "page-faults", .rate = 4000, .user = true, .kernel = true};
	struct resolving_fixture *fixture = *state;

	fixture->environment.open = lower_limit_once;
	fixture->environment.open_context = fixture;
	assert_int_equal(
		event_resolve(&fixture->environment, &spec, &fixture->event, fixture->why, sizeof(fixture->why)), 0);
	assert_true(fixture->event.available);
	assert_int_equal(fixture->event.rate, 1500);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_pmu_cycles_become_the_clock_and_say_so),
		TEST(every_way_of_having_no_pmu_leads_to_the_clock),
		TEST(an_event_that_only_this_pmu_lacks_is_told_from_no_pmu),
		TEST(a_clock_that_stands_in_keeps_the_rate_that_was_asked_for),
		TEST(a_clock_that_stands_in_for_a_period_of_cycles_has_no_rate_of_its_own),
		TEST(what_has_neither_period_nor_rate_is_left_to_be_chosen),
		TEST(the_period_for_a_rate_is_a_prime),
		TEST(the_period_of_a_clock_for_a_rate_is_longer),
		TEST(the_kernels_limit_is_read),
		TEST(a_clock_that_is_asked_for_keeps_its_own_rate),
		TEST(a_clock_does_not_keep_step_with_the_tick),
		TEST(a_clock_runs_no_faster_than_the_kernel_lets_it),
		TEST(a_clock_period_that_the_kernel_stretches_is_told),
		TEST(a_rate_above_the_kernels_limit_is_lowered_and_said),
		TEST(a_limit_that_is_raised_again_is_followed),
		TEST(a_limit_that_is_lowered_meanwhile_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
