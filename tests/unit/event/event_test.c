#include "tests/unit/event/resolving.h"

#include "base/error.h"

static void
what_the_kernel_grants_is_taken_as_it_is(void **state)
{
	struct resolving_fixture *fixture = *state;
	const struct event *event = &fixture->event;

	assert_int_equal(RESOLVE(fixture, "cache-misses", {HARDWARE, MISSES, ANY, 0}), 0);
	assert_true(event->available);
	assert_string_equal(event->name, "cache-misses");
	assert_string_equal(event->requested, "cache-misses");
	assert_string_equal(event->note, "");
	assert_int_equal(event->precise, 3);
	assert_int_equal(event->period, 0);
	assert_int_equal(event->rate, 4000);
	assert_int_equal(event->encoding.config, MISSES);
	assert_int_equal(fixture->kernel.asked, 1);
	assert_int_equal(fixture->kernel.cpu, 2);
	assert_true(fixture->kernel.attrs[0].freq);
}

static void
precise_goes_down_to_what_is_granted(void **state)
{
	static const int refusals[] = {-EOPNOTSUPP, -EINVAL, -ENOENT, -EBUSY, -ENODEV, -EACCES};
	struct resolving_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, CYCLES, 3, refusals[i]},
		                         {HARDWARE, CYCLES, 2, refusals[i]}, {HARDWARE, CYCLES, ANY, 0}),
		                 0);
		assert_int_equal(fixture->event.precise, 1);
		assert_true(fixture->event.available);
		assert_string_equal(fixture->event.name, "cycles");
		assert_string_equal(fixture->event.note, "");
		assert_int_equal(fixture->kernel.asked, 3);
	}
}

static void
precise_begins_where_the_spec_says(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct answer granted = {HARDWARE, CYCLES, ANY, 0};
	struct event_spec spec = spec_of("cycles");

	spec.precise = 1;
	assert_int_equal(resolve(fixture, &spec, &granted, 1), 0);
	assert_int_equal(fixture->event.precise, 1);
	assert_int_equal(RESOLVE(fixture, "cycles:pp", {HARDWARE, CYCLES, ANY, 0}), 0);
	assert_int_equal(fixture->event.precise, 2);
	spec = spec_of("cycles:P");
	spec.precise = 0;
	assert_int_equal(resolve(fixture, &spec, &granted, 1), 0);
	assert_int_equal(fixture->event.precise, 3);
}

/* AMD: cycles become IBS, which goes no higher than 2 and refuses whatever excludes anything. */
static void
ibs_is_precise_for_both_modes_and_not_for_one(void **state)
{
	struct resolving_fixture *fixture = *state;
	const struct answer ibs[] = {
		{HARDWARE, CYCLES, 3, -EOPNOTSUPP},
		{HARDWARE, CYCLES, 2, -EINVAL, .excludes_only = true},
		{HARDWARE, CYCLES, 1, -EINVAL, .excludes_only = true},
		{HARDWARE, CYCLES, ANY, 0},
	};
	struct event_spec spec = spec_of("cycles");

	assert_int_equal(resolve(fixture, &spec, ibs, 4), 0);
	assert_int_equal(fixture->event.precise, 2);
	spec = spec_of("cycles:u");
	assert_int_equal(resolve(fixture, &spec, ibs, 4), 0);
	assert_int_equal(fixture->event.precise, 0);
	assert_false(fixture->event.kernel);
	assert_string_equal(fixture->event.name, "cycles:u");
}

/* Since linux 6.15 IBS refuses periods that are no multiples of 16, as any prime is. */
static void
ibs_gets_periods_that_are_multiples_of_sixteen(void **state)
{
	struct resolving_fixture *fixture = *state;
	const struct answer ibs[] = {
		{HARDWARE, CYCLES, 3, -EOPNOTSUPP},
		{HARDWARE, CYCLES, 2, -EINVAL, .no_multiple_of = 16},
		{HARDWARE, CYCLES, 1, -EINVAL, .no_multiple_of = 16},
		{HARDWARE, CYCLES, ANY, 0},
	};
	struct event_spec spec = spec_of("cycles");

	fake_tree_write(&fixture->tree, DEVICES "/ibs_op/type", "11\n");
	spec.rate = 0;
	spec.period = 1000003;
	assert_int_equal(resolve(fixture, &spec, ibs, 4), 0);
	assert_int_equal(fixture->event.precise, 2);
	assert_int_equal(fixture->event.period, 1000000);
	assert_string_equal(fixture->event.note,
	                    "IBS counts in steps of 16: a sample every 1000000, every 1000003 was asked for");
	event_set_rate(&fixture->event, 3000, UINT64_C(3000000000)); /* 62501 is the first prime past 10^6 / 16 */
	assert_int_equal(fixture->event.period, 62501 * 16);
	event_set_rate(&fixture->event, 1000000, 1000000); /* 144 is the least that IBS has */
	assert_int_equal(fixture->event.period, 144);
	/* What is not precise is counted by the PMU of the core, as it was asked for. */
	spec.precise = 0;
	assert_int_equal(resolve(fixture, &spec, ibs, 4), 0);
	assert_int_equal(fixture->event.precise, 0);
	assert_int_equal(fixture->event.period, 1000003);
	assert_string_equal(fixture->event.note, "");
}

static void
so_does_ibs_under_its_own_name(void **state)
{
	struct resolving_fixture *fixture = *state;
	const struct answer ibs[] = {{11, ANY, ANY, -EINVAL, .no_multiple_of = 16}, {11, ANY, ANY, 0}};
	struct event_spec spec = spec_of("ibs_op//");

	fake_tree_write(&fixture->tree, DEVICES "/ibs_op/type", "11\n");
	spec.rate = 0;
	spec.precise = 0;
	spec.period = 999983;
	assert_int_equal(resolve(fixture, &spec, ibs, 2), 0);
	assert_true(fixture->event.available);
	assert_int_equal(fixture->event.period, 999984);
}

/* Refused at each level for another reason: the period is the one that was asked for again. */
static void
where_ibs_takes_nothing_the_period_is_as_it_was(void **state)
{
	struct resolving_fixture *fixture = *state;
	const struct answer refused[] = {{HARDWARE, CYCLES, 0, 0}, {HARDWARE, CYCLES, ANY, -EINVAL}};
	struct event_spec spec = spec_of("cycles");

	fake_tree_write(&fixture->tree, DEVICES "/ibs_op/type", "11\n");
	spec.rate = 0;
	spec.period = 1000003;
	assert_int_equal(resolve(fixture, &spec, refused, 2), 0);
	assert_int_equal(fixture->event.precise, 0);
	assert_int_equal(fixture->event.period, 1000003);
}

/* The PMU of arm64 would take any level, and the profile would claim what nobody did. */
static void
a_pmu_that_tells_no_levels_is_not_asked_to_be_precise(void **state)
{
	struct resolving_fixture *fixture = *state;

	fake_tree_fini(&fixture->tree);
	fake_tree_init(&fixture->tree);
	fixture->environment.sysfs = fixture->tree.root;
	fake_tree_write(&fixture->tree, DEVICES "/armv8_pmuv3/type", "8\n");
	assert_int_equal(RESOLVE(fixture, "cycles:ppp", {HARDWARE, CYCLES, ANY, 0}), 0);
	assert_true(fixture->event.available);
	assert_int_equal(fixture->event.precise, 0);
	assert_int_equal(fixture->kernel.attrs[0].precise_ip, 0);
	assert_int_equal(fixture->kernel.asked, 1);
}

static void
software_events_are_not_asked_to_be_precise(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "faults"), 0);
	assert_string_equal(fixture->event.name, "page-faults");
	assert_string_equal(fixture->event.requested, "faults");
	assert_int_equal(fixture->event.precise, 0);
	assert_int_equal(fixture->kernel.attrs[0].precise_ip, 0);
	assert_true(fixture->kernel.attrs[0].freq);
}

static void
a_software_event_that_the_kernel_does_not_know_is_not_available(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cgroup-switches", {SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES, ANY, -EINVAL}),
	                 0);
	assert_false(fixture->event.available);
	assert_string_equal(fixture->event.note, "this kernel does not know it (perf_event_open: Invalid argument)");
}

static void
a_refusal_of_every_event_is_an_error_that_says_what_to_change(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles", {ANY, ANY, ANY, -EACCES}), -EACCES);
	assert_non_null(strstr(fixture->why, "kernel.perf_event_paranoid is 2 and must be 0 or less"));
	assert_int_equal(RESOLVE(fixture, "cpu-clock", {ANY, ANY, ANY, -EPERM}), -EPERM);
	assert_non_null(strstr(fixture->why, "CAP_PERFMON"));
}

static void
a_refusal_of_hardware_alone_is_no_error(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, ANY, ANY, -EACCES}), 0);
	assert_string_equal(fixture->event.name, "cpu-clock");
	assert_int_equal(RESOLVE(fixture, "cache-misses", {HARDWARE, ANY, ANY, -EACCES}), 0);
	assert_false(fixture->event.available);
	assert_string_equal(fixture->event.note, "the kernel refuses it to this process, though not other events "
	                                         "(perf_event_open: Permission denied)");
}

static void
a_cpu_that_is_offline_is_not_taken_for_a_missing_pmu(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles", {ANY, ANY, ANY, -ENODEV}), -ENODEV);
	assert_string_equal(fixture->why, "CPU 2 is offline (perf_event_open: No such device)");
	assert_int_equal(RESOLVE(fixture, "cpu-clock", {ANY, ANY, ANY, -ENODEV}), -ENODEV);
}

static void
a_lack_of_descriptors_is_an_error_at_once(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles", {ANY, ANY, ANY, -EMFILE}), -EMFILE);
	assert_int_equal(fixture->kernel.asked, 1);
	assert_non_null(strstr(fixture->why, "LimitNOFILE="));
}

static void
a_clock_that_cannot_stand_in_is_an_error(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, ANY, ANY, -ENOENT}, {SOFTWARE, 0, ANY, -EINVAL}),
	                 -EINVAL);
	assert_string_equal(fixture->why, "perf_event_open: Invalid argument");
}

static void
counters_that_count_but_cannot_sample_are_not_called_absent(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles", {HARDWARE, ANY, ANY, -EOPNOTSUPP, .samples_only = true},
	                         {HARDWARE, ANY, ANY, 0}),
	                 0);
	assert_string_equal(fixture->event.name, "cpu-clock");
	assert_non_null(strstr(fixture->event.note, "cannot interrupt"));
}

static void
modifiers_narrow_what_the_spec_says(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cpu-clock:k");

	spec.idle = true;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_string_equal(fixture->event.name, "cpu-clock:k");
	assert_string_equal(fixture->event.requested, "cpu-clock:k");
	assert_false(fixture->event.user);
	assert_true(fixture->event.kernel);
	assert_true(fixture->event.idle);
	spec = spec_of("cpu-clock:I");
	spec.idle = true;
	spec.kernel = false;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), 0);
	assert_string_equal(fixture->event.name, "cpu-clock:u");
	assert_false(fixture->event.idle);
	assert_true(fixture->kernel.attrs[0].exclude_idle);
}

static void
the_clock_that_stands_in_counts_the_same_mode(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cycles:u"), 0);
	assert_string_equal(fixture->event.name, "cpu-clock:u");
	assert_string_equal(fixture->event.requested, "cycles:u");
	assert_true(fixture->kernel.attrs[fixture->kernel.asked - 1].exclude_kernel);
}

static void
a_spec_that_leaves_nothing_to_count_is_refused(void **state)
{
	struct resolving_fixture *fixture = *state;
	struct event_spec spec = spec_of("cycles:k");

	spec.kernel = false;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), -EINVAL);
	assert_string_equal(fixture->why, "cycles:k: neither user mode nor kernel mode is to be counted");
	spec = spec_of("cycles");
	spec.rate = 0;
	fixture->environment.default_rate = 0;
	assert_int_equal(resolve(fixture, &spec, NULL, 0), -EINVAL);
	assert_string_equal(fixture->why, "cycles: neither a period nor a rate is given");
	assert_int_equal(fixture->kernel.asked, 0);
}

static void
a_name_that_means_nothing_is_refused_before_the_kernel_is_asked(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cylces"), -DCPI_ENOEVENT);
	assert_string_equal(fixture->why, "there is no event \"cylces\"; did you mean \"cycles\"?");
	assert_int_equal(fixture->kernel.asked, 0);
}

static void
an_event_of_a_pmu_is_resolved_by_its_fields(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "cpu/event=0xc0,umask=1/p", {4, 0x1c0, 1, -EINVAL}, {4, 0x1c0, 0, 0}), 0);
	assert_true(fixture->event.available);
	assert_int_equal(fixture->event.precise, 0);
	assert_string_equal(fixture->event.name, "cpu/event=0xc0,umask=1/");
	assert_string_equal(fixture->event.requested, "cpu/event=0xc0,umask=1/p");
	assert_int_equal(fixture->kernel.asked, 2);
}

static void
an_event_of_a_pmu_that_is_not_here_is_not_available(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(RESOLVE(fixture, "arm_spe_0/event=1/"), 0);
	assert_false(fixture->event.available);
	assert_ptr_equal(strstr(fixture->event.note, "this machine has no PMU \"arm_spe_0\" ("), fixture->event.note);
	assert_string_equal(fixture->why, "");
	assert_int_equal(fixture->kernel.asked, 0);
	assert_true(fixture->event.encoding.type != PERF_TYPE_HARDWARE);
}

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
the_kernels_limits_are_read(void **state)
{
	struct resolving_fixture *fixture = *state;

	assert_int_equal(event_rate_limit(fixture->tree.root), 100000);
	assert_int_equal(event_rate_limit("/nonexistent"), UINT64_MAX);
	fake_tree_write(&fixture->tree, "sys/kernel/perf_event_max_stack", "64\n");
	assert_int_equal(event_stack_limit(fixture->tree.root), 64);
	assert_int_equal(event_stack_limit("/nonexistent"), 127);
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
		TEST(what_the_kernel_grants_is_taken_as_it_is),
		TEST(precise_goes_down_to_what_is_granted),
		TEST(precise_begins_where_the_spec_says),
		TEST(ibs_is_precise_for_both_modes_and_not_for_one),
		TEST(ibs_gets_periods_that_are_multiples_of_sixteen),
		TEST(so_does_ibs_under_its_own_name),
		TEST(where_ibs_takes_nothing_the_period_is_as_it_was),
		TEST(a_pmu_that_tells_no_levels_is_not_asked_to_be_precise),
		TEST(software_events_are_not_asked_to_be_precise),
		TEST(a_software_event_that_the_kernel_does_not_know_is_not_available),
		TEST(a_refusal_of_every_event_is_an_error_that_says_what_to_change),
		TEST(a_refusal_of_hardware_alone_is_no_error),
		TEST(a_cpu_that_is_offline_is_not_taken_for_a_missing_pmu),
		TEST(a_lack_of_descriptors_is_an_error_at_once),
		TEST(a_clock_that_cannot_stand_in_is_an_error),
		TEST(counters_that_count_but_cannot_sample_are_not_called_absent),
		TEST(modifiers_narrow_what_the_spec_says),
		TEST(the_clock_that_stands_in_counts_the_same_mode),
		TEST(a_spec_that_leaves_nothing_to_count_is_refused),
		TEST(a_name_that_means_nothing_is_refused_before_the_kernel_is_asked),
		TEST(an_event_of_a_pmu_is_resolved_by_its_fields),
		TEST(an_event_of_a_pmu_that_is_not_here_is_not_available),
		TEST(without_a_pmu_cycles_become_the_clock_and_say_so),
		TEST(every_way_of_having_no_pmu_leads_to_the_clock),
		TEST(an_event_that_only_this_pmu_lacks_is_told_from_no_pmu),
		TEST(a_clock_that_stands_in_keeps_the_rate_that_was_asked_for),
		TEST(a_clock_that_stands_in_for_a_period_of_cycles_has_no_rate_of_its_own),
		TEST(what_has_neither_period_nor_rate_is_left_to_be_chosen),
		TEST(the_period_for_a_rate_is_a_prime),
		TEST(the_period_of_a_clock_for_a_rate_is_longer),
		TEST(the_kernels_limits_are_read),
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
